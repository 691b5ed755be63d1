// Package apply runs an execution graph. Each step starts when its prerequisites have ended,
// and evaluates with the results so far.
//
// It decides nothing: what is done to which object and in which order was decided when the
// graph was made. It owns the scheduling, the results and the working state. It doesn't plan
// anything new.
package apply

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/provisioner"
	"weir.dev/weir/internal/resource/checkresults"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/ratelimit"
	"weir.dev/weir/internal/state"
)

// Options say how to apply a plan.
type Options struct {
	// Stop is closed when no new step is to be started.
	Stop <-chan struct{}
	// Grace is how long calls of providers may take after that; then they are
	// abandoned. 0 is no limit.
	Grace time.Duration
	// CallTimeout is how long one call of a provider may take; 0 is no limit.
	CallTimeout time.Duration
	// Journal is notified of every object before it is created, changed or deleted and of
	// every result; nil for nobody.
	Journal Journal
	// Choose picks the next step, as an index, among those that could run:
	// then one step runs at a time. nil lets all run that can.
	Choose func(ready []execgraph.ID) int
	// Output, unless nil, is given each root output as soon as no step changes it any more, nil for none. Several
	// may be given at the same time.
	Output func(name string, o *state.Output)
	// Upstream, unless nil, is asked before a postponed data source is read. It returns what another apply
	// of this run has for the instance, and NilVal for one that is read as usual.
	Upstream func(i *eval.Instance, p addr.Provider, config cty.Value) cty.Value
	// ShowSensitive: what provisioners print is reported as well where their configuration is
	// sensitive.
	ShowSensitive bool
}

// Input is what an apply is a function of, beside the world.
type Input struct {
	Options
	providerclient.Base // its pool is made by Run
	Tree                *program.Tree
	Facts               eval.Facts
	Catalog             provider.Catalog
	Plan                *plan.Plan
	// Changed are the files that functions find otherwise than the plan did.
	Changed func() []string

	Parallelism int
	// Calls are the limits of calls where others share them; nil where nobody does.
	Calls *ratelimit.Limiter
	Sink  event.Sink
	// Commands is where commands of provisioners are run.
	Commands provisioner.Place
}

// A run is one apply. It is the evaluator's host.
type run struct {
	Input
	ctx context.Context
	// abandon gives up calls that are under way.
	abandon context.CancelFunc
	// commands is the context of provisioners, which are interrupted at once.
	commands  context.Context
	interrupt context.CancelFunc
	rt        *promise.Runtime
	root      *eval.Frame
	pool      *providerclient.Pool

	keys     *state.Keys // of the state before
	progress *progress
	working  *working
	types    value.Types
	// removals are the removed blocks, made when first needed.
	removals func() *program.Removals

	mu       sync.Mutex
	standIns map[addr.Module]*eval.Frame
	checks   *checkresults.Set
	needs    listing[int32, addr.Resource] // what changes depend on
	narrowed listing[plan.Uses, state.Uses]
	ready    []execgraph.ID // waiting to be chosen
}

