package apply

import (
	"context"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/eval/checks"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/checkresults"
	"weir.dev/weir/internal/resource/contract"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/ratelimit"
	"weir.dev/weir/internal/resource/resourceconfig"
	"weir.dev/weir/internal/state"
)

func (r *run) openProvider(t *promise.Task, s *step) diag.List {
	r.conn(t, *s.Provider)
	return nil
}

// conn opens a provider instance; nil after a problem, which the pool has.
func (r *run) conn(t *promise.Task, p addr.ProviderConfig) *providerclient.Conn {
	pi, _ := providerclient.Find(t, r.frame(t, p.Module), p)
	if pi == nil {
		t.Fail()
		return nil
	}
	conn := r.pool.Open(t, pi)
	if conn == nil {
		t.Fail()
	}
	return conn
}

// An operation is a step on a configured instance, opened.
type operation struct {
	instance *eval.Instance
	conn     *providerclient.Conn
	subject  lifecycle.Subject
	change   *plan.Change
}

// open finds what a step on an instance needs. ok is false after a problem.
func (r *run) open(t *promise.Task, s *step) (op operation, diags diag.List, ok bool) {
	op.instance = r.find(t, s.Object.Instance)
	op.change = r.change(s)
	if op.instance == nil {
		t.Fail()
		return op, nil, false
	}
	if op.conn = r.conn(t, *s.Provider); op.conn == nil {
		return op, nil, false
	}
	sch := op.conn.Schemas.Resource(s.Object.Name.Mode, s.Object.Name.Type)
	if sch == nil {
		diags.Add(resourceconfig.UnsupportedType.New(diag.Error, "The provider %s does not support %q.", s.Provider.Provider, s.Object.Name.Type))
		return op, diags, false
	}
	op.subject, diags = instance.Subject(t, s.Object.Instance, op.conn, sch, op.instance.Frame)
	return op, diags, !diags.HasErrors()
}

func (r *run) locate(i *eval.Instance, o addr.Object, diags diag.List) diag.List {
	if i == nil {
		return diags.InAddress(o.String())
	}
	return providerclient.Locate(diags, i.Resource.Config, o.Instance.String())
}

// conditions evaluates conditions with final values.
func (r *run) conditions(t *promise.Task, i *eval.Instance, pre bool, self cty.Value) diag.List {
	if pre {
		return instance.Conditions(t, i, i.Resource.Preconditions, cty.NilVal, "Resource precondition failed", diag.Error, r.checks)
	}
	return instance.Conditions(t, i, i.Resource.Postconditions, self, "Resource postcondition failed", diag.Error, r.checks)
}

// A finalized change is one that is ready to be made: its configuration has no
// unknown values, its preconditions hold, and the provider's final plan keeps
// what was shown.
type finalized struct {
	op      operation
	config  resourceconfig.Config
	prior   lifecycle.Object
	planned lifecycle.Planned
}

// finalize makes a change ready. ok is false after a problem.
func (r *run) finalize(t *promise.Task, s *step) (f finalized, diags diag.List, ok bool) {
	f.op, diags, ok = r.open(t, s)
	if !ok {
		return f, diags, false
	}
	i := s.Object.Instance.String()
	config, more := resourceconfig.Configure(t, f.op.instance, f.op.subject.Schema)
	diags.Append(more)
	if diags.HasErrors() || t.Current().Failed() {
		return f, diags.InAddress(i), false
	}
	diags.Append(r.conditions(t, f.op.instance, true, cty.NilVal))
	if diags.HasErrors() {
		return f, diags.InAddress(i), false
	}
	f.config, f.prior = config, r.priorOf(f.op)
	if f.prior.Exists() {
		f.config.Sensitive = instance.Sensitive(f.op.instance.Resource, r.object(*s.Object), config)
	}
	f.planned, more = r.finalPlan(t, f.op, f.prior, config)
	diags.Append(r.locate(f.op.instance, *s.Object, more))
	return f, diags, !more.HasErrors()
}

// finalizeEarly makes a replacement ready before anything is deleted for it.
func (r *run) finalizeEarly(t *promise.Task, s *step, out *outcome) diag.List {
	f, diags, ok := r.finalize(t, s)
	if ok {
		out.final = &f
	}
	return diags
}

// finalized is a change that is ready, by an earlier step or now.
func (r *run) finalized(t *promise.Task, s *step) (finalized, diag.List, bool) {
	if early := r.outcome(s, execgraph.Finalize); early.final != nil {
		f := *early.final
		early.final = nil // nobody needs it after this
		return f, nil, true
	}
	return r.finalize(t, s)
}

