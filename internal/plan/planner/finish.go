package planner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/graphbuilder"
	"weir.dev/weir/internal/plan/prior"
	"weir.dev/weir/internal/plan/refgraph"
	"weir.dev/weir/internal/plan/relevantattrs"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/checkresults"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/state"
)

// finish makes the plan of what the tasks have recorded.
func (r *run) finish(diags *diag.List) *plan.Plan {
	p := &plan.Plan{
		Mode: r.Mode, Previous: r.prior.Snapshot, Targets: r.Targets, Excludes: r.Excludes, Named: r.scope.Named,
		Timestamp: r.Now, Variables: r.planVariables(), Drift: r.drift, Schemas: map[addr.Provider]*provider.Schemas{},
	}
	slices.SortFunc(p.Drift, func(a, b *plan.Change) int { return a.Addr.Compare(b.Addr) })
	objects := r.sorted()
	p.Outputs = r.outputs()
	r.spareChecks(objects, p)
	for _, o := range objects {
		p.Schemas[o.conn.Addr.Provider] = o.conn.Schemas
		p.LeftOut = r.Looks.Left(*o.addr, o.stale, p.LeftOut)
		if o.change != nil {
			p.Changes = append(p.Changes, o.change)
		}
	}
	for _, d := range r.deferred {
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
	r.gatherChecks(diags.HasErrors())
	if p.Checks = r.checks.Results(); r.Invoke != nil {
		p.Checks = r.prior.Snapshot.Checks // nothing was inspected
	}
	r.invocations(objects, p)
	if in := r.arranging(objects); diags.HasErrors() {
		graphbuilder.Outline(in)
	} else {
		diags.Append(graphbuilder.Graph(in, p))
	}
	p.Refreshed = r.refreshedState(objects, p)
	p.Relevant = relevantattrs.Attributes(r.root, r.Tree, p, r.forgottenData())
	if !diags.HasErrors() {
		diags.Append(r.unmatchedReplace(objects))
		diags.Append(r.scope.Unpicked(p))
	}
	diags.Append(r.sharedObjects(objects))
	if !r.scope.Whole() {
		if !r.Import {
			diags.Append(r.unmatchedTargets())
		}
		diags.Add(targetingWarning(len(r.Targets) > 0))
	}
	return p
}

// arranging is what the graph is made of.
func (r *run) arranging(objects []*object) graphbuilder.Input {
	var first *refgraph.First
	if r.Mode != plan.Destroy {
		first = refgraph.CreatesFirst(r.Tree, r.references, r.scope.Covers)
	}
	recorded := make([]graphbuilder.Object, len(objects))
	list := make([]*graphbuilder.Object, len(objects))
	for n, o := range objects {
		o.settle()
		recorded[n] = graphbuilder.Object{
			Addr: o.addr, Previous: cmp.Or(o.from, &o.addr.Instance), Instance: o.instance, Stored: o.stored,
			Provider: o.conn.At(), Change: o.change, Conditions: o.conditions, Invocations: o.invocations,
			CreatesFirst: o.instance != nil && first.Has(o.instance.Addr.Module, o.instance.Resource),
			Deprovisions: o.addr.Deposed == "" && o.change != nil && (o.change.Action == plan.Delete || o.change.Action == plan.DeleteThenCreate) && len(r.deprovisioners(o)) > 0,
		}
		list[n] = &recorded[n]
	}
	return graphbuilder.Input{
		Mode: r.Mode, Objects: list, Asked: r.asked, Root: r.root, Provider: r.pool.Node, Batch: r.pool.Batch, Deferred: r.deferredOutput,
		Whole: !r.scope.IsPart() && r.Invoke == nil, UnreadOutputs: r.UnreadOutputs, NewKey: r.NewKey,
		Written: func(i addr.Instance) []addr.Resource {
			if t := r.Tree.At(i.Module); t != nil && t.Program.ResourceByName[i.Name] != nil {
				return r.references().Nearest(t, t.Program.ResourceByName[i.Name])
			}
			return nil
		},
		Meant: r.meant,
	}
}

// forgottenData are the results of data sources that a plan to destroy drops.
func (r *run) forgottenData() []addr.Instance {
	if r.Mode != plan.Destroy {
		return nil
	}
	var list []addr.Instance
	for a := range r.prior.Snapshot.Objects {
		if a.Name.Mode == addr.Data && r.scope.Wants(a.Instance) {
			list = append(list, a.Instance)
		}
	}
	return list
}

// spareChecks leaves out the second reads for check blocks where apply would do
// nothing else: then things are as they were found now.
func (r *run) spareChecks(objects []*object, p *plan.Plan) {
	quiet := !slices.ContainsFunc(objects, func(o *object) bool {
		return o.change != nil && !o.again && (o.change.Action != plan.NoOp || o.change.Moved() || o.change.Importing != nil)
	})
	if !quiet || slices.ContainsFunc(p.Outputs, func(o *plan.OutputChange) bool { return o.Action != plan.NoOp }) {
		return
	}
	for _, o := range objects {
		if o.again {
			o.change = nil
		}
	}
}

// maxOptions is how many instances a message names.
const maxOptions = 10

// unmatchedReplace warns of -replace options that name no instance.
func (r *run) unmatchedReplace(objects []*object) diag.List {
	var diags diag.List
	if r.Mode == plan.RefreshOnly {
		return nil
	}
	for _, wanted := range r.Replace {
		at := func(o *object) bool { return *o.addr == addr.Object{Instance: wanted} }
		if slices.ContainsFunc(objects, at) || r.prior.Current(wanted) != nil {
			continue
		}
		var options []string
		for _, o := range objects {
			if o.addr.Resource == wanted.Resource && o.addr.Deposed == "" && o.instance != nil {
				options = append(options, "  -replace="+addr.Quote(o.addr.Instance.String()))
			}
		}
		if len(options) > maxOptions {
			options = append(options[:maxOptions], "  ...")
		}
		d := diag.Diagnostic{Severity: diag.Warning, Code: diag.NoInstance.Name, Summary: "Incompletely-matched force-replace resource instance"}
		switch {
		case len(options) == 0:
			d.Detail = "There is no resource instance " + wanted.String() + ", so the -replace option for it has no effect. " + r.proposed(wanted.Target())
		case wanted.Key == addr.NoKey:
			d.Detail = "The -replace option for " + wanted.String() + " doesn't match any resource instance because it lacks an instance key.\n\nTo force the replacement of particular instances, use one or more of these options instead:\n" + strings.Join(options, "\n")
		default:
			d.Detail = "The -replace option for " + wanted.String() + " doesn't match any resource instance. To force the replacement of others, use one or more of these options instead:\n" + strings.Join(options, "\n")
		}
		diags.Add(d)
	}
	return diags
}

func targetingWarning(targets bool) diag.Diagnostic {
	if targets {
		return Targeting.New(diag.Warning, "You are creating a plan with the -target option, which means that the result of this plan may not represent all of the changes requested by the current configuration.\n\nThe -target option is for exceptional situations such as recovering from errors or mistakes; it isn't meant for routine use.")
	}
	return Targeting.New(diag.Warning, "You are creating a plan with the -exclude option, which means that the result of this plan may not represent all of the changes requested by the current configuration.\n\nThe -exclude option is for exceptional situations such as recovering from errors or mistakes; it isn't meant for routine use.")
}

// sorted lists the recorded objects by address.
func (r *run) sorted() []*object {
	list := append(make([]*object, 0, len(r.objects)+len(r.left)), r.left...)
	for _, o := range r.objects {
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b *object) int { return a.addr.Compare(*b.addr) })
	return list
}

