// Package planner decides the changes of a plan. It answers the evaluator by calling
// providers, compares with the prior state, and orders the steps.
//
// It owns the decisions of a plan. It changes nothing: it reads through
// providers, writes no files, and never runs what it planned.
package planner

import (
	"context"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/incremental/freshness"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/actions"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/graphbuilder"
	"weir.dev/weir/internal/plan/prior"
	"weir.dev/weir/internal/resource/checkresults"
	"weir.dev/weir/internal/resource/instance"
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
	// ForgottenUnread: objects that a removed block forgets aren't read.
	ForgottenUnread bool
	// CreationsDontTrigger: what is created doesn't replace what names it in
	// replace_triggered_by.
	CreationsDontTrigger bool
	// ProvidersGenerate: providers that can write the configuration of an imported object.
	ProvidersGenerate bool
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
	// Upstream, unless nil, is asked before a data source is read. It returns what the instance
	// will have once another plan of this run is applied, and NilVal for one that is read now. It
	// may wait for that plan.
	Upstream func(i *eval.Instance, p addr.Provider, config cty.Value) (planned cty.Value, problems diag.List)
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

// A run is one planning: the parts that plan, and what they have in common. It is the evaluator's
// host, unless everything is destroyed.
type run struct {
	Input
	rt     *promise.Runtime
	root   *eval.Frame
	prior  *prior.Prior
	checks *checkresults.Set
	*expander

	record    *record
	calls     *calls
	layout    *layout
	selection *selection
	imports   *imports
	deferral  *deferral
	reader    *reader
	managed   *managed
	reads     *reads
	endings   *endings
	destroyer *destroyer
	actions   actions.Actions
	asked     []graphbuilder.Asked
	told      diag.List // the problems found until nothing more was planned
}

// Create makes a plan. Beside errors it returns what was planned so far,
// marked as errored.
func Create(ctx context.Context, in Input) (*plan.Plan, diag.List) {
	r := newRun(ctx, in)
	r.Pool.Serve(r.rt, func(s providerclient.Slowed) { r.calls.tell(event.Event{Kind: event.Slowed, Slowed: &s}) })
	diags := r.prior.CompileMoves(r.Tree, r, r.Facts)
	diags.Append(r.selection.Name(r.prior.Snapshot))
	if !r.Import {
		if covered := r.selection.checkCovered(r.prior.Moved()); len(covered) > 0 {
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
	r.record.note(r.calls.close(r.record.leases))
	diags.Append(r.evaluated())
	diags.Append(r.Pool.Diagnostics())
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
		Input: in, prior: before, checks: checkresults.New(),
		rt:       promise.NewRuntime(in.Parallelism),
		expander: &expander{allowDeferral: in.AllowDeferral},
		record:   newRecord(len(before.Snapshot.Objects)),
		calls:    &calls{ctx: ctx, pool: in.Pool, tree: in.Tree, sink: in.Sink},
		actions:  actions.Actions{Context: ctx, Pool: in.Pool, AllowDeferral: in.AllowDeferral},
	}
	r.destroyer = &destroyer{Base: in.Base, expander: r.expander}
	ev := &eval.Evaluator{Host: r.host(), Facts: in.Facts, Lenient: in.Mode == plan.RefreshOnly}
	ev.Creates = in.Mode == plan.Normal && in.Invoke == nil
	r.root = ev.NewRoot(in.Tree.Program)
	r.layout = newLayout(r.root, in.Tree)
	r.selection = newSelection(r.layout, before, &r.Options)
	r.expander.selection = r.selection
	r.imports = newImports(&r.Options, r.root)
	r.deferral = newDeferral(&r.Options, before, r.record)
	r.Looks.Begin(before.Snapshot, r.Now)
	var lists *listrefresh.Lists
	if !r.selection.IsPart() && !r.SkipRefresh { // for few objects there is no list
		lists = listrefresh.New(ctx, in.Lists, before.Snapshot, r.Looks.MayLook, r.record.note)
	}
	r.prepareStages(lists)
	return r
}

// prepareStages makes the parts that plan objects.
func (r *run) prepareStages(lists *listrefresh.Lists) {
	conditions := instance.Conditions{Set: r.checks, Severity: diag.Error}
	if r.Mode != plan.Normal { // nothing is changed, or everything goes
		conditions.Severity = diag.Warning
	}
	r.reader = &reader{
		options: &r.Options, calls: r.calls, record: r.record, imports: r.imports,
		chosen: r.selection.Wants, lists: lists, secrets: r.Facts.Secrets,
	}
	r.managed = &managed{
		options: &r.Options, prior: r.prior, calls: r.calls, reader: r.reader, record: r.record,
		deferral: r.deferral, conditions: conditions, actions: r.actions,
	}
	r.reads = &reads{
		mode: r.Mode, prior: r.prior, calls: r.calls, record: r.record, deferral: r.deferral, conditions: conditions,
		waits:    newWaits(&r.Options, r.prior, r.layout, r.selection, r.record),
		upstream: r.Upstream, rt: r.rt,
	}
	r.endings = &endings{
		options: &r.Options, prior: r.prior, calls: r.calls, layout: r.layout, selection: r.selection,
		reader: r.reader, record: r.record, deferral: r.deferral, actions: r.actions,
	}
	r.destroyer.endings, r.destroyer.reads = r.endings, r.reads
}

// host is the evaluator's host for the mode of the plan.
func (r *run) host() eval.Host {
	if r.Mode == plan.Destroy {
		return r.destroyer
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
		r.rt.Go(func(t *promise.Task) { r.destroyer.walk(t, r.rt, r.root) })
	case r.selection.IsPart():
		r.rt.Go(func(t *promise.Task) { r.walkScope(t, r.root) })
	default:
		r.rt.Go(func(t *promise.Task) {
			r.imports.expandBelow(t, r.root)
			r.root.Walk(r.rt)
		})
	}
	r.rt.Wait()
	if !r.selection.IsPart() {
		r.record.note(r.imports.check(r.layout))
	}
	if r.Mode != plan.Destroy {
		r.record.note(r.layout.checkMoves(r.prior))
		r.record.note(r.layout.checkRemoved())
	}
	r.sweep()
	switch {
	case r.selection.IsPart():
		r.coveredOutputs()
	case r.Mode != plan.Destroy:
		r.observe()
		r.rt.Wait()
	}
}

// sweep plans the ends of the objects that no instance has claimed.
func (r *run) sweep() {
	for _, o := range r.endings.orphans() {
		r.rt.Go(func(t *promise.Task) {
			t.Amend(func(l diag.List) diag.List { return l.InAddress(o.now.String()) }, func() { r.endings.orphan(t, o) })
		})
	}
	r.rt.Wait()
}

// evaluated are the problems of what was evaluated. An output that can't be
// computed, because an object in it is missing, stays unchanged.
func (r *run) evaluated() diag.List {
	if r.record.lacking {
		return r.told
	}
	return r.root.Diagnostics()
}

// others are the problems that belong to no cell of the evaluation, in the order of their places.
func (r *run) others() diag.List {
	l := append(r.record.diags, r.rt.Diagnostics()...)
	l.Append(r.imports.diagnostics())
	slices.SortStableFunc(l, diag.ByPlace)
	return l
}

// An expander says which instances blocks have.
type expander struct {
	selection     *selection
	allowDeferral bool
	closed        bool // nothing more is planned
}

// Expand implements eval.Host: a plan needs to know its instances.
func (x *expander) Expand(t *promise.Task, b eval.Block, configured func() (eval.Expansion, bool)) (e eval.Expansion, ok bool) {
	if x.closed { // problems were reported until then
		t.Collect(func() { e, ok = configured() })
		return e, ok && !e.Unknown
	}
	e, ok = configured()
	if e.Unknown && ok && x.selection.leftOutBlock(b) {
		return e, false
	}
	if !e.Unknown || !ok || x.allowDeferral && b.Provider == nil {
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
	case r.closed || r.selection.PassesOver(i.Addr) || r.selection.leavesOut(t, i):
		return r.untouched(t, i)
	case i.Addr.Name.Mode == addr.Data:
		return r.reads.data(t, i)
	case i.Addr.Name.Mode == addr.Ephemeral:
		return r.reads.ephemeral(t, i)
	}
	return r.managed.plan(t, i)
}