// Run applies a plan and returns the state afterwards, beside errors too.
func Run(ctx context.Context, in Input) (*state.Snapshot, diag.List) {
	calls := in.Parallelism
	if in.Parallelism <= 0 {
		in.Parallelism = 10 // for changes
	}
	ctx, abandon := context.WithCancel(ctx)
	defer abandon()
	commands, interrupt := context.WithCancel(ctx)
	defer interrupt()
	r := &run{
		Input: in, ctx: ctx, abandon: abandon, commands: commands, interrupt: interrupt,
		rt:       promise.NewRuntime(in.Parallelism),
		pool:     providerclient.NewPool(ctx, in.Catalog, calls),
		progress: newProgress(in.Plan),
		working:  &working{journal: in.Journal, state: in.Plan.Refreshed.Clone()},
		keys:     in.Plan.Refreshed.Keys(),
		standIns: map[addr.Module]*eval.Frame{},
		checks:   checkresults.Again(in.Plan.Checks),

		removals: sync.OnceValue(in.Tree.Removals),
	}
	r.pool.Share(in.Calls)
	defer r.pool.Close()
	r.pool.Serve(r.rt, func(s ratelimit.Slowed) { r.tell(event.Event{Kind: event.Slowed, Slowed: &s}) })
	r.Pool = r.pool
	r.Facts.Context = ctx
	host := &host{Base: r.Base, plan: in.Plan, keys: r.keys, progress: r.progress, working: r.working}
	ev := &eval.Evaluator{Host: host, Facts: r.Facts, Thorough: true, Lenient: in.Plan.Mode == plan.RefreshOnly, Creates: in.Plan.Mode == plan.Normal}
	r.root = ev.NewRoot(in.Tree.Program)
	r.dropOutputs()
	r.tellImports()
	r.tell(event.Event{Kind: event.ApplyBegin, Plan: in.Plan, Count: in.Parallelism})
	r.schedule()
	r.tell(event.Event{Kind: event.ApplyEnd})
	r.working.state.Checks = r.gatherChecks()

	// In the order of the graph, whatever order the steps ended in.
	var diags diag.List
	for id := range r.progress.steps {
		diags.Append(r.progress.steps[id].diags)
	}
	diags.Append(r.pool.Diagnostics())
	diags.Append(eval.Bugs(r.rt))
	diags.Append(r.root.Diagnostics())
	if r.progress.cut {
		diags.Add(Halted.New(diag.Error, "The run was interrupted before everything was done. The state has all results. Run apply again to continue."))
	}
	if in.Plan.Mode == plan.Destroy && !diags.HasErrors() {
		dropData(r.working.state, in.Plan)
	}
	return r.working.state, diags
}

// dropData removes the results of data sources that the plan destroys, but for
// those that something needs which stays.
func dropData(s *state.Snapshot, p *plan.Plan) {
	needed := map[addr.Resource]bool{}
	for _, o := range s.Objects {
		for _, dep := range o.Dependencies {
			needed[dep] = true
		}
	}
	maps.DeleteFunc(s.Objects, func(a addr.Object, _ *state.Object) bool {
		return a.Name.Mode == addr.Data && !needed[a.Resource.Erase()] && addr.Wanted(p.Targets, p.Excludes, a.Instance)
	})
}

// tellImports reports imported objects: the state that the steps begin with has them.
func (r *run) tellImports() {
	for _, c := range r.Plan.Changes {
		if c.Importing != nil {
			e := event.Event{Kind: event.ImportStart, Addr: c.Addr}
			e.IDKey, e.IDValue = c.Importing.Label()
			r.tell(e)
			e.Kind = event.ImportComplete
			r.tell(e)
		}
	}
}

// dropOutputs removes the outputs that the plan ends, and those that are null.
func (r *run) dropOutputs() {
	maps.DeleteFunc(r.working.state.Outputs, func(_ string, o state.Output) bool { return o.Value.IsNull() })
	for _, o := range r.Plan.Outputs {
		if o.Action == plan.Delete {
			delete(r.working.state.Outputs, o.Name)
		}
	}
}

// A step is one of the graph, with its place there.
type step struct {
	*execgraph.Step
	id execgraph.ID
}

// schedule runs the graph.
func (r *run) schedule() {
	steps := r.Plan.Graph.Steps
	stopWatch := make(chan struct{})
	var watching sync.WaitGroup
	select {
	case <-r.Stop: // already, so that nothing starts
		r.stop()
	default:
		watching.Go(func() {
			select {
			case <-r.Stop:
				r.stop()
			case <-stopWatch:
			}
		})
	}
	for id := range steps {
		if len(steps[id].After) == 0 {
			r.start(execgraph.ID(id))
		}
	}
	r.oneByOne()
	r.rt.Wait()
	close(stopWatch)
	watching.Wait()
}

// oneByOne runs the steps that were kept back for a choice.
func (r *run) oneByOne() {
	for len(r.ready) > 0 {
		n := r.Choose(r.ready)
		id := r.ready[n]
		r.ready = slices.Delete(r.ready, n, n+1)
		r.rt.Do(func(t *promise.Task) { r.run(t, id) })
	}
}

// stop keeps new steps from starting, interrupts commands and asks the
// providers to hurry.
func (r *run) stop() {
	r.progress.halt()
	if r.Sink != nil {
		r.Sink(event.Event{Kind: event.Stopping})
	}
	if r.Grace > 0 {
		time.AfterFunc(r.Grace, r.abandon)
	}
	r.interrupt()
	r.pool.Stop(r.ctx)
}

