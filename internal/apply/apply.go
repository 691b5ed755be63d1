// Package apply runs an execution graph: each step when the steps before it
// have ended, evaluating afresh with the results so far.
//
// It decides nothing: what is done to which object and in which order was
// decided when the graph was made. It owns the scheduling, the results and
// the working state. It refuses to plan anything new.
package apply

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/object/checks"
	"weir.dev/weir/internal/object/connect"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/provisioner"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/word/addr"
	"weir.dev/weir/internal/word/diag"
	"weir.dev/weir/internal/word/promise"
)

// Input is what an apply is a function of, beside the world.
type Input struct {
	Tree      *program.Tree
	Load      func(f *eval.Frame, c *program.Call, k addr.Key) (*program.Program, diag.List)
	Facts     eval.Facts
	Variables map[string]cty.Value
	Catalog   provider.Catalog
	Plan      *plan.Plan

	Parallelism int
	Sink        event.Sink
	// Stop is closed when no new step is to be started.
	Stop <-chan struct{}
	// Choose picks the next step, as an index, among those that could run:
	// then one step runs at a time. nil lets all run that can.
	Choose func(ready []execgraph.ID) int
	// Grace is how long calls of providers may take after that; then they are
	// abandoned. 0 is no limit.
	Grace time.Duration
	// CallTimeout is how long one call of a provider may take; 0 is no limit.
	CallTimeout time.Duration
	// Journal is told of every object before it is created, changed or deleted
	// and of every result; nil for nobody.
	Journal Journal
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
	pool      *connect.Pool

	keys    *state.Keys // of the state before
	changes map[addr.Object]*plan.Change
	steps   []stepState
	// removals are the removed blocks, made when first needed.
	removals func() *program.Removals

	mu       sync.Mutex
	state    *state.Snapshot // the working state
	results  map[addr.Instance]result
	final    map[addr.Object]finalized
	created  map[addr.Object]created
	unknown  map[addr.Object]bool // asked for, without an answer
	leases   map[addr.Object]*connect.Lease
	deposed  map[addr.Instance]*state.Object
	standIns map[addr.Module]*eval.Frame
	checks   *checks.Set
	diags    diag.List
	stopped  bool
	cut      bool           // something wasn't done because the run was stopped
	ready    []execgraph.ID // waiting to be chosen
}

// A result is the value that references to an instance get once its step has
// ended.
type result struct {
	value  cty.Value
	failed bool
}

// Run applies a plan and returns the state afterwards, beside errors too.
func Run(ctx context.Context, in Input) (*state.Snapshot, diag.List) {
	if in.Parallelism <= 0 {
		in.Parallelism = 10
	}
	ctx, abandon := context.WithCancel(ctx)
	defer abandon()
	commands, interrupt := context.WithCancel(ctx)
	defer interrupt()
	r := &run{
		Input: in, ctx: ctx, abandon: abandon, commands: commands, interrupt: interrupt,
		rt:       promise.NewRuntime(in.Parallelism),
		pool:     connect.NewPool(ctx, in.Catalog, in.Parallelism),
		changes:  map[addr.Object]*plan.Change{},
		state:    in.Plan.Refreshed.Clone(),
		keys:     in.Plan.Refreshed.Keys(),
		results:  map[addr.Instance]result{},
		final:    map[addr.Object]finalized{},
		created:  map[addr.Object]created{},
		unknown:  map[addr.Object]bool{},
		leases:   map[addr.Object]*connect.Lease{},
		deposed:  map[addr.Instance]*state.Object{},
		standIns: map[addr.Module]*eval.Frame{},
		checks:   checks.Again(in.Plan.Checks),

		removals: sync.OnceValue(in.Tree.Removals),
	}
	defer r.pool.Close()
	for _, c := range in.Plan.Changes {
		r.changes[c.Addr] = c
	}
	ev := &eval.Evaluator{Host: host{r}, Facts: in.Facts, Lenient: in.Plan.Mode == plan.RefreshOnly}
	r.root = ev.NewRoot(in.Tree.Program)
	r.dropOutputs()
	r.tellImports()
	r.schedule()
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
		diags.Add(Halted.New(diag.Error, "The run was interrupted before everything was done. What was done is in the state; run apply again to go on."))
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

// tellImports tells of imported objects: the state that the steps begin with
// has them.
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
}

