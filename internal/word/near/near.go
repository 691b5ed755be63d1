// Package near finds the name that was probably meant by one that there isn't.
//
// It owns how near is near enough. It refuses to know what names are of.
package near

import (
	"slices"

	"github.com/agext/levenshtein"
)

// Name is the closest of the names when it is close to the given one, and empty otherwise.
func Name(given string, names []string) string {
	best, distance := "", 3
	for _, name := range slices.Sorted(slices.Values(names)) {
		d := levenshtein.Distance(given, name, nil)
		if swapped(given, name) {
			d = 1
		}
		// A letter is rather wrong than missing.
		if d < distance || d == distance && best != "" && len(best) != len(given) && len(name) == len(given) {
			best, distance = name, d
		}
	}
	return best
}

// most is how many names are looked at: nobody is proposed one of thousands.
const most = 1000

// Ask is " Did you mean …?" with the name that was probably meant, or empty. What is as
// long as the distance to a name isn't near to it.
func Ask(given string, names []string) string {
	if len(names) > most {
		return ""
	}
	best := Name(given, names)
	if best == "" || levenshtein.Distance(given, best, nil) >= len(best) {
		return ""
	}
	return " Did you mean " + best + "?"
}

// swapped reports whether two neighbouring letters have changed places.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := 0; i+1 < len(a); i++ {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
}
