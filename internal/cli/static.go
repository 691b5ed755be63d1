package cli

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/function"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/promise"
	"weir.dev/weir/internal/schema"
)

// A settingsHost answers while settings are evaluated that are needed before
// there are providers or a state: variables and what follows from them, and
// nothing else.
type settingsHost struct {
	inputs map[string]engine.VariableInput
}

var _ eval.Host = settingsHost{}

// evaluateSettings decodes a body that may refer to variables and locals.
func (e *env) evaluateSettings(prog *program.Program, body hcl.Body, s *schema.Block, inputs map[string]engine.VariableInput) (cty.Value, diag.List) {
	workspace, diags := e.workspace()
	ev := &eval.Evaluator{
		Host: settingsHost{inputs},
		Facts: eval.Facts{
			Workspace: workspace,
			Applying:  cty.False,
			RootDir:   ".",
			WorkDir:   e.originalDir,
			Functions: function.Table(function.Env{Pure: true}),
		},
	}
	frame := ev.NewRoot(prog)
	var v cty.Value
	promise.NewRuntime(1).Do(func(t *promise.Task) {
		var problems hcl.Diagnostics
		v, problems = s.Decode(body, frame.Context(t, nil, cty.NilVal))
		diags.Append(eval.Diagnostics(problems))
	})
	for _, d := range frame.Diagnostics() {
		if d.Severity == diag.Error {
			diags.Add(d)
		}
	}
	v, _ = v.UnmarkDeep()
	if !diags.HasErrors() && !v.IsWhollyKnown() {
		diags.Errorf("Invalid settings", "Something here isn't known before a plan is made. Only variables, locals made of them, and functions can be used in these settings.")
	}
	return v, diags
}

func (h settingsHost) Variable(v *program.Variable) (cty.Value, diag.List) {
	in, ok := h.inputs[v.Name]
	if !ok {
		if v.Required() {
			var diags diag.List
			diags.ErrorAt(v.Range, "No value for required variable", "The root module input variable %q is not set, and has no default value. Settings refer to it, so it has to be given with -var, in a file of values or in the environment.", v.Name)
			return cty.NilVal, diags
		}
		return cty.NilVal, nil
	}
	if in.Value != cty.NilVal {
		return in.Value, nil
	}
	if v.Untyped || v.Type.IsPrimitiveType() {
		return cty.StringVal(in.Text), nil
	}
	expr, problems := hclsyntax.ParseExpression([]byte(in.Text), "<value for var."+v.Name+">", hcl.InitialPos)
	if problems.HasErrors() {
		return cty.NilVal, diag.FromHCL(problems)
	}
	val, problems := expr.Value(nil)
	return val, diag.FromHCL(problems)
}

func (settingsHost) Resource(t *promise.Task, i *eval.Instance) (cty.Value, diag.List) {
	t.Fail()
	return cty.DynamicVal, oneError("Dynamic value in static context", "Unable to use %s here: it isn't known before a plan is made.", i)
}

func (settingsHost) Expand(_ *promise.Task, _ eval.Block, e eval.Expansion) (eval.Expansion, diag.List) {
	return e, nil
}

func (settingsHost) Program(t *promise.Task, _ *eval.Frame, c *program.Call, _ addr.Key) (*program.Program, diag.List) {
	t.Fail()
	return nil, oneError("Module output not supported in static context", "Unable to use module.%s here: modules aren't loaded yet.", c.Name)
}

func (settingsHost) Call(_ *promise.Task, _ *eval.Frame, fn *program.ProviderFunction, _ []cty.Value) (cty.Value, error) {
	return cty.DynamicVal, fmt.Errorf("%s can't be called here: providers aren't available yet", fn.Full)
}
