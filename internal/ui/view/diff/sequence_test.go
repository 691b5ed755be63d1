package diff

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// longest is the textbook solution.
func longest(a, b []string) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i := range a {
		for j := range b {
			if a[i] == b[j] {
				table[i+1][j+1] = table[i][j] + 1
			} else {
				table[i+1][j+1] = max(table[i][j+1], table[i+1][j])
			}
		}
	}
	return table[len(a)][len(b)]
}

func TestCommonIsLongest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() []string {
		out := make([]string, r.IntN(12))
		for i := range out {
			out[i] = string(rune('a' + r.IntN(4)))
		}
		return out
	}
	for range 20000 {
		a, b := random(), random()
		got := common(a, b)
		last := match{-1, -1}
		for _, m := range got {
			if m.before <= last.before || m.after <= last.after || a[m.before] != b[m.after] {
				t.Fatalf("%v and %v: bad match %v in %v", a, b, m, got)
			}
			last = m
		}
		if want := longest(a, b); len(got) != want {
			t.Fatalf("%v and %v have %d in common, found %v", a, b, want, got)
		}
	}
}

func TestAlign(t *testing.T) {
	show := func(pair bool, before, after string) string {
		var out []string
		align(strings.Split(before, ""), strings.Split(after, ""), func(int, int) bool { return pair }, func(i, j int) {
			out = append(out, fmt.Sprintf("%d:%d", i, j))
		})
		return strings.Join(out, " ")
	}
	for _, test := range []struct {
		pair          bool
		before, after string
		want          string
	}{
		{false, "abc", "axc", "0:0 1:-1 -1:1 2:2"},
		{true, "abc", "axc", "0:0 1:1 2:2"},
		{true, "abc", "ac", "0:0 1:-1 2:1"},
		{false, "ab", "xyab", "-1:0 -1:1 0:2 1:3"},
	} {
		if got := show(test.pair, test.before, test.after); got != test.want {
			t.Errorf("%s to %s: got %s, want %s", test.before, test.after, got, test.want)
		}
	}
}

func TestLongSequencesAreCheap(t *testing.T) {
	lines := func(n int, format string) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf(format, i)
		}
		return out
	}
	start := time.Now()
	a, b := lines(50000, "a%d"), lines(50000, "a%d")
	b[100], b[40000] = "x", "y"
	if got := len(common(a, b)); got != 49998 {
		t.Errorf("found %d of 49998 common lines", got)
	}
	if got := common(a, lines(50000, "b%d")); len(got) != 0 {
		t.Errorf("found %d lines in common where there are none", len(got))
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}
