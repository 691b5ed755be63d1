package instance_test

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/resource/instance"
)

// A sensitive part of something sensitive isn't listed again: states of OpenTofu name both.
func TestShown(t *testing.T) {
	b := &schema.Block{Attributes: map[string]*schema.Attribute{
		"a": {Optional: true, Sensitive: true, Nested: &schema.Object{Nesting: schema.Single, Attributes: map[string]*schema.Attribute{
			"b": {Type: cty.String, Optional: true, Sensitive: true}, "c": {Type: cty.String, Optional: true},
		}}},
		"ab": {Type: cty.String, Optional: true, Sensitive: true},
		"wo": {Type: cty.String, Optional: true, WriteOnly: true},
	}}
	hush := cty.StringVal("hush").Mark(value.Sensitive)
	object := func(inner cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{
			"a":  cty.ObjectVal(map[string]cty.Value{"b": inner, "c": inner}).Mark(value.Sensitive),
			"ab": hush, "wo": cty.NullVal(cty.String).Mark(value.Sensitive),
		})
	}
	both, outer := instance.Shown(b, object(hush)), instance.Shown(b, object(cty.StringVal("hush")))
	if !instance.SamePaths(both, outer) || len(both) != 2 || !both[0].Equals(cty.GetAttrPath("a")) || !both[1].Equals(cty.GetAttrPath("ab")) {
		t.Errorf("got %#v and %#v", both, outer)
	}
	apart := cty.ObjectVal(map[string]cty.Value{
		"a":  cty.ObjectVal(map[string]cty.Value{"b": hush, "c": cty.StringVal("seen")}),
		"ab": cty.StringVal("seen"), "wo": cty.NullVal(cty.String),
	})
	if got := instance.Shown(b, apart); len(got) != 1 || !got[0].Equals(cty.GetAttrPath("a").GetAttr("b")) {
		t.Errorf("got %#v", got)
	}
}
