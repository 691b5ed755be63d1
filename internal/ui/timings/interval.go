package timings

import (
	"cmp"
	"slices"
	"time"
)

// An interval is from one time to another.
type interval struct{ from, to time.Duration }

// union are the times that any of the intervals has, in order and apart.
func union(list []interval) []interval {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	var out []interval
	for _, i := range list {
		switch last := len(out) - 1; {
		case i.from >= i.to:
		case last >= 0 && i.from <= out[last].to:
			out[last].to = max(out[last].to, i.to)
		default:
			out = append(out, i)
		}
	}
	return out
}

// without are the times up to a whole that a union lacks.
func without(whole time.Duration, of []interval) []interval {
	var out []interval
	at := time.Duration(0)
	for _, i := range of {
		if at < i.from {
			out = append(out, interval{at, i.from})
		}
		at = i.to
	}
	if at < whole {
		out = append(out, interval{at, whole})
	}
	return out
}

// length is that of a union.
func length(of []interval) (sum time.Duration) {
	for _, i := range of {
		sum += i.to - i.from
	}
	return sum
}

// covered is for how long two unions are both there.
func covered(a, b []interval) (sum time.Duration) {
	for len(a) > 0 && len(b) > 0 {
		if both := min(a[0].to, b[0].to) - max(a[0].from, b[0].from); both > 0 {
			sum += both
		}
		if a[0].to < b[0].to {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return sum
}
