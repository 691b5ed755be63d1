package builtin

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/provider"
)

// functions declares the functions. All have one argument.
func functions() map[string]*provider.Function {
	declare := func(argument string, ty, result cty.Type, summary, description string) *provider.Function {
		return &provider.Function{
			Parameters:  []provider.Parameter{{Name: argument, Type: ty}},
			Return:      result,
			Summary:     summary,
			Description: description,
		}
	}
	return map[string]*provider.Function{
		"decode_tfvars": declare("content", cty.String, cty.DynamicPseudoType,
			"Parse the content of a variable file",
			"Takes the content of a .tfvars file and returns an object with the value of each variable in it."),
		"encode_tfvars": declare("input", cty.DynamicPseudoType, cty.String,
			"Write an object as a variable file",
			"Takes an object whose attribute names are valid variable names and returns the content of a .tfvars file that sets these variables."),
		"encode_expr": declare("expr", cty.DynamicPseudoType, cty.String,
			"Write a value as an expression",
			"Takes any value and returns the source of an expression that has this value."),
	}
}

var implementations = map[string]func(cty.Value) (cty.Value, error){
	"decode_tfvars": decodeVars,
	"encode_tfvars": encodeVars,
	"encode_expr":   encodeExpr,
}

// decodeVars evaluates the attributes of a variable file.
func decodeVars(content cty.Value) (cty.Value, error) {
	if !content.IsKnown() {
		return cty.DynamicVal, nil
	}
	fail := func(diags hcl.Diagnostics) (cty.Value, error) {
		errs := []error{errors.New("failed to decode tfvars content")}
		for _, d := range diags {
			errs = append(errs, d)
		}
		return cty.DynamicVal, errors.Join(errs...)
	}
	file, diags := hclsyntax.ParseConfig([]byte(content.AsString()), "content", hcl.InitialPos)
	if diags.HasErrors() {
		return fail(diags)
	}
	attributes, diags := file.Body.JustAttributes()
	if diags.HasErrors() {
		return fail(diags)
	}
	values := map[string]cty.Value{}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		v, diags := attributes[name].Expr.Value(nil)
		if diags.HasErrors() {
			return fail(diags)
		}
		values[name] = v
	}
	return cty.ObjectVal(values), nil
}

// encodeVars writes attributes in the order of their names.
func encodeVars(v cty.Value) (cty.Value, error) {
	// A value that isn't known yet may still turn out to be fine.
	if !v.IsWhollyKnown() {
		return cty.UnknownVal(cty.String).RefineNotNull(), nil
	}
	switch {
	case v.IsNull():
		return cty.UnknownVal(cty.String), errors.New("invalid input: must not be null")
	case !v.Type().IsObjectType():
		return cty.UnknownVal(cty.String), errors.New("invalid input: must be an object")
	}
	file := hclwrite.NewEmptyFile()
	for it := v.ElementIterator(); it.Next(); {
		key, element := it.Element()
		name := key.AsString()
		if !hclsyntax.ValidIdentifier(name) {
			return cty.UnknownVal(cty.String), fmt.Errorf("invalid input: object key: %s - must be a valid identifier", name)
		}
		file.Body().SetAttributeValue(name, element)
	}
	return cty.StringVal(string(file.Bytes())), nil
}

// encodeExpr writes one value.
func encodeExpr(v cty.Value) (cty.Value, error) {
	if !v.IsWhollyKnown() {
		return cty.UnknownVal(cty.String).RefineNotNull(), nil
	}
	return cty.StringVal(string(hclwrite.TokensForValue(v).Bytes())), nil
}
