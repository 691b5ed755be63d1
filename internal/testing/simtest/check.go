package simtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/statefile"
)

func unmark(v cty.Value) cty.Value {
	v, _ = v.UnmarkDeep()
	return v
}

// kept compares what was done with what was shown.
func (r *runner) kept(p *plan.Plan, log []Op) *Failure {
	var shown, done []string
	optional := map[string]bool{}
	for _, c := range p.Changes {
		if c.Addr.Name.Mode != addr.Managed {
			continue
		}
		id, name := text(unmark(c.Before), "id"), text(unmark(c.After), "name")
		switch c.Action {
		case plan.Create:
			shown = append(shown, "create "+name)
		case plan.Update:
			if !c.After.IsWhollyKnown() || unmark(c.After).RawEquals(unmark(c.Before)) {
				// Final values may turn out to be the old ones, and others may
				// only have become sensitive.
				optional["update "+id] = true
			} else {
				shown = append(shown, "update "+id)
			}
		case plan.Delete:
			shown = append(shown, "delete "+id)
		case plan.ForgetThenCreate:
			shown = append(shown, "create "+name)
		case plan.DeleteThenCreate, plan.CreateThenDelete:
			shown = append(shown, "create "+name, "delete "+id)
			if f := r.inOrder(c.Action, id, name, log); f != nil {
				return f
			}
		}
		if f := r.valueKept(c, optional["update "+id]); f != nil {
			return f
		}
	}
	for _, op := range log {
		text := op.Kind + " " + op.ID
		if op.Kind == "create" {
			text = op.Kind + " " + op.Name
		}
		if !optional[text] {
			done = append(done, text)
		}
	}
	slices.Sort(shown)
	slices.Sort(done)
	if !slices.Equal(shown, done) {
		return r.fail("done isn't shown", "shown %s\ndone  %s\n%s", strings.Join(shown, ", "), strings.Join(done, ", "), printed(p))
	}
	return r.outputsKept(p)
}

func (r *runner) inOrder(a plan.Action, id, name string, log []Op) *Failure {
	created := slices.IndexFunc(log, func(o Op) bool { return o.Kind == "create" && o.Name == name })
	deleted := slices.IndexFunc(log, func(o Op) bool { return o.Kind == "delete" && o.ID == id })
	if (created < deleted) != (a == plan.CreateThenDelete) {
		return r.fail("replaced in another order", "%s of %s: %v", a, id, log)
	}
	return nil
}

// valueKept compares an object in the state with what was shown of it.
func (r *runner) valueKept(c *plan.Change, unsure bool) *Failure {
	stored := r.world.State.Objects[c.Addr]
	if c.After.IsNull() {
		if stored != nil {
			return r.fail("value", "%s is still in the state", c.Addr)
		}
		return nil
	}
	if stored == nil {
		return r.fail("value", "%s isn't in the state", c.Addr)
	}
	after := unmark(c.After)
	var got map[string]any
	if err := json.Unmarshal(stored.JSON, &got); err != nil {
		return r.fail("value", "%s", err)
	}
	for name := range after.Type().AttributeTypes() {
		v := after.GetAttr(name)
		if !v.IsWhollyKnown() || unsure && name == "echo" || name == "note" && v.IsNull() {
			continue
		}
		want, err := value.JSON(v, v.Type())
		have, _ := json.Marshal(got[name]) // it was decoded
		if err != nil || string(want) != string(have) {
			return r.fail("value", "%s.%s was shown as %s and is %s: %v", c.Addr, name, want, have, err)
		}
	}
	id, _ := got["id"].(string)
	if real := r.world.Cloud.Object(id); c.Addr.Name.Mode == addr.Managed && (real == cty.NilVal || text(real, "echo") != fmt.Sprint(got["echo"])) {
		return r.fail("value", "%s in the state isn't what is in the cloud", c.Addr)
	}
	return nil
}

func (r *runner) outputsKept(p *plan.Plan) *Failure {
	for _, o := range p.Outputs {
		after := unmark(o.After)
		stored, ok := r.world.State.Outputs[o.Name]
		switch {
		case !after.IsWhollyKnown():
		case after.IsNull() == ok:
			return r.fail("output", "%s: shown %#v, in the state: %t", o.Name, after, ok)
		case ok && !stored.Value.RawEquals(after):
			return r.fail("output", "%s was shown as %#v and is %#v", o.Name, after, stored.Value)
		}
	}
	return nil
}

