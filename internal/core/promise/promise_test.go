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

	"weir.dev/weir/internal/core/diag"
)

type name string

func (n name) String() string { return string(n) }

func TestCellIsComputedOnceByManyTasks(t *testing.T) {
	rt := NewRuntime(4)
	var cell Cell[int]
	var computed, sum atomic.Int64
	for range 100 {
		rt.Go(func(task *Task) {
			v, _, cycle := cell.Get(task, name("x"), nil, func(*Task) (int, bool) { computed.Add(1); return 7, true })
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
	v, _, cycle := cells[i].Get(task, name(fmt.Sprint(i)), &hcl.Range{Filename: fmt.Sprint(i)}, func(task *Task) (int, bool) {
		return ring(cells, task, (i+1)%len(cells), found), true
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
		c.Get(task, name("a"), nil, func(task *Task) (int, bool) {
			_, _, found = c.Get(task, name("a"), nil, nil)
			return 0, true
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
		user.Get(task, name("user"), nil, func(task *Task) (int, bool) {
			v, _, _ := bad.Get(task, name("bad"), nil, func(*Task) (int, bool) { panic("oops") })
			return v + 1, true
		})
		other.Get(task, name("other"), nil, func(*Task) (int, bool) { return 2, true })
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
		v, _, _ := cells[i].Get(task, nil, nil, func(task *Task) (int, bool) {
			if i == 0 {
				return 1, true
			}
			return get(task, i-1) + 1, true
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
		c.Get(task, name("c"), nil, func(task *Task) (int, bool) {
			v, _, _ := b.Get(task, name("b"), nil, func(task *Task) (int, bool) {
				v, _, _ := a.Get(task, name("a"), nil, func(*Task) (int, bool) { return 1, true })
				return v, true
			})
			return v, true
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
		c.Get(task, name("c"), nil, func(*Task) (int, bool) { close(started); <-gate; return 1, true })
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
			other.Get(task, name("other"), nil, func(*Task) (int, bool) { close(begun); time.Sleep(time.Hour); return 1, true })
		})
		<-begun
		var within time.Duration
		rt.Do(func(task *Task) {
			w := task.Watch()
			defer w.Stop()
			time.Sleep(time.Second)
			outer.Get(task, name("outer"), nil, func(task *Task) (int, bool) {
				time.Sleep(time.Minute)
				w := task.Watch()
				defer w.Stop()
				time.Sleep(2 * time.Second)
				inner.Get(task, name("inner"), nil, func(task *Task) (int, bool) {
					slow.Get(task, name("slow"), nil, func(*Task) (int, bool) { time.Sleep(time.Minute); return 1, true })
					return 1, true
				})
				within = w.Worked()
				return 1, true
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

func problem(s diag.Severity, text string) diag.Diagnostic {
	return diag.Diagnostic{Severity: s, Summary: text}
}

// TestReport: an error fails the cell that reports it and those that read it, and is
// reported once.
func TestReport(t *testing.T) {
	rt := NewRuntime(1)
	var bad, reader, warned, refused Cell[int]
	rt.Do(func(task *Task) {
		_, ok, _ := reader.Get(task, name("reader"), nil, func(task *Task) (int, bool) {
			v, ok, _ := bad.Get(task, name("bad"), nil, func(task *Task) (int, bool) {
				return 1, task.Report(problem(diag.Warning, "first"), problem(diag.Error, "second"))
			})
			if ok {
				t.Error("the read of a failed cell is ok")
			}
			return v, true // what the reader forgets counts all the same
		})
		if ok || bad.Diagnostics().Err() == nil || len(bad.Diagnostics()) != 2 || len(reader.Diagnostics()) != 0 {
			t.Errorf("ok %v, bad %v, reader %v", ok, bad.Diagnostics(), reader.Diagnostics())
		}
		if _, ok, _ := warned.Get(task, name("warned"), nil, func(task *Task) (int, bool) {
			return 1, task.Report(problem(diag.Warning, "only"))
		}); !ok || len(warned.Diagnostics()) != 1 {
			t.Errorf("ok %v: %v", ok, warned.Diagnostics())
		}
		if _, ok, _ := refused.Get(task, name("refused"), nil, func(*Task) (int, bool) { return 1, false }); ok || !refused.Failed() {
			t.Error("a cell whose value isn't ok hasn't failed")
		}
	})
	if l := rt.Diagnostics(); len(l) != 0 {
		t.Errorf("outside of cells: %v", l)
	}
}

// TestReportOutside: the runtime has what tasks report outside of cells.
func TestReportOutside(t *testing.T) {
	rt := NewRuntime(4)
	for range 10 {
		rt.Go(func(task *Task) {
			if task.Report(problem(diag.Error, "outside")) {
				t.Error("an error is ok")
			}
		})
	}
	rt.Wait()
	if l := rt.Diagnostics(); len(l) != 10 {
		t.Errorf("%d problems", len(l))
	}
}

// TestParts: parts of a computation fail by themselves, and their problems can be collected,
// edited or left to nobody.
func TestParts(t *testing.T) {
	rt := NewRuntime(1)
	var bad Cell[int]
	fail := func(task *Task) {
		bad.Get(task, name("bad"), nil, func(task *Task) (int, bool) { return 0, task.Report(problem(diag.Error, "elsewhere")) })
	}
	mild := func(l diag.List) diag.List {
		for i := range l {
			l[i].Severity = diag.Warning
		}
		return l
	}
	compute := func(work func(*Task) bool) *Node {
		var c Cell[bool]
		rt.Do(func(task *Task) {
			c.Get(task, name("c"), nil, func(task *Task) (bool, bool) {
				task.Report(problem(diag.Warning, "before"))
				c.value = work(task)
				return c.value, true
			})
		})
		if v, _ := c.Peek(); v == c.Failed() {
			t.Errorf("the part is %v, the cell's failure %v: %v", v, c.Failed(), c.Diagnostics())
		}
		return &c.Node
	}
	for what, tt := range map[string]struct {
		work   func(*Task) bool
		failed bool
		all    int
		reads  int
	}{
		"a part that reports": {func(task *Task) bool {
			return task.Within(func(task *Task) { task.Report(problem(diag.Error, "here")) })
		}, true, 2, 0},
		"a part that reads": {func(task *Task) bool { return task.Within(fail) }, true, 1, 1},
		"tried": {func(task *Task) bool {
			l, ok := task.Try(func(task *Task) { fail(task); task.Report(problem(diag.Error, "here")) })
			return !ok && len(l) == 1
		}, false, 1, 0},
		"collected": {func(task *Task) bool {
			return len(task.Collect(func() { task.Report(problem(diag.Error, "here")) })) == 1
		}, false, 1, 0},
		"collected, with a read": {func(task *Task) bool {
			return task.Collect(func() { fail(task); task.Report(problem(diag.Error, "here")) }) == nil
		}, true, 1, 1},
		"made milder": {func(task *Task) bool {
			return task.Amend(mild, func() { task.Report(problem(diag.Error, "here")) })
		}, false, 2, 0},
		"made milder, with a read": {func(task *Task) bool {
			return task.Amend(mild, func() { fail(task); task.Report(problem(diag.Error, "here")) })
		}, true, 2, 1},
	} {
		t.Run(what, func(t *testing.T) {
			n := compute(tt.work)
			if n.Failed() != tt.failed || len(n.Diagnostics()) != tt.all || len(n.Deps()) != tt.reads {
				t.Errorf("failed %v, %v, %d reads", n.Failed(), n.Diagnostics(), len(n.Deps()))
			}
		})
	}
}
