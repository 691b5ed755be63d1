// Package approvalpolicy decides by the rules of a stack whether a plan needs a person's approval,
// and whether to plan again.
//
// It owns what rules see of a plan, and how several rules go together. It doesn't ask anybody.
package approvalpolicy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/stack/deploy"
)

// A Decision is what the rules say of a plan.
type Decision struct {
	// Ruled: there are rules for the deployment.
	Ruled    bool
	Approved bool
	// By names the rules that approve, Against says why others don't.
	By      string
	Against []string
}

// Waiting is a plan that no rule approves where nobody can be asked.
var Waiting = diag.Code{Name: "waits-for-approval", Summary: "Waits for approval"}

// Waits reports that a plan waits for people.
func (d Decision) Waits(deployment, program string) diag.Diagnostic {
	return Waiting.New(diag.Error, "No rule approves this plan of the deployment %q, and nobody can be asked. Look at it and approve it with \"%s stacks apply -deployment=%s\", or with -auto-approve.", deployment, program, deployment)
}

// Decide asks the rules for a deployment: all of its group approve together, any of
// an orchestrate block alone.
func Decide(s *deploy.Stack, d *deploy.Deployment, made *plan.Plan, found diag.List) (Decision, diag.List) {
	var out Decision
	var diags diag.List
	context := Context(s, d, Outcome{Plan: made, Found: found, OK: !found.HasErrors()})
	var names []string
	if d.Group != nil && len(d.Group.Checks) > 0 {
		out.Ruled, out.Approved = true, true
		for _, rule := range d.Group.Checks {
			v, more := s.Judge(rule, context)
			diags.Append(more)
			out.Approved = out.Approved && len(v.Reasons) == 0 && !more.HasErrors()
			out.Against = append(out.Against, told(rule, v.Reasons)...)
			names = append(names, rule.Name)
		}
	}
	if !out.Approved {
		for _, rule := range s.Legacy {
			if rule.Kind != "auto_approve" {
				continue
			}
			out.Ruled = true
			v, more := s.Judge(rule, context)
			diags.Append(more)
			if len(v.Reasons) == 0 && !more.HasErrors() {
				out.Approved, names = true, []string{rule.Name}
				break
			}
			out.Against = append(out.Against, told(rule, v.Reasons)...)
		}
	}
	if out.Approved {
		out.By, out.Against = strings.Join(names, ", "), nil
	}
	return out, diags
}

// Check looks for what is wrong with the rules of a stack, whatever the plan will be.
func Check(s *deploy.Stack) diag.List {
	context, err := cty.Transform(Context(s, &deploy.Deployment{}, Outcome{Plan: &plan.Plan{}}), func(_ cty.Path, v cty.Value) (cty.Value, error) {
		switch {
		case v.Type().IsPrimitiveType():
			return cty.UnknownVal(v.Type()), nil
		case v.Type().IsTupleType():
			return cty.DynamicVal, nil // of problems there is any number
		}
		return v, nil
	})
	if err != nil {
		return nil // it changes nothing that could fail
	}
	return s.CheckRules(context)
}

func told(rule *deploy.Rule, reasons []string) []string {
	out := make([]string, len(reasons))
	for i, r := range reasons {
		out[i] = fmt.Sprintf("%s: %s", rule.Name, r)
	}
	return out
}

// tally counts changes.
type tally struct{ add, change, remove, imports, forget, move, deferred int64 }

func (t *tally) count(c *plan.Change) {
	switch {
	case c.Action == plan.Create:
		t.add++
	case c.Action == plan.Update:
		t.change++
	case c.Action == plan.Delete:
		t.remove++
	case c.Action == plan.Forget:
		t.forget++
	case c.Action.IsReplace():
		t.add++
		t.remove++
	}
	if c.Importing != nil {
		t.imports++
	}
	if c.Moved() {
		t.move++
	}
}

func (t *tally) value() cty.Value {
	n := cty.NumberIntVal
	return cty.ObjectVal(map[string]cty.Value{
		"add": n(t.add), "change": n(t.change), "remove": n(t.remove), "import": n(t.imports),
		"forget": n(t.forget), "move": n(t.move), "defer": n(t.deferred),
		"total": n(t.add + t.change + t.remove + t.imports + t.forget + t.move + t.deferred),
	})
}

// An Outcome is the input of rules: a plan, and where it was applied
// what came of that. Plan is nil if none could be made.
type Outcome struct {
	Plan  *plan.Plan
	Found diag.List
	// Applied: the plan was carried out, at least in part.
	Applied bool
	OK      bool
}

// Context is what checks see: of a plan the operation, its problems and its changes,
// as a whole and by component. Components without changes have zeros, those that
// rules name included.
func Context(s *deploy.Stack, d *deploy.Deployment, o Outcome) cty.Value {
	made, found := o.Plan, o.Found
	var whole tally
	components := map[string]*tally{}
	at := func(m addr.Module) *tally {
		_, instance, ok := m.Component()
		if !ok {
			return &tally{}
		}
		key := instance.Erase().String()
		if components[key] == nil {
			components[key] = &tally{}
		}
		return components[key]
	}
	for _, m := range made.Modules {
		at(m)
	}
	for _, c := range made.Changes {
		whole.count(c)
		at(c.Addr.Module).count(c)
	}
	for _, d := range made.Deferred {
		whole.deferred++
		at(d.Change.Addr.Module).deferred++
	}
	for _, key := range s.NamedInRules("component_changes") {
		if components[key] == nil {
			components[key] = &tally{}
		}
	}
	byComponent := map[string]cty.Value{}
	for key, t := range components {
		byComponent[key] = t.value()
	}
	mode := map[plan.Mode]string{plan.Destroy: "destroy", plan.RefreshOnly: "refresh-only"}[made.Mode]
	if mode == "" {
		mode = "normal"
	}
	operation := "plan"
	if o.Applied {
		operation = "apply"
	}
	return cty.ObjectVal(map[string]cty.Value{
		"operation": cty.StringVal(operation),
		"success":   cty.BoolVal(o.OK),
		"errors":    problems(found, diag.Error),
		"warnings":  problems(found, diag.Warning),
		"plan": cty.ObjectVal(map[string]cty.Value{
			"mode":              cty.StringVal(mode),
			"applyable":         cty.BoolVal(!made.Errored && (o.Applied || o.OK)),
			"changes":           whole.value(),
			"component_changes": cty.ObjectVal(byComponent),
			"replans":           cty.NumberIntVal(int64(d.Replans)),
			"deployment":        deploy.Identity(d.Name),
		}),
	})
}

func problems(l diag.List, severity diag.Severity) cty.Value {
	var out []cty.Value
	for _, d := range slices.Clone(l).Only(severity) {
		out = append(out, cty.ObjectVal(map[string]cty.Value{"summary": cty.StringVal(d.Summary), "detail": cty.StringVal(d.Detail)}))
	}
	return cty.TupleVal(out)
}
