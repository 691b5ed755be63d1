// Package static evaluates module sources and backend settings, before any provider or state
// exists. It is a host of the evaluator without resources, not a second evaluator.
package static

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
)

// A Host answers with variables only. Variables are the given values of root
// variables; Load finds the program of an instance of a module call, nil where
// there are no modules yet. Instances returns those of a call that are wanted
// one by one; without it one instance stands for all.
type Host struct {
	Variables map[string]cty.Value
	Load      func(t *promise.Task, f *eval.Frame, c *program.Call, k addr.Key) (*program.Program, bool)
	Instances func(t *promise.Task, f *eval.Frame, c *program.Call, configured func() (eval.Expansion, bool)) (eval.Expansion, bool)
}

// Variable implements eval.Host.
func (h Host) Variable(v *program.Variable) (cty.Value, diag.List) {
	if given, ok := h.Variables[v.Name]; ok {
		return given, nil
	}
	if v.Required() {
		var diags diag.List
		diags.Add(eval.MissingVariable.Error(v.Range, "The root module input variable %q is not set, and has no default value. It is needed before a plan is made, so it has to be given with -var, in a file of values or in the environment.", v.Name))
		return cty.NilVal, diags
	}
	return cty.NilVal, nil
}

// Resource implements eval.Host: nothing is known of resources.
func (h Host) Resource(*promise.Task, *eval.Instance) (cty.Value, bool) {
	return cty.DynamicVal, true
}

// Expand implements eval.Host: all instances of a block are alike here, but
// those of the calls that are wanted one by one.
func (h Host) Expand(t *promise.Task, b eval.Block, configured func() (eval.Expansion, bool)) (eval.Expansion, bool) {
	if b.Call != nil && h.Instances != nil {
		if e, ok := h.Instances(t, b.Frame, b.Call, configured); ok {
			return e, true
		}
	}
	e := b.Stored(nil)
	if e.Kind == eval.Single {
		e.Count = 1
	} else {
		e.Unknown = true
	}
	return e, true
}

// Program implements eval.Host.
func (h Host) Program(t *promise.Task, f *eval.Frame, c *program.Call, k addr.Key) (*program.Program, bool) {
	if h.Load == nil {
		return nil, t.Report(NotKnown.As("Module output not supported in static context").Error(c.Range, "Unable to use %s here: modules aren't loaded yet.", c.Call))
	}
	return h.Load(t, f, c, k)
}

// Call implements eval.Host.
func (h Host) Call(_ *promise.Task, _ *eval.Frame, fn *program.ProviderFunction, _ []cty.Value) (cty.Value, error) {
	return cty.DynamicVal, fmt.Errorf("%s can't be called here: providers aren't available yet", fn.Full)
}
