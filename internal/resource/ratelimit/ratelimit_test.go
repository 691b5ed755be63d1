package ratelimit_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/resource/ratelimit"
)

// A service answers after a while, in the time of the bubble.
type service struct {
	latency time.Duration
	// servers is how many calls it works on at once, 0 for any number; the others wait.
	servers int
	// perSecond and burst are those of a token bucket; what is beyond is rejected at once.
	perSecond, burst float64

	mu      sync.Mutex
	running int
	most    int // at once
	busy    time.Duration
	free    []time.Time // when each server has answered what it was asked
	tokens  float64
	at      time.Time
	calls   int
	refused int
	begins  []time.Time
}

func (s *service) call() ratelimit.Answer {
	s.mu.Lock()
	now := time.Now()
	s.begins = append(s.begins, now)
	s.calls++
	if s.perSecond > 0 {
		if s.at.IsZero() {
			s.tokens = s.burst
		} else {
			s.tokens = min(s.burst, s.tokens+now.Sub(s.at).Seconds()*s.perSecond)
		}
		if s.at = now; s.tokens < 1 {
			s.refused++
			s.mu.Unlock()
			return ratelimit.Answer{Refused: true}
		}
		s.tokens--
	}
	s.running++
	s.most = max(s.most, s.running)
	latency := s.latency
	if s.servers > 0 {
		if s.free == nil {
			s.free = make([]time.Time, s.servers)
		}
		first := 0
		for i, at := range s.free {
			if at.Before(s.free[first]) {
				first = i
			}
		}
		if s.free[first].After(now) {
			latency += s.free[first].Sub(now)
		}
		s.free[first] = now.Add(latency)
	}
	s.busy += latency
	s.mu.Unlock()
	time.Sleep(latency)
	s.mu.Lock()
	s.running--
	s.mu.Unlock()
	return ratelimit.Answer{}
}

var sim = addr.OpenTofu.Provider("sim")

func about(typ string) ratelimit.Subject {
	return ratelimit.Subject{Provider: sim, Mode: addr.Managed, Type: typ}
}

// ask makes n calls by a crowd that grows as the limiter says, and returns how long that
// takes.
func ask(l *ratelimit.Limiter, k ratelimit.Kind, typ string, s *service, n int) time.Duration {
	began := time.Now()
	var mu sync.Mutex
	room, active := 0, 0
	changed := sync.NewCond(&mu)
	stop := l.Watch(func(width int) {
		mu.Lock()
		room = width + 4
		mu.Unlock()
		changed.Broadcast()
	})
	var all sync.WaitGroup
	for range n {
		mu.Lock()
		for active >= room {
			changed.Wait()
		}
		active++
		mu.Unlock()
		all.Go(func() {
			l.Do(context.Background(), k, about(typ), s.call, nil)
			mu.Lock()
			active--
			mu.Unlock()
			changed.Broadcast()
		})
	}
	all.Wait()
	stop()
	return time.Since(began)
}

// TestReadsFollowTheService: with a service that allows a hundred calls at once reads take a
// seventh of the time that ten at once take, and others than reads as long as before.
func TestReadsFollowTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, servers := range []int{0, 100} {
			quick := &service{latency: 100 * time.Millisecond, servers: servers}
			ten := &service{latency: 100 * time.Millisecond, servers: servers}
			took, before := ask(ratelimit.New(ratelimit.Settings{}), ratelimit.Read, "a", quick, 2000), ask(ratelimit.New(ratelimit.Settings{AtOnce: 10}), ratelimit.Read, "a", ten, 2000)
			if before != 20*time.Second || ten.most != 10 {
				t.Errorf("ten at once take %s, %d at once", before, ten.most)
			}
			if ratio := took.Seconds() / before.Seconds(); ratio > 0.15 || quick.most != 100 {
				t.Errorf("reads take %s with %d at once, %.3f of the time that ten at once take", took, quick.most, ratio)
			}
			for _, k := range []ratelimit.Kind{ratelimit.Local, ratelimit.Plan, ratelimit.Once} {
				s := &service{latency: 100 * time.Millisecond}
				if ask(ratelimit.New(ratelimit.Settings{}), k, "a", s, 200); s.most != 10 {
					t.Errorf("%d calls of kind %d at once", s.most, k)
				}
			}
		}
	})
}