// schedule runs the graph.
func (r *run) schedule() {
	steps := r.Plan.Graph.Steps
	r.steps = make([]stepState, len(steps))
	for id, s := range steps {
		r.steps[id].waiting = len(s.After)
		for _, a := range s.After {
			r.steps[a].next = append(r.steps[a].next, execgraph.ID(id))
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
	s := &r.Plan.Graph.Steps[id]
	failed := false
	switch r.turn(s) {
	case superfluous:
	case skipped:
		failed = true
		r.skip(s)
	default:
		var diags diag.List
		diags, failed = r.step(t, s)
		r.steps[id].diags = diags
	}
	r.end(id, failed)
}

// A turn is what becomes of a step when those before it have ended.
type turn uint8

const (
	runs        turn = iota
	skipped          // and so is what waits for it
	superfluous      // it was for a failure that hasn't come
)

func (r *run) turn(s *execgraph.Step) turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.When == execgraph.OnFailure && !r.steps[s.Of].failed {
		return superfluous
	}
	if r.stopped && s.Kind != execgraph.Gate && s.Kind != execgraph.Output && !s.Kind.Closes() {
		r.cut = true
		return skipped
	}
	if s.When == execgraph.OnSuccess {
		for _, a := range s.After {
			if r.steps[a].failed {
				return skipped
			}
		}
	}
	return runs
}

// skip notes that the value of an instance won't come.
func (r *run) skip(s *execgraph.Step) {
	switch s.Kind {
	case execgraph.Apply, execgraph.Provision, execgraph.ReadData, execgraph.OpenEphemeral:
		r.setResult(s.Object.Instance, result{cty.DynamicVal, true})
	}
	if s.Kind == execgraph.Provision {
		r.mu.Lock()
		c, made := r.created[s.Object]
		r.mu.Unlock()
		if made {
			provisioning{r}.provisioned(c, false)
		}
	}
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

// step does one step. It fails by errors of its own, or because it read a
// cell that failed and whose problem is reported there.
func (r *run) step(t *promise.Task, s *execgraph.Step) (_ diag.List, failed bool) {
	var diags diag.List
	failed = t.Try(func(t *promise.Task) { diags = r.perform(t, s) })
	return diags, failed || diags.HasErrors()
}

func (r *run) perform(t *promise.Task, s *execgraph.Step) diag.List {
	switch s.Kind {
	case execgraph.OpenProvider:
		return r.openProvider(t, s)
	case execgraph.CloseProvider:
		r.pool.CloseOne(s.Provider)
	case execgraph.OpenEphemeral:
		return r.openEphemeral(t, s)
	case execgraph.CloseEphemeral:
		return r.closeEphemeral(s)
	case execgraph.ReadData:
		return r.readData(t, s)
	case execgraph.Finalize:
		return r.finalizeEarly(t, s)
	case execgraph.Depose:
		return r.depose(s)
	case execgraph.Apply:
		return r.apply(t, s)
	case execgraph.RestoreDeposed:
		return r.restore(s)
	case execgraph.Provision:
		return provisioning{r}.provision(t, s)
	case execgraph.ProvisionDestroy:
		return provisioning{r}.provisionDestroy(t, s)
	case execgraph.Destroy:
		return r.destroy(t, s)
	case execgraph.Forget:
		diags := r.result(s.Object, nil)
		if c := r.changes[s.Object]; c != nil && c.Action == plan.Forget && !diags.HasErrors() {
			r.tell(event.Event{Kind: event.Forgotten, Addr: s.Object, Action: c.Action})
		}
		return diags
	case execgraph.Condition:
		if s.Name != "" {
			return r.check(t, s)
		}
		return r.condition(t, s)
	case execgraph.Output:
		return r.output(t, s)
	}
	return nil
}

// tell sends an event.
func (r *run) tell(e event.Event) {
	if r.Sink != nil {
		r.Sink(e)
	}
}

func (r *run) setResult(i addr.Instance, res result) {
	r.mu.Lock()
	r.results[i] = res
	r.mu.Unlock()
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
