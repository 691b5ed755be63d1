package module

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/syntax"
)

// A Value is the value that a file gives to an input variable.
type Value struct {
	Name  string
	Value cty.Value
	Range hcl.Range
}

// ParseVariables reads the bytes of a file of variable values, such as
// terraform.tfvars, in JSON where its name ends in .json. Values are constants
// and come in source order.
func ParseVariables(name string, data []byte) ([]Value, diag.List) {
	file, diags := syntax.Parse(name, data)
	if diags.HasErrors() {
		return nil, diags
	}
	// A block is most often a declaration that belongs into another file.
	content, _, _ := file.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "variable", LabelNames: []string{"name"}}}})
	if !file.JSON && len(content.Blocks) > 0 {
		block := content.Blocks[0]
		diags.Add(InVariablesFile.Error(block.DefRange, "A .tfvars file is used to assign values to variables that have already been declared in .tf files, not to declare new variables. To declare variable %q, place this block in one of your .tf files, such as variables.tf.\n\nTo set a value for this variable in %s, use the definition syntax instead:\n    %s = <value>", block.Labels[0], name, block.Labels[0]))
		return nil, diags
	}
	attrs, problems := file.Body.JustAttributes()
	diags.Append(diag.FromHCL(syntax.Invalid, problems))
	var values []Value
	for _, attr := range syntax.InOrder(attrs) {
		value, problems := attr.Expr.Value(nil)
		diags.Append(diag.FromHCL(diag.Expression, problems))
		if !problems.HasErrors() {
			values = append(values, Value{attr.Name, value, attr.Expr.Range()})
		}
	}
	return values, diags
}

// ParseValue reads the value of a variable from the environment or the
// command line, whose type isn't text: as an expression in native syntax. The
// origin says in ranges where it comes from, such as <value for var.x>.
func ParseValue(origin, text string) (cty.Value, diag.List) {
	expr, diags := syntax.ParseExpression([]byte(text), origin, hcl.InitialPos)
	if expr == nil {
		return cty.DynamicVal, diags
	}
	value, problems := expr.Value(nil)
	diags.Append(diag.FromHCL(diag.Expression, problems))
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	return value, diags
}

// Origin is the name of the place that a value of a variable comes from.
func Origin(variable string) string { return fmt.Sprintf("<value for var.%s>", variable) }
