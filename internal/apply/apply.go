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

	keys    *state.Keys                    // of the state before
	changes map[addr.Instance]*plan.Change // of current objects that no step gives a value
	steps   []stepState
	givers  givers
	types   value.Types
	// removals are the removed blocks, made when first needed.
	removals func() *program.Removals

	mu       sync.Mutex
	state    *state.Snapshot // the working state
	standIns map[addr.Module]*eval.Frame
	checks   *checkresults.Set
	needs    listing[int32, addr.Resource] // what changes depend on
	narrowed listing[plan.Uses, state.Uses]
	diags    diag.List
	stopped  bool
	cut      bool           // something wasn't done because the run was stopped
	ready    []execgraph.ID // waiting to be chosen
}

// An outcome is what a step leaves for those that take it up, and for references to the
// instance that it is about.
type outcome struct {
	value      cty.Value // of the instance; NilVal where the step has failed, or gives none
	final      *finalized
	made       *created
	unanswered bool // the provider was asked and didn't say what it made
	nothing    bool // there was nothing to change in the end
	halted     bool // nothing was started, because the run was stopped meanwhile
	aside      *state.Object
	lease      *providerclient.Lease
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
		changes:  map[addr.Instance]*plan.Change{},
		state:    in.Plan.Refreshed.Clone(),
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
	ev := &eval.Evaluator{Host: host{r}, Facts: r.Facts, Thorough: true, Lenient: in.Plan.Mode == plan.RefreshOnly, Whole: in.Plan.Whole()}
	r.root = ev.NewRoot(in.Tree.Program)
	r.dropOutputs()
	r.tellImports()
	r.tell(event.Event{Kind: event.ApplyBegin, Plan: in.Plan, Count: in.Parallelism})
	r.schedule()
	r.tell(event.Event{Kind: event.ApplyEnd})
	r.state.Checks = r.gatherChecks()

	// In the order of the graph, whatever order the steps ended in.
	var diags diag.List
	for id := range r.steps {
		diags.Append(r.steps[id].diags)
	}
	diags.Append(r.diags)
	diags.Append(r.pool.Diagnostics())
	diags.Append(eval.Bugs(r.rt))
	diags.Append(r.root.Diagnostics())
	if r.cut {
		diags.Add(Halted.New(diag.Error, "The run was interrupted before everything was done. The state has all results. Run apply again to continue."))
	}
	if in.Plan.Mode == plan.Destroy && !diags.HasErrors() {
		dropData(r.state, in.Plan)
	}
	return r.state, diags
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
			e := event.Event{Kind: event.ImportStart, Addr: c.Addr, IDKey: "id", IDValue: c.Importing.ID}
			r.tell(e)
			e.Kind = event.ImportComplete
			r.tell(e)
		}
	}
}

// dropOutputs removes the outputs that the plan ends, and those that are null.
func (r *run) dropOutputs() {
	maps.DeleteFunc(r.state.Outputs, func(_ string, o state.Output) bool { return o.Value.IsNull() })
	for _, o := range r.Plan.Outputs {
		if o.Action == plan.Delete {
			delete(r.state.Outputs, o.Name)
		}
	}
}

// stepState is how far a step is.
type stepState struct {
	waiting int
	next    []execgraph.ID
	failed  bool // or skipped because of a failure
	ended   bool
	diags   diag.List // written by the step alone, read when all have ended
	outcome outcome   // complete when the step has ended, its value maybe earlier
}

// A step is one of the graph, with its place there.
type step struct {
	*execgraph.Step
	id execgraph.ID
}

// schedule runs the graph.
func (r *run) schedule() {
	steps := r.Plan.Graph.Steps
	r.steps = make([]stepState, len(steps))
	r.givers = giversIn(steps)
	for id := range steps {
		s := &steps[id]
		r.steps[id].waiting = len(s.After)
		for _, a := range s.After {
			r.steps[a].next = append(r.steps[a].next, execgraph.ID(id))
		}
	}
	for _, c := range r.Plan.Changes {
		if _, given := r.givers.of(&c.Addr.Instance); !given && c.Addr.Deposed == "" {
			r.changes[c.Addr.Instance] = c
		}
	}
	stopWatch := make(chan struct{})
	var watching sync.WaitGroup
	if r.Stop != nil {
		watching.Add(1)
		go func() {
			defer watching.Done()
			select {
			case <-r.Stop:
				r.stop()
			case <-stopWatch:
			}
		}()
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
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
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
	ending := r.turn(s)
	switch ending {
	case event.Needless:
	case event.Skipped:
		r.skip(s)
	default:
		st := &r.steps[id]
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
		e.Text = r.steps[id].diags.Reason()
	}
	r.tell(e)
	r.end(id, ending == event.Failed || ending == event.Skipped)
}

// turn decides about a step whose prerequisites have ended. Done means that the step runs now;
// any other ending skips it. A step that runs only after a failure is needless without one.
func (r *run) turn(s *step) event.Ending {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.When == execgraph.OnFailure && !r.steps[s.Of].failed {
		return event.Needless
	}
	if r.stopped && s.Kind != execgraph.Gate && s.Kind != execgraph.Output && !s.Kind.Closes() {
		r.cut = true
		return event.Skipped
	}
	if s.When == execgraph.OnSuccess {
		for _, a := range s.After {
			if r.steps[a].failed {
				return event.Skipped
			}
		}
	}
	return event.Done
}

// skip reports that an object won't be complete.
func (r *run) skip(s *step) {
	if s.Kind == execgraph.Provision {
		if made := r.outcome(s, execgraph.Apply).made; made != nil {
			r.provisioned(made, false)
		}
	}
}

// outcome is what the step of that kind has left which a step takes up; nothing where
// there is no such step.
func (r *run) outcome(s *step, kind execgraph.Kind) *outcome {
	for _, id := range s.Takes {
		if r.Plan.Graph.Steps[id].Kind == kind {
			return &r.steps[id].outcome
		}
	}
	return &outcome{}
}

// give lets references to the instance of a step have their value.
func (r *run) give(out *outcome, v cty.Value) {
	r.mu.Lock()
	out.value = v
	r.mu.Unlock()
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

// end starts what waited for the step.
func (r *run) end(id execgraph.ID, failed bool) {
	r.mu.Lock()
	st := &r.steps[id]
	st.failed, st.ended = failed, true
	var ready []execgraph.ID
	for _, n := range st.next {
		if r.steps[n].waiting--; r.steps[n].waiting == 0 {
			ready = append(ready, n)
		}
	}
	r.mu.Unlock()
	for _, n := range ready {
		r.start(n)
	}
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
		if c := r.change(s); t.Report(r.result(*s.Object, nil)...) && c != nil && c.Action == plan.Forget {
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

// setObject changes the working state; nil removes the object.
func (r *run) setObject(o addr.Object, stored *state.Object) {
	r.mu.Lock()
	if stored == nil {
		delete(r.state.Objects, o)
	} else {
		r.state.Objects[o] = stored
	}
	r.mu.Unlock()
}

func (r *run) object(o addr.Object) *state.Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Objects[o]
}
