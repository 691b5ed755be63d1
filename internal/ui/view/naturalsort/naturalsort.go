// Package naturalsort compares texts as people sort them: b2 before b10.
//
// It owns the order in which lists for people stand. States and documents for
// programs keep the order of bytes.
package naturalsort

import (
	"cmp"
	"strings"
)

// Compare orders texts with each run of digits as one number.
func Compare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if m, n := digits(x), digits(y); m > 0 && n > 0 {
			p, q := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
			if c := cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q)); c != 0 {
				return c
			}
			x, y = x[m:], y[n:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	// 01 and 1 are the same number, but not the same text.
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// digits counts those at the beginning of a text.
func digits(text string) int {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}
