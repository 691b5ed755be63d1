// Package ratelimit limits the rate and number of concurrent provider calls. Limits follow the
// user's budgets, rate limits that providers report, and, for reads, the duration of calls.
//
// It owns whose turn it is. It doesn't know what is asked, and what answers look like.
package ratelimit

import (
	"context"
	"slices"
	"sync"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/core/trace"
)

// A Kind says what may be done about a call.
type Kind uint8

const (
	// Local calls ask no service, only the process of the provider.
	Local Kind = iota
	// Plan calls change nothing, and seldom ask a service: they are made again where the
	// provider is asked too often.
	Plan
	// Read calls change nothing and ask the service: as many are made at once as pays, and
	// they are made again, too.
	Read
	// Once is what changes something, or reports it in parts: it is never made again.
	Once
)

// A Subject is whom a call queries what.
type Subject struct {
	Provider addr.Provider
	Mode     addr.Mode
	Type     string
	// Together is for calls about several objects, whose time says nothing of that of others.
	Together bool
}

// A Budget is what is never exceeded; 0 is for no limit.
type Budget struct {
	AtOnce    int
	PerSecond float64
}

// Of is what a budget is for: all calls to the service of a provider, or without Type ""
// those about one type, data sources and resources together.
type Of struct {
	Provider addr.Provider
	Type     string
}

// Settings are the limits that people set.
type Settings struct {
	// AtOnce is how many calls there are at once at most, whatever they are for. With 0
	// that is ten, and more for reads where it pays.
	AtOnce  int
	Budgets map[Of]Budget
}

const (
	usual     = 10  // calls at once
	mostReads = 100 // of one provider at once, without another budget
	// mostHeld is for how many calls that are held back by limits of their own alone
	// others may take the place.
	mostHeld = 240

	firstWait   = 500 * time.Millisecond // before a call is made again, then twice as long
	longestWait = 30 * time.Second
	// noticeable is how long a call waits for a budget before weir prints that it waits.
	noticeable = 5 * time.Second
	// patience is how long a call is made again.
	patience = 5 * time.Minute
)

// A Limiter gives turns to calls. Several runs may share one.
type Limiter struct {
	settings Settings

	mu       sync.Mutex
	running  int // all but reads, or all where the number is set
	services map[addr.Provider]*service
	lanes    map[Subject]*lane
	queue    []*turn // in the order in which they came
	timer    *time.Timer
	width    int
	told     map[*func(int)]struct{}
}

// A service is what all calls that a provider passes on have in common.
type service struct {
	usage
	reads crowd
	types map[string]*usage
}

// A usage is how much of a budget is in use.
type usage struct {
	budget  Budget
	running int
	next    time.Time // when the next call may begin
	told    bool      // that calls wait because of the budget
}

func (u *usage) full() bool { return u.budget.AtOnce > 0 && u.running >= u.budget.AtOnce }

func (u *usage) began(now time.Time) {
	u.running++
	if u.budget.PerSecond > 0 {
		u.next = now.Add(each(u.budget.PerSecond))
	}
}

// holds says that calls wait for a budget, if they do and that wasn't said before.
func (u *usage) holds(about Subject) *Slowed {
	s := Slowed{Subject: about, Budget: true}
	switch {
	case u.told:
		return nil
	case u.full():
		s.AtOnce = u.budget.AtOnce
	case u.next.After(time.Now()):
		s.PerSecond = u.budget.PerSecond
	default:
		return nil
	}
	u.told = true
	return &s
}

// each is the time between calls.
func each(perSecond float64) time.Duration { return time.Duration(float64(time.Second) / perSecond) }

// A turn is a call that waits for its turn, or has it.
type turn struct {
	kind  Kind
	lane  *lane // nil for Local
	came  chan struct{}
	began time.Time
	round int
}

// New makes a limiter.
func New(s Settings) *Limiter {
	return &Limiter{
		settings: s, services: map[addr.Provider]*service{}, lanes: map[Subject]*lane{},
		width: most(s), told: map[*func(int)]struct{}{},
	}
}

