package parsecache

import (
	"fmt"
	"testing"
)

// TestMemo: something is made of each other text, and by each other name, once.
func TestMemo(t *testing.T) {
	m := new(Memo)
	made := 0
	length := func(text []byte) int { made++; return len(text) }
	for i, test := range []struct {
		name, text string
		made       int
	}{{"a", "x", 1}, {"a", "x", 1}, {"a", "xy", 2}, {"a", "x", 3}, {"b", "x", 4}, {"b", "x", 4}, {"a", "x", 4}, {"a", "", 5}, {"a", "", 5}} {
		if got := Of(m, test.name, []byte(test.text), length); got != len(test.text) || made != test.made {
			t.Errorf("%d: %d is the length of %q, and it was asked for %d times", i, got, test.text, made)
		}
	}
	Put(m, "a", []byte("known"), 17)
	if got := Of(m, "a", []byte("known"), length); got != 17 || made != 5 {
		t.Errorf("%d, asked for %d times", got, made)
	}
	if got := Of(m, "a", []byte("known"), func([]byte) string { return "of another kind" }); got != "of another kind" {
		t.Error(got)
	}
	if Put(nil, "a", nil, 1); Of(nil, "a", nil, length) != 0 || made != 6 {
		t.Error("nothing keeps something")
	}
	for i := range most - 1 { // two names are there
		Put(m, fmt.Sprint(i), nil, i)
	}
	if len(m.of) != 1 {
		t.Errorf("there are %d texts", len(m.of))
	}
}
