// Package static evaluates what has to be known before there are providers
// or a state: module sources, settings of backends. It is a host of the
// evaluator that has no resources, not a second evaluator.
package static

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/promise"
)

// A Host answers with variables only. Variables are the given values of root
// variables; Load finds the program of a module call, nil where there are no
// modules yet.
type Host struct {
	Variables map[string]cty.Value
	Load      func(t *promise.Task, f *eval.Frame, c *program.Call) (*program.Program, diag.List)
}

// Variable implements eval.Host.
func (h Host) Variable(v *program.Variable) (cty.Value, diag.List) {
	if given, ok := h.Variables[v.Name]; ok {
		return given, nil
	}
	if v.Required() {
		var diags diag.List
		diags.ErrorAt(v.Range, "No value for required variable", "The root module input variable %q is not set, and has no default value. It is needed before a plan is made, so it has to be given with -var, in a file of values or in the environment.", v.Name)
		return cty.NilVal, diags
	}
	return cty.NilVal, nil
}

// Resource implements eval.Host.
func (h Host) Resource(t *promise.Task, i *eval.Instance) (cty.Value, diag.List) {
	t.Fail()
	var diags diag.List
	diags.Errorf("Dynamic value in static context", "Unable to use %s here: it isn't known before a plan is made.", i)
	return cty.DynamicVal, diags
}

// Expand implements eval.Host: all instances of a block are alike here.
func (h Host) Expand(_ *promise.Task, _ eval.Block, e eval.Expansion) (eval.Expansion, diag.List) {
	if e.Kind != eval.Single {
		e.Unknown = true
	}
	return e, nil
}

// Program implements eval.Host.
func (h Host) Program(t *promise.Task, f *eval.Frame, c *program.Call, _ addr.Key) (*program.Program, diag.List) {
	if h.Load == nil {
		t.Fail()
		var diags diag.List
		diags.ErrorAt(c.Range, "Module output not supported in static context", "Unable to use module.%s here: modules aren't loaded yet.", c.Name)
		return nil, diags
	}
	return h.Load(t, f, c)
}

// Call implements eval.Host.
func (h Host) Call(_ *promise.Task, _ *eval.Frame, fn *program.ProviderFunction, _ []cty.Value) (cty.Value, error) {
	return cty.DynamicVal, fmt.Errorf("%s can't be called here: providers aren't available yet", fn.Full)
}

// Text evaluates an expression that must be a known string without marks.
// what names the value in messages.
func Text(t *promise.Task, f *eval.Frame, each *eval.Each, expr *program.Expr, what string) (string, diag.List) {
	var v cty.Value
	var diags diag.List
	failed := t.Apart(func(t *promise.Task) { v, diags = eval.Evaluate(t, expr, f.Context(t, each, cty.NilVal)) })
	if failed {
		return "", diags
	}
	return textOf(v, expr.Range(), what, diags)
}

func textOf(v cty.Value, where hcl.Range, what string, diags diag.List) (string, diag.List) {
	v, marks := v.Unmark()
	switch {
	case len(marks) > 0:
		diags.ErrorAt(where, "Invalid "+what, "The %s must not be sensitive or ephemeral, since it is shown and kept in files.", what)
	case !v.IsKnown():
		diags.ErrorAt(where, "Invalid "+what, "The %s must be known before a plan is made: only variables, locals made of them, and functions can be used in it.", what)
	case v.IsNull() || v.Type() != cty.String:
		diags.ErrorAt(where, "Invalid "+what, "The %s must be a string.", what)
	default:
		return v.AsString(), diags
	}
	return "", diags
}
