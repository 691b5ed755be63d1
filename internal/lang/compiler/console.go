package compiler

import (
	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

// Expression compiles an expression from outside, such as one typed at a
// prompt, that may refer to what the program declares. Provider functions that
// it calls are added to the program's.
func Expression(p *program.Program, src []byte, name string) (*program.Expr, diag.List) {
	node, diags := syntax.ParseExpression(src, name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	c := &compiler{prog: p, stack: p.Stack, registry: p.Registry, functions: map[string]*program.ProviderFunction{}}
	for _, f := range p.Functions {
		c.functions[f.Full] = f
	}
	expr := c.expr(node, noScope)
	c.resolveFunctions()
	return expr, append(diags, c.diags...)
}
