package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/moduletest"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/moduletest/testresult"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
)

var update = flag.Bool("update", false, "write the counters anew")

// A scaled workload is one whose work has to grow with its size.
type scaled struct {
	name          string
	n             int // the smaller size of the gate; the bigger is four times that
	degree        int
	depth, fanout int
	size          func(p *params, n int)
}

var gated = []scaled{
	{name: "static", n: 250},
	{name: "count", n: 150},
	{name: "cross", n: 150},
	{name: "foreach", n: 150},
	{name: "modules", n: 40},
	{name: "calls", n: 40},
	{name: "chain", n: 250},
	{name: "dense", n: 300, degree: 10},
	{name: "exprs", n: 150},
	{name: "nested", n: 4, depth: 2, size: func(p *params, n int) { p.fanout = n }},
	{name: "nestcalls", n: 4, depth: 2, size: func(p *params, n int) { p.fanout = n }},
}

// growth is by how much work may grow when a workload grows four times: an
// exponent of 1.1.
const growth = 4.6

// TestLinear holds every step of every workload to linear growth, by memory
// allocated and by the counters. No clock is involved.
func TestLinear(t *testing.T) {
	for _, w := range gated {
		t.Run(w.name, func(t *testing.T) {
			few, many := measure(t, w, w.n), measure(t, w, 4*w.n)
			factor := 1.0
			if w.size != nil { // n modules on each level, so n² instances
				factor = 4
			}
			for _, s := range steps {
				a, b := few[s.name], many[s.name]
				for _, name := range slices.Sorted(maps.Keys(a)) {
					if a[name] < 100 || name == "objects" && a[name] < 10_000 {
						continue // constants weigh too much
					}
					if ratio := float64(b[name]) / float64(a[name]) / factor; ratio > growth {
						t.Errorf("%s: %s grew %.2f times, from %d to %d, with a workload of 4 times the size", s.name, name, ratio, a[name], b[name])
					}
				}
			}
		})
	}
}

// measure runs the steps and returns, for each, its counters and allocations.
func measure(t *testing.T, w scaled, n int) map[string]map[string]int64 {
	e := newEstate(t, w, n)
	all := map[string]map[string]int64{}
	for _, s := range steps {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		counts := metrics.Count(func() { s.do(e) })
		runtime.ReadMemStats(&after)
		counts["bytes allocated"] = int64(after.TotalAlloc - before.TotalAlloc)
		counts["objects allocated"] = int64(after.Mallocs - before.Mallocs)
		all[s.name] = counts
	}
	return all
}

// TestRunsAreLinear: what tests cost grows with the number of runs, whatever these
// are about, and no process of a mocked provider is there to do it.
func TestRunsAreLinear(t *testing.T) {
	few, many := testCost(t, 20), testCost(t, 80)
	for name, a := range few {
		if ratio := float64(many[name]) / float64(a); ratio > growth {
			t.Errorf("%s grew %.2f times, from %d to %d, with 4 times as many runs", name, ratio, a, many[name])
		}
	}
}

// testCost carries out a test of n runs.
func testCost(t *testing.T, n int) map[string]int64 {
	e := newEstate(t, scaled{name: "tests"}, n)
	files, diags := testfile.Load(module.Disk{}, e.dir, "tests", dialect.OpenTofu)
	e.check(diags)
	all := testresult.New(files)
	report := &starts{}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	moduletest.Run(t.Context(), all, moduletest.Options{
		World: engine.World{Catalog: report, WorkDir: e.dir, OriginalDir: "/", Workspace: "default", Now: func() time.Time { return now }, Parallelism: 1},
		Dir:   e.dir, Files: module.Disk{}, Sources: map[string][]byte{}, Report: report,
	})
	runtime.ReadMemStats(&after)
	if all.Status != testresult.Pass || all.Count(testresult.Pass) != n {
		t.Fatalf("%d of %d runs pass: %v", all.Count(testresult.Pass), n, all.Files[0].Runs[0].Diags)
	}
	if report.n > 0 {
		t.Errorf("%d providers were started", report.n)
	}
	return map[string]int64{"bytes allocated": int64(after.TotalAlloc - before.TotalAlloc), "objects allocated": int64(after.Mallocs - before.Mallocs)}
}

// starts counts the providers that a suite starts, and doesn't learn anything.
type starts struct {
	catalog
	n int
}

func (s *starts) Start(ctx context.Context, p addr.Provider) (provider.Provider, diag.List) {
	s.n++
	return s.catalog.Start(ctx, p)
}

func (*starts) FileStarts(*testresult.File)                                           {}
func (*starts) RunEnds(*testresult.File, *testresult.Run)                             {}
func (*starts) CleanupStarts(*testresult.File)                                        {}
func (*starts) Cleaned(*testresult.File, *testresult.Run, diag.List, *state.Snapshot) {}
func (*starts) FileEnds(*testresult.File)                                             {}

// TestCounters pins the exact work of small workloads. More of it needs a
// reason; run the test with -update then.
func TestCounters(t *testing.T) {
	var b strings.Builder
	for _, w := range gated {
		n := 10
		if w.size != nil {
			n = 3
		}
		e := newEstate(t, w, n)
		for _, s := range steps {
			counts := metrics.Count(func() { s.do(e) })
			delete(counts, "plan-bytes") // compressed
			fmt.Fprintf(&b, "%-10s %-10s", w.name, s.name)
			for _, name := range slices.Sorted(maps.Keys(counts)) {
				fmt.Fprintf(&b, "  %s %d", name, counts[name])
			}
			b.WriteByte('\n')
		}
	}
	const golden = "testdata/counters.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() == string(want) {
		return
	}
	got, old := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for i := range got {
		if i >= len(old) || got[i] != old[i] {
			t.Errorf("got  %s", got[i])
			if i < len(old) {
				t.Errorf("want %s", old[i])
			}
		}
	}
}

// TestStateIsLinear: the lists of dependencies in a state don't grow with the
// square of a chain.
func TestStateIsLinear(t *testing.T) {
	size := func(n int) int {
		e := newEstate(t, scaled{name: "calls"}, n)
		e.load()
		e.makePlan(plan.Normal)
		e.apply()
		e.encode()
		return len(e.stored)
	}
	few, many := size(40), size(160)
	if ratio := float64(many) / float64(few); ratio > growth {
		t.Errorf("the state of chained modules grew %.2f times, from %d to %d bytes", ratio, few, many)
	}
}

// BenchmarkStages times each stage of a workload with a thousand resources.
func BenchmarkStages(b *testing.B) {
	for _, w := range []scaled{{name: "static", n: 1000}, {name: "count", n: 500}, {name: "calls", n: 100}, {name: "exprs", n: 1000}} {
		e := newEstate(b, w, w.n)
		for _, s := range []struct {
			name string
			do   func()
		}{
			{"parse", e.parse},
			{"compile", func() { e.parse(); e.compile() }}, // compiling changes the tree
			{"load", e.load},
			{"plan", func() { e.makePlan(plan.Normal) }},
			{"plan-file-write", e.save},
			{"plan-file-read", e.open},
			{"apply", e.apply},
			{"state-encode", e.encode},
			{"state-decode", e.decode},
			{"no-op-plan", func() { e.makePlan(plan.Normal) }},
		} {
			empty := e.state
			b.Run(w.name+"/"+s.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if s.name == "plan" || s.name == "apply" {
						e.state = empty
					}
					s.do()
				}
			})
		}
	}
}
