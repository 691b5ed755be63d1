package graphbuilder

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// TestMentions: a value mentions an ID that is one of its texts as a whole. An ID that isn't
// known yet is empty, and nothing mentions that.
func TestMentions(t *testing.T) {
	v := cty.ObjectVal(map[string]cty.Value{
		"empty": cty.StringVal(""), "null": cty.NullVal(cty.String), "unknown": cty.UnknownVal(cty.String),
		"list": cty.ListVal([]cty.Value{cty.StringVal("a-1").Mark("m")}), "number": cty.NumberIntVal(7),
	})
	for text, want := range map[string]bool{"a-1": true, "a": false, "": false, "7": false} {
		if mentions(v, text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