// TestSlowServicesAreLeftAlone: where more at once only take longer there are as many as
// before, nearly all of the time, and it takes as long.
func TestSlowServicesAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, servers := range []int{1, 5, 10} {
			s := &service{latency: 20 * time.Millisecond, servers: servers}
			before := ask(ratelimit.New(ratelimit.Settings{AtOnce: 10}), ratelimit.Read, "a", &service{latency: 20 * time.Millisecond, servers: servers}, 3000)
			took := ask(ratelimit.New(ratelimit.Settings{}), ratelimit.Read, "a", s, 3000)
			if s.most > 40 || s.busy.Seconds()/took.Seconds() > 13 || took > before+before/20 {
				t.Errorf("%d servers: %s in place of %s, %d at once, %.1f on average", servers, took, before, s.most, s.busy.Seconds()/took.Seconds())
			}
		}
		// One that allows thirty has about as many.
		s := &service{latency: 100 * time.Millisecond, servers: 30}
		took := ask(ratelimit.New(ratelimit.Settings{}), ratelimit.Read, "a", s, 3000)
		if at := s.busy.Seconds() / took.Seconds(); at < 25 || at > 50 || s.most > 80 {
			t.Errorf("30 servers have %.1f calls at once on average, and %d at most", at, s.most)
		}
		// Anything that is done within the process isn't worth more.
		quick := &service{latency: time.Millisecond}
		if ask(ratelimit.New(ratelimit.Settings{}), ratelimit.Read, "a", quick, 500); quick.most != 10 {
			t.Errorf("%d calls of a millisecond at once", quick.most)
		}
	})
}

// TestRefusalsAreObeyed: of a service that rejects what is beyond its limit, nine tenths of
// the limit are used, few calls are rejected, and all are answered in the end.
func TestRefusalsAreObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, burst := range []float64{1, 5, 50, 100} {
			for _, latency := range []time.Duration{5 * time.Millisecond, 100 * time.Millisecond, time.Second} {
				for _, given := range []int{0, 60} {
					s := &service{latency: latency, perSecond: 50, burst: burst}
					took := ask(ratelimit.New(ratelimit.Settings{AtOnce: given}), ratelimit.Read, "a", s, 2000)
					used := (2000 - burst) / 50 / took.Seconds()
					what := fmt.Sprintf("burst %.0f, latency %s, given %d: %s, %.2f of the limit, %d of %d calls refused", burst, latency, given, took, used, s.refused, s.calls)
					least := 0.85 // rarely under 0.9: who asks first is chance
					if latency == time.Second {
						least = 0.7 // it takes seconds until anything is known
					}
					if s.calls-s.refused != 2000 || used < least || s.refused > 150 {
						t.Error(what)
					}
				}
			}
		}
	})
}

// TestOnceIsOnce: what changes something isn't made again, and the rest not for ever, and
// not when nobody waits for it any more.
func TestOnceIsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for k, want := range map[ratelimit.Kind]int{ratelimit.Local: 1, ratelimit.Once: 1, ratelimit.Plan: 15, ratelimit.Read: 15} {
			calls, told := 0, 0
			l := ratelimit.New(ratelimit.Settings{})
			began := time.Now()
			l.Do(t.Context(), k, about("a"), func() ratelimit.Answer {
				calls++
				return ratelimit.Answer{Refused: true}
			}, func(s ratelimit.Slowed) {
				told++
				if s.Type != "a" || s.PerSecond != 3.8 {
					t.Errorf("told %v", s)
				}
			})
			if calls != want || time.Since(began) > 5*time.Minute || (k == ratelimit.Read || k == ratelimit.Once) != (told > 0) {
				t.Errorf("a call of kind %d was made %d times in %s; %d times told", k, calls, time.Since(began), told)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		began := time.Now()
		ratelimit.New(ratelimit.Settings{}).Do(ctx, ratelimit.Read, about("a"), func() ratelimit.Answer {
			if calls++; calls == 2 {
				cancel()
			}
			return ratelimit.Answer{Refused: true, After: 7 * time.Second}
		}, nil)
		if took := time.Since(began); calls != 2 || took != 7*time.Second {
			t.Errorf("%d calls in %s", calls, took)
		}
		// An answer that says to come back in an hour is the last.
		calls = 0
		ratelimit.New(ratelimit.Settings{}).Do(t.Context(), ratelimit.Read, about("a"), func() ratelimit.Answer {
			calls++
			return ratelimit.Answer{Refused: true, After: time.Hour}
		}, nil)
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
	})
}

