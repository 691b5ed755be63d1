package instance

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
)

// TestIdentify: what names an object for people is never what they must not see.
func TestIdentify(t *testing.T) {
	b := &schema.Block{Attributes: map[string]*schema.Attribute{
		"id": {Type: cty.String}, "name": {Type: cty.String}, "key": {Type: cty.String, Sensitive: true},
	}}
	secret := &schema.Block{Attributes: map[string]*schema.Attribute{"id": {Type: cty.String, Sensitive: true}, "name": {Type: cty.String}}}
	object := func(id, name cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"id": id, "name": name})
	}
	plain := object(cty.StringVal("i-1"), cty.StringVal("web"))
	for name, tt := range map[string]struct {
		v         cty.Value
		b         *schema.Block
		sensitive []cty.Path
		want      string
	}{
		"the id":             {plain, b, nil, "id=i-1"},
		"by the schema":      {plain, secret, nil, "name=web"},
		"by what was stored": {plain, b, []cty.Path{cty.GetAttrPath("id"), cty.GetAttrPath("name")}, "="},
		"by a mark":          {object(cty.StringVal("i-1").Mark(value.Sensitive), cty.NullVal(cty.String)), b, nil, "="},
		"nothing":            {cty.NilVal, b, nil, "="},
		"not known":          {object(cty.UnknownVal(cty.String), cty.StringVal("web")), b, nil, "name=web"},
	} {
		key, text := Identify(tt.v, tt.b, tt.sensitive)
		if key+"="+text != tt.want {
			t.Errorf("%s: %s=%s", name, key, text)
		}
	}
}
