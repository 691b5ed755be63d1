// Package why explains a plan: which input, attribute or rule makes an object change, be
// replaced, wait or be deferred, as a chain of references from the object to the cause.
//
// It owns the explanation as a noun and how one is found: in the changes of the plan and the
// references of the evaluated configuration. It plans, evaluates and asks nothing again, and
// it doesn't set texts: that is for package view.
package why

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/edges"
)

// Input is a plan and what it was made of.
type Input struct {
	Plan *plan.Plan
	Tree *program.Tree
	// Root is the evaluated configuration; its evaluation must be over.
	Root *eval.Frame
	// Sources tell where the values of root variables come from; variables
	// without an entry have their default.
	Sources map[string]Source
	// Edges says why steps wait for one another.
	Edges *edges.Of
	// Replace are the instances that -replace names.
	Replace []addr.Instance
}

// A Source is where the value of a root variable comes from.
type Source struct {
	From  string // argument, environment, file, deployment, input or plan
	Range hcl.Range
}

// Kind says what a link of a chain is.
type Kind string

// Links that lead on.
const (
	Attribute   Kind = "attribute"    // Path of Subject changes: the expression at Range decides
	Computed    Kind = "computed"     // the provider decides about Path of Subject
	Change      Kind = "change"       // Subject changes, referred to at Range
	Local       Kind = "local"        // the local value Subject
	Variable    Kind = "variable"     // the input variable Subject of a module, set at Range
	Output      Kind = "output"       // the output Subject of a module
	Repetition  Kind = "repetition"   // the argument Name of Subject decides which instances exist
	Trigger     Kind = "trigger"      // an entry of replace_triggered_by
	DependsOn   Kind = "depends_on"   // an entry of depends_on
	KeyGone     Kind = "key_gone"     // Subject isn't among the instances any more
	Unknown     Kind = "unknown"      // Path of Subject isn't known before apply
	DeferredFor Kind = "deferred_for" // Subject is deferred, referred to at Range
	Spread      Kind = "spread"       // Subject, which depends on the object, is created before its old one is destroyed
)

// Links at which chains end.
const (
	New          Kind = "new"             // Subject is in the configuration and not in the state
	Written      Kind = "written"         // what is written at Range
	Absent       Kind = "absent"          // Path of Subject isn't set any more
	Given        Kind = "given"           // the root variable Subject, from Name
	Default      Kind = "default"         // the default of the variable Subject
	Drift        Kind = "drift"           // Path of Subject was changed outside
	DeletedAway  Kind = "deleted_outside" // Subject was deleted outside
	Tainted      Kind = "tainted"         // a former run left Subject marked as damaged
	Requested    Kind = "requested"       // by the option Name
	Unconfigured Kind = "unconfigured"    // no block declares Subject any more
	Removed      Kind = "removed"         // the removed block at Range names it
	Moved        Kind = "moved"           // from the address Name, by the block at Range if there is one
	Imported     Kind = "imported"        // the import block at Range names it
	Leftover     Kind = "leftover"        // a deposed object waits for its end
	NewData      Kind = "new_data"        // the data source Subject reads something else than before
	Impure       Kind = "impure"          // the function Name gives another result in every run
	Workspace    Kind = "workspace"       // the name of the workspace
	Provider     Kind = "provider"        // the provider decides so
	Sensitivity  Kind = "sensitivity"     // nothing but which parts are sensitive changes
	Setting      Kind = "setting"         // the lifecycle argument Name at Range, or in the state
	Pending      Kind = "pending"         // Subject changes in this apply
	Undetermined Kind = "undetermined"    // nothing in the plan reports
)

// A Link is one step from an object towards the cause of its change.
type Link struct {
	Kind    Kind
	Subject string
	Name    string
	// Path is the part of the subject that matters, with its values before
	// and after where they are known; NilVal otherwise. Values carry marks.
	Path          cty.Path
	Before, After cty.Value
	// Action is what happens to the subject of a Change.
	Action plan.Action
	Reason plan.Reason
	// Forces: the attribute can't be changed without a replacement.
	Forces bool
	// Range is where it is written; nil without.
	Range *hcl.Range
	// Maybe: the plan doesn't tell which of several ends is the cause.
	Maybe bool
	// Again: an earlier chain of the explanation has gone on from here.
	Again bool
}

// A Chain leads from the object to one cause. Its first link is about the
// object itself.
type Chain []Link

// A Wait is a step of the execution graph that has to end before the object's
// own, with the references that lead to it.
type Wait struct {
	// Own and For are steps in words.
	Own, For string
	Rule     string // why one comes first: an edges.Reason
	Value    string // what flows from the other step, empty for nothing
	Chain    Chain
}

// An Explanation reports why one object is dealt with as it is.
type Explanation struct {
	Object   addr.Object
	Previous addr.Instance
	Action   plan.Action
	Reason   plan.Reason
	Deferred string // the reason as in plan.Deferred, or empty
	Chains   []Chain
	Waits    []Wait
}

// An Explainer explains several objects of one plan.
type Explainer struct{ *explainer }

// Begin makes one.
func Begin(in Input) Explainer { return Explainer{newExplainer(in)} }

// Causes are the chains for what the plan does with one object.
func (e Explainer) Causes(c *plan.Change) []Chain { return e.causes(c) }

// Explain explains the objects that a target names, in the order of their
// addresses. Objects without a change are left out unless the target is
// exactly their address. The result is empty when the plan has none of them.
func (e Explainer) Explain(target addr.Target) []Explanation {
	var list []Explanation
	exact := func(c *plan.Change) bool {
		return !target.IsModule() && target.Instance() == c.Addr.Instance
	}
	matches := func(i addr.Instance) bool {
		return target.Matches(i) && i.Name.Mode == target.Name.Mode || target.IsModule() && target.Matches(i)
	}
	for _, c := range e.in.Plan.Changes {
		if matches(c.Addr.Instance) && (exact(c) || c.Action != plan.NoOp || c.Moved() || c.Importing != nil) {
			list = append(list, e.explain(c, ""))
		}
	}
	for _, d := range e.in.Plan.Deferred {
		if matches(d.Change.Addr.Instance) {
			list = append(list, e.explain(d.Change, d.Reason))
		}
	}
	slices.SortStableFunc(list, func(a, b Explanation) int { return a.Object.Compare(b.Object) })
	return list
}

func (e *explainer) explain(c *plan.Change, deferred string) Explanation {
	x := Explanation{Object: c.Addr, Previous: c.Previous(), Action: c.Action, Reason: c.Reason, Deferred: deferred}
	if deferred != "" {
		x.Chains = e.deferral(c, deferred)
	} else {
		x.Chains = append(e.causes(c), e.notes(c)...)
		x.Waits = e.waits(c)
	}
	shorten(x.Chains)
	return x
}

// shorten ends chains where they meet an earlier one.
func shorten(chains []Chain) {
	seen := map[string]bool{}
	for n, chain := range chains {
		for i := range chain {
			key := chain[i].key()
			if seen[key] && i > 0 {
				if i < len(chain)-1 {
					chain[i].Again = true
					chains[n] = chain[:i+1]
				}
				break
			}
			seen[key] = true
		}
	}
}
