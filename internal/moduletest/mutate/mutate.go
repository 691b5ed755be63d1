// Package mutate generates small changes to programs for mutation testing: a condition that
// always holds, swapped branches, another comparison or constant, a missing argument.
//
// It owns which changes there are and their order, which is always the same. It doesn't know
// who tries them.
package mutate

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/lang/program"
)

// A Mutant is one change to one program.
type Mutant struct {
	Dir   string // of the program
	Owner string // the declaration that is changed
	What  string
	Range hcl.Range
	nth   int // among those of the program
}

// List lists the changes that can be made to a program, in the order of its
// declarations.
func List(p *program.Program) []Mutant {
	e := &editor{dir: p.Dir, chosen: -1}
	p.Edit(e.edit)
	return e.list
}

// Apply makes a change to a program that was compiled from the sources that the change was
// listed for. Others it leaves only.
func (m Mutant) Apply(p *program.Program) {
	if p.Dir == m.Dir {
		p.Edit((&editor{dir: p.Dir, chosen: m.nth}).edit)
	}
}

// Choose takes so many of a list, spread evenly over it.
func Choose(list []Mutant, n int) []Mutant {
	if n >= len(list) {
		return list
	}
	chosen := make([]Mutant, 0, n)
	for i := range n {
		chosen = append(chosen, list[i*len(list)/n])
	}
	return chosen
}

// An editor counts the changes that can be made and makes the chosen one.
type editor struct {
	dir    string
	chosen int
	at     program.Place
	list   []Mutant
}

// change notes a change, and makes it if it is the chosen one.
func (e *editor) change(old hclsyntax.Expression, what string, make func() hclsyntax.Expression) hclsyntax.Expression {
	n := len(e.list)
	e.list = append(e.list, Mutant{e.dir, e.at.Owner, what, old.Range(), n})
	if n == e.chosen {
		return make()
	}
	return old
}

func (e *editor) edit(at program.Place, expr hclsyntax.Expression) hclsyntax.Expression {
	e.at = at
	expr = program.EditParts(expr, e.part)
	literal := func(v cty.Value) func() hclsyntax.Expression {
		return func() hclsyntax.Expression {
			return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: expr.Range()}
		}
	}
	switch {
	case at.Role.IsCondition():
		return e.change(expr, "the "+string(at.Role)+" always holds", literal(cty.True))
	case at.Role == program.Argument && len(program.References(expr)) > 0:
		return e.change(expr, at.Argument+" is left out", literal(cty.NullVal(cty.DynamicPseudoType)))
	}
	return expr
}

// part changes one node.
func (e *editor) part(expr hclsyntax.Expression) hclsyntax.Expression {
	switch x := expr.(type) {
	case *hclsyntax.ConditionalExpr:
		return e.change(x, "the branches are swapped", func() hclsyntax.Expression {
			swapped := *x
			swapped.TrueResult, swapped.FalseResult = x.FalseResult, x.TrueResult
			return &swapped
		})
	case *hclsyntax.BinaryOpExpr:
		other, ok := operators()[x.Op]
		if !ok {
			return expr
		}
		return e.change(x, fmt.Sprintf("%s becomes %s", signs()[x.Op], signs()[other]), func() hclsyntax.Expression {
			changed := *x
			changed.Op = other
			return &changed
		})
	case *hclsyntax.UnaryOpExpr:
		if x.Op == hclsyntax.OpLogicalNot {
			return e.change(x, "the ! is left out", func() hclsyntax.Expression { return x.Val })
		}
	case *hclsyntax.TemplateExpr:
		if text, ok := constant(x); ok {
			return e.change(x, fmt.Sprintf("%s becomes %s", quote(text), quote(otherText(text))), func() hclsyntax.Expression {
				return &hclsyntax.LiteralValueExpr{Val: cty.StringVal(otherText(text)), SrcRange: x.SrcRange}
			})
		}
	case *hclsyntax.LiteralValueExpr:
		return e.literal(x)
	}
	return expr
}

func (e *editor) literal(x *hclsyntax.LiteralValueExpr) hclsyntax.Expression {
	if x.Val == cty.NilVal || !x.Val.IsKnown() || x.Val.IsNull() {
		return x
	}
	var other cty.Value
	switch x.Val.Type() {
	case cty.Number:
		other = cty.NumberVal(new(big.Float).Add(x.Val.AsBigFloat(), big.NewFloat(1)))
	case cty.Bool:
		other = x.Val.Not()
	default: // a part of a text
		return x
	}
	return e.change(x, fmt.Sprintf("%s becomes %s", show(x.Val), show(other)), func() hclsyntax.Expression {
		return &hclsyntax.LiteralValueExpr{Val: other, SrcRange: x.SrcRange}
	})
}

// constant is the text of a template without anything to fill in.
func constant(x *hclsyntax.TemplateExpr) (string, bool) {
	if len(x.Parts) == 0 {
		return "", true
	}
	part, ok := x.Parts[0].(*hclsyntax.LiteralValueExpr)
	if !ok || len(x.Parts) != 1 || part.Val.Type() != cty.String {
		return "", false
	}
	return part.Val.AsString(), true
}

func otherText(text string) string { return text + "x" }

func quote(text string) string {
	const most = 30
	if line, _, more := strings.Cut(text, "\n"); more || len(line) > most {
		text = line[:min(len(line), most)] + "..."
	}
	return fmt.Sprintf("%q", text)
}

func show(v cty.Value) string {
	if v.Type() == cty.Bool {
		return fmt.Sprint(v.True())
	}
	return v.AsBigFloat().Text('g', 10)
}

func operators() map[*hclsyntax.Operation]*hclsyntax.Operation {
	return map[*hclsyntax.Operation]*hclsyntax.Operation{
		hclsyntax.OpEqual: hclsyntax.OpNotEqual, hclsyntax.OpNotEqual: hclsyntax.OpEqual,
		hclsyntax.OpLessThan: hclsyntax.OpLessThanOrEqual, hclsyntax.OpLessThanOrEqual: hclsyntax.OpLessThan,
		hclsyntax.OpGreaterThan: hclsyntax.OpGreaterThanOrEqual, hclsyntax.OpGreaterThanOrEqual: hclsyntax.OpGreaterThan,
		hclsyntax.OpLogicalAnd: hclsyntax.OpLogicalOr, hclsyntax.OpLogicalOr: hclsyntax.OpLogicalAnd,
		hclsyntax.OpAdd: hclsyntax.OpSubtract, hclsyntax.OpSubtract: hclsyntax.OpAdd,
		hclsyntax.OpMultiply: hclsyntax.OpDivide, hclsyntax.OpDivide: hclsyntax.OpMultiply,
		hclsyntax.OpModulo: hclsyntax.OpMultiply,
	}
}

func signs() map[*hclsyntax.Operation]string {
	return map[*hclsyntax.Operation]string{
		hclsyntax.OpEqual: "==", hclsyntax.OpNotEqual: "!=", hclsyntax.OpLessThan: "<", hclsyntax.OpLessThanOrEqual: "<=",
		hclsyntax.OpGreaterThan: ">", hclsyntax.OpGreaterThanOrEqual: ">=", hclsyntax.OpLogicalAnd: "&&", hclsyntax.OpLogicalOr: "||",
		hclsyntax.OpAdd: "+", hclsyntax.OpSubtract: "-", hclsyntax.OpMultiply: "*", hclsyntax.OpDivide: "/", hclsyntax.OpModulo: "%",
	}
}
