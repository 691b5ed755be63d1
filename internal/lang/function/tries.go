package function

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

func addTries(table map[string]function.Function) {
	// The library has both too, but its try evaluates every expression twice,
	// which doubles with each level of nesting.
	expressions := param("expressions", customdecode.ExpressionClosureType)
	table["try"] = dynamicFunc(nil, &expressions, try)
	table["can"] = function.New(&function.Spec{
		Params: []function.Parameter{param("expression", customdecode.ExpressionClosureType)},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, diags := customdecode.ExpressionClosureFromVal(args[0]).Value()
			switch {
			case diags.HasErrors():
				return cty.False, nil
			case !v.IsWhollyKnown():
				return cty.UnknownVal(cty.Bool), nil
			}
			return cty.True, nil
		},
	})
}

// try decides for an expression only when its value is wholly known: what is
// unknown now may fail later, and then another expression counts.
func try(args []cty.Value) (cty.Value, error) {
	if len(args) == 0 {
		return cty.NilVal, errors.New("at least one argument is required")
	}
	var all hcl.Diagnostics
	for _, arg := range args {
		v, diags := customdecode.ExpressionClosureFromVal(arg).Value()
		switch {
		case diags.HasErrors():
			all = append(all, diags...)
			continue
		case !v.IsWhollyKnown():
			return cty.DynamicVal, nil
		}
		return v, nil
	}
	var b strings.Builder
	b.WriteString("no expression succeeded:")
	for _, diag := range all {
		if diag.Severity != hcl.DiagError {
			continue
		}
		fmt.Fprintf(&b, "\n- %s", diag.Summary)
		if diag.Subject != nil {
			fmt.Fprintf(&b, " (at %s)", diag.Subject)
		}
		fmt.Fprintf(&b, "\n  %s", diag.Detail)
	}
	b.WriteString("\n\nEnd the list with an expression that can't fail")
	return cty.NilVal, errors.New(b.String())
}
