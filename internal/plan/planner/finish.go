package planner

import (
	"cmp"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/graphbuilder"
	"weir.dev/weir/internal/plan/refgraph"
	"weir.dev/weir/internal/plan/relevantattrs"
	"weir.dev/weir/internal/provider"
)

// finish makes the plan of what the tasks have recorded.
func (r *run) finish(diags *diag.List) *plan.Plan {
	p := &plan.Plan{
		Mode: r.Mode, Previous: r.prior.Snapshot, Targets: r.Targets, Excludes: r.Excludes, Named: r.selection.Named,
		Timestamp: r.Now, Variables: planVariables(r.Tree.Program, r.Variables), Drift: r.record.drift, Schemas: map[addr.Provider]*provider.Schemas{},
	}
	slices.SortFunc(p.Drift, func(a, b *plan.Change) int { return a.Addr.Compare(b.Addr) })
	objects := r.record.sorted()
	if !r.selection.Whole() {
		p.Scope = r.record.scope(objects)
	}
	if r.Invoke == nil {
		outputs := &outputs{mode: r.Mode, prior: r.prior, layout: r.layout, selection: r.selection, waits: r.waits}
		p.Outputs = outputs.changes()
	}
	spareChecks(objects, p)
	for _, o := range objects {
		p.Schemas[o.conn.Addr.Provider] = o.conn.Schemas
		p.LeftOut = r.Looks.Left(*o.addr, o.stale, p.LeftOut)
		if o.change != nil {
			p.Changes = append(p.Changes, o.change)
		}
	}
	for _, d := range r.record.deferred {
		p.Deferred = append(p.Deferred, d)
	}
	slices.SortFunc(p.Deferred, func(a, b *plan.Deferred) int { return a.Change.Addr.Compare(b.Change.Addr) })
	for _, f := range r.root.Frames() {
		if f.Gone() {
			p.Gone = append(p.Gone, f.Addr)
		} else {
			p.Modules = append(p.Modules, f.Addr)
		}
	}
	outcomes := &outcomes{mode: r.Mode, layout: r.layout, selection: r.selection, checks: r.checks, lacking: r.record.lacking}
	outcomes.gather(diags.HasErrors())
	if p.Checks = r.checks.Results(); r.Invoke != nil {
		p.Checks = r.prior.Snapshot.Checks // nothing was inspected
	}
	r.invocations(objects, p)
	if in := r.graphInput(objects); diags.HasErrors() {
		graphbuilder.Outline(in)
	} else {
		diags.Append(graphbuilder.Graph(in, p))
	}
	refreshed := &refreshed{options: &r.Options, prior: r.prior, layout: r.layout, selection: r.selection}
	p.Refreshed = refreshed.state(objects, p)
	p.Relevant = relevantattrs.Attributes(r.root, r.Tree, p, refreshed.forgottenData())
	unmatched := &unmatched{options: &r.Options, prior: r.prior, layout: r.layout}
	if !diags.HasErrors() {
		diags.Append(unmatched.replacements(objects))
		diags.Append(r.selection.Unpicked(p))
	}
	diags.Append(r.imports.shared(objects, r.prior))
	if !r.selection.Whole() {
		if !r.Import {
			diags.Append(unmatched.targets())
		}
		diags.Add(targetingWarning(len(r.Targets) > 0))
	}
	return p
}

// waits reports whether an output depends on something that waits for a later round.
func (r *run) waits(n *promise.Node) bool {
	return (r.AllowDeferral || len(r.record.deferred) > 0) && r.deferral.waiting.reaches(n.Deps())
}

// graphInput is what the graph is made of.
func (r *run) graphInput(objects []*object) graphbuilder.Input {
	var first *refgraph.First
	if r.Mode != plan.Destroy {
		first = refgraph.CreatesFirst(r.Tree, r.layout.references, r.selection.Covers)
	}
	recorded := make([]graphbuilder.Object, len(objects))
	list := make([]*graphbuilder.Object, len(objects))
	for n, o := range objects {
		recorded[n] = graphbuilder.Object{
			Addr: o.addr, Previous: cmp.Or(o.from, &o.addr.Instance), Instance: o.instance, Stored: o.stored,
			Provider: o.conn.At(), Change: o.change, Conditions: o.conditions, Invocations: o.invocations,
			CreatesFirst: o.instance != nil && first.Has(o.instance.Addr.Module, o.instance.Resource),
			Deprovisions: o.addr.Deposed == "" && o.change != nil && (o.change.Action == plan.Delete || o.change.Action == plan.DeleteThenCreate) && len(r.layout.deprovisioners(*o.addr, o.instance, o.stored)) > 0,
		}
		list[n] = &recorded[n]
	}
	return graphbuilder.Input{
		Mode: r.Mode, Objects: list, Asked: r.asked, Root: r.root, Provider: r.Pool.Node, Batch: r.Pool.Batch, Deferred: r.waits,
		Whole: !r.selection.IsPart() && r.Invoke == nil, UnreadOutputs: r.UnreadOutputs, NewKey: r.NewKey,
		Written: func(i addr.Instance) []addr.Resource {
			if t := r.Tree.At(i.Module); t != nil && t.Program.ResourceByName[i.Name] != nil {
				return r.layout.references().Nearest(t, t.Program.ResourceByName[i.Name])
			}
			return nil
		},
		Meant: func(i *eval.Instance) map[addr.Resource][]addr.Instance { return meant(r.rt, i) },
	}
}

// spareChecks leaves out the second reads for check blocks where apply would do
// nothing else: then things are as they were found now.
func spareChecks(objects []*object, p *plan.Plan) {
	quiet := !slices.ContainsFunc(objects, func(o *object) bool {
		return o.change != nil && !o.again && (o.change.Action != plan.NoOp || o.change.Moved() || o.change.Importing != nil)
	})
	if !quiet || slices.ContainsFunc(p.Outputs, func(o *plan.OutputChange) bool { return o.Action != plan.NoOp }) {
		return
	}
	for n, o := range objects {
		if o.again {
			spared := *o
			spared.addr, spared.change = &addr.Object{Instance: o.instance.Addr}, nil
			objects[n] = &spared
		}
	}
}

func targetingWarning(targets bool) diag.Diagnostic {
	if targets {
		return Targeting.New(diag.Warning, "You are creating a plan with the -target option, which means that the result of this plan may not represent all of the changes requested by the current configuration.\n\nThe -target option is for exceptional situations such as recovering from errors or mistakes; it isn't meant for routine use.")
	}
	return Targeting.New(diag.Warning, "You are creating a plan with the -exclude option, which means that the result of this plan may not represent all of the changes requested by the current configuration.\n\nThe -exclude option is for exceptional situations such as recovering from errors or mistakes; it isn't meant for routine use.")
}

func planVariables(p *program.Program, values map[string]cty.Value) map[string]*plan.Variable {
	vars := map[string]*plan.Variable{}
	for _, v := range p.Variables {
		given, ok := values[v.Name]
		if !ok {
			given = v.Default
		}
		if given == cty.NilVal {
			continue
		}
		entry := &plan.Variable{Value: given, Ephemeral: v.Ephemeral, Given: ok}
		if v.Ephemeral {
			entry.Value = cty.NullVal(v.Type)
		} else {
			entry.Value, _ = given.UnmarkDeep()
		}
		vars[v.Name] = entry
	}
	return vars
}
