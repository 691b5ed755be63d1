// Package planner decides the changes of a plan. It answers the evaluator by calling
// providers, compares with the prior state, and orders the steps.
//
// It owns the decisions of a plan. It changes nothing: it reads through
// providers, writes no files, and never runs what it planned.
package planner

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/incremental/freshness"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/graphbuilder"
	"weir.dev/weir/internal/plan/prior"
	"weir.dev/weir/internal/plan/refgraph"
	"weir.dev/weir/internal/plan/targeting"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/checkresults"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/listrefresh"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/state"
)

// Meaning is what configurations mean where one dialect isn't like the other. The
// zero value is OpenTofu's.
type Meaning struct {
	// RemovedDestroys: removed blocks that don't say otherwise destroy.
	RemovedDestroys bool
	// UnreadOutputs: outputs of called modules are held to their conditions also
	// where nothing reads them.
	UnreadOutputs bool
	// CreationsDontTrigger: what is created doesn't replace what names it in
	// replace_triggered_by.
	CreationsDontTrigger bool
}

// Options choose what a plan is for.
type Options struct {
	Mode        plan.Mode
	SkipRefresh bool
	// Looks says what is only looked at where something is to be done with it.
	Looks    *freshness.Looks
	Targets  []addr.Target
	Excludes []addr.Target
	Replace  []addr.Instance
	// Invoke is the action that is invoked without anything else being done, nil for none.
	Invoke *addr.Target
	// Generated is the text of configuration that was made for imports and loaded with
	// the rest, by the address of its resource.
	Generated map[addr.Instance]string
	// AllowDeferral: plan what can be planned beside unknown repetitions.
	AllowDeferral bool
	Meaning
	// InDoubt are instances that may exist although the state doesn't have
	// them: they aren't created, and what depends on them waits.
	InDoubt []addr.Instance
	// Needed are the resources that these need, if they exist. Neither those nor what
	// they need is destroyed or replaced.
	Needed []addr.Resource

	// Import: the plan is for import blocks only, which are followed in any mode. Parts that these don't need may be wrong.
	Import bool
	// Unprotected: prevent_destroy prevents nothing.
	Unprotected bool
	// Find answers for list resources, which only queries have.
	Find func(t *promise.Task, i *eval.Instance) (v cty.Value, ok bool)
	// Observe, unless nil, is given the evaluated configuration when planning is
	// over, before the providers end.
	Observe func(root *eval.Frame)
}

// Input is everything that a plan is a function of.
type Input struct {
	Options
	providerclient.Base
	// Tree is the root program with those of its calls.
	Tree  *program.Tree
	Facts eval.Facts
	Prior *state.Snapshot

	Parallelism int
	Lists       listrefresh.Trust
	Sink        event.Sink
	Now         time.Time
	// NewKey makes the key of a deposed object: 8 hexadecimal digits.
	NewKey func() string
}

// A run is one planning. It is the evaluator's host.
type run struct {
	Input
	ctx  context.Context
	rt   *promise.Runtime
	root *eval.Frame
	pool *providerclient.Pool

	prior *prior.Prior
	types value.Types

	mu       sync.Mutex
	objects  map[*eval.Instance]*object
	left     []*object // those without configuration
	drift    []*plan.Change
	checks   *checkresults.Set
	imports  importTargets
	deferred map[addr.Instance]*plan.Deferred
	diags    diag.List // see note

	pendingOf map[*promise.Node]bool
	waiting   *search                // for what is deferred
	needed    map[addr.Resource]bool // by what is in doubt
	leases    []leased
	asked     []graphbuilder.Asked

	scope    *targeting.Scope
	excluded *exclusion
	// usesExcluded are the stored objects that depend on excluded ones.
	usesExcluded func() map[addr.Instance]bool
	lists        *listrefresh.Lists // nil for none
	// closed: nothing more is planned. `told` are the problems found until then; lacking is set
	// when something was asked for that doesn't exist.
	closed, lacking bool
	told            diag.List

	removedOnce sync.Once
	removed     *program.Removals

	references func() *refgraph.Of
	circleOnce sync.Once
	circles    map[refgraph.Site]int
	storedOnce sync.Once
	storedIn   map[graphbuilder.Block][]addr.Object

	destroyOnce sync.Once
	destroyed   map[addr.Instance]bool // nil for everything
}

// An object is what planning knows of one object of a resource instance.
type object struct {
	addr     *addr.Object   // that of the change, once it is resolved
	from     *addr.Instance // where it was before a move; nil for where it is
	instance *eval.Instance // nil without configuration
	stored   *state.Object  // nil without a prior object
	*looked                 // nil once it is resolved
	conn     *providerclient.Conn
	change   *plan.Change
	deferred provider.DeferredReason // what the provider said
	stale    bool                    // it may have changed outside
	// invocations are those around the change.
	invocations []*plan.Invocation
	// conditions: the instance has conditions to evaluate in apply.
	conditions bool
	// again: the data source was read and is read in apply again.
	again bool
}