func (r *run) planVariables() map[string]*plan.Variable {
	vars := map[string]*plan.Variable{}
	for _, v := range r.Tree.Program.Variables {
		given, ok := r.Variables[v.Name]
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

// refreshedState is the prior state as providers see it now, at the new
// addresses.
func (r *run) refreshedState(objects []*object, p *plan.Plan) *state.Snapshot {
	s := r.prior.Snapshot.Clone()
	for a := range s.Objects {
		if a.Name.Mode == addr.Data && r.dropsData(a) {
			delete(s.Objects, a)
		}
	}
	// Dependencies on moved addresses are widened, before those of the configuration replace them.
	moved := map[addr.Resource]bool{}
	for _, o := range objects {
		if o.from != nil {
			moved[o.from.Resource.Erase()], moved[o.addr.Resource.Erase()] = true, true
		}
	}
	if len(moved) > 0 {
		s.ForgetUses(moved)
	}
	for _, o := range objects {
		delete(s.Objects, addr.Object{Instance: o.previous(), Deposed: o.addr.Deposed})
	}
	for _, o := range objects {
		if o.stored == nil || o.change != nil && o.change.Action == plan.Read && !o.again || o.addr.Name.Mode == addr.Ephemeral {
			continue
		}
		stored := o.stored
		if o.change != nil && o.instance != nil && p.Graph != nil {
			stored = r.settled(o, p, moved)
		}
		s.Objects[*o.addr] = stored
	}
	s.Checks = p.Checks
	prior.FollowMoves(s, func(yield func(old, now addr.Resource) bool) {
		for _, o := range objects {
			if o.from != nil && !yield(o.from.Resource.Erase(), o.addr.Resource.Erase()) {
				return
			}
		}
	})
	return s
}

// dropsData reports whether a data source's old result is left out of the state: read again,
// or gone from the configuration.
func (r *run) dropsData(a addr.Object) bool {
	if r.Mode == plan.Destroy {
		return false // providers may be configured with it until the end
	}
	desired, _, unsure := r.standing(a.Instance)
	return !desired && !unsure && (len(r.Targets) == 0 || r.scope.Targeted(a.Instance))
}

// settled is a stored object with what the configuration says about it now. Until
// it is changed it may still need what it needed before.
func (r *run) settled(o *object, p *plan.Plan, moved map[addr.Resource]bool) *state.Object {
	stored, c := o.stored, o.change
	if r.Mode == plan.Destroy || o.addr.Name.Mode != addr.Managed {
		return stored
	}
	now, at := state.Object{Dependencies: p.DependenciesOf(c), Uses: p.UsesOf(c)}, *c.Provider
	if r.Mode != plan.Normal || c.Action != plan.NoOp {
		at = stored.Provider // until it has dealt with the object, which it may not be able to
		old := state.Object{Dependencies: stored.Dependencies, Uses: stored.Uses}
		if moved[o.addr.Resource.Erase()] || slices.ContainsFunc(old.Uses, func(u state.Uses) bool { return moved[u.Resource] }) {
			old.Uses = nil // the instances that it names may be others now
		}
		if !r.SkipRefresh && c.Importing == nil {
			old.Dependencies, old.Uses = state.JoinDependencies(old.Dependencies, now.Dependencies), state.JoinUses(&old, &now)
		}
		now = old
	}
	if slices.Equal(now.Dependencies, stored.Dependencies) && state.SameUses(now.Uses, stored.Uses) && stored.Settings == c.Settings && stored.Provider == at {
		return stored
	}
	fresh := *stored
	fresh.Dependencies, fresh.Uses, fresh.Settings, fresh.Provider = now.Dependencies, now.Uses, c.Settings, at
	return &fresh
}

// outputs compares the root outputs with the stored ones.
func (r *run) outputs() []*plan.OutputChange {
	if r.Invoke != nil {
		return nil
	}
	var list []*plan.OutputChange
	null := cty.NullVal(cty.DynamicPseudoType)
	declared := map[string]bool{}
	for _, o := range r.Tree.Program.Outputs {
		if o.Ephemeral { // in a test, which runs any module as a root
			continue
		}
		declared[o.Name] = true
		c := &plan.OutputChange{Name: o.Name, Before: null, After: null, Sensitive: o.Sensitive}
		stored, had := r.prior.Snapshot.Outputs[o.Name]
		had = had && !stored.Value.IsNull()
		if had {
			c.Before, c.BeforeSensitive = stored.Value, stored.Sensitive
		}
		v, node, ok := r.root.OutputValue(o)
		ok = ok && !r.deferredOutput(node)
		switch {
		case r.Mode == plan.Destroy:
			if !had || !r.endsWithObjects(o) {
				continue
			}
			c.Action = plan.Delete
		case !ok:
			continue
		default:
			c.After = v
			c.Sensitive = c.Sensitive || r.Tree.Program.Stack && value.IsSensitive(v)
			c.Action = outputAction(c, had)
		}
		c.Before = sensitiveIf(c.Before, c.BeforeSensitive)
		list = append(list, c)
	}
	if r.scope.Whole() {
		for name, stored := range r.prior.Snapshot.Outputs {
			if !declared[name] && !stored.Value.IsNull() {
				list = append(list, &plan.OutputChange{Name: name, Action: plan.Delete, Before: sensitiveIf(stored.Value, stored.Sensitive), After: null, BeforeSensitive: stored.Sensitive})
			}
		}
	}
	slices.SortFunc(list, func(a, b *plan.OutputChange) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return list
}

func sensitiveIf(v cty.Value, sensitive bool) cty.Value {
	if sensitive {
		return v.Mark(value.Sensitive)
	}
	return v
}

func outputAction(c *plan.OutputChange, had bool) plan.Action {
	after, _ := c.After.UnmarkDeep()
	switch {
	case !had && after.IsKnown() && after.IsNull():
		return plan.NoOp
	case !had:
		return plan.Create
	case after.IsKnown() && after.IsNull():
		return plan.Delete
	case c.BeforeSensitive != c.Sensitive:
		return plan.Update
	}
	if same := c.Before.Equals(after); same.IsKnown() && same.True() && c.Before.Type().Equals(after.Type()) {
		return plan.NoOp
	}
	if c.Before.RawEquals(after) {
		return plan.NoOp
	}
	return plan.Update
}

// gatherChecks collects the outcomes of conditions that evaluation has computed, and declares
// the objects whose conditions had no instance. Anything that wasn't evaluated, because of
// -target or an error, isn't known to hold.
func (r *run) gatherChecks(failed bool) {
	if r.Mode != plan.Destroy {
		for _, f := range r.root.Frames() {
			r.gatherFrame(f)
		}
	} else if r.scope.Whole() {
		for _, o := range r.Tree.Program.Outputs {
			if len(o.Preconditions) > 0 {
				r.checks.Unevaluated(checkresults.In(r.root, "output_value", "output."+o.Name))
			}
		}
	}
	declare := r.checks.Declare
	if failed || !r.scope.Whole() || r.Mode == plan.Destroy {
		declare = r.checks.Unexpanded
	}
	for _, c := range r.Tree.Checkables() {
		declare(c.Kind, c.Address)
	}
}

// gatherFrame collects what is known of the conditions in a module instance.
// Those in declarations that the plan leaves out have no instances.
func (r *run) gatherFrame(f *eval.Frame) {
	tree := r.Tree.At(f.Addr)
	gather := func(declaration any, kind, name string, conditions int, outcomes []eval.Outcome) {
		switch {
		case conditions == 0 || !r.scope.Covers(refgraph.Site{Tree: tree, Declaration: declaration}):
		case outcomes != nil:
			r.checks.Add(checkresults.In(f, kind, name), conditions, outcomes)
		default:
			r.checks.Unevaluated(checkresults.In(f, kind, name))
		}
	}
	p := f.Program
	for _, o := range p.Observers {
		if own := o.Own(); own != nil && r.scope.IsPart() {
			gather(own, string(o.Head().Kind), o.Head().Name, 1, nil)
		}
	}
	for _, v := range p.Variables {
		gather(v, "input_variable", "var."+v.Name, len(v.Validations), f.VariableOutcomes(v))
	}
	for _, o := range p.Outputs {
		if outcomes := f.OutputOutcomes(o); r.lacking && slices.ContainsFunc(outcomes, eval.Outcome.Missing) {
			gather(o, "output_value", "output."+o.Name, len(o.Preconditions), nil)
			continue
		}
		gather(o, "output_value", "output."+o.Name, len(o.Preconditions), f.OutputOutcomes(o))
	}
	for _, res := range p.Resources {
		if len(res.Preconditions)+len(res.Postconditions) > 0 && (r.scope.Covers(refgraph.Site{Tree: tree, Declaration: res})) {
			r.gatherConditions(f, res)
		}
	}
}

// gatherConditions notes what isn't known of a resource's conditions.
func (r *run) gatherConditions(f *eval.Frame, res *program.Resource) {
	block := checkresults.In(f, "resource", res.Name.String())
	r.checks.Declare(block.Kind, block.Address)
	if _, _, known := f.Lookup(res, addr.NoKey); !known {
		r.checks.Unevaluated(block)
	}
	for _, i := range f.Expanded(res) {
		r.checks.Unevaluated(instance.Checked(i))
	}
}
