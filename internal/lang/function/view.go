package function

import (
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// A view carries an argument past the walk for marks that every call makes
// over its arguments, so that reading one element of a large collection costs
// nothing like its size. Its body has to mind marks, unknowns and nulls.
type view struct{ v cty.Value }

var viewType cty.Type

func init() {
	viewType = cty.CapsuleWithOps("value", reflect.TypeFor[view](), &cty.CapsuleOps{
		ExtensionData: func(key any) any {
			if key != customdecode.CustomExpressionDecoder {
				return nil
			}
			return customdecode.CustomExpressionDecoderFunc(
				func(expr hcl.Expression, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
					v, diags := expr.Value(ctx)
					return cty.CapsuleVal(viewType, &view{v}), diags
				})
		},
	})
}

func viewed(name string) function.Parameter {
	return function.Parameter{Name: name, Type: viewType}
}

// look takes a view's value: without its own marks, and these apart.
func look(arg cty.Value) (cty.Value, cty.ValueMarks) {
	return arg.EncapsulatedValue().(*view).v.Unmark()
}

// dynamicFunc makes a function that resolves type and value in one go, so that costly work
// isn't done twice.
func dynamicFunc(params []function.Parameter, variadic *function.Parameter, run func([]cty.Value) (cty.Value, error)) function.Function {
	return typedFunc(params, variadic, func([]cty.Value) cty.Type { return cty.DynamicPseudoType }, run)
}

// typedFunc is dynamicFunc for a function whose parameters don't take unknown
// values: ty gives the type of the unknown result.
func typedFunc(params []function.Parameter, variadic *function.Parameter, ty func([]cty.Value) cty.Type, run func([]cty.Value) (cty.Value, error)) function.Function {
	return function.New(&function.Spec{
		Params:   params,
		VarParam: variadic,
		Type:     func(args []cty.Value) (cty.Type, error) { return ty(args), nil },
		Impl:     func(args []cty.Value, _ cty.Type) (cty.Value, error) { return run(args) },
	})
}

func typeOfFirst(args []cty.Value) cty.Type { return args[0].Type() }
