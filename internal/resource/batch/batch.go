// Package batch combines concurrent requests of several tasks, for objects of one type, into
// one call of a provider.
//
// It owns who goes with whom: a task that asks waits, and others take its place, until as many
// have come as the provider takes in one call, or no task is at work any more that could still
// come. Nothing waits for a clock, and what waits for its turn in a full house still takes in
// others. It doesn't know what is asked: each task continues, when the turn has come, with a
// provider of its own that looks like any other, so that what holds for one object by itself
// holds here.
package batch

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/trace"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/ratelimit"
)

// A Key is what calls have in common that may be one: whom they ask, about which type, what.
type Key struct {
	Provider addr.ProviderConfig
	Type     string
	Kind     ratelimit.Kind
}

// A Gather has the batches of one run.
type Gather struct {
	rt *promise.Runtime

	mu   sync.Mutex
	open map[Key]*batch // which others can join
}

// New makes a gather for tasks of a runtime.
func New(rt *promise.Runtime) *Gather {
	g := &Gather{rt: rt, open: map[Key]*batch{}}
	rt.Quiet(g.flush)
	return g
}

// A Provider is one that takes batches.
type Provider interface {
	provider.Provider
	provider.Batching
}

// A batch is a call about the objects of its members.
type batch struct {
	gather  *Gather
	key     Key
	asked   Provider
	turn    func(func() diag.List)
	members []*member
	led     bool // a member makes the call; the others only wait
	done    chan struct{}
}

// A member is a task with its question.
type member struct {
	task     *promise.Task
	call     func(provider.Provider) diag.List
	diags    diag.List
	panicked any
}

// Do makes a call of p about one object, together with at most so many others. turn makes the
// call when its turn comes, and again where its problems, those of all that were rejected,
// allow that; it is asked once for all. call gets the provider to ask, once for each time; the
// result are the problems of the last.
func (g *Gather) Do(t *promise.Task, k Key, p Provider, most int, turn func(func() diag.List), call func(provider.Provider) diag.List) diag.List {
	m := &member{task: t, call: call}
	g.mu.Lock()
	b := g.open[k]
	if b == nil {
		b = &batch{gather: g, key: k, asked: p, turn: turn, done: make(chan struct{})}
		g.open[k] = b
	}
	b.members = append(b.members, m)
	begin := false
	if len(b.members) >= most {
		delete(g.open, k)
		begin, b.led = !b.led, true
	}
	g.mu.Unlock()
	if begin {
		go b.lead()
	}
	t.Park(b.done)
	if m.panicked != nil {
		panic(m.panicked) // where the task's own would be
	}
	return m.diags
}

// flush starts the batches that no running task can join any more. It does nothing if a task runs
// again, because that one may still join.
func (g *Gather) flush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.rt.IsQuiet() {
		return
	}
	for _, b := range g.open {
		if !b.led {
			b.led = true
			go b.lead()
		}
	}
}

// lead waits for the turn of a batch, and makes it.
func (b *batch) lead() {
	var rest []*member
	first := true
	defer func() {
		b.close()
		tasks := make([]*promise.Task, len(b.members))
		for i, m := range b.members {
			tasks[i] = m.task
		}
		promise.Unpark(tasks)
		close(b.done)
	}()
	b.turn(func() (refused diag.List) {
		if first {
			b.close()
			rest, first = b.members, false
		}
		if len(rest) == 1 {
			rest[0].run(b.asked)
		} else {
			(&table{asked: b.asked, events: make(chan *question, len(rest))}).serve(rest)
		}
		rest = slices.DeleteFunc(slices.Clone(rest), func(m *member) bool {
			tooOften, _ := provider.AskedTooOften(m.diags)
			if tooOften {
				refused.Append(m.diags)
			}
			return !tooOften
		})
		return refused
	})
}

