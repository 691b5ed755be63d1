package syntax

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
)

// A Discarded is an attribute in an object that an expression writes out, and
// that is lost when the object takes on its type.
type Discarded struct {
	Name string
	// Path leads to the object from the value of the whole expression. Elements
	// that a for expression makes have unknown keys.
	Path  cty.Path
	Type  cty.Type // of the object
	Range hcl.Range
	// Object is where the object is written.
	Object hcl.Range
}

// DiscardedAttributes are those of objects in an expression, whose value will be converted to
// a type. Anything that isn't written out there is left to conversion.
func DiscardedAttributes(expr hcl.Expression, to cty.Type) []Discarded {
	var list []Discarded
	discarded(&list, expr, to, nil)
	return list
}

// Warning informs the caller that wrote it, where the value is that of what is named.
func (d Discarded) Warning(of string) diag.Diagnostic {
	if len(d.Path) > 0 {
		of += ", at " + value.PathName(d.Path) + ","
	}
	return diag.Diagnostic{
		Severity: diag.Warning, Code: Invalid.Name, Summary: "Object attribute is ignored", Subject: d.Range.Ptr(), Context: d.Object.Ptr(),
		Detail: fmt.Sprintf("The object type of %s has no attribute named %q, so that what is written here isn't used.%s",
			of, d.Name, Suggest(d.Name, slices.Collect(maps.Keys(d.Type.AttributeTypes())))),
	}
}

func discarded(list *[]Discarded, expr hcl.Expression, to cty.Type, path cty.Path) {
	below := func(expr hcl.Expression, to cty.Type, step cty.PathStep) {
		discarded(list, expr, to, append(slices.Clip(path), step))
	}
	switch expr := hcl.UnwrapExpression(expr).(type) {
	case *hclsyntax.ObjectConsExpr:
		for _, item := range expr.Items {
			name, ok := constantKey(item.KeyExpr)
			switch {
			case !ok:
			case to.IsMapType():
				below(item.ValueExpr, to.ElementType(), cty.IndexStep{Key: cty.StringVal(name)})
			case to.IsObjectType() && to.HasAttribute(name):
				below(item.ValueExpr, to.AttributeType(name), cty.GetAttrStep{Name: name})
			case to.IsObjectType():
				*list = append(*list, Discarded{Name: name, Path: path, Type: to, Range: item.KeyExpr.Range(), Object: expr.SrcRange})
			}
		}
	case *hclsyntax.TupleConsExpr:
		for n, e := range expr.Exprs {
			step := cty.IndexStep{Key: cty.NumberIntVal(int64(n))}
			switch {
			case to.IsListType() || to.IsSetType():
				below(e, to.ElementType(), step)
			case to.IsTupleType() && to.Length() == len(expr.Exprs):
				below(e, to.TupleElementType(n), step)
			}
		}
	case *hclsyntax.ForExpr:
		switch {
		case expr.KeyExpr != nil && to.IsMapType():
			below(expr.ValExpr, to.ElementType(), cty.IndexStep{Key: cty.UnknownVal(cty.String)})
		case expr.KeyExpr == nil && (to.IsListType() || to.IsSetType()):
			below(expr.ValExpr, to.ElementType(), cty.IndexStep{Key: cty.UnknownVal(cty.Number)})
		}
	}
}

// constantKey is the key of an item where it needs no evaluation.
func constantKey(expr hcl.Expression) (string, bool) {
	key, diags := expr.Value(nil)
	if diags.HasErrors() || !key.IsKnown() || key.IsNull() {
		return "", false
	}
	key, err := convert.Convert(key, cty.String)
	if err != nil {
		return "", false
	}
	return key.AsString(), true
}