// whole compares what exists with what the state has, also after failures,
// and checks that the cloud wasn't asked for what it can't do.
func (r *runner) whole(w *World, p *plan.Plan) *Failure {
	if refused := w.Cloud.Refused(); refused != nil {
		return r.fail("refused", "%s\n%s", strings.Join(refused, "\n"), printed(p))
	}
	known := []string{}
	for a, o := range w.State.Objects {
		if bytes.Contains(o.JSON, []byte(hush)) {
			return r.fail("a secret is in the state", "%s", o.JSON)
		}
		if a.Name.Mode == addr.Managed {
			if err := recorded(o); err != nil {
				return r.fail("the provider's message is lost", "%s", err)
			}
			id := idOf(o)
			w.Cloud.Own(id)
			known = append(known, id)
		}
	}
	slices.Sort(known)
	if exist := w.Cloud.Owned(); !slices.Equal(known, exist) {
		return r.fail("lost", "in the cloud %s\nin the state %s\n%s", exist, known, printed(p))
	}
	return r.closed(w, "apply")
}

// closed checks that nothing that a stage has opened is open.
func (r *runner) closed(w *World, stage string) *Failure {
	if n := w.Calls.Running(); n > 0 {
		return r.fail("left open", "%d providers after %s", n, stage)
	}
	if n := w.Cloud.Open(); n > 0 {
		return r.fail("left open", "%d ephemeral objects after %s", n, stage)
	}
	return nil
}

// settled checks that there is nothing more to do after an apply.
func (r *runner) settled() *Failure {
	p, diags := r.world.Plan(r.config, engine.PlanOptions{})
	if diags.HasErrors() {
		return r.fail("second plan: "+firstError(diags), "%s", problems(diags))
	}
	return r.isSettled(p)
}

// isSettled checks that a plan after an apply finds nothing to do.
func (r *runner) isSettled(p *plan.Plan) *Failure {
	for _, c := range p.Changes {
		if c.Action != plan.NoOp && c.Reason != plan.ReadCheckNested || c.Moved() || c.Importing != nil {
			return r.fail("second plan isn't empty", "%s\n%s%#v\n%#v", r.world, printed(p), unmark(c.Before), unmark(c.After))
		}
	}
	if p.HasChanges() || len(p.Drift) > 0 || len(p.Deferred) > 0 {
		return r.fail("second plan isn't empty", "%s\n%s", r.world, printed(p))
	}
	again := p.Refreshed.Clone()
	again.Checks = sure(r.world.State.Checks, again.Checks)
	if !statefile.Equal(r.world.State, again) {
		fresh := &World{Cloud: r.world.Cloud, State: again}
		return r.fail("state isn't settled", "- after apply, + after the next plan\n%s", difference(r.world.String(), fresh.String()))
	}
	return nil
}

// sure are the check results of a plan with the statuses that those before it don't
// know as unknown: a plan evaluates conditions that an apply of nothing doesn't.
func sure(before, after []state.CheckResult) []state.CheckResult {
	unknown := map[string]bool{}
	for _, r := range before {
		unknown[r.Address] = unknown[r.Address] || r.Status == string(eval.Unknown)
		for _, o := range r.Objects {
			unknown[o.Address+" in "+r.Address] = o.Status == string(eval.Unknown)
		}
	}
	after = slices.Clone(after)
	for i, r := range after {
		if unknown[r.Address] {
			after[i].Status = string(eval.Unknown)
		}
		after[i].Objects = slices.Clone(r.Objects)
		for j, o := range r.Objects {
			if unknown[o.Address+" in "+r.Address] {
				after[i].Objects[j].Status = string(eval.Unknown)
			}
		}
	}
	return after
}