// close lets nobody join any more.
func (b *batch) close() {
	g := b.gather
	g.mu.Lock()
	if g.open[b.key] == b {
		delete(g.open, b.key)
	}
	g.mu.Unlock()
}

// run makes a member's call.
func (m *member) run(p provider.Provider) {
	defer func() {
		if v := recover(); v != nil {
			m.panicked = fmt.Sprintf("%v\n%s", v, debug.Stack())
		}
	}()
	m.diags = m.call(p)
}

// A table is where the questions of a batch meet.
type table struct {
	asked  Provider
	events chan *question // nil from those who have no question any more
}

// A question is a request of a member; its type says which call it is for.
type question struct {
	ctx     context.Context
	about   addr.Instance
	request any
	answer  chan any
}

// A bug is the answer where the provider has panicked.
type bug struct{ panicked any }

// serve has the members make their calls. Whenever all that are left have a question, these
// are asked together.
func (t *table) serve(members []*member) {
	for _, m := range members {
		go func() {
			defer func() { t.events <- nil }()
			m.run(&seat{t.asked, t})
		}()
	}
	for open := len(members); open > 0; {
		var asked []*question
		for range open {
			if q := <-t.events; q != nil {
				asked = append(asked, q)
			}
		}
		open = len(asked)
		slices.SortFunc(asked, func(a, b *question) int { return a.about.Compare(b.about) })
		t.ask(asked)
	}
}

// ask asks all questions, those of one kind in one call.
func (t *table) ask(all []*question) {
	together(all, t.asked.Read, t.asked.ReadMany)
	together(all, t.asked.Plan, t.asked.PlanMany)
	together(all, t.asked.Apply, t.asked.ApplyMany)
}

func together[Q, R any](all []*question, alone func(context.Context, Q) R, many func(context.Context, []Q) []R) {
	var asked []*question
	var requests []Q
	for _, q := range all {
		if r, ok := q.request.(Q); ok {
			asked, requests = append(asked, q), append(requests, r)
		}
	}
	if len(asked) == 0 {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			for _, q := range asked {
				q.answer <- bug{fmt.Sprintf("%v\n%s", v, debug.Stack())}
			}
		}
	}()
	var answers []R
	if len(asked) == 1 {
		answers = []R{alone(asked[0].ctx, requests[0])}
	} else {
		metrics.Batched.Add(len(asked) - 1)
		answers = many(trace.About(asked[0].ctx, several{asked[0].about, len(asked) - 1}), requests)
	}
	if len(answers) != len(asked) {
		panic(fmt.Sprintf("%d questions have %d answers", len(asked), len(answers)))
	}
	for i, q := range asked {
		q.answer <- answers[i]
	}
}

// several names the objects of a call in traces.
type several struct {
	first addr.Instance
	more  int
}

func (s several) String() string { return fmt.Sprintf("%s and %d more", s.first, s.more) }

// A seat is the provider of a member.
type seat struct {
	provider.Provider
	table *table
}

func ask[R, Q any](s *seat, ctx context.Context, about addr.Instance, request Q) R {
	q := &question{ctx, about, request, make(chan any, 1)}
	s.table.events <- q
	answer := <-q.answer
	if b, ok := answer.(bug); ok {
		panic(b.panicked)
	}
	return answer.(R) // by together
}

// Read implements provider.Provider.
func (s *seat) Read(ctx context.Context, r provider.ReadRequest) provider.ReadResponse {
	return ask[provider.ReadResponse](s, ctx, r.Addr, r)
}

// Plan implements provider.Provider.
func (s *seat) Plan(ctx context.Context, r provider.PlanRequest) provider.PlanResponse {
	return ask[provider.PlanResponse](s, ctx, r.Addr, r)
}

// Apply implements provider.Provider.
func (s *seat) Apply(ctx context.Context, r provider.ApplyRequest) provider.ApplyResponse {
	return ask[provider.ApplyResponse](s, ctx, r.Addr, r)
}