// Bounded reports whether there are budgets.
func (l *Limiter) Bounded() bool { return l != nil && len(l.settings.Budgets) > 0 }

// OneByOne reports whether there is never more than one call at once.
func (l *Limiter) OneByOne() bool { return l.settings.AtOnce == 1 }

func most(s Settings) int {
	if s.AtOnce > 0 {
		return s.AtOnce
	}
	return usual
}

// An Answer is what came of a call: whether the provider was asked too often, and when
// it said that one may ask again.
type Answer struct {
	Refused bool
	After   time.Duration
}

// A Slowed reports that a service is asked less from now on because it rejected calls, or that
// calls wait because a budget says so: of so many a second, or else of so many at once.
type Slowed struct {
	Subject
	PerSecond float64
	Budget    bool
	AtOnce    int
}

// Do makes a call when its turn comes, and again, after a wait, where its kind allows that and
// the provider was asked too often, for five minutes at most. When the context ends nothing is
// waited for any more. tell, which may be nil, is reported when a refusal is the first for its
// subject, and once for each budget that a call has waited for a while for.
func (l *Limiter) Do(ctx context.Context, k Kind, s Subject, call func() Answer, tell func(Slowed)) {
	first := time.Now()
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		t := l.enter(ctx, k, s, tell)
		answer := func() (a Answer) {
			defer func() { l.leave(t, a, tell) }() // also after a panic
			return call()
		}()
		pause := max(wait, answer.After)
		if !answer.Refused || k == Local || k == Once || time.Since(first)+pause > patience {
			return
		}
		span := waits(ctx, s, "wait to ask again")
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		span.End(false)
		if ctx.Err() != nil {
			return
		}
	}
}

// waits begins a span of a call that waits.
func waits(ctx context.Context, s Subject, name string) *trace.Span {
	_, span := trace.Begin(ctx, trace.Wait, name)
	if s.Type != "" {
		span.Set(trace.Provider, s.Provider.Type)
		span.Set(trace.Type, s.Type)
	}
	return span
}

// Watch notifies somebody for how many calls and waits there should be room at the same
// time, now and whenever it changes, until the result is called. tell must not block, or
// ask the limiter anything.
func (l *Limiter) Watch(tell func(int)) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told[&tell] = struct{}{}
	tell(l.width)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.told, &tell)
	}
}

func (l *Limiter) enter(ctx context.Context, k Kind, s Subject, tell func(Slowed)) *turn {
	l.mu.Lock()
	t := &turn{kind: k, came: make(chan struct{})}
	if k != Local {
		t.lane = l.lane(s)
	}
	l.queue = append(l.queue, t)
	l.dispatch()
	l.mu.Unlock()
	select {
	case <-t.came:
		return t
	default:
	}
	defer waits(ctx, s, "wait for a turn").End(false)
	long := time.NewTimer(noticeable)
	defer long.Stop()
	for {
		select {
		case <-t.came:
			return t
		case <-long.C:
			if why := l.holds(t); why != nil && tell != nil {
				tell(*why)
			}
		case <-ctx.Done():
			l.mu.Lock()
			if i := slices.Index(l.queue, t); i >= 0 {
				l.queue = slices.Delete(l.queue, i, i+1)
				l.begin(t, time.Now())
			}
			l.mu.Unlock()
			return t
		}
	}
}

func (l *Limiter) leave(t *turn, a Answer, tell func(Slowed)) {
	l.mu.Lock()
	now := time.Now()
	if l.adapts(t) {
		t.lane.service.reads.running--
	} else {
		l.running--
	}
	var slowed *Slowed
	if t.spends() {
		t.lane.service.running--
		t.lane.typ.running--
		if a.Refused {
			slowed = t.lane.refused(t, now)
		} else {
			t.lane.answered(now)
			if l.adapts(t) {
				t.lane.service.reads.took(t, now.Sub(t.began))
			}
		}
	}
	l.dispatch()
	l.mu.Unlock()
	if a.Refused {
		metrics.Refused.Add(1)
	}
	if slowed != nil && tell != nil {
		tell(*slowed)
	}
}

