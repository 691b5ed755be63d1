package diff

import (
	"encoding/json"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Documents reads two texts as JSON or YAML, where both are objects or lists that differ;
// false for other values. Neither may be hidden from those who see what comes of it.
func Documents(before, after cty.Value) (from, to cty.Value, ok bool) {
	if before.Type() != cty.String || after.Type() != cty.String {
		return cty.NilVal, cty.NilVal, false
	}
	if from, to, ok = YAML(before.AsString(), after.AsString()); ok {
		return from, to, true
	}
	read := func(v cty.Value) (cty.Value, bool) {
		text := []byte(strings.TrimSpace(v.AsString()))
		if len(text) == 0 || text[0] != '{' && text[0] != '[' || !json.Valid(text) {
			return cty.NilVal, false
		}
		t, err := ctyjson.ImpliedType(text)
		if err != nil {
			return cty.NilVal, false
		}
		v, err = ctyjson.Unmarshal(text, t)
		return v, err == nil
	}
	if from, ok = read(before); !ok {
		return from, to, false
	}
	if to, ok = read(after); !ok || from.RawEquals(to) {
		return from, to, false
	}
	return from, to, true
}