// A created object is one whose provisioners are still to run.
type created struct {
	op     operation
	object lifecycle.Object
	value  cty.Value // with marks
}

// apply creates or updates an object.
func (r *run) apply(t *promise.Task, s *step, out *outcome) diag.List {
	f, diags, ok := r.finalized(t, s)
	if !ok {
		return diags
	}
	op := f.op
	out.nothing = f.nothing()
	after, begun, more := r.callApply(t, s, f)
	diags.Append(more)
	if !begun {
		t.Fail()
		out.halted = len(more) == 0
		return diags
	}
	failed := more.HasErrors()
	create := !f.prior.Exists()
	if failed && create && after.Exists() {
		after.Tainted = true
	}
	if failed && !create {
		after.Tainted = f.prior.Tainted
	}
	marked := op.subject.Schema.Block.MarkSensitive(resourceconfig.MarkPaths(after.Value, f.config.Sensitive))
	r.Facts.Secrets.AddMarked(marked)
	// An object whose provisioners haven't ended isn't complete, also when this
	// process ends meanwhile.
	provisioned := create && !failed && op.instance.Resource.Provisions()
	if provisioned {
		after.Tainted = true
	}
	if out.unanswered = after.Unanswered; out.unanswered {
		return diags
	}
	diags.Append(r.save(op, after, marked, failed))
	if failed {
		if after.Exists() {
			diags.Append(r.postconditions(t, op.instance, marked))
		}
		return diags
	}
	if provisioned {
		out.made = &created{op, after, marked}
		return diags
	}
	return append(diags, r.complete(t, op, marked, out)...)
}

// complete gives an instance its value and holds it to its postconditions.
func (r *run) complete(t *promise.Task, op operation, v cty.Value, out *outcome) diag.List {
	r.give(out, r.types.Share(op.change.Addr.Name.Type, v))
	return r.postconditions(t, op.instance, v)
}

// postconditions hold for whatever there is of an instance, also where making it
// has failed.
func (r *run) postconditions(t *promise.Task, i *eval.Instance, v cty.Value) diag.List {
	return r.conditions(t, i, false, v).InAddress(i.Addr.String())
}

// priorOf is the object that an apply starts from: none where the old one is
// replaced.
func (r *run) priorOf(op operation) lifecycle.Object {
	stored := r.object(op.change.Addr)
	if stored == nil || op.change.Action != plan.Update {
		return op.subject.None()
	}
	v, _ := op.change.Before.UnmarkDeep()
	return lifecycle.Object{Value: v, Private: stored.Private, Identity: op.change.BeforeIdentity, Tainted: stored.Tainted}
}

// finalPlan plans again with the final configuration and holds the result to
// what was shown.
func (r *run) finalPlan(t *promise.Task, op operation, prior lifecycle.Object, config resourceconfig.Config) (lifecycle.Planned, diag.List) {
	res := op.instance.Resource
	var p lifecycle.Planned
	var diags diag.List
	if !config.Value.IsWhollyKnown() {
		diags.Add(diag.Bug.As("Configuration contains unknown value").New(diag.Error, "The configuration of %s still has values that aren't known, although everything it depends on is done. This is a bug in weir.", op.change.Addr))
		return p, diags
	}
	if p, ok := asShown(op, prior); ok {
		return p, nil
	}
	op.conn.AskOf(t, r.commands, ratelimit.Plan, op.subject, func(s lifecycle.Subject) diag.List {
		p, diags = s.Plan(r.ctx, lifecycle.PlanInput{
			Prior: prior, Config: config.Value, Ignore: program.Paths(res.IgnoreChanges), IgnoreAll: res.IgnoreAll,
		})
		return diags
	})
	if diags.HasErrors() {
		return p, diags
	}
	var inconsistent diag.List
	switch {
	case p.Change == contract.Replace:
		inconsistent.Add(lifecycle.InconsistentFinalPlan.New(diag.Error, "When expanding the plan for %s to include new values learned so far during apply, provider %q changed the planned action from %s to a replacement.\n\nThis is a bug in the provider, which should be reported in the provider's own issue tracker.", op.change.Addr, op.subject.Source, op.change.Action))
	default:
		shown, _ := op.change.After.UnmarkDeep()
		inconsistent.Append(op.subject.Same(shown, p))
	}
	if inconsistent.HasErrors() && r.Changed != nil {
		if changed := r.Changed(); len(changed) > 0 {
			// The provider was given another configuration.
			inconsistent = lifecycle.InconsistentFinalPlan.As("Files changed during apply").List("Functions of the configuration read these files, which have changed since the plan was made:\n  - %s\n\nWith what they have now the change of %s isn't the planned one any more, so it isn't made. Plan again. To apply what the plan has read, save the plan with -out and apply that.", strings.Join(changed, "\n  - "), op.change.Addr)
		}
	}
	diags.Append(inconsistent)
	return p, diags
}

