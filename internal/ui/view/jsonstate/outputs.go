package jsonstate

import (
	"encoding/json"

	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/state"
)

// AllOutputs is what `output -json` prints, indented.
// Sensitive values are not hidden there.
func AllOutputs(all map[string]state.Output) ([]byte, error) {
	outputs, err := Outputs(all)
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(outputs, "", "  ")
}

// OneOutput is what `output -json NAME` prints.
func OneOutput(o state.Output) ([]byte, error) {
	v, _ := o.Value.UnmarkDeep()
	return ctyjson.Marshal(v, v.Type())
}
