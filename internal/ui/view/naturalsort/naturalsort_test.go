package naturalsort

import (
	"slices"
	"testing"
)

func TestCompare(t *testing.T) {
	want := []string{"", "01", "1", "2", "10", "a", "b1", "b2", "b10", "b10a2", "b10a10", "b99999999999999999999998", "b99999999999999999999999", "ba", `x["b2"]`, `x["b10"]`}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, Compare)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for _, a := range want {
		for _, b := range want {
			if Compare(a, b) != -Compare(b, a) || (Compare(a, b) == 0) != (a == b) {
				t.Errorf("%q and %q", a, b)
			}
		}
	}
}
