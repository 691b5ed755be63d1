package module

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// A VariableInput is a value for a root variable from outside. Either Value
// is set, or Text that is read by the variable's type.
type VariableInput struct {
	Value cty.Value
	Text  string
	// From says where it comes from: argument (-var), environment, file.
	From  string
	Range hcl.Range // meaningful for files
}
