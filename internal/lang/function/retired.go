package function

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// addRetired keeps the names of functions that old configurations use, to say
// what to write instead.
func addRetired(table map[string]function.Function) {
	retired := func(name, instead string) function.Function {
		values := open(anything("vals"))
		return dynamicFunc(nil, &values, func([]cty.Value) (cty.Value, error) {
			return cty.NilVal, fmt.Errorf("the %q function was deprecated in Terraform v0.12 and is gone; use %s", name, instead)
		})
	}
	table["list"] = retired("list", "tolist([ ... ]) to write a list")
	table["map"] = retired("map", "tomap({ ... }) to write a map")
}