// asShown is the final plan where it can only be the one that was shown: all of that
// is known, so that the configuration was too, and the provider answers the same
// question alike.
func asShown(op operation, prior lifecycle.Object) (lifecycle.Planned, bool) {
	if _, alike := op.conn.Provider.(provider.Repeatable); !alike || op.change.Action != plan.Update || !prior.Exists() {
		return lifecycle.Planned{}, false
	}
	shown, _ := op.change.After.UnmarkDeep()
	return lifecycle.Planned{Change: contract.Update, Value: shown, Private: op.change.Private, Identity: op.change.AfterIdentity}, shown.IsWhollyKnown()
}

// nothing reports whether there is nothing to change in the end.
func (f *finalized) nothing() bool { return f.planned.Change == contract.None && f.prior.Exists() }

// callApply asks the provider to make the change, unless none exists.
func (r *run) callApply(t *promise.Task, s *step, f finalized) (_ lifecycle.Object, begun bool, _ diag.List) {
	op, prior, p := f.op, f.prior, f.planned
	if f.nothing() {
		return lifecycle.Object{Value: p.Value, Private: prior.Private, Identity: prior.Identity, Tainted: prior.Tainted}, true, nil
	}
	action := plan.Update
	if !prior.Exists() {
		action = plan.Create
	}
	sensitive := f.config.Sensitive
	if stored := r.object(op.change.Addr); stored != nil {
		sensitive = slices.Concat(sensitive, stored.Sensitive)
	}
	key, id := instance.Identify(prior.Value, op.subject.Schema.Block, sensitive)
	i := intended{plan.Intent{Object: op.change.Addr, Action: action, Provider: op.conn.Addr, Key: key, ID: id}, sensitive}
	if action == plan.Create {
		i.Needs = r.dependencies(op.change)
	}
	after, begun, diags := r.effect(t, s, op.conn, i, op.subject, lifecycle.ApplyInput{
		Prior: prior, Planned: p.Value, Config: f.config.Value, Private: p.Private, Identity: p.Identity,
	}, action == plan.Create && op.instance.Resource.Provisions())
	return after, begun, r.locate(op.instance, op.change.Addr, diags)
}

// save puts an object into the working state with what is kept beside it.
// An object whose update has failed may still need what it needed before.
func (r *run) save(op operation, after lifecycle.Object, marked cty.Value, failed bool) diag.List {
	var diags diag.List
	var stored *state.Object
	if after.Exists() {
		var err error
		stored, err = op.subject.Store(after, op.conn.Addr, resourceconfig.SensitivePaths(marked))
		if err != nil {
			diags.Add(diag.Bug.As("Failed to encode an object").New(diag.Error, "%s", err))
			return diags
		}
		stored.Settings = op.change.Settings
		stored.Dependencies, stored.Uses = r.dependencies(op.change), r.uses(op.change)
		if old := r.object(op.change.Addr); failed && old != nil {
			stored.Dependencies, stored.Uses = state.JoinDependencies(stored.Dependencies, old.Dependencies), state.JoinUses(stored, old)
		}
	}
	return append(diags, r.result(op.change.Addr, stored)...)
}

// depose puts the current object aside for a replacement.
func (r *run) depose(s *step, out *outcome) diag.List {
	stored := r.object(*s.Object)
	if stored == nil {
		return nil
	}
	deposed := addr.Object{Instance: s.Object.Instance, Deposed: r.change(s).DeposedKey}
	aside := *stored
	out.aside = stored
	return r.moved(*s.Object, deposed, &aside)
}

// restore takes a deposed object back when its replacement failed. It
// stays aside while the replacement exists or may exist.
func (r *run) restore(s *step) diag.List {
	deposed := addr.Object{Instance: s.Object.Instance, Deposed: r.change(s).DeposedKey}
	mayExist := r.outcome(s, execgraph.Apply).unanswered
	if mayExist || r.object(*s.Object) != nil || r.object(deposed) == nil {
		return nil
	}
	return r.moved(deposed, *s.Object, r.outcome(s, execgraph.Depose).aside)
}

