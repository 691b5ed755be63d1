package moduletest

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"weir.dev/weir/internal/moduletest/testresult"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/apply"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
)

// work is one file under way.
type work struct {
	*session
	file *testresult.File
	// given are made-up values of variables, nil in an ordinary run.
	given map[string]cty.Value

	mu     sync.Mutex // of the rest, of the file and its runs, and of reports
	states map[string]*entry
	told   bool // what the file overrides was looked up
	// outputs are those of the runs so far, by name.
	outputs map[string]cty.Value
}

// An entry is one state of a file.
type entry struct {
	snapshot *state.Snapshot
	last     *testresult.Run // that changed it
	kept     Kept            // nil unless it has, or had, real objects
}

// key reports which state a run works on.
func key(r *testresult.Run) string {
	switch {
	case r.StateKey != "":
		return "key:" + r.StateKey
	case r.Module != nil:
		return "module:" + r.Module.Source
	}
	return ""
}

func (w *work) carry(ctx context.Context) {
	w.outputs = map[string]cty.Value{}
	if w.file.Status = testresult.Pass; w.stopped() {
		w.file.Status = testresult.Skip
	}
	w.Report.FileStarts(w.file)
	w.carryRuns(ctx)
	w.Report.CleanupStarts(w.file)
	w.cleanUp(ctx)
	w.Report.FileEnds(w.file)
}

// carryRuns carries out all runs, side by side those that wait for no other.
func (w *work) carryRuns(ctx context.Context) {
	done := make([]chan struct{}, len(w.file.Runs))
	for i := range done {
		done[i] = make(chan struct{})
	}
	places := make(chan struct{}, max(1, cmp.Or(w.Parallelism, defaultParallelism)))
	var all sync.WaitGroup
	for i, earlier := range waits(w.file) {
		all.Go(func() {
			defer close(done[i])
			for _, n := range earlier {
				<-done[n]
			}
			places <- struct{}{}
			defer func() { <-places }()
			w.next(ctx, w.file.Runs[i])
		})
	}
	all.Wait()
}

// defaultParallelism is how many runs are carried out at once.
const defaultParallelism = 10

// next carries out a run whose turn it is, or skips it.
func (w *work) next(ctx context.Context, r *testresult.Run) {
	if ctx.Err() != nil {
		return // it stays pending
	}
	w.mu.Lock()
	skip := w.stopped() || w.file.Status == testresult.Error
	w.mu.Unlock()
	if skip {
		r.Status = testresult.Skip
	} else {
		w.run(ctx, r)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.file.Status = max(w.file.Status, r.Status)
	w.Report.RunEnds(w.file, r)
}

// run carries out one run.
func (w *work) run(ctx context.Context, r *testresult.Run) {
	r.Began = w.World.Now()
	defer func() { r.Took = w.World.Now().Sub(r.Began) }()
	e := w.entry(key(r))
	before := *e
	if w.carryOut(ctx, r, e); r.Generate != nil && r.Status == testresult.Pass {
		w.sample(ctx, r, before)
	}
}

// carryOut carries out one run with one set of values.
func (w *work) carryOut(ctx context.Context, r *testresult.Run, e *entry) {
	r.Diags.Append(r.Problems)
	if r.Problems.HasErrors() {
		r.Worsen(testresult.Error)
		return
	}
	config, values, diags := w.configure(ctx, r)
	if values != nil && w.World.Dialect == dialect.Terraform {
		defer w.blame(r, values)
	}
	r.Diags.Append(diags)
	if diags.HasErrors() {
		r.Worsen(testresult.Error)
		return
	}
	conditions, diags := compile(r, config, values)
	r.Diags.Append(diags)
	if diags.HasErrors() {
		r.Worsen(testresult.Error)
		return
	}
	if w.Keep {
		r.Tree = config.Tree
	}
	expected := newExpected(r.Expected)
	o := planOptions(w.World.Dialect, r)
	o.AllowDeferral = w.AllowDeferral
	if r.PlanOnly {
		w.planOnly(ctx, r, e, config, conditions, expected, o)
		return
	}
	w.apply(ctx, r, e, config, conditions, expected, o)
}

// blame has a run that found a mistake in what belongs to the whole file count as
// skipped, as Terraform does: the file couldn't be carried out.
func (w *work) blame(r *testresult.Run, v *values) {
	if !v.faulty.Load() || r.Status != testresult.Error {
		return
	}
	r.Status = testresult.Skip
	w.mu.Lock()
	defer w.mu.Unlock()
	w.file.Status = testresult.Error
}

func (w *work) entry(key string) *entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.states[key]
	if e == nil {
		e = &entry{}
		w.states[key] = e
	}
	return e
}

