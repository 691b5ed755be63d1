package jsonstate

import (
	"encoding/json"

	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/state"
)

// AllOutputs is what `output -json` prints, indented, with a line end.
// Sensitive values are not hidden there.
func AllOutputs(all map[string]state.Output) ([]byte, error) {
	outputs, err := Outputs(all)
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(outputs, "", "  ")
	return append(text, '\n'), err
}

// OneOutput is what `output -json NAME` prints, with a line end.
func OneOutput(o state.Output) ([]byte, error) {
	v, _ := o.Value.UnmarkDeep()
	text, err := ctyjson.Marshal(v, v.Type())
	return append(text, '\n'), err
}
