// Package backendinit reads the backend and encryption settings of a root module, before anything
// else of it.
//
// It owns how such settings are evaluated, the backend of a directory and its encryption. It
// doesn't open states.
package backendinit

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/eval/static"
	"weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/statebackend"
	"weir.dev/weir/internal/workspace/workdir"
)

// A Reader reads the settings of a directory.
type Reader struct {
	Place   *environment.Place
	sealing *sealing
	// stack: the directory is meant as that of a stack, which has files of its own for
	// its settings.
	stack bool
	// here: Runs has found that plans and applies are made here.
	here bool
	// Stores finds types of state stores of installed providers.
	Stores func(source, typ string) (*statebackend.StoreType, diag.List)
}

// New reads the settings of a place.
func New(p *environment.Place) *Reader { return &Reader{Place: p, sealing: &sealing{}} }

// OfStack has the settings be those of the stack in the directory.
func (d *Reader) OfStack() { d.stack = true }

// IsStack reports whether they are.
func (d *Reader) IsStack() bool { return d.stack }

// Record is where the directory remembers its backend.
func (d *Reader) Record() workdir.Dir {
	if d.stack {
		return d.Place.Memory().OfStack()
	}
	return d.Place.Memory()
}

// With reads the same settings for operations that tell elsewhere; what is known of
// the encryption counts for them too.
func (d *Reader) With(r environment.Reports) *Reader {
	return &Reader{Place: d.Place.With(r), sealing: d.sealing, stack: d.stack}
}

// evaluateSettings decodes a body that may refer to variables and locals, and
// to nothing that needs providers or a state.
func (d *Reader) evaluateSettings(prog *program.Program, body hcl.Body, s *schema.Block, inputs map[string]module.VariableInput) (cty.Value, diag.List) {
	frame, diags := d.settingsFrame(prog, inputs)
	var v cty.Value
	promise.NewRuntime(1).Do(func(t *promise.Task) {
		var problems hcl.Diagnostics
		v, problems = s.Decode(body, frame.Context(t, nil, cty.NilVal))
		diags.Append(eval.Diagnostics(problems))
	})
	diags.Append(frame.Diagnostics().Only(diag.Error))
	v, _ = v.UnmarkDeep()
	if !diags.HasErrors() && !v.IsWhollyKnown() {
		var refs []*program.Ref
		at := body.MissingItemRange()
		if b, ok := body.(*program.Body); ok {
			refs, at = b.Refs, b.Range
		}
		promise.NewRuntime(1).Do(func(t *promise.Task) {
			diags.Add(static.Problem(static.Explain(t, frame, nil, nil, refs), at, "setting"))
		})
	}
	return v, diags
}

// settingsFrame evaluates what settings refer to.
func (d *Reader) settingsFrame(prog *program.Program, inputs map[string]module.VariableInput) (*eval.Frame, diag.List) {
	workspace, diags := d.Place.Workspace()
	values, more := settingsValues(prog, inputs)
	diags.Append(more)
	ev := &eval.Evaluator{
		Host: static.Host{Variables: values},
		Facts: eval.Facts{
			Workspace: workspace,
			Applying:  cty.False,
			RootDir:   ".",
			WorkDir:   d.Place.OriginalDir,
			Functions: function.Context(function.Env{Pure: true}),
		},
	}
	return ev.NewRoot(prog), diags
}

// settingsValues are the given values of the root module's variables.
func settingsValues(prog *program.Program, inputs map[string]module.VariableInput) (map[string]cty.Value, diag.List) {
	values := map[string]cty.Value{}
	var diags diag.List
	for _, v := range prog.Variables {
		in, ok := inputs[v.Name]
		switch {
		case !ok:
		case in.Value != cty.NilVal:
			values[v.Name] = in.Value
		case v.Untyped || v.Type.IsPrimitiveType():
			values[v.Name] = cty.StringVal(in.Text)
		default:
			parsed, more := module.ParseValue(module.Origin(v.Name), in.Text)
			diags.Append(more)
			values[v.Name] = parsed
		}
	}
	return values, diags
}
