package diags

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
)

// Where the sides of a comparison differ is reported, sensitive parts are not.
func TestSides(t *testing.T) {
	object := func(size, secret cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"size": size, "secret": secret.Mark(value.Sensitive), "list": cty.TupleVal([]cty.Value{cty.True})})
	}
	one, two := cty.NumberIntVal(1), cty.NumberIntVal(2)
	long := cty.StringVal(strings.Repeat("ab", maxSide))
	for _, test := range []struct {
		left, right cty.Value
		want        string
	}{
		{one, one, ""},
		{one, two, "1 and 2"},
		{cty.StringVal("1"), one, `"1" and 1`},
		{object(one, two), object(one, one), ""},
		{object(one, two), object(two, one), ".size: 1 and 2"},
		{object(one, two), cty.EmptyObjectVal, `.list: [true] and nothing .secret: (sensitive) and nothing .size: 1 and nothing`},
		{cty.TupleVal([]cty.Value{one, two}), cty.TupleVal([]cty.Value{one}), "[1]: 2 and nothing"},
		{cty.TupleVal([]cty.Value{one}), cty.ListVal([]cty.Value{one}), "they have the same content, and the left one is tuple, the right one list of number"},
		{cty.NullVal(cty.String), cty.UnknownVal(cty.String), "null and (not known yet)"},
		{long, one, `"` + long.AsString()[:maxSide-1] + "… and 1"},
	} {
		if got := strings.Join(differing(&diag.Comparison{Left: test.left, Right: test.right}), " "); got != test.want {
			t.Errorf("%#v and %#v:\n%s\nwant\n%s", test.left, test.right, got, test.want)
		}
	}
	if got := differing(nil); got != nil {
		t.Errorf("without a comparison: %q", got)
	}
}
