package schema

import (
	"testing"

	"github.com/hashicorp/hcl/v2/ext/dynblock"
)

// TestDecodeFlat: the short way gives what the long one gives, or nothing.
func TestDecodeFlat(t *testing.T) {
	b := everything()
	required := everything()
	required.Blocks["list"].Min = 1
	for _, test := range []struct {
		block *Block
		text  string
		flat  bool
	}{
		{b, `name = "x"`, true},
		{b, `name = 5`, true},
		{b, `name = null`, true},
		{b, `name = unknown[0]` + "\ntags = { a = secret[0] }", true},
		{b, `name = missing`, true}, // a problem of the expression
		{b, `name = []`, false},     // one of its type
		{b, `tags = {}`, false},
		{b, ``, false},
		{b, `name = "x"` + "\nother = 1", false},
		{b, `name = "x"` + "\nlist {}", false},
		{required, `name = "x"`, false},
		{b.Blocks["list"].Block, ``, true},
		{b.Blocks["list"].Block, `o = [{ r = "x" }]`, true},
		{b.Blocks["list"].Block, `o = [{ r = "x", s = secret[0] }]`, true},
		{b.Blocks["any"].Block, `v = unknown`, true},
	} {
		body := body(t, test.text)
		got, gotDiags, ok := test.block.decodeFlat(body, evalContext)
		if ok != test.flat {
			t.Errorf("%q: flat is %v", test.text, ok)
			continue
		}
		if !ok {
			continue
		}
		want, wantDiags := test.block.decodeExpanded(dynblock.Expand(body, evalContext), evalContext)
		if !got.RawEquals(want) || gotDiags.Error() != wantDiags.Error() {
			t.Errorf("%q\ngot  %#v %v\nwant %#v %v", test.text, got, gotDiags, want, wantDiags)
		}
	}
}
