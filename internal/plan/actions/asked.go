package actions

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/graphbuilder"
)

// An Asking plans the invocation of an action that somebody asks for. Its references have their present values.
type Asking struct {
	Actions
	Root   *eval.Frame
	Target addr.Target
	// Exists reports whether an instance is there and may call.
	Exists func(addr.Instance) bool
}

// An asked action is invoked because somebody wants it to.
type asked struct {
	invocation *plan.Invocation
	cell       promise.Cell[struct{}]
}

func (a *asked) String() string { return a.invocation.Label() }

// Plan plans all instances of the action that are meant.
func (a Asking) Plan(t *promise.Task) (list []graphbuilder.Asked) {
	found := false
	for _, f := range modules(t, a.Root) {
		action := f.Program.ResourceByName[a.Target.Name]
		if action == nil {
			continue
		}
		for _, i := range f.Instances(t, action, nil) {
			if !a.Target.Matches(i.Addr) {
				continue
			}
			found = true
			for _, caller := range a.callers(t, i) {
				one, ok := a.one(t, i, caller)
				t.Report(one.cell.Diagnostics().InAddress(i.String())...)
				if ok {
					list = append(list, graphbuilder.Asked{Invocation: one.invocation, Node: &one.cell.Node})
				}
			}
		}
	}
	if !found {
		t.Report(NoAction.New(diag.Error, "There is no action %s in the configuration.", a.Target))
	}
	return list
}

// modules lists the instances of all modules.
func modules(t *promise.Task, f *eval.Frame) []*eval.Frame {
	list := []*eval.Frame{f}
	for _, c := range f.Program.Calls {
		for _, child := range f.Calls(t, c, nil) {
			list = append(list, modules(t, child)...)
		}
	}
	return list
}

// callers are the objects that trigger an action, where its configuration refers to them;
// else there is one, nil.
func (a Asking) callers(t *promise.Task, action *eval.Instance) []*eval.Instance {
	if !slices.ContainsFunc(action.Resource.Config.Refs, func(ref *program.Ref) bool { return ref.Kind == program.RefSelf }) {
		return []*eval.Instance{nil}
	}
	triggers := func(of *program.Trigger) bool {
		return slices.ContainsFunc(of.Actions, func(ref *program.Ref) bool { return ref.Resource == action.Resource })
	}
	var list []*eval.Instance
	for _, res := range action.Frame.Program.Resources {
		if slices.ContainsFunc(res.Triggers, triggers) {
			for _, i := range action.Frame.Instances(t, res, nil) {
				if a.Exists(i.Addr) {
					list = append(list, i)
				}
			}
		}
	}
	if list == nil {
		t.Report(PartlyApplied.Error(action.Resource.Range, "The configuration of %s refers to its caller, and no object that triggers it has been created yet. Plan and apply the configuration first.", action))
	}
	return list
}

// one plans an action for a caller, nil for none. The cell of the result has the problems.
func (a Asking) one(t *promise.Task, action, caller *eval.Instance) (*asked, bool) {
	one := &asked{invocation: &plan.Invocation{Addr: action.Addr}}
	if caller != nil {
		one.invocation.Object = caller.Addr
	}
	_, ok, cycle := one.cell.Get(t, one, &action.Resource.Range, func(t *promise.Task) (struct{}, bool) {
		value, ok := cty.NilVal, true
		if caller != nil {
			value, ok = caller.Value(t, &action.Resource.Range)
		}
		if !ok {
			return struct{}{}, false
		}
		_, ok = a.Actions.Plan(t, action, value, one.invocation)
		if inv := one.invocation; ok && !inv.Config.IsWhollyKnown() {
			ok = t.Report(PartlyApplied.Error(action.Resource.Range, "The configuration of %s isn't wholly known, so it refers to something that hasn't been created yet. Plan and apply the configuration first.", action))
		}
		return struct{}{}, ok
	})
	if cycle != nil {
		a.Root.Evaluator().Report(cycle)
	}
	return one, ok
}
