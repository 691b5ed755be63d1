package program

import (
	"math/big"
	"reflect"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
)

// RefKind is what a reference names.
type RefKind uint8

const (
	RefVariable  RefKind = iota + 1 // Ref.Variable
	RefLocal                        // Ref.Local
	RefResource                     // Ref.Resource, with Key where one is written
	RefCall                         // Ref.Call, with Key, Attr is the output or empty for the whole call
	RefCount                        // Attr is index
	RefEach                         // Attr is key or value
	RefPath                         // Attr is module, root or cwd
	RefTerraform                    // Attr is workspace or applying
	RefSelf                         // the instance that the expression belongs to
	RefOutput                       // Ref.Output, in conditions of tests
)

// A Ref is one reference in an expression, resolved to a declaration of the
// same program. The fields that Kind names are set.
type Ref struct {
	Kind     RefKind
	Variable *Variable
	Local    *Local
	Resource *Resource
	Call     *Call
	Output   *Output
	Attr     string

	// Key is the instance key as written, nil without one; its own
	// references are nodes of its tree. A key is only split off where the
	// declaration is repeated.
	Key hcl.Expression
	// Rest is applied to the value of what is named so far.
	Rest hcl.Traversal

	// Lenient: it may name nothing, being an argument of try or can, or the
	// content of a dynamic block.
	Lenient bool

	// Text is the reference as written, with brackets simplified.
	Text  string
	Range hcl.Range
}

// A RefExpr is the node of a reference in an expression tree. The embedded
// literal makes it an expression of the hclsyntax package, which has no
// references as far as that package knows.
type RefExpr struct {
	*hclsyntax.LiteralValueExpr
	Ref *Ref
}

// NewRefExpr makes the node.
func NewRefExpr(ref *Ref) *RefExpr {
	return &RefExpr{&hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: ref.Range}, ref}
}

// Value asks the scope of the context.
func (e *RefExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	scope := ScopeOf(ctx)
	if scope == nil {
		return cty.DynamicVal, diag.List{diag.BadReference.As("Variables not allowed").Error(e.Ref.Range, "Variables may not be used here.")}.ToHCL()
	}
	v, diags := scope.Resolve(e.Ref, ctx)
	for _, d := range diags {
		if d.Expression == nil {
			d.Expression, d.EvalContext = e, ctx
		}
	}
	return v, diags
}

// A BrokenExpr stands for a reference that names nothing, where that is a
// mistake only if it is evaluated.
type BrokenExpr struct {
	*hclsyntax.LiteralValueExpr
	Problems hcl.Diagnostics
}

// NewBrokenExpr makes the node.
func NewBrokenExpr(at hcl.Range, problems hcl.Diagnostics) *BrokenExpr {
	return &BrokenExpr{&hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: at}, problems}
}

// Value reports what is wrong.
func (e *BrokenExpr) Value(*hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	return cty.DynamicVal, e.Problems
}

// A TextExpr is a part of a template. Whole numbers become texts in it, as they
// would in the template, which takes much longer for it.
type TextExpr struct {
	*hclsyntax.ParenthesesExpr // has who visits nodes see the part
}

// NewTextExpr makes the node.
func NewTextExpr(part hclsyntax.Expression) *TextExpr { return &TextExpr{around(part)} }

func around(e hclsyntax.Expression) *hclsyntax.ParenthesesExpr {
	return &hclsyntax.ParenthesesExpr{Expression: e, SrcRange: e.Range()}
}

// Value implements hcl.Expression.
func (e *TextExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.Expression.Value(ctx)
	if v.Type() != cty.Number || v.IsMarked() || !v.IsKnown() || v.IsNull() {
		return v, diags
	}
	n := v.AsBigFloat()
	if i, accuracy := n.Int64(); accuracy == big.Exact && (i != 0 || !n.Signbit()) {
		return cty.StringVal(strconv.FormatInt(i, 10)), diags
	}
	return v, diags
}

// A Scope answers references during an evaluation.
type Scope interface {
	// Resolve returns the value that the reference has, Key and Rest
	// included. Keys are evaluated in the given context, which may have
	// names bound by for expressions.
	Resolve(ref *Ref, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics)
}

type scopeBox struct{ Scope }

var scopeType = cty.Capsule("scope", reflect.TypeOf(scopeBox{}))

// scopeName can't be written in a configuration.
const scopeName = "\x00scope"

// NewContext makes the context in which expressions of one scope evaluate, with the
// functions of another one.
func NewContext(scope Scope, functions *hcl.EvalContext) *hcl.EvalContext {
	ctx := functions.NewChild()
	ctx.Variables = map[string]cty.Value{scopeName: cty.CapsuleVal(scopeType, &scopeBox{scope})}
	return ctx
}

// ScopeOf finds the scope of a context, or nil.
func ScopeOf(ctx *hcl.EvalContext) Scope {
	for ; ctx != nil; ctx = ctx.Parent() {
		if v, ok := ctx.Variables[scopeName]; ok {
			return v.EncapsulatedValue().(*scopeBox).Scope
		}
	}
	return nil
}

// References lists the references in an expression tree in source order,
// those in keys of other references included.
func References(expr hcl.Expression) []*Ref {
	var refs []*Ref
	node, ok := expr.(hclsyntax.Node)
	if !ok {
		if wrapped, ok := expr.(*Expr); ok {
			return References(wrapped.Expression)
		}
		return nil
	}
	hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		refs = append(refs, referencesOf(n)...)
		return nil
	})
	return refs
}

// referencesOf is the reference that a node is, with those in its key.
func referencesOf(n hclsyntax.Node) []*Ref {
	e, ok := n.(*RefExpr)
	if !ok {
		return nil
	}
	refs := []*Ref{e.Ref}
	if e.Ref.Key != nil {
		refs = append(refs, References(e.Ref.Key)...)
	}
	return refs
}

// ProviderCalls lists the names of the providers' functions that an expression
// calls, in source order, as often as it calls them.
func ProviderCalls(expr hcl.Expression) []string {
	node, ok := expr.(hclsyntax.Node)
	if !ok {
		if wrapped, ok := expr.(*Expr); ok {
			return ProviderCalls(wrapped.Expression)
		}
		return nil
	}
	var names []string
	hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *RefExpr:
			if n.Ref.Key != nil {
				names = append(names, ProviderCalls(n.Ref.Key)...)
			}
		case *hclsyntax.FunctionCallExpr:
			if strings.HasPrefix(n.Name, "provider::") {
				names = append(names, n.Name)
			}
		}
		return nil
	})
	return names
}
