package analyze

import (
	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/word/diag"
)

// TestCondition compiles a condition of a test about what the program makes. It
// may refer to all that the program declares, outputs included, to the object
// run, and to variables that only the test has.
func TestCondition(p *program.Program, condition, message hcl.Expression, given func(variable string) bool) (*program.Condition, diag.List) {
	c := &compiler{prog: p, functions: map[string]*program.ProviderFunction{}}
	for _, f := range p.Functions {
		c.functions[f.Full] = f
	}
	in := &scope{names: []string{"run"}, outputs: true, given: given}
	out := &program.Condition{Condition: c.expr(condition, in), ErrorMessage: c.expr(message, in), Range: condition.Range()}
	return out, c.diags
}