// holds says which budget a call waits for, nil without one of which that wasn't said before.
func (l *Limiter) holds(t *turn) *Slowed {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !t.spends() || !slices.Contains(l.queue, t) {
		return nil
	}
	about := t.lane.subject
	if why := t.lane.typ.holds(about); why != nil {
		return why
	}
	about.Type = ""
	return t.lane.service.holds(about)
}

// adapts reports whether how many there are at once is found out.
func (l *Limiter) adapts(t *turn) bool { return t.kind == Read && l.settings.AtOnce == 0 }

// spends reports whether a call is part of budgets.
func (t *turn) spends() bool { return t.kind == Read || t.kind == Once }

func (l *Limiter) lane(s Subject) *lane {
	if found := l.lanes[s]; found != nil {
		return found
	}
	v := l.services[s.Provider]
	if v == nil {
		v = &service{types: map[string]*usage{}}
		v.budget = l.settings.Budgets[Of{s.Provider, ""}]
		v.reads = crowd{ceiling: mostReads, patience: firstPatience}
		if v.budget.AtOnce > 0 {
			v.reads.ceiling = v.budget.AtOnce
		}
		v.reads.level = min(usual, v.reads.ceiling)
		l.services[s.Provider] = v
	}
	typ := v.types[s.Type]
	if typ == nil {
		typ = &usage{budget: l.settings.Budgets[Of{s.Provider, s.Type}]}
		v.types[s.Type] = typ
	}
	made := &lane{subject: s, service: v, typ: typ}
	l.lanes[s] = made
	return made
}

// A verdict is why a call doesn't begin.
type verdict uint8

const (
	free verdict = iota
	full         // because of others, of whatever kind
	held         // by its own limits only
)

// judge says whether a call may begin, and if only time is lacking, how much.
func (l *Limiter) judge(t *turn, now time.Time) (verdict, time.Duration) {
	if l.adapts(t) {
		if c := &t.lane.service.reads; c.running >= c.level {
			c.wanted = true
			return full, 0
		}
	} else if l.running >= most(l.settings) {
		return full, 0
	}
	if !t.spends() {
		return free, 0
	}
	if t.lane.service.full() || t.lane.typ.full() {
		return held, 0
	}
	at := t.lane.service.next
	for _, other := range []time.Time{t.lane.typ.next, t.lane.next} {
		if other.After(at) {
			at = other
		}
	}
	if wait := at.Sub(now); wait > 0 {
		return held, wait
	}
	return free, 0
}

func (l *Limiter) begin(t *turn, now time.Time) {
	t.began = now
	if l.adapts(t) {
		c := &t.lane.service.reads
		c.running++
		t.round = c.round
	} else {
		l.running++
	}
	if t.spends() {
		t.lane.service.began(now)
		t.lane.typ.began(now)
		t.lane.began(now)
	}
	close(t.came)
}

// dispatch begins what may begin, and sees to it that the rest is inspected again.
func (l *Limiter) dispatch() {
	now := time.Now()
	var soonest time.Duration
	waiting := 0
	rest := l.queue[:0]
	for _, t := range l.queue {
		v, wait := l.judge(t, now)
		if v == free {
			l.begin(t, now)
			continue
		}
		rest = append(rest, t)
		if v == held {
			waiting++
		}
		if wait > 0 && (soonest == 0 || wait < soonest) {
			soonest = wait
		}
	}
	clear(l.queue[len(rest):])
	l.queue = rest
	switch {
	case soonest > 0 && l.timer == nil:
		l.timer = time.AfterFunc(soonest, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.dispatch()
		})
	case soonest > 0:
		l.timer.Reset(soonest)
	case l.timer != nil:
		l.timer.Stop()
	}
	width := most(l.settings) + min(waiting, mostHeld)
	for _, v := range l.services {
		width += max(0, v.reads.level-usual)
	}
	if width != l.width {
		l.width = width
		for tell := range l.told {
			(*tell)(width)
		}
	}
}
