package graphbuilder

import (
	"slices"
	"testing"
)

// chain is n resources, each one depending on the one before.
func chain(n int) *dependencies {
	d := &dependencies{below: make([][]int32, n), seen: make([]int, n)}
	for i := 1; i < n; i++ {
		d.below[i] = []int32{int32(i - 1)}
	}
	return d
}

func TestNearestIsTransitive(t *testing.T) {
	d := &dependencies{below: [][]int32{{}, {0}, {0}, {1, 2}}, seen: make([]int, 4)}
	if got, want := d.nearest(3, d.below[3]), []int32{0, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// Instances of two resources that depend on each other's: not on itself.
	d = &dependencies{below: [][]int32{{1}, {0}}, seen: make([]int, 2)}
	if got, want := d.nearest(0, d.below[0]), []int32{1}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestNearestIsLimited(t *testing.T) {
	d := chain(10 * enough)
	last := int32(10*enough - 1)
	got := d.nearest(last, d.below[last])
	if len(got) != enough || got[0] != last-enough || got[enough-1] != last-1 {
		t.Errorf("got %v, want the %d resources before %d", got, enough, last)
	}
	// All direct ones are there, however many.
	direct := make([]int32, 5*enough)
	for i := range direct {
		direct[i] = int32(i)
	}
	if got := d.nearest(last, direct); !slices.Equal(got, direct) {
		t.Errorf("got %d resources, want the %d direct ones", len(got), len(direct))
	}
}