// looked is what only who plans an object needs of it.
type looked struct {
	before  lifecycle.Object
	subject lifecycle.Subject
}

// newObject is an object that nothing is known of yet.
func newObject(at addr.Object, i *eval.Instance, conn *providerclient.Conn, s lifecycle.Subject) *object {
	return &object{addr: &at, instance: i, conn: conn, looked: &looked{s.None(), s}}
}

// wasAt notes where an object was before.
func (o *object) wasAt(i addr.Instance) {
	if o.from = nil; i != o.addr.Instance {
		o.from = &i
	}
}

func (o *object) previous() addr.Instance {
	if o.from != nil {
		return *o.from
	}
	return o.addr.Instance
}

// settle lets go of what nobody needs of an object that is planned.
func (o *object) settle() {
	if o.looked == nil {
		return
	}
	if o.looked = nil; o.change != nil {
		o.addr = &o.change.Addr
	}
}

// Create makes a plan. Beside errors it returns what was planned so far,
// marked as errored.
func Create(ctx context.Context, in Input) (*plan.Plan, diag.List) {
	r := newRun(ctx, in)
	r.pool.Serve(r.rt, func(s providerclient.Slowed) { r.tell(event.Event{Kind: event.Slowed, Slowed: &s}) })
	diags := r.prior.CompileMoves(r.Tree, r, r.Facts)
	diags.Append(r.scope.Name(r.prior.Snapshot))
	if !r.Import {
		if covered := r.checkCovered(r.prior.Moved()); len(covered) > 0 {
			diags.Append(append(diag.List{targetingWarning(len(r.Targets) > 0)}, covered...))
		}
	}
	if diags.HasErrors() {
		return &plan.Plan{Mode: in.Mode, Previous: r.prior.Snapshot, Refreshed: r.prior.Snapshot, Errored: true}, diags
	}
	if r.Mode == plan.Destroy {
		// Anything that is destroyed goes from where the configuration has it.
		r.prior.Keys = r.prior.KeysNow()
	}
	r.evaluate()
	r.closeLeases()
	diags.Append(r.evaluated())
	diags.Append(r.pool.Diagnostics())
	diags.Append(eval.Bugs(r.rt))
	diags.Append(r.others())
	if ctx.Err() != nil {
		diags = diag.List{{Severity: diag.Error, Code: diag.Interrupted.Name, Summary: diag.Interrupted.Summary, Detail: "Planning was interrupted before it was done."}}
	}
	p := r.finish(&diags)
	p.Errored = diags.HasErrors()
	if in.Observe != nil {
		in.Observe(r.root)
	}
	return p, diags
}

// newRun prepares a planning.
func newRun(ctx context.Context, in Input) *run {
	if in.Parallelism <= 0 {
		in.Parallelism = 10
	}
	before := prior.New(in.Prior)
	r := &run{
		Input: in, ctx: ctx,
		rt:        promise.NewRuntime(in.Parallelism),
		pool:      in.Pool,
		prior:     before,
		objects:   make(map[*eval.Instance]*object, len(before.Snapshot.Objects)),
		checks:    checkresults.New(),
		imports:   importTargets{map[addr.Instance]*importTarget{}, map[*eval.Frame]map[addr.Resource][]*importBlock{}},
		deferred:  map[addr.Instance]*plan.Deferred{},
		pendingOf: map[*promise.Node]bool{},
	}
	ev := &eval.Evaluator{Host: r.host(), Facts: in.Facts, Lenient: in.Mode == plan.RefreshOnly}
	ev.Whole = in.Mode == plan.Normal && len(in.Targets)+len(in.Excludes) == 0 && in.Invoke == nil
	r.root = ev.NewRoot(in.Tree.Program)
	r.references = sync.OnceValue(func() *refgraph.Of { return refgraph.In(in.Tree) })
	r.waiting = newSearch(r.isDeferred)
	r.excluded = &exclusion{run: r, known: map[place]bool{}}
	r.needed = r.prior.Snapshot.Behind(r.Needed)
	read := r.references
	if in.Mode == plan.Destroy {
		read = nil
	}
	r.scope = targeting.New(in.Tree, in.Targets, in.Excludes, read)
	r.usesExcluded = sync.OnceValue(func() map[addr.Instance]bool { return r.scope.UseExcluded(r.prior.Snapshot, r.prior.Now) })
	r.Looks.Begin(r.prior.Snapshot, r.Now)
	if !r.scope.IsPart() && !r.SkipRefresh { // for few objects there is no list
		r.lists = listrefresh.New(ctx, in.Lists, r.prior.Snapshot, r.Looks.MayLook, r.note)
	}
	return r
}

// host is the evaluator's host for the mode of the plan.
func (r *run) host() eval.Host {
	if r.Mode == plan.Destroy {
		return &destroyer{r}
	}
	return r
}