// start runs a step whose predecessors have ended.
func (r *run) start(id execgraph.ID) {
	if r.Choose != nil {
		r.ready = append(r.ready, id)
		return
	}
	r.rt.Go(func(t *promise.Task) { r.run(t, id) })
}

// run does a step, or skips it.
func (r *run) run(t *promise.Task, id execgraph.ID) {
	s := &step{&r.Plan.Graph.Steps[id], id}
	ending := r.progress.turn(s)
	switch ending {
	case event.Needless:
	case event.Skipped:
		r.skip(s)
	default:
		st := &r.progress.steps[id]
		var ok bool
		// A step fails by errors of its own, or because it read a cell that failed and whose
		// problem is reported there.
		st.diags, ok = t.Try(func(t *promise.Task) { r.perform(t, s, &st.outcome) })
		if !ok {
			ending = event.Failed
			if st.outcome.halted {
				ending = event.Skipped // while it waited for its turn
			}
		}
	}
	e := event.Event{Kind: event.StepEnd, Step: id, Ending: ending}
	if ending == event.Failed {
		e.Text = r.progress.steps[id].diags.Reason()
	}
	r.tell(e)
	for _, n := range r.progress.end(id, ending == event.Failed || ending == event.Skipped) {
		r.start(n)
	}
}

// skip reports that an object won't be complete.
func (r *run) skip(s *step) {
	if s.Kind == execgraph.Provision {
		if made := r.progress.outcome(s, execgraph.Apply).made; made != nil {
			r.provisioned(made, false)
		}
	}
}

// A listing has one list for all changes that share one in the plan, where it is numbers.
type listing[N, T any] struct {
	mu    sync.Mutex
	lists map[*N][]T
}

// of is the list for these numbers.
func (l *listing[N, T]) of(numbers []N, list func() []T) []T {
	if len(numbers) == 0 {
		return list()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.lists[&numbers[0]]
	if !ok {
		if l.lists == nil {
			l.lists = map[*N][]T{}
		}
		known = list()
		l.lists[&numbers[0]] = known
	}
	return known
}

// dependencies are those of a change.
func (r *run) dependencies(c *plan.Change) []addr.Resource {
	return r.needs.of(c.Dependencies, func() []addr.Resource { return r.Plan.DependenciesOf(c) })
}

// uses are what narrows them.
func (r *run) uses(c *plan.Change) []state.Uses {
	return r.narrowed.of(c.Uses, func() []state.Uses { return r.Plan.UsesOf(c) })
}

// change is that of a step, nil for one without.
func (r *run) change(s *step) *plan.Change {
	if s.Change == 0 {
		return nil
	}
	return r.Plan.Changes[s.Change-1]
}

// perform does one step, which leaves its outcome in out.
func (r *run) perform(t *promise.Task, s *step, out *outcome) {
	switch s.Kind {
	case execgraph.OpenProvider:
		r.conn(t, *s.Provider)
	case execgraph.CloseProvider:
		r.pool.CloseOne(*s.Provider)
	case execgraph.OpenEphemeral:
		r.openEphemeral(t, s, out)
	case execgraph.CloseEphemeral:
		t.Report(r.closeEphemeral(s)...)
	case execgraph.ReadData:
		r.readData(t, s, out)
	case execgraph.Finalize:
		r.finalizeEarly(t, s, out)
	case execgraph.Depose:
		t.Report(r.depose(s, out)...)
	case execgraph.Apply:
		r.apply(t, s, out)
	case execgraph.RestoreDeposed:
		t.Report(r.restore(s)...)
	case execgraph.Provision:
		r.provision(t, s, out)
	case execgraph.ProvisionDestroy:
		r.provisionDestroy(t, s)
	case execgraph.Destroy:
		r.destroy(t, s, out)
	case execgraph.Forget:
		if c := r.change(s); t.Report(r.working.result(*s.Object, nil)...) && c != nil && c.Action == plan.Forget {
			r.tell(event.Event{Kind: event.Forgotten, Addr: *s.Object, Action: c.Action})
		}
	case execgraph.Condition:
		if s.Name != "" {
			r.check(t, s)
		} else {
			r.condition(t, s)
		}
	case execgraph.Output:
		r.output(t, s)
	case execgraph.Invoke:
		r.invoke(t, s)
	}
}

// tell sends an event.
func (r *run) tell(e event.Event) {
	if r.Sink != nil {
		r.Sink(e)
	}
}