// destroy deletes an object: a current one, or a deposed one.
func (r *run) destroy(t *promise.Task, s *step, out *outcome) diag.List {
	c := r.change(s)
	stored := r.object(*s.Object)
	if stored == nil {
		return nil
	}
	conn := r.conn(t, *s.Provider)
	if conn == nil {
		return nil
	}
	sch := conn.Schemas.Resource(s.Object.Name.Mode, s.Object.Name.Type)
	i := r.standIn(s.Object.Instance)
	var f *eval.Frame
	if conn.Schemas.Meta != nil {
		f = r.frame(t, s.Object.Module)
	}
	subject, diags := instance.Subject(t, s.Object.Instance, conn, sch, f)
	before, _ := c.Before.UnmarkDeep()
	prior := lifecycle.Object{Value: before, Private: stored.Private, Identity: c.BeforeIdentity, Tainted: stored.Tainted}
	private := stored.Private
	if c.Action == plan.Delete && c.Private != nil {
		private = c.Private
	}
	key, id := instance.Identify(before, sch.Block, stored.Sensitive)
	null := subject.None()
	after, begun, more := r.effect(t, s, conn, intended{plan.Intent{Object: *s.Object, Action: plan.Delete, Provider: conn.Addr, Key: key, ID: id}, stored.Sensitive}, subject,
		lifecycle.ApplyInput{Prior: prior, Planned: null.Value, Config: null.Value, Private: private, Identity: cty.NilVal}, false)
	diags.Append(r.locate(i, *s.Object, more))
	if !begun {
		t.Fail()
		out.halted = len(more) == 0
	}
	if !begun || after.Unanswered {
		return diags
	}
	if !after.Exists() {
		stored = nil
	} else if !after.Value.RawEquals(before) {
		fresh, err := subject.Store(after, stored.Provider, stored.Sensitive)
		if err == nil {
			fresh.Dependencies, fresh.Uses, fresh.Settings, fresh.Tainted = stored.Dependencies, stored.Uses, stored.Settings, stored.Tainted
			stored = fresh
		}
	}
	if stored != nil && s.Object.Deposed != "" && stored.CreateBeforeDestroy {
		// The flag says how an object is replaced; of this one only the deletion
		// is left, which was tried.
		kept := *stored
		kept.CreateBeforeDestroy = false
		stored = &kept
	}
	return append(diags, r.result(*s.Object, stored)...)
}

// readData reads a data source that was postponed.
func (r *run) readData(t *promise.Task, s *step, out *outcome) diag.List {
	i := s.Object.Instance
	op, diags, ok := r.open(t, s)
	if !ok {
		return instance.CheckWarnings(r.checks, op.instance, diags)
	}
	config, more := resourceconfig.Configure(t, op.instance, op.subject.Schema)
	diags.Append(more)
	if diags.HasErrors() || t.Current().Failed() {
		return instance.CheckWarnings(r.checks, op.instance, diags.InAddress(i.String()))
	}
	diags.Append(r.conditions(t, op.instance, true, cty.NilVal))
	if diags.HasErrors() {
		return diags.InAddress(i.String())
	}
	var v cty.Value
	asked := false
	r.call(ratelimit.Read, op.subject.Source, i.Name, func(ctx context.Context) diag.List {
		if r.halted() {
			return nil
		}
		if !asked {
			asked = true
			r.tell(event.Event{Kind: event.ApplyStart, Step: s.id, Addr: *s.Object, Action: plan.Read})
		}
		v, _, more = op.subject.ReadData(ctx, config.Value)
		return more
	})
	if !asked {
		t.Fail()
		return diags
	}
	e := event.Event{Kind: event.ApplyComplete, Addr: *s.Object, Action: plan.Read}
	if more.HasErrors() {
		e.Kind = event.ApplyErrored
	}
	e.IDKey, e.IDValue = instance.Identify(v, op.subject.Schema.Block, config.Sensitive)
	r.tell(e)
	diags.Append(r.locate(op.instance, *s.Object, more))
	if more.HasErrors() {
		return instance.CheckWarnings(r.checks, op.instance, diags)
	}
	marked, stored, more := instance.DataResult(op.subject, op.conn.Addr, config, v)
	if diags.Append(more); more.HasErrors() {
		return diags
	}
	r.setObject(*s.Object, stored)
	r.give(out, marked)
	diags.Append(r.conditions(t, op.instance, false, marked).InAddress(i.String()))
	return diags
}

