package providerclient

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
)

// A Base is what hosts of the evaluator that have providers answer alike: they embed
// one, and say themselves what resources are and what else they answer otherwise.
type Base struct {
	// Variables are the given values of root variables.
	Variables map[string]cty.Value
	// Load returns the program of an instance of a module call.
	Load func(f *eval.Frame, c *program.Call, k addr.Key) (*program.Program, diag.List)
	// Pool runs the providers, whose functions are called.
	Pool *Pool
}

// Variable implements eval.Host.
func (b *Base) Variable(v *program.Variable) (cty.Value, diag.List) {
	if given, ok := b.Variables[v.Name]; ok {
		return given, nil
	}
	return cty.NilVal, nil
}

// Expand implements eval.Host: a block has the instances that its configuration says.
func (*Base) Expand(_ *promise.Task, _ eval.Block, configured func() (eval.Expansion, bool)) (eval.Expansion, bool) {
	return configured()
}

// Program implements eval.Host.
func (b *Base) Program(t *promise.Task, f *eval.Frame, c *program.Call, k addr.Key) (*program.Program, bool) {
	p, diags := b.Load(f, c, k)
	return p, t.Report(diags...)
}

// Call implements eval.Host.
func (b *Base) Call(t *promise.Task, f *eval.Frame, fn *program.ProviderFunction, args []cty.Value) (cty.Value, error) {
	return b.Pool.Function(t, f, fn, args)
}
