package lint

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

// ineffectiveComparisons finds == and != between values whose types certainly differ. Such
// values are never equal: the language converts neither.
func (m *unit) ineffectiveComparisons() {
	m.each(func(n hclsyntax.Node) {
		op, ok := n.(*hclsyntax.BinaryOpExpr)
		if !ok || op.Op != hclsyntax.OpEqual && op.Op != hclsyntax.OpNotEqual {
			return
		}
		seen := map[*program.Local]bool{}
		left, right := m.typeOf(op.LHS, seen), m.typeOf(op.RHS, seen)
		if !differ(left, right) {
			return
		}
		result := "false"
		if op.Op == hclsyntax.OpNotEqual {
			result = "true"
		}
		m.warn(IneffectiveComparison, op.Range(), "The left side is %s and the right side is %s, so the result is always %s. Convert one of them, for example with %s.", describe(left), describe(right), result, conversion(left, right))
	})
}

// unknown is the type of an expression that isn't certain.
var unknown = cty.DynamicPseudoType

// typeOf is the type of the values of an expression, as far as that is certain without
// evaluating it. seen are the local values on the way.
func (m *unit) typeOf(e hcl.Expression, seen map[*program.Local]bool) cty.Type {
	switch e := e.(type) {
	case *program.Expr:
		return m.typeOf(e.Expression, seen)
	case *program.RefExpr:
		return m.typeOfRef(e.Ref, seen)
	case *hclsyntax.LiteralValueExpr:
		if e.Val.IsNull() {
			return unknown
		}
		return e.Val.Type()
	case *syntax.StringExpr:
		return m.typeOf(e.Expression, seen)
	case *hclsyntax.TemplateExpr:
		return cty.String
	case *hclsyntax.TemplateWrapExpr:
		return m.typeOf(e.Wrapped, seen)
	case *hclsyntax.ParenthesesExpr:
		return m.typeOf(e.Expression, seen)
	case *hclsyntax.BinaryOpExpr:
		return e.Op.Type
	case *hclsyntax.UnaryOpExpr:
		return e.Op.Type
	case *hclsyntax.ConditionalExpr:
		if t := m.typeOf(e.TrueResult, seen); t.Equals(m.typeOf(e.FalseResult, seen)) {
			return t
		}
	case *hclsyntax.TupleConsExpr:
		types := make([]cty.Type, len(e.Exprs))
		for i, element := range e.Exprs {
			types[i] = m.typeOf(element, seen)
		}
		return cty.Tuple(types)
	case *hclsyntax.FunctionCallExpr:
		if t, ok := results[e.Name]; ok {
			return t
		}
	}
	return unknown
}

// results are the types that results of functions always have.
var results = map[string]cty.Type{
	"length": cty.Number, "tonumber": cty.Number, "abs": cty.Number, "ceil": cty.Number, "floor": cty.Number, "parseint": cty.Number,
	"tostring": cty.String, "format": cty.String, "join": cty.String, "lower": cty.String, "upper": cty.String, "replace": cty.String,
	"substr": cty.String, "trimspace": cty.String, "jsonencode": cty.String, "file": cty.String, "basename": cty.String, "md5": cty.String, "sha256": cty.String,
	"tobool": cty.Bool, "can": cty.Bool, "contains": cty.Bool, "alltrue": cty.Bool, "anytrue": cty.Bool, "startswith": cty.Bool, "endswith": cty.Bool, "fileexists": cty.Bool,
}

func (m *unit) typeOfRef(ref *program.Ref, seen map[*program.Local]bool) cty.Type {
	switch ref.Kind {
	case program.RefVariable:
		return follow(ref.Variable.Type, ref.Rest)
	case program.RefLocal:
		if seen[ref.Local] {
			return unknown
		}
		seen[ref.Local] = true
		defer delete(seen, ref.Local)
		return follow(m.typeOf(ref.Local.Expr, seen), ref.Rest)
	case program.RefResource:
		if !ref.Resource.Repeat.IsSingle() && ref.Key == nil {
			return unknown
		}
		return follow(m.schema(ref.Resource), ref.Rest)
	case program.RefCount:
		return cty.Number
	case program.RefEach:
		if ref.Attr == "key" {
			return cty.String
		}
	case program.RefPath:
		return cty.String
	}
	return unknown
}

// follow is the type of what a path leads to.
func follow(t cty.Type, rest hcl.Traversal) cty.Type {
	for _, step := range rest {
		name := ""
		switch step := step.(type) {
		case hcl.TraverseAttr:
			name = step.Name
		case hcl.TraverseIndex:
			if step.Key.Type() == cty.String {
				name = step.Key.AsString()
			}
		}
		switch {
		case t.IsObjectType() && name != "" && t.HasAttribute(name):
			t = t.AttributeType(name)
		case t.IsMapType() && name != "", t.IsListType() && name == "":
			t = t.ElementType()
		default:
			return unknown
		}
	}
	return t
}

// differ reports whether values of two types are certainly not equal.
func differ(a, b cty.Type) bool {
	if a == unknown || b == unknown || a.Equals(b) {
		return false
	}
	if a.IsTupleType() && b.IsTupleType() || a.IsObjectType() && b.IsObjectType() {
		return false // a mistake in a part is that part's
	}
	if a.HasDynamicTypes() || b.HasDynamicTypes() {
		return class(a) != class(b)
	}
	return true
}

// class is what is certain of a type with unknown parts.
func class(t cty.Type) string {
	switch {
	case t.IsListType():
		return "list"
	case t.IsSetType():
		return "set"
	case t.IsMapType():
		return "map"
	case t.IsTupleType():
		return "tuple"
	case t.IsObjectType():
		return "object"
	}
	return t.FriendlyName()
}

func describe(t cty.Type) string {
	switch {
	case t.IsTupleType():
		return "a tuple"
	case t.IsObjectType():
		return "an object"
	}
	return "a " + t.FriendlyName()
}

// conversion is a function that makes the values comparable.
func conversion(a, b cty.Type) string {
	for _, t := range []cty.Type{a, b} {
		switch {
		case t.IsListType():
			return "tolist, or compare the length"
		case t.IsSetType():
			return "toset, or compare the length"
		case t.IsMapType():
			return "tomap, or compare the length"
		}
	}
	if a == cty.Bool || b == cty.Bool {
		return "tobool"
	}
	if a == cty.Number || b == cty.Number {
		return "tonumber"
	}
	return "tostring"
}
