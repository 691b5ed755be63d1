// Package suggest suggests the nearest existing name for a misspelled one.
//
// It owns how near is near enough. It doesn't know what names are of.
package suggest

import (
	"slices"
	"unicode/utf8"
)

// limit is how many edits make a name another one.
const limit = 3

// most is how many names are inspected: nobody is proposed one of thousands.
const most = 1000

// Name is the closest of the names when it is close to the given one, and empty otherwise.
func Name(given string, names []string) string {
	if len(names) > most {
		return ""
	}
	best, least := "", limit
	for _, name := range slices.Sorted(slices.Values(names)) {
		d := distance([]rune(given), []rune(name))
		// A letter is rather wrong than missing.
		if d < least || d == least && best != "" && len(best) != len(given) && len(name) == len(given) {
			best, least = name, d
		}
	}
	return best
}

// Proper is Name but for short names of which more than half would be wrong: new is no get.
func Proper(given string, names []string) string {
	best := Name(given, names)
	if 2*distance([]rune(given), []rune(best)) > utf8.RuneCountInString(best) {
		return ""
	}
	return best
}

// Ask is " Did you mean …?" with the name that was probably meant, or empty.
func Ask(given string, names []string) string {
	best := Proper(given, names)
	if best == "" {
		return ""
	}
	return " Did you mean " + best + "?"
}

// distance is how many edits lead from one text to the other: letters that are added, left out
// or others, and neighbouring ones that have changed places. It is limit where the lengths
// only say that it is no less.
func distance(a, b []rune) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	// Between a beginning of a and each of b: of the present one, of one letter less, of two less.
	row, last, before := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			other := 1
			if a[i] == b[j] {
				other = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+other)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		row, last, before = before, row, last
	}
	return last[len(b)]
}