// obeys holds a plan to what the configuration asks for.
func (r *runner) obeys(step Step, p *plan.Plan) *Failure {
	m := step.Model
	if m == nil {
		return nil
	}
	if f := r.scoped(step, p); f != nil {
		return f
	}
	for _, c := range p.Changes {
		if c.Addr.Name.Mode != addr.Managed || c.Addr.Deposed != "" {
			continue
		}
		o := m.declares(c.Addr.Instance)
		destroys := c.Action == plan.Delete || c.Action == plan.DeleteThenCreate || c.Action == plan.CreateThenDelete
		switch {
		case step.Destroy:
		case step.RefreshOnly && c.Action != plan.NoOp:
			return r.fail("refreshing changes something", "%s", printed(p))
		case o == nil && m.keeps(c.Addr.Instance) && destroys:
			return r.fail("a removed block is ignored", "%s is destroyed", c.Addr)
		case o == nil:
		case destroys && o.Prevent:
			return r.fail("prevent_destroy is ignored", "%s is destroyed", c.Addr)
		case destroys && o.Keep && c.Action != plan.Delete:
			return r.fail("destroy = false is ignored", "%s is destroyed", c.Addr)
		case c.Action == plan.Update && o.Ignore == "value" && !unmark(c.Before).GetAttr("value").RawEquals(unmark(c.After).GetAttr("value")):
			return r.fail("ignore_changes is ignored", "the value of %s changes", c.Addr)
		case c.Action == plan.Update && o.Ignore == "all" && !unmark(c.Before).RawEquals(unmark(c.After)):
			return r.fail("ignore_changes is ignored", "%s changes", c.Addr)
		}
	}
	if step.RefreshOnly || step.Destroy {
		return nil
	}
	if f := r.answers(step, p); f != nil || step.partial() || len(p.Deferred) > 0 {
		return f
	}
	for i := range m.Objects {
		o := &m.Objects[i]
		if o.Output.Kind == "pre" && o.Output.Bad && !o.Output.Late && o.Data == "" && m.attached(o.Module) {
			return r.fail("a condition is ignored", "that of the output about %s", m.address(o))
		}
		if o.Condition.Bad && !o.Condition.Late && m.module(o.Module) != nil && len(m.instances(o)) > 0 {
			return r.fail("a condition is ignored", "that of %s", m.address(o))
		}
	}
	return nil
}

// answers checks that single instances get what was asked for: replacements,
// imports and moves.
func (r *runner) answers(step Step, p *plan.Plan) *Failure {
	m := step.Model
	changes := map[string]*plan.Change{}
	for _, c := range p.Changes {
		if c.Addr.Deposed != "" {
			continue
		}
		changes[c.Addr.String()] = c
		prior := p.Previous.Objects[addr.Object{Instance: c.Previous()}]
		tainted := prior != nil && prior.Tainted && m.declares(c.Addr.Instance) != nil && c.Action != plan.Delete && c.Action != plan.Forget
		if (tainted || slices.Contains(step.Replace, c.Addr.String())) && !c.Before.IsNull() && !c.Action.IsReplace() && !r.leftOut(step, c) {
			return r.fail("not replaced", "%s: %s", c.Addr, c.Action)
		}
	}
	for _, label := range m.Imports {
		o, _ := m.object(label)
		if o == nil {
			continue
		}
		for _, i := range m.instances(o) {
			if c := changes[i.Addr]; c != nil && c.Importing == nil && p.Previous.Objects[c.Addr] == nil && !r.leftOut(step, c) {
				return r.fail("not imported", "%s: %s", i.Addr, c.Action)
			}
		}
	}
	if len(m.Moved) != 1 {
		return nil // these may contradict each other
	}
	mv := m.Moved[0]
	path, plain := m.path(mv.In)
	from, err := addr.ParseInstance(path + mv.From)
	c := changes[path+mv.To]
	if !plain || err != nil || c == nil || p.Previous.Objects[c.Addr] != nil {
		return nil
	}
	if prior := p.Previous.Objects[addr.Object{Instance: from}]; prior != nil && r.world.Cloud.Object(idOf(prior)) != cty.NilVal && c.Previous() != from {
		return r.fail("not moved", "%s: %s", c.Addr, c.Action)
	}
	return nil
}

// leftOut reports whether -exclude may leave an object as it is.
func (r *runner) leftOut(step Step, c *plan.Change) bool {
	return len(step.Excludes) > 0 && c.Action == plan.NoOp
}

// keeps reports whether a removed block lets an instance that the
// configuration doesn't have stay as it is.
func (m *Model) keeps(i addr.Instance) bool {
	for _, rm := range m.Removed {
		path, plain := m.path(rm.In)
		if from, ok := strings.CutPrefix(i.Resource.Erase().String(), path+rm.From); plain && rm.Keep && ok && (from == "" || from[0] == '.') {
			return !slices.ContainsFunc(m.Removed, func(other Removed) bool { return !other.Keep })
		}
	}
	return false
}
