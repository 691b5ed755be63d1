package program

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/lang/syntax"
)

// A Place says what an expression is for.
type Place struct {
	// Owner is the declaration as references or addresses name it: var.x,
	// output.x, aws_vpc.main, module.x.
	Owner string
	Role  Role
	// Argument is the name of the argument for arguments.
	Argument string
}

// A Role is what an expression means to its declaration.
type Role string

// The roles.
const (
	Value         Role = "value"
	Argument      Role = "argument"
	Repetition    Role = "repetition"
	Validation    Role = "validation"
	Precondition  Role = "precondition"
	Postcondition Role = "postcondition"
	Assertion     Role = "assertion"
)

// IsCondition reports whether the expression has to be true.
func (r Role) IsCondition() bool {
	return r == Validation || r == Precondition || r == Postcondition || r == Assertion
}

// An Editor is given the expressions of a program and what they are for, and
// returns what takes the place of each.
type Editor func(Place, hclsyntax.Expression) hclsyntax.Expression

// Edit has an editor go over the expressions of a program that was just compiled,
// before anybody else has it. Messages and settings of the engine are left out.
func (p *Program) Edit(edit Editor) {
	for _, d := range p.Declarations() {
		owner := d.Head().Name
		d.Parts(func(part Part) {
			at := Place{Owner: owner, Role: part.Role}
			switch {
			case part.Role == "":
			case part.Body != nil:
				edit.content(at, part.Body.Body)
			case part.Role == Argument:
				at.Argument = part.Argument
				fallthrough
			default:
				edit.expr(at, part.Expr)
			}
		})
	}
}

func (edit Editor) expr(at Place, e *Expr) {
	if node, ok := e.Expression.(hclsyntax.Expression); ok {
		e.Expression = edit(at, node)
	}
}

func (edit Editor) content(at Place, b hcl.Body) {
	switch b := b.(type) {
	case *hclsyntax.Body:
		attrs := make([]*hclsyntax.Attribute, 0, len(b.Attributes))
		for _, attr := range b.Attributes {
			attrs = append(attrs, attr)
		}
		slices.SortFunc(attrs, func(a, b *hclsyntax.Attribute) int { return a.NameRange.Start.Byte - b.NameRange.Start.Byte })
		for _, attr := range attrs {
			at.Argument = attr.Name
			attr.Expr = edit(at, attr.Expr)
		}
		for _, block := range b.Blocks {
			edit.content(at, block.Body)
		}
	case *syntax.JSONBody:
		edit.members(at, b.Members)
	case *syntax.UnionBody:
		for _, part := range b.Parts {
			edit.content(at, part)
		}
	}
}

func (edit Editor) members(at Place, members []syntax.JSONMember) {
	for _, m := range members {
		if m.Name == "//" {
			continue
		}
		at.Argument = m.Name
		edit.json(at, m.Value)
	}
}

func (edit Editor) json(at Place, v *syntax.JSONValue) {
	switch v.Kind {
	case syntax.JSONString:
		if text, ok := v.Expr.(*syntax.StringExpr); ok {
			text.Expression = edit(at, text.Expression)
		}
	case syntax.JSONArray:
		for _, e := range v.Elems {
			edit.json(at, e)
		}
	case syntax.JSONObject:
		edit.members(at, v.Members)
	}
}

// EditParts replaces the parts of an expression by what edit returns, each after
// its own parts, and then the whole. It changes the tree.
func EditParts(e hclsyntax.Expression, edit func(hclsyntax.Expression) hclsyntax.Expression) hclsyntax.Expression {
	if e == nil {
		return nil
	}
	part := func(slot *hclsyntax.Expression) { *slot = EditParts(*slot, edit) }
	switch e := e.(type) {
	case *RefExpr:
		if node, ok := e.Ref.Key.(hclsyntax.Expression); ok {
			e.Ref.Key = EditParts(node, edit)
		}
	case *LoopExpr:
		EditParts(e.ForExpr, func(in hclsyntax.Expression) hclsyntax.Expression {
			if in == e.ForExpr {
				return in
			}
			return edit(in)
		})
	case *stepExpr:
		part(&e.Expression)
		return e
	case *resultExpr:
		part(&e.Expression)
		return e
	case *TextExpr:
		part(&e.Expression)
		return e
	case *ProbeExpr:
		part(&e.Expression)
		return e
	case *syntax.StringExpr:
		part(&e.Expression)
		return e
	case *hclsyntax.IndexExpr:
		part(&e.Collection)
		part(&e.Key)
	case *hclsyntax.RelativeTraversalExpr:
		part(&e.Source)
	case *hclsyntax.SplatExpr:
		part(&e.Source)
		part(&e.Each)
	case *hclsyntax.TemplateExpr:
		parts(e.Parts, edit)
	case *hclsyntax.TemplateWrapExpr:
		part(&e.Wrapped)
	case *hclsyntax.TemplateJoinExpr:
		part(&e.Tuple)
	case *hclsyntax.ParenthesesExpr:
		part(&e.Expression)
	case *hclsyntax.FunctionCallExpr:
		parts(e.Args, edit)
	case *hclsyntax.ConditionalExpr:
		part(&e.Condition)
		part(&e.TrueResult)
		part(&e.FalseResult)
	case *hclsyntax.BinaryOpExpr:
		part(&e.LHS)
		part(&e.RHS)
	case *hclsyntax.UnaryOpExpr:
		part(&e.Val)
	case *hclsyntax.TupleConsExpr:
		parts(e.Exprs, edit)
	case *hclsyntax.ObjectConsExpr:
		for i := range e.Items {
			part(&e.Items[i].ValueExpr)
		}
	case *hclsyntax.ForExpr:
		part(&e.CollExpr)
		part(&e.KeyExpr)
		part(&e.ValExpr)
		part(&e.CondExpr)
	}
	return edit(e)
}

func parts(list []hclsyntax.Expression, edit func(hclsyntax.Expression) hclsyntax.Expression) {
	for i := range list {
		list[i] = EditParts(list[i], edit)
	}
}

// A ProbeExpr reports what its expression results in each time that it is evaluated.
type ProbeExpr struct {
	*hclsyntax.ParenthesesExpr // has who visits nodes see the expression
	seen                       func(*hcl.EvalContext, cty.Value)
}

// NewProbeExpr makes the node. Several tasks may call seen at once.
func NewProbeExpr(e hclsyntax.Expression, seen func(*hcl.EvalContext, cty.Value)) *ProbeExpr {
	return &ProbeExpr{around(e), seen}
}

// Value implements hcl.Expression.
func (e *ProbeExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.Expression.Value(ctx)
	if !diags.HasErrors() {
		e.seen(ctx, v)
	}
	return v, diags
}

// UnwrapExpression gives the expression as it was written.
func (e *ProbeExpr) UnwrapExpression() hcl.Expression { return e.Expression }