// ended notes the outputs of a run.
func (w *work) ended(r *testresult.Run, outputs cty.Value) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outputs[r.Name] = outputs
}

func (w *work) planOnly(ctx context.Context, r *testresult.Run, e *entry, config *engine.Config, conditions conditions, expected *expected, o engine.PlanOptions) {
	var judged judgement
	o.Observe = w.observers(conditions.observe(&judged))
	p, diags := engine.Plan(ctx, config, e.snapshot, o)
	diags = expected.settle(diags)
	r.Diags.Append(diags)
	w.keep(r, p, nil)
	if diags.HasErrors() {
		r.Worsen(expected.status(diags, w.World.Dialect))
		return
	}
	if p != nil {
		w.ended(r, plannedOutputs(config, p))
	}
	judged.into(r)
	w.compare(r, p)
}

func (w *work) apply(ctx context.Context, r *testresult.Run, e *entry, config *engine.Config, conditions conditions, expected *expected, o engine.PlanOptions) {
	o.Observe = w.Observe
	p, diags := engine.Plan(ctx, config, e.snapshot, o)
	if diags.HasErrors() {
		r.Diags.Append(diags)
		r.Diags.Append(expected.tooEarly(diags))
		r.Worsen(testresult.Error)
		return
	}
	// Warnings of checks come again from the apply, unless it sets them right.
	r.Diags.Append(slices.DeleteFunc(diags, func(d diag.Diagnostic) bool { return d.Unmet != nil && d.Unmet.Observed() }))
	w.keep(r, p, nil)
	w.compare(r, p)
	journal, diags := w.record(ctx, r, e, config, p, w.Stop)
	if diags.HasErrors() {
		r.Diags.Append(diags)
		r.Worsen(testresult.Error)
		return
	}
	after, diags := w.execute(e.keeping(ctx), config, p, journal, w.Stop)
	if after != nil {
		e.snapshot, e.last = after, r
		w.ended(r, storedOutputs(config, after))
	}
	if e.kept != nil {
		diags.Append(e.kept.Save(ctx, after, w.sofar()))
	}
	diags = expected.settle(diags)
	r.Diags.Append(diags)
	if diags.HasErrors() {
		r.Worsen(expected.status(diags, w.World.Dialect))
		return
	}
	w.keep(r, p, after)
	conditions.judge(ctx, config, after).into(r)
}

// keep notes the results of a run for who shows them.
func (w *work) keep(r *testresult.Run, p *plan.Plan, after *state.Snapshot) {
	if w.Keep && p != nil {
		r.Plan, r.State, r.Schemas = p, after, p.Schemas
	}
}

// observers have both the judge of a run and who observes all runs look.
func (w *work) observers(judge func(*eval.Frame)) func(*eval.Frame) {
	return func(root *eval.Frame) {
		judge(root)
		if w.Observe != nil {
			w.Observe(root)
		}
	}
}

