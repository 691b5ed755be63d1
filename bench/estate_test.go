package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/planfile"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/builtin"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/statefile"
)

// catalog has the built-in provider alone.
type catalog struct{ ids atomic.Int64 }

func (c *catalog) Schemas(context.Context, addr.Provider) (*provider.Schemas, diag.List) {
	return builtin.Schemas(builtin.Options{}), nil
}

func (c *catalog) Start(context.Context, addr.Provider) (provider.Provider, diag.List) {
	// Ids of a fixed length, so that sizes don't vary.
	return builtin.New(builtin.Options{NewID: func() string { return fmt.Sprintf("%08d", c.ids.Add(1)) }}), nil
}

var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// An estate is a workload on its way through the stages.
type estate struct {
	tb     testing.TB
	dir    string
	source *module.Source
	prog   *program.Program
	config *engine.Config
	plan   *plan.Plan
	state  *state.Snapshot
	stored []byte
	saved  []byte
}

func newEstate(tb testing.TB, w scaled, n int) *estate {
	tb.Helper()
	e := &estate{tb: tb, dir: tb.TempDir(), state: state.Empty()}
	p := params{n: n, degree: w.degree, depth: w.depth, fanout: w.fanout, perFile: 500, out: e.dir, k: kinds["data"]}
	if w.size != nil {
		w.size(&p, n)
	}
	if err := workloads[w.name].run(p); err != nil {
		tb.Fatal(err)
	}
	return e
}

func (e *estate) check(diags diag.List) {
	e.tb.Helper()
	if diags.HasErrors() {
		e.tb.Fatal(diags)
	}
}

func (e *estate) parse() {
	src, diags := module.Load(module.Disk{}, e.dir, dialect.OpenTofu)
	e.check(diags)
	e.source = src
}

func (e *estate) compile() {
	prog, diags := compiler.Compile(e.source)
	e.check(diags)
	e.prog = prog
}

func (e *estate) load() {
	c, diags := engine.Load(context.Background(), engine.LoadOptions{
		Dir:   e.dir,
		World: engine.World{Catalog: &catalog{}, WorkDir: e.dir, OriginalDir: "/", Workspace: "default", Now: func() time.Time { return now }, Parallelism: 1},
		Resolve: func(_ context.Context, r module.Request) (string, diag.List) {
			return filepath.Join(r.ParentDir, r.Source), nil
		},
	})
	e.check(diags)
	e.config = c
}

func (e *estate) makePlan(mode plan.Mode) {
	p, diags := engine.Plan(context.Background(), e.config, e.state, engine.PlanOptions{Mode: mode})
	e.check(diags)
	e.plan = p
}

func (e *estate) apply() {
	s, diags := engine.Apply(context.Background(), e.config, e.plan, engine.ApplyOptions{})
	e.check(diags)
	e.state = s
}

func (e *estate) encode() {
	var err error
	if e.stored, err = statefile.Bytes(e.state); err != nil {
		e.tb.Fatal(err)
	}
}

func (e *estate) decode() {
	s, diags := statefile.Read(e.stored, "state")
	e.check(diags)
	e.state = s
}

func (e *estate) save() {
	data, err := planfile.Encode(planfile.Content{Engine: "test", Plan: e.plan, Files: e.config.Sources, Tree: e.config.Tree})
	if err != nil {
		e.tb.Fatal(err)
	}
	e.saved = data
}

func (e *estate) open() {
	if _, err := planfile.Decode(e.saved); err != nil {
		e.tb.Fatal(err)
	}
}

// steps is what a user does with an estate, in order.
var steps = []struct {
	name string
	do   func(e *estate)
}{
	{"plan", func(e *estate) { e.load(); e.makePlan(plan.Normal); e.save(); e.open() }},
	{"apply", func(e *estate) { e.apply(); e.encode() }},
	{"no-op plan", func(e *estate) { e.decode(); e.load(); e.makePlan(plan.Normal) }},
	{"destroy", func(e *estate) { e.makePlan(plan.Destroy); e.apply(); e.encode() }},
}
