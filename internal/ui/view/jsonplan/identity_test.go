package jsonplan

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// TestIdentityJSON: an identity is shown once all of it is known.
func TestIdentityJSON(t *testing.T) {
	ty := cty.Object(map[string]cty.Type{"id": cty.String})
	for _, c := range []struct {
		v    cty.Value
		want string
	}{
		{cty.NilVal, ""},
		{cty.NullVal(ty), ""},
		{cty.UnknownVal(ty), ""},
		{cty.ObjectVal(map[string]cty.Value{"id": cty.UnknownVal(cty.String)}), ""},
		{cty.ObjectVal(map[string]cty.Value{"id": cty.NullVal(cty.String)}), `{"id":null}`},
		{cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("a").Mark("m")}), `{"id":"a"}`},
	} {
		if got, err := identityJSON(c.v); err != nil || string(got) != c.want {
			t.Errorf("%#v: %s, %v; want %s", c.v, got, err, c.want)
		}
	}
}
