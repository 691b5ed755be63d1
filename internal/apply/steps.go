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

// An operation is a step on a configured instance.
type operation struct {
	instance.Opened
	change *plan.Change
}

// open finds what a step on an instance needs.
func (r *run) open(t *promise.Task, s *step) (op operation, ok bool) {
	i := r.find(t, s.Object.Instance)
	if i == nil {
		t.Fail()
		return op, false
	}
	conn := r.conn(t, *s.Provider)
	if conn == nil {
		return op, false
	}
	op.change = r.change(s)
	op.Opened, ok = instance.Open(t, i, conn)
	return op, ok
}

// conditions evaluates conditions with final values.
func (r *run) conditions(t *promise.Task, i *eval.Instance, pre bool, self cty.Value) (ok bool) {
	c := instance.Conditions{Set: r.checks, Severity: diag.Error}
	t.Amend(in(i.Addr), func() {
		if pre {
			ok = c.Before(t, i)
		} else {
			ok = c.After(t, i, self)
		}
	})
	return ok
}

// in gives problems the address of the instance that they are about.
func in(i addr.Instance) func(diag.List) diag.List {
	return func(l diag.List) diag.List { return l.InAddress(i.String()) }
}

// configure evaluates the configuration of an instance and then its preconditions.
func (r *run) configure(t *promise.Task, op operation) (config resourceconfig.Config, ok bool) {
	t.Amend(in(op.Instance.Addr), func() { config, ok = resourceconfig.Configure(t, op.Instance, op.Subject.Schema) })
	return config, ok && r.conditions(t, op.Instance, true, cty.NilVal)
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

// finalize makes a change ready.
func (r *run) finalize(t *promise.Task, s *step) (f finalized, ok bool) {
	if f.op, ok = r.open(t, s); !ok {
		return f, false
	}
	if f.config, ok = r.configure(t, f.op); !ok {
		return f, false
	}
	config := f.config
	if f.prior = r.priorOf(f.op); f.prior.Exists() {
		f.config.Sensitive = instance.Sensitive(f.op.Instance.Resource, r.working.object(*s.Object), config)
	}
	f.planned, ok = r.finalPlan(t, f.op, f.prior, config)
	return f, ok
}

// finalizeEarly makes a replacement ready before anything is deleted for it.
func (r *run) finalizeEarly(t *promise.Task, s *step, out *outcome) {
	if f, ok := r.finalize(t, s); ok {
		out.final = &f
	}
}

// finalized is a change that is ready, by an earlier step or now.
func (r *run) finalized(t *promise.Task, s *step) (finalized, bool) {
	if early := r.progress.outcome(s, execgraph.Finalize); early.final != nil {
		f := *early.final
		early.final = nil // nobody needs it after this
		return f, true
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
func (r *run) apply(t *promise.Task, s *step, out *outcome) {
	f, ok := r.finalized(t, s)
	if !ok {
		return
	}
	op := f.op
	out.nothing = f.nothing()
	after, begun, diags := r.callApply(t, s, f)
	failed := !t.Report(diags...)
	if !begun {
		t.Fail()
		out.halted = len(diags) == 0
		return
	}
	create := !f.prior.Exists()
	if failed && create && after.Exists() {
		after.Tainted = true
	}
	if failed && !create {
		after.Tainted = f.prior.Tainted
	}
	marked := op.Subject.Schema.Block.MarkSensitive(resourceconfig.MarkPaths(after.Value, f.config.Sensitive))
	r.Facts.Secrets.AddMarked(marked)
	// An object whose provisioners haven't ended isn't complete, also when this
	// process ends meanwhile.
	provisioned := create && !failed && op.Instance.Resource.Provisions()
	if provisioned {
		after.Tainted = true
	}
	if out.unanswered = after.Unanswered; out.unanswered {
		return
	}
	t.Report(r.save(op, after, marked, failed)...)
	switch {
	case failed && after.Exists():
		r.conditions(t, op.Instance, false, marked) // of whatever there is
	case failed:
	case provisioned:
		out.made = &created{op, after, marked}
	default:
		r.complete(t, op, marked, out)
	}
}

// complete gives an instance its value and holds it to its postconditions.
func (r *run) complete(t *promise.Task, op operation, v cty.Value, out *outcome) {
	r.progress.give(out, r.types.Share(op.change.Addr.Name.Type, v))
	r.conditions(t, op.Instance, false, v)
}

// priorOf is the object that an apply starts from: none where the old one is
// replaced.
func (r *run) priorOf(op operation) lifecycle.Object {
	stored := r.working.object(op.change.Addr)
	if stored == nil || op.change.Action != plan.Update {
		return op.Subject.None()
	}
	v, _ := op.change.Before.UnmarkDeep()
	return lifecycle.Object{Value: v, Private: stored.Private, Identity: op.change.BeforeIdentity, Tainted: stored.Tainted}
}

// finalPlan plans again with the final configuration and holds the result to
// what was shown.
func (r *run) finalPlan(t *promise.Task, op operation, prior lifecycle.Object, config resourceconfig.Config) (p lifecycle.Planned, ok bool) {
	report := func(l diag.List) bool { return t.Report(op.Locate(l)...) }
	if !config.Value.IsWhollyKnown() {
		return p, report(diag.Bug.As("Configuration contains unknown value").List("The configuration of %s still has values that aren't known, although everything it depends on is done. This is a bug in weir.", op.change.Addr))
	}
	if p, ok := asShown(op, prior); ok {
		return p, true
	}
	if p, ok = op.Propose(t, r.commands, r.ctx, prior, config.Value, false, op.change.Private); !ok {
		return p, false
	}
	var inconsistent diag.List
	switch {
	case p.Change == contract.Replace:
		inconsistent.Add(lifecycle.InconsistentFinalPlan.New(diag.Error, "When expanding the plan for %s to include new values learned so far during apply, provider %q changed the planned action from %s to a replacement.\n\nThis is a bug in the provider, which should be reported in the provider's own issue tracker.", op.change.Addr, op.Subject.Source, op.change.Action))
	default:
		shown, _ := op.change.After.UnmarkDeep()
		inconsistent.Append(op.Subject.Same(shown, p))
	}
	if inconsistent.HasErrors() && r.Changed != nil {
		if changed := r.Changed(); len(changed) > 0 {
			// The provider was given another configuration.
			inconsistent = lifecycle.InconsistentFinalPlan.As("Files changed during apply").List("Functions of the configuration read these files, which have changed since the plan was made:\n  - %s\n\nWith what they have now the change of %s isn't the planned one any more, so it isn't made. Plan again. To apply what the plan has read, save the plan with -out and apply that.", strings.Join(changed, "\n  - "), op.change.Addr)
		}
	}
	return p, report(inconsistent)
}

// asShown is the final plan where it can only be the one that was shown: all of that
// is known, so that the configuration was too, and the provider answers the same
// question alike.
func asShown(op operation, prior lifecycle.Object) (lifecycle.Planned, bool) {
	if _, alike := op.Conn.Provider.(provider.Repeatable); !alike || op.change.Action != plan.Update || !prior.Exists() {
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
	if stored := r.working.object(op.change.Addr); stored != nil {
		sensitive = slices.Concat(sensitive, stored.Sensitive)
	}
	key, id := instance.Identify(prior.Value, op.Subject.Schema.Block, sensitive)
	i := intended{plan.Intent{Object: op.change.Addr, Action: action, Provider: op.Conn.Addr, Key: key, ID: id}, sensitive}
	if action == plan.Create {
		i.Needs = r.dependencies(op.change)
	}
	after, begun, diags := r.effect(t, s, op.Conn, i, op.Subject, lifecycle.ApplyInput{
		Prior: prior, Planned: p.Value, Config: f.config.Value, Private: p.Private, Identity: p.Identity,
	}, action == plan.Create && op.Instance.Resource.Provisions())
	return after, begun, op.Locate(diags)
}

// save puts an object into the working state with what is kept beside it.
// An object whose update has failed may still need what it needed before.
func (r *run) save(op operation, after lifecycle.Object, marked cty.Value, failed bool) diag.List {
	var diags diag.List
	var stored *state.Object
	if after.Exists() {
		var err error
		stored, err = op.Subject.Store(after, op.Conn.Addr, resourceconfig.SensitivePaths(marked))
		if err != nil {
			diags.Add(diag.Bug.As("Failed to encode an object").New(diag.Error, "%s", err))
			return diags
		}
		stored.Settings = op.change.Settings
		stored.Dependencies, stored.Uses = r.dependencies(op.change), r.uses(op.change)
		if old := r.working.object(op.change.Addr); failed && old != nil {
			stored.Dependencies, stored.Uses = state.JoinDependencies(stored.Dependencies, old.Dependencies), state.JoinUses(stored, old)
		}
	}
	return append(diags, r.record(op.Conn, op.change.Addr, stored, op.Instance.Resource.Provisions())...)
}

// depose puts the current object aside for a replacement.
func (r *run) depose(s *step, out *outcome) diag.List {
	stored := r.working.object(*s.Object)
	if stored == nil {
		return nil
	}
	deposed := addr.Object{Instance: s.Object.Instance, Deposed: r.change(s).DeposedKey}
	aside := *stored
	out.aside = stored
	return r.working.moved(*s.Object, deposed, &aside)
}

// restore takes a deposed object back when its replacement failed. It
// stays aside while the replacement exists or may exist.
func (r *run) restore(s *step) diag.List {
	deposed := addr.Object{Instance: s.Object.Instance, Deposed: r.change(s).DeposedKey}
	mayExist := r.progress.outcome(s, execgraph.Apply).unanswered
	if mayExist || r.working.object(*s.Object) != nil || r.working.object(deposed) == nil {
		return nil
	}
	return r.working.moved(deposed, *s.Object, r.progress.outcome(s, execgraph.Depose).aside)
}

// destroy deletes an object: a current one, or a deposed one.
func (r *run) destroy(t *promise.Task, s *step, out *outcome) {
	c := r.change(s)
	stored := r.working.object(*s.Object)
	if stored == nil {
		return
	}
	conn := r.conn(t, *s.Provider)
	if conn == nil {
		return
	}
	sch := conn.Schemas.Resource(s.Object.Name.Mode, s.Object.Name.Type)
	var f *eval.Frame
	if conn.Schemas.Meta != nil {
		f = r.frame(t, s.Object.Module)
	}
	subject, _ := instance.Subject(t, s.Object.Instance, conn, sch, f) // what is to go isn't held up
	opened := instance.Opened{Addr: *s.Object, Instance: r.standIn(s.Object.Instance), Conn: conn, Subject: subject}
	before, _ := c.Before.UnmarkDeep()
	prior := lifecycle.Object{Value: before, Private: stored.Private, Identity: c.BeforeIdentity, Tainted: stored.Tainted}
	private := stored.Private
	if c.Action == plan.Delete && c.Private != nil {
		private = c.Private
	}
	key, id := instance.Identify(before, sch.Block, stored.Sensitive)
	null := subject.None()
	after, begun, diags := r.effect(t, s, conn, intended{plan.Intent{Object: *s.Object, Action: plan.Delete, Provider: conn.Addr, Key: key, ID: id}, stored.Sensitive}, subject,
		lifecycle.ApplyInput{Prior: prior, Planned: null.Value, Config: null.Value, Private: private, Identity: cty.NilVal}, false)
	t.Report(opened.Locate(diags)...)
	if !begun {
		t.Fail()
		out.halted = len(diags) == 0
	}
	if !begun || after.Unanswered {
		return
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
	t.Report(r.record(conn, *s.Object, stored, false)...)
}

// readData reads a data source that was postponed.
func (r *run) readData(t *promise.Task, s *step, out *outcome) {
	i := s.Object.Instance
	var op operation
	var config resourceconfig.Config
	ok := false
	// In a check block, a failed read is an outcome of the check.
	ofCheck := func(l diag.List) diag.List { return instance.CheckWarnings(r.checks, op.Instance, l) }
	t.Amend(ofCheck, func() {
		if op, ok = r.open(t, s); ok {
			t.Amend(in(i), func() { config, ok = resourceconfig.Configure(t, op.Instance, op.Subject.Schema) })
		}
	})
	if !ok {
		t.Fail()
		return
	}
	if !r.conditions(t, op.Instance, true, cty.NilVal) {
		return
	}
	var diags diag.List
	var v cty.Value
	asked := false
	r.call(op.Conn, ratelimit.Read, i.Name, func(ctx context.Context) diag.List {
		if r.progress.halted() {
			return nil
		}
		if !asked {
			asked = true
			r.tell(event.Event{Kind: event.ApplyStart, Step: s.id, Addr: *s.Object, Action: plan.Read})
		}
		if r.Upstream != nil {
			if v = r.Upstream(op.Instance, op.Conn.Addr.Provider, config.Value); v != cty.NilVal {
				return nil
			}
		}
		v, _, diags = op.Subject.ReadData(ctx, config.Value)
		return diags
	})
	if !asked {
		t.Fail()
		return
	}
	e := event.Event{Kind: event.ApplyComplete, Addr: *s.Object, Action: plan.Read}
	failed := diags.HasErrors()
	if failed {
		e.Kind = event.ApplyErrored
	}
	e.IDKey, e.IDValue = instance.Identify(v, op.Subject.Schema.Block, config.Sensitive)
	r.tell(e)
	if t.Report(ofCheck(op.Locate(diags))...); failed {
		return
	}
	marked, stored, diags := instance.DataResult(op.Subject, op.Conn.Addr, config, v)
	if !t.Report(diags...) {
		return
	}
	r.working.set(*s.Object, stored)
	r.progress.give(out, marked)
	r.conditions(t, op.Instance, false, marked)
}

func (r *run) openEphemeral(t *promise.Task, s *step, out *outcome) {
	op, ok := r.open(t, s)
	if !ok {
		return
	}
	config, ok := r.configure(t, op)
	if !ok {
		return
	}
	r.tell(event.Event{Kind: event.EphemeralStart, Addr: *s.Object, Text: "opening"})
	v, lease, diags := r.pool.OpenEphemeral(s.Object.Instance, op.Conn, op.Subject.Schema, config.Value)
	if !t.Report(op.Locate(diags)...) {
		return
	}
	r.tell(event.Event{Kind: event.EphemeralComplete, Addr: *s.Object, Text: "opening"})
	out.lease = lease
	r.progress.give(out, v)
	r.conditions(t, op.Instance, false, v)
}

func (r *run) closeEphemeral(s *step) diag.List {
	lease := r.progress.outcome(s, execgraph.OpenEphemeral).lease
	if lease == nil {
		return nil
	}
	r.tell(event.Event{Kind: event.EphemeralStart, Addr: *s.Object, Text: "closing"})
	diags := lease.Close()
	r.tell(event.Event{Kind: event.EphemeralComplete, Addr: *s.Object, Text: "closing"})
	return diags
}

// condition evaluates the conditions of an instance without changes.
func (r *run) condition(t *promise.Task, s *step) {
	i := r.find(t, s.Object.Instance)
	if i == nil {
		return
	}
	if c := r.change(s); r.conditions(t, i, true, cty.NilVal) && c != nil {
		r.conditions(t, i, false, c.After)
	}
}

// output evaluates a root output and keeps it.
func (r *run) output(t *promise.Task, s *step) {
	o := r.Tree.Program.OutputByName[s.Name]
	v, ok := r.root.Output(t, o, nil)
	if !ok {
		return
	}
	sensitive := o.Sensitive || r.Tree.Program.Stack && value.IsSensitive(v)
	v, _ = v.UnmarkDeep()
	var out *state.Output // null is none
	if !v.IsNull() {
		if !v.IsWhollyKnown() {
			return
		}
		out = &state.Output{Value: v, Sensitive: sensitive, Deprecated: o.Deprecated}
	}
	if t.Report(r.working.output(s.Name, out)...) && r.Output != nil {
		r.Output(s.Name, out)
	}
}

// check evaluates an observer, or an output or variable with conditions that
// nothing may have asked for.
func (r *run) check(t *promise.Task, s *step) {
	f := r.frame(t, s.Module)
	if f == nil {
		return
	}
	kind, name, _ := strings.Cut(s.Name, ".")
	switch kind {
	case "output":
		f.Output(t, f.Program.OutputByName[name], nil)
		return
	case "var":
		v := f.Program.VariableByName[name]
		f.Variable(t, v, &v.Range)
		return
	}
	n := slices.IndexFunc(f.Program.Observers, func(o program.Observer) bool { return o.Head().Name == s.Name })
	o := f.Program.Observers[n]
	checks.Evaluate(t, f, o, func(outcomes []eval.Outcome) {
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
