package ratelimit

import (
	"math"
	"time"
)

// A crowd is how many reads of a service pay, as in congestion control by delay: their
// number doubles while that hardly makes them slower, type by type, than few at once are,
// and is halved where it does. So a service that only gets slower has as many as usual.
// Where most reads are of types of which nobody knows how long they take among few, there
// are as many as usual until that is known.
type crowd struct {
	running int
	level   int // at once
	ceiling int
	// of this round: the time of reads, those of which there is something to compare with
	// and how much slower these were, the others, and whether some waited for them
	round    int
	time     time.Duration
	compared int
	slower   float64
	others   int
	wanted   bool
	// rest is how many rounds the level stays; patience that after the next time.
	rest, patience int
}

const (
	leastRound    = 20 // reads
	firstPatience = 4
	longPatience  = 64
	// shortest is the time of reads that wait for nothing outside.
	shortest = 2 * time.Millisecond
	// Reads that take so many times longer on average: more may be tried, or there are
	// too many.
	alike, tooSlow = 1.4, 1.75
)

// took counts a read, and ends the round where there were enough.
func (c *crowd) took(t *turn, d time.Duration) {
	if t.round != c.round {
		return // it began among fewer, or more
	}
	c.time += d
	if slower, ok := t.lane.compare(d, c.level); ok {
		c.compared++
		c.slower += slower
	} else {
		c.others++
	}
	usual, round := min(usual, c.ceiling), max(leastRound, c.level)
	if c.compared < round && c.others < round {
		return
	}
	slower, mean := 1.0, c.time/time.Duration(c.compared+c.others)
	if c.compared > 0 {
		slower = c.slower / float64(c.compared)
	}
	switch {
	case c.level > usual && c.compared < round:
		c.level = usual
	case c.level > usual && slower > tooSlow:
		c.level = max(usual, c.level/2)
		c.rest, c.patience = c.patience, min(2*c.patience, longPatience)
	case c.rest > 0:
		c.rest--
	case c.wanted && slower <= alike && mean >= shortest:
		c.level = min(2*c.level, c.ceiling)
	}
	c.round++
	c.time, c.compared, c.slower, c.others, c.wanted = 0, 0, 0, 0, false
}

// A lane is what is known of calls about one subject: how long reads take, and how many calls
// a second the service allows.
//
// That is found by multiplicative decrease: a refusal brings the rate a little below what was
// answered just before, and then it grows, slowly at first and faster the longer nothing is
// rejected; quickly as long as there were too few answers to tell.
type lane struct {
	subject Subject
	service *service
	typ     *usage

	// reference is what a read takes among the fewest that there were, of which few have
	// been measured.
	reference time.Duration
	fewest    int
	measured  int

	rate   float64 // calls a second when something was rejected last; 0: no limit
	cut    time.Time
	next   time.Time
	recent []time.Time // the last answers, at most enough
	// search: nothing is known of the rate but that it is more. sent are the calls since then
	// that weren't rejected.
	search bool
	sent   int
}

const (
	decrease  = 0.95
	leastRate = 1.0 // calls a second
	firstRate = 4.0 // the same, where nothing is known
	enough    = 16  // answers to know a rate by, and reads for their time
)

// compare says how many times as long a read took as among fewer, if that is known.
func (l *lane) compare(d time.Duration, level int) (slower float64, ok bool) {
	if l.measured == 0 || level < l.fewest {
		l.fewest, l.measured, l.reference = level, 0, 0
	}
	if level == l.fewest {
		l.measured = min(l.measured+1, enough)
		l.reference += (d - l.reference) / time.Duration(l.measured)
		return 1, false
	}
	return float64(d) / float64(max(l.reference, 1)), true
}

// allowed is how many calls a second there may be now; 0 is for no limit.
func (l *lane) allowed(now time.Time) float64 {
	if l.rate == 0 {
		return 0
	}
	const unlimited = 30 // seconds without a refusal
	t := now.Sub(l.cut).Seconds()
	switch {
	case t > unlimited:
		l.rate = 0
		return 0
	case l.search:
		return l.rate * math.Exp2(2*t)
	}
	return l.rate * math.Exp(t*t/100)
}

// began takes the time that a call has to itself.
func (l *lane) began(now time.Time) {
	if rate := l.allowed(now); rate > 0 {
		l.next = now.Add(each(rate))
		l.sent++
	}
}

// answered notes that the service has answered.
func (l *lane) answered(now time.Time) {
	if len(l.recent) == enough {
		copy(l.recent, l.recent[1:])
		l.recent = l.recent[:enough-1]
	}
	l.recent = append(l.recent, now)
}

// refused slows down, once for all calls that were under way. The result is there for the
// first refusal in a while.
func (l *lane) refused(t *turn, now time.Time) *Slowed {
	l.sent--
	if t.began.Before(l.cut) {
		return nil
	}
	allowed, answered := l.allowed(now), 0.0
	if len(l.recent) == enough {
		answered = enough / max(now.Sub(l.recent[0]).Seconds(), 0.001)
	}
	rate := allowed
	switch {
	case allowed == 0 && answered == 0:
		rate, l.search, l.sent = firstRate, true, 0
	case allowed == 0:
		rate, l.search = answered, false
	case l.search && l.sent < enough:
		rate = allowed / 2
	case l.search:
		l.search = false // the last answers are to calls that began when there were far fewer
	case answered > 0:
		rate = min(allowed, answered)
	}
	l.rate, l.cut = max(leastRate, decrease*rate), now
	l.next = now.Add(each(l.rate))
	if allowed > 0 {
		return nil
	}
	return &Slowed{Subject: l.subject, PerSecond: l.rate}
}
