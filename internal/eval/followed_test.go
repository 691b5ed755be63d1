package eval

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// TestFollowed: the longest part with a value is found, with few tries however long a
// reference is.
func TestFollowed(t *testing.T) {
	for _, has := range []int{0, 1, 2, 77, 199_999, 200_000} {
		tries := 0
		n, v := followed(200_000, func(n int) (cty.Value, hcl.Diagnostics) {
			tries++
			if n > has {
				return cty.DynamicVal, hcl.Diagnostics{{Severity: hcl.DiagError}}
			}
			return cty.NumberIntVal(int64(n)), nil
		})
		if n != has || tries > 20 || n > 0 && !v.RawEquals(cty.NumberIntVal(int64(has))) {
			t.Errorf("%d steps have a value: got %d, %#v, with %d tries", has, n, v, tries)
		}
	}
}