// evaluate runs all tasks: the walk, and the objects that the walk leaves.
func (r *run) evaluate() {
	switch {
	case r.Invoke != nil:
		r.rt.Go(func(t *promise.Task) { r.invoke(t) })
		r.rt.Wait()
		return
	case r.Mode == plan.Destroy:
		r.rt.Go(func(t *promise.Task) { (&destroyer{r}).walkStored(t, r.root) })
	case r.scope.IsPart():
		r.rt.Go(func(t *promise.Task) { r.walkScope(t, r.root) })
	default:
		r.rt.Go(func(t *promise.Task) {
			r.expandImports(t)
			r.root.Walk(r.rt)
		})
	}
	r.rt.Wait()
	if len(r.imports.found) > 0 && !r.scope.IsPart() {
		r.checkImports()
	}
	if r.Mode != plan.Destroy {
		r.checkMoves()
		r.checkRemoved()
	}
	r.sweep()
	r.rt.Wait()
	switch {
	case r.scope.IsPart():
		r.coveredOutputs()
	case r.Mode != plan.Destroy:
		r.observe()
		r.rt.Wait()
	}
}

// evaluated are the problems of what was evaluated. An output that can't be
// computed, because an object in it is missing, stays unchanged.
func (r *run) evaluated() diag.List {
	if r.lacking {
		return r.told
	}
	return r.root.Diagnostics()
}

// tell sends an event.
func (r *run) tell(e event.Event) {
	if r.Sink != nil {
		r.Sink(e)
	}
}

// others are the problems that belong to no cell of the evaluation, in the order of their places.
func (r *run) others() diag.List {
	l := append(r.diags, r.rt.Diagnostics()...)
	for _, blocks := range r.imports.blocks {
		for _, list := range blocks {
			for _, b := range list {
				l.Append(b.targets.Diagnostics())
			}
		}
	}
	slices.SortStableFunc(l, diag.ByPlace)
	return l
}

// note adds problems that are found without a task.
func (r *run) note(diags diag.List) {
	r.mu.Lock()
	r.diags.Append(diags)
	r.mu.Unlock()
}

// record keeps an object. Anything that has no configuration is recorded once.
func (r *run) record(o *object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.instance == nil {
		r.left = append(r.left, o)
		return
	}
	r.objects[o.instance] = o
}

// find returns the object that was recorded of an instance, or nil.
func (r *run) find(i *eval.Instance) *object {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects[i]
}

// Expand implements eval.Host: a plan needs to know its instances.
func (r *run) Expand(t *promise.Task, b eval.Block, configured func() (eval.Expansion, bool)) (e eval.Expansion, ok bool) {
	if r.closed { // problems were reported until then
		t.Collect(func() { e, ok = configured() })
		return e, ok && !e.Unknown
	}
	e, ok = configured()
	if e.Unknown && ok && r.leftOutBlock(b) {
		return e, false
	}
	if !e.Unknown || !ok || r.AllowDeferral && b.Provider == nil {
		return e, ok
	}
	where := b.Range()
	switch {
	case b.Provider != nil:
		ok = t.Report(diag.BadRepetition.As("Invalid provider for_each argument").Error(where, "The for_each of a provider configuration must be known when planning, because the objects in the state refer to its instances."))
	case e.Kind == eval.Counted:
		ok = t.Report(UnknownCount.Error(where, "The \"count\" value depends on resource attributes that cannot be determined until apply, so weir cannot predict how many instances will be created. To work around this, use -target to first apply only the resources that the count depends on, -exclude to leave %s out of this run, or -allow-deferral to plan what can be planned and the rest in a later run.", b))
	case e.Kind == eval.Keyed:
		ok = t.Report(UnknownForEach.Error(where, "The \"for_each\" value includes keys derived from resource attributes that cannot be determined until apply, and so weir cannot determine the full set of keys that will identify the instances of %s.\n\nWhen working with unknown values in for_each, it's better to define the map keys statically in your configuration and place apply-time results only in the map values. Alternatively, use -target to first apply only the resources that the for_each value depends on, -exclude to leave this block out, or -allow-deferral to plan what can be planned and the rest in a later run.", b))
	default:
		ok = t.Report(diag.BadRepetition.As("Invalid enabled argument").Error(where, "The \"enabled\" value depends on resource attributes that cannot be determined until apply, so weir cannot tell whether %s exists.", b))
	}
	return e, ok
}

// Resource implements eval.Host.
func (r *run) Resource(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	switch {
	case i.Addr.Name.Mode == addr.Action:
		return cty.DynamicVal, true // it is configured where it is invoked
	case i.Addr.Name.Mode == addr.List:
		return r.Find(t, i)
	case r.closed || r.scope.PassesOver(i.Addr) || r.leavesOut(t, i):
		return r.untouched(t, i)
	case i.Addr.Name.Mode == addr.Data:
		return r.data(t, i)
	case i.Addr.Name.Mode == addr.Ephemeral:
		return r.ephemeral(t, i)
	}
	return r.managed(t, i)
}