func (r *run) openEphemeral(t *promise.Task, s *step, out *outcome) diag.List {
	i := s.Object.Instance
	op, diags, ok := r.open(t, s)
	if !ok {
		return diags
	}
	config, more := resourceconfig.Configure(t, op.instance, op.subject.Schema)
	diags.Append(more)
	if diags.HasErrors() || t.Current().Failed() {
		return diags.InAddress(i.String())
	}
	diags.Append(r.conditions(t, op.instance, true, cty.NilVal))
	if diags.HasErrors() {
		return diags.InAddress(i.String())
	}
	r.tell(event.Event{Kind: event.EphemeralStart, Addr: *s.Object, Text: "opening"})
	v, lease, more := r.pool.OpenEphemeral(i, op.conn, op.subject.Schema, config.Value)
	diags.Append(r.locate(op.instance, *s.Object, more))
	if more.HasErrors() {
		return diags
	}
	r.tell(event.Event{Kind: event.EphemeralComplete, Addr: *s.Object, Text: "opening"})
	out.lease = lease
	r.give(out, v)
	diags.Append(r.conditions(t, op.instance, false, v).InAddress(i.String()))
	return diags
}

func (r *run) closeEphemeral(s *step) diag.List {
	lease := r.outcome(s, execgraph.OpenEphemeral).lease
	if lease == nil {
		return nil
	}
	r.tell(event.Event{Kind: event.EphemeralStart, Addr: *s.Object, Text: "closing"})
	diags := lease.Close()
	r.tell(event.Event{Kind: event.EphemeralComplete, Addr: *s.Object, Text: "closing"})
	return diags
}

// condition evaluates the conditions of an instance without changes.
func (r *run) condition(t *promise.Task, s *step) diag.List {
	i := r.find(t, s.Object.Instance)
	if i == nil {
		return nil
	}
	diags := r.conditions(t, i, true, cty.NilVal)
	c := r.change(s)
	if diags.HasErrors() || c == nil {
		return diags.InAddress(i.Addr.String())
	}
	diags.Append(r.conditions(t, i, false, c.After))
	return diags.InAddress(i.Addr.String())
}

// output evaluates a root output and keeps it.
func (r *run) output(t *promise.Task, s *step) diag.List {
	o := r.Tree.Program.OutputByName[s.Name]
	v := r.root.Output(t, o, nil)
	if t.Current().Failed() {
		return nil
	}
	sensitive := o.Sensitive || r.Tree.Program.Stack && value.IsSensitive(v)
	v, _ = v.UnmarkDeep()
	switch {
	case v.IsNull():
		return r.setOutput(s.Name, nil)
	case v.IsWhollyKnown():
		return r.setOutput(s.Name, &state.Output{Value: v, Sensitive: sensitive, Deprecated: o.Deprecated})
	}
	return nil
}

// check evaluates an observer, or an output or variable with conditions that
// nothing may have asked for.
func (r *run) check(t *promise.Task, s *step) diag.List {
	f := r.frame(t, s.Module)
	if f == nil {
		return nil
	}
	kind, name, _ := strings.Cut(s.Name, ".")
	switch kind {
	case "output":
		f.Output(t, f.Program.OutputByName[name], nil)
		return nil
	case "var":
		v := f.Program.VariableByName[name]
		f.Variable(t, v, &v.Range)
		return nil
	}
	n := slices.IndexFunc(f.Program.Observers, func(o program.Observer) bool { return o.Head().Name == s.Name })
	o := f.Program.Observers[n]
	return checks.Evaluate(t, f, o, func(outcomes []eval.Outcome) {
		if outcomes != nil {
			r.checks.Add(checkresults.Of(f, o), o.Outcomes(), outcomes)
		}
	})
}

// gatherChecks is what is known of the conditions in the end. A plan that only
// refreshes has evaluated them all.
func (r *run) gatherChecks() []state.CheckResult {
	if r.Plan.Mode == plan.RefreshOnly {
		return r.Plan.Checks
	}
	gather := func(f *eval.Frame, kind, name string, outcomes []eval.Outcome) {
		if len(outcomes) > 0 {
			r.checks.Add(checkresults.In(f, kind, name), len(outcomes), outcomes)
		}
	}
	frames := r.root.Frames()
	if r.Plan.Mode == plan.Destroy {
		frames = nil
	}
	for _, f := range frames {
		for _, v := range f.Program.Variables {
			gather(f, "input_variable", "var."+v.Name, f.VariableOutcomes(v))
		}
		for _, o := range f.Program.Outputs {
			gather(f, "output_value", "output."+o.Name, f.OutputOutcomes(o))
		}
	}
	return r.checks.Results()
}
