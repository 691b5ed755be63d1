package compiler

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

var conditionSchema = syntax.Schema([]string{"condition!", "error_message!"})

// condition decodes a block with a condition and a message. The block must
// refer to something, or it would check nothing.
func (c *compiler) condition(b *hcl.Block, in *scope) *program.Condition {
	content := c.content(b.Body, conditionSchema)
	cond := &program.Condition{
		Condition:    c.attribute(content.Attributes["condition"], in),
		ErrorMessage: c.attribute(content.Attributes["error_message"], in),
		Range:        b.DefRange,
	}
	if cond.Condition == nil {
		return nil
	}
	if len(cond.Condition.Refs) == 0 && !cond.Condition.Broken() && len(c.functionsOf(cond.Condition)) == 0 {
		c.diags.Add(diag.BadCondition.As(fmt.Sprintf("Invalid %s expression", b.Type)).Error(cond.Condition.Range(), "The condition expression must refer to at least one object from elsewhere in the configuration, or else its result would not be checking anything."))
		return nil
	}
	if cond.ErrorMessage == nil {
		return nil
	}
	return cond
}

// functionsOf lists the provider functions that an expression calls; their
// results aren't constant.
func (c *compiler) functionsOf(e *program.Expr) []string {
	if len(c.functions) == 0 {
		return nil
	}
	var names []string
	if node, ok := e.Expression.(hclsyntax.Node); ok {
		_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
			if call, ok := n.(*hclsyntax.FunctionCallExpr); ok && c.functions[call.Name] != nil {
				names = append(names, call.Name)
			}
			return nil
		})
	}
	return names
}

// TestCondition compiles a condition of a test about what the program makes. It
// may refer to all that the program declares, outputs included, to the object
// run, and to variables that only the test has.
func TestCondition(p *program.Program, condition, message hcl.Expression, given func(variable string) bool) (*program.Condition, diag.List) {
	c := &compiler{prog: p, registry: p.Registry, functions: map[string]*program.ProviderFunction{}}
	for _, f := range p.Functions {
		c.functions[f.Full] = f
	}
	in := &scope{names: []string{"run"}, outputs: true, given: given}
	out := &program.Condition{Condition: c.expr(condition, in), ErrorMessage: c.expr(message, in), Range: condition.Range()}
	c.resolveFunctions()
	return out, c.diags
}