// compare holds what was planned to the snapshot of the run, and to the order it asks for.
func (w *work) compare(r *testresult.Run, p *plan.Plan) {
	if p != nil && p.Graph != nil {
		if diags := unordered(r.Orders, p); diags != nil {
			r.Diags.Append(diags)
			r.Worsen(testresult.Fail)
		}
	}
	if !r.Snapshot || w.Judge == nil || p == nil {
		return
	}
	diags := w.Judge(w.file.File, r.Run, p)
	r.Diags.Append(diags)
	if diags.HasErrors() {
		r.Worsen(testresult.Fail)
	}
}

// execute applies a plan.
func (w *work) execute(ctx context.Context, config *engine.Config, p *plan.Plan, journal apply.Journal, stop <-chan struct{}) (*state.Snapshot, diag.List) {
	// The configuration has all values, marks included.
	applied := *p
	applied.Variables = nil
	limits := w.Limits
	limits.Stop, limits.Journal = stop, journal
	after, diags := engine.Apply(ctx, config, &applied, limits)
	for i, d := range diags {
		if apply.Halted.Is(d) {
			diags[i] = apply.Halted.New(d.Severity, "The tests were interrupted before everything of this run was done. Created objects are destroyed.")
		}
	}
	return after, diags
}

// keeping has the answers of providers kept with the state.
func (e *entry) keeping(ctx context.Context) context.Context {
	if e.kept == nil || e.kept.Answers() == "" {
		return ctx
	}
	return provider.AnswersTo(ctx, e.kept.Answers())
}

// cleanUp destroys what the states have, the last first. States of parallel runs are destroyed in
// parallel.
func (w *work) cleanUp(ctx context.Context) {
	entries := w.inOrder()
	done := make([]chan struct{}, len(entries))
	earlier := closed(waits(w.file))
	places := make(chan struct{}, max(1, cmp.Or(w.Parallelism, defaultParallelism)))
	var all sync.WaitGroup
	for i, e := range entries {
		done[i] = make(chan struct{})
		var later []chan struct{} // of runs that waited for this one
		for n, other := range entries[:i] {
			if slices.Contains(earlier[other.last.Index], e.last.Index) {
				later = append(later, done[n])
			}
		}
		all.Go(func() {
			defer close(done[i])
			for _, one := range later {
				<-one
			}
			places <- struct{}{}
			defer func() { <-places }()
			w.cleanUpOne(ctx, e)
		})
	}
	all.Wait()
}

func (w *work) cleanUpOne(ctx context.Context, e *entry) {
	left, diags := w.destroy(ctx, e)
	if !hasManaged(left) {
		left = nil
	}
	diags.Append(w.settle(e, left))
	w.mu.Lock()
	defer w.mu.Unlock()
	if left != nil || diags.HasErrors() {
		w.file.Status = testresult.Error
	}
	w.Report.Cleaned(w.file, e.last, diags, left)
}

// destroy destroys one state as the run that changed it last was configured.
func (w *work) destroy(ctx context.Context, e *entry) (*state.Snapshot, diag.List) {
	if diags := w.forget(e); diags.HasErrors() {
		return e.snapshot, diags
	}
	config, _, diags := w.configure(ctx, e.last)
	if diags.HasErrors() {
		return e.snapshot, diags
	}
	p, diags := engine.Plan(ctx, config, e.snapshot, engine.PlanOptions{Mode: plan.Destroy, Unprotected: true})
	if diags.HasErrors() || p == nil {
		return e.snapshot, diags
	}
	journal, more := w.record(ctx, e.last, e, config, p, nil)
	if more.HasErrors() && e.kept != nil {
		if doubts := w.inDoubt(e); doubts != nil {
			more = doubts // which is why nothing may happen to what they need
		}
	}
	diags.Append(more)
	if more.HasErrors() {
		return e.snapshot, diags
	}
	after, more := w.execute(ctx, config, p, journal, nil)
	diags.Append(more)
	if after == nil {
		after = e.snapshot
	}
	if e.kept != nil {
		diags.Append(e.kept.Save(ctx, after, w.sofar()))
	}
	return after, diags
}
