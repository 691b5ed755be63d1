package promise

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/hcl/v2"
)

type name string

func (n name) String() string { return string(n) }

func TestCellIsComputedOnceByManyTasks(t *testing.T) {
	rt := NewRuntime(4)
	var cell Cell[int]
	var computed, sum atomic.Int64
	for range 100 {
		rt.Go(func(task *Task) {
			v, cycle := cell.Get(task, name("x"), nil, func(*Task) int { computed.Add(1); return 7 })
			if cycle != nil {
				t.Error("unexpected cycle")
			}
			sum.Add(int64(v))
		})
	}
	rt.Wait()
	if computed.Load() != 1 || sum.Load() != 700 {
		t.Errorf("computed %d times, sum %d", computed.Load(), sum.Load())
	}
}

// A ring evaluates cell i by asking cell i+1 of a circle.
func ring(cells []Cell[int], task *Task, i int, found func(Cycle)) int {
	v, cycle := cells[i].Get(task, name(fmt.Sprint(i)), &hcl.Range{Filename: fmt.Sprint(i)}, func(task *Task) int {
		return ring(cells, task, (i+1)%len(cells), found)
	})
	if cycle != nil {
		found(cycle)
	}
	return v
}

func TestCycleIsFoundFromWhateverSide(t *testing.T) {
	for range 200 {
		rt := NewRuntime(8)
		cells := make([]Cell[int], 12)
		var mu sync.Mutex
		var cycles []Cycle
		for i := range cells {
			rt.Go(func(task *Task) {
				ring(cells, task, i, func(c Cycle) {
					mu.Lock()
					cycles = append(cycles, c)
					mu.Unlock()
				})
			})
		}
		rt.Wait()
		if len(cycles) != 1 {
			t.Fatalf("%d cycles reported", len(cycles))
		}
		seen := map[string]bool{}
		for _, link := range cycles[0] {
			seen[link.Subject.String()] = true
		}
		if len(cycles[0]) != 12 || len(seen) != 12 {
			t.Fatalf("a chain of %d links, %d of them different", len(cycles[0]), len(seen))
		}
		for i := range cells {
			if !cells[i].Failed() {
				t.Fatalf("cell %d in the circle isn't failed", i)
			}
		}
	}
}

func TestSelfCycle(t *testing.T) {
	rt := NewRuntime(1)
	var c Cell[int]
	var found Cycle
	rt.Do(func(task *Task) {
		c.Get(task, name("a"), nil, func(task *Task) int {
			_, found = c.Get(task, name("a"), nil, nil)
			return 0
		})
	})
	if len(found) != 1 || found[0].Subject.String() != "a" {
		t.Errorf("cycle %v", found)
	}
}

func TestPanicFailsOneCell(t *testing.T) {
	rt := NewRuntime(1)
	var bad, user, other Cell[int]
	rt.Go(func(task *Task) {
		user.Get(task, name("user"), nil, func(task *Task) int {
			v, _ := bad.Get(task, name("bad"), nil, func(*Task) int { panic("oops") })
			return v + 1
		})
		other.Get(task, name("other"), nil, func(*Task) int { return 2 })
	})
	rt.Wait()
	if !bad.Failed() || !user.Failed() || other.Failed() {
		t.Errorf("failed: bad %v, user %v, other %v", bad.Failed(), user.Failed(), other.Failed())
	}
	if p := rt.Panics(); len(p) != 1 || p[0].Value != "oops" || p[0].Subject.String() != "bad" {
		t.Errorf("panics %v", p)
	}
}

func TestLongChain(t *testing.T) {
	const n = 100_000
	rt := NewRuntime(1)
	cells := make([]Cell[int], n)
	var get func(task *Task, i int) int
	get = func(task *Task, i int) int {
		v, _ := cells[i].Get(task, nil, nil, func(task *Task) int {
			if i == 0 {
				return 1
			}
			return get(task, i-1) + 1
		})
		return v
	}
	rt.Do(func(task *Task) {
		if got := get(task, n-1); got != n {
			t.Errorf("got %d", got)
		}
	})
}

func TestDepsAreDirectReads(t *testing.T) {
	rt := NewRuntime(1)
	var a, b, c Cell[int]
	rt.Do(func(task *Task) {
		c.Get(task, name("c"), nil, func(task *Task) int {
			v, _ := b.Get(task, name("b"), nil, func(task *Task) int {
				v, _ := a.Get(task, name("a"), nil, func(*Task) int { return 1 })
				return v
			})
			return v
		})
	})
	var deps []string
	for _, d := range c.Deps() {
		deps = append(deps, d.Subject.String())
	}
	if got := strings.Join(deps, " "); got != "b" {
		t.Errorf("c depends on %q", got)
	}
}

// More tasks than the limit wait for one that the limit keeps in the queue.
func TestWaitingTasksMakeRoom(t *testing.T) {
	rt := NewRuntime(1)
	var c Cell[int]
	gate := make(chan struct{})
	started := make(chan struct{})
	rt.Go(func(task *Task) {
		c.Get(task, name("c"), nil, func(*Task) int { close(started); <-gate; return 1 })
	})
	<-started
	for range 100 {
		rt.Go(func(task *Task) { c.Get(task, name("c"), nil, nil) })
	}
	rt.Go(func(*Task) { close(gate) })
	rt.Wait()
}

// TestWatch: a watch counts what the task does itself, at whatever depth, and nothing that
// it computes for others or waits for.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := NewRuntime(2)
		var slow, inner, outer, other Cell[int]
		begun := make(chan struct{})
		rt.Go(func(task *Task) {
			other.Get(task, name("other"), nil, func(*Task) int { close(begun); time.Sleep(time.Hour); return 1 })
		})
		<-begun
		var within time.Duration
		rt.Do(func(task *Task) {
			w := task.Watch()
			defer w.Stop()
			time.Sleep(time.Second)
			outer.Get(task, name("outer"), nil, func(task *Task) int {
				time.Sleep(time.Minute)
				w := task.Watch()
				defer w.Stop()
				time.Sleep(2 * time.Second)
				inner.Get(task, name("inner"), nil, func(task *Task) int {
					slow.Get(task, name("slow"), nil, func(*Task) int { time.Sleep(time.Minute); return 1 })
					return 1
				})
				within = w.Worked()
				return 1
			})
			other.Get(task, name("other"), nil, nil)
			task.Elsewhere(func() { time.Sleep(time.Hour) })
			time.Sleep(time.Second)
			if d := w.Worked(); d != 2*time.Second || within != 2*time.Second {
				t.Errorf("worked for %s, and %s within", d, within)
			}
		})
		rt.Wait()
	})
}