// TestBudgetsHold: in no second there are more calls, and never more at once, than budgets
// of the provider and of the type say, whatever the calls are for; other types go on.
func TestBudgetsHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, k := range []ratelimit.Kind{ratelimit.Read, ratelimit.Once} {
			for _, of := range []ratelimit.Of{{Provider: sim}, {Provider: sim, Type: "a"}} {
				s := &service{latency: time.Second}
				l := ratelimit.New(ratelimit.Settings{Budgets: map[ratelimit.Of]ratelimit.Budget{of: {AtOnce: 4, PerSecond: 3.5}}})
				took := ask(l, k, "a", s, 100)
				if s.most > 4 || took > 30*time.Second {
					t.Errorf("%d at once, in %s", s.most, took)
				}
				for i, at := range s.begins {
					if i >= 4 && at.Sub(s.begins[i-4]) < time.Second {
						t.Errorf("five calls in %s", at.Sub(s.begins[i-4]))
					}
				}
				few := &service{latency: time.Second}
				l = ratelimit.New(ratelimit.Settings{Budgets: map[ratelimit.Of]ratelimit.Budget{of: {AtOnce: 4}}})
				if ask(l, k, "a", few, 100); few.most != 4 {
					t.Errorf("%d at once", few.most)
				}
			}
		}
		// More than a hundred at once are read where a budget says so.
		s := &service{latency: 100 * time.Millisecond}
		l := ratelimit.New(ratelimit.Settings{Budgets: map[ratelimit.Of]ratelimit.Budget{{Provider: sim}: {AtOnce: 200}}})
		if ask(l, ratelimit.Read, "a", s, 4000); s.most != 200 {
			t.Errorf("%d at once", s.most)
		}
		// The wait of one type doesn't make another one wait.
		slow, quick := &service{latency: time.Millisecond}, &service{latency: 100 * time.Millisecond}
		l = ratelimit.New(ratelimit.Settings{Budgets: map[ratelimit.Of]ratelimit.Budget{{Provider: sim, Type: "a"}: {PerSecond: 1}}})
		var all sync.WaitGroup
		all.Go(func() { ask(l, ratelimit.Read, "a", slow, 60) })
		synctest.Wait()
		if took := ask(l, ratelimit.Read, "b", quick, 100); took > 2*time.Second {
			t.Errorf("calls of another type take %s", took)
		}
		all.Wait()
	})
}

// TestManyTypes: types of one provider have no more at once together than the one that allows
// most.
func TestManyTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{latency: 50 * time.Millisecond, servers: 10}
		l := ratelimit.New(ratelimit.Settings{})
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() { ask(l, ratelimit.Read, fmt.Sprint(i), s, 300) })
		}
		all.Wait()
		if s.most > 25 {
			t.Errorf("%d at once", s.most)
		}
		free := &service{latency: 50 * time.Millisecond}
		l = ratelimit.New(ratelimit.Settings{})
		for i := range 8 {
			all.Go(func() { ask(l, ratelimit.Read, fmt.Sprint(i), free, 300) })
		}
		all.Wait()
		if free.most > 100 || free.most < 80 {
			t.Errorf("%d at once", free.most)
		}
	})
}
