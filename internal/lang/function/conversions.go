package function

import (
	"reflect"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"weir.dev/weir/internal/core/value"
)

func addConversions(table map[string]function.Function) {
	table["tobool"] = conversionTo(cty.Bool)
	table["tolist"] = conversionTo(cty.List(cty.DynamicPseudoType))
	table["tomap"] = conversionTo(cty.Map(cty.DynamicPseudoType))
	table["tonumber"] = conversionTo(cty.Number)
	table["toset"] = conversionTo(cty.Set(cty.DynamicPseudoType))
	table["tostring"] = withBound(conversionTo(cty.String), inArguments)
	table["convert"] = dynamicFunc([]function.Parameter{
		open(anything("value")),
		{Name: "type", Type: constraintType},
	}, nil, convertTo)
}

func conversionTo(want cty.Type) function.Function {
	return dynamicFunc([]function.Parameter{open(anything("v"))}, nil, func(args []cty.Value) (cty.Value, error) {
		v, err := value.Convert(args[0], want)
		if err != nil {
			return cty.NilVal, function.NewArgErrorf(0, "cannot convert %s to %s", describe(args[0], want), constraintName(want))
		}
		return v, nil
	})
}

func constraintName(want cty.Type) string {
	switch want {
	case cty.Bool:
		return `bool; only the strings "true" or "false" are allowed`
	case cty.Number:
		return "number; a string must be a decimal representation of a number"
	}
	return want.FriendlyNameForConstraint()
}

// describe names a value that can't be converted, by itself if it is short and
// may be seen.
func describe(v cty.Value, want cty.Type) string {
	bare, marks := v.UnmarkDeep()
	name := bare.Type().FriendlyName()
	switch {
	case marks.Has(value.Ephemeral):
		return "this ephemeral " + name
	case marks.Has(value.Sensitive):
		return "this sensitive " + name
	case bare.Type() == cty.String && want.IsPrimitiveType() && bare.IsKnown() && !bare.IsNull():
		return strconv.Quote(bare.AsString())
	}
	return name
}

// constraint is the second argument of convert: a type as variables have it.
type constraint struct {
	ty       cty.Type
	defaults *typeexpr.Defaults
}

var constraintType cty.Type

func init() {
	constraintType = cty.CapsuleWithOps("type", reflect.TypeFor[constraint](), &cty.CapsuleOps{
		ExtensionData: func(key any) any {
			if key != customdecode.CustomExpressionDecoder {
				return nil
			}
			return customdecode.CustomExpressionDecoderFunc(
				func(expr hcl.Expression, _ *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
					ty, defaults, diags := typeexpr.TypeConstraintWithDefaults(expr)
					return cty.CapsuleVal(constraintType, &constraint{ty, defaults}), diags
				})
		},
	})
}

func convertTo(args []cty.Value) (cty.Value, error) {
	want := args[1].EncapsulatedValue().(*constraint)
	v := args[0]
	if want.defaults != nil && !v.IsNull() {
		v = want.defaults.Apply(v)
	}
	ret, err := value.Convert(v, want.ty)
	if err != nil {
		return cty.NilVal, function.NewArgErrorf(0, "%s", value.ErrorString("", err))
	}
	return ret, nil
}

// TypeValue is the type of what the console's `type` returns: a *cty.Type.
var TypeValue = cty.Capsule("type", reflect.TypeFor[cty.Type]())

var typeFunc = function.New(&function.Spec{
	Params: []function.Parameter{open(anything("value"))},
	Type:   function.StaticReturnType(TypeValue),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		ty := args[0].Type()
		return cty.CapsuleVal(TypeValue, &ty), nil
	},
})

// TypeOf gives the type in a result of the console's `type`, and false for any
// other value.
func TypeOf(v cty.Value) (cty.Type, bool) {
	v, _ = v.Unmark()
	if v.Type() != TypeValue || v.IsNull() || !v.IsKnown() {
		return cty.NilType, false
	}
	return *v.EncapsulatedValue().(*cty.Type), true
}
