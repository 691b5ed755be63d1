package simulation

import (
	"maps"
	"slices"
	"testing"
)

// shrunk is a script that is as short as can be and still breaks a rule.
func shrunk(t *testing.T, s *script, rule string) *script {
	t.Helper()
	tries := 400
	breaks := func(s *script) bool {
		tries--
		h := once(t, s)
		return h.wrong != nil && h.wrong.rule == rule
	}
	for again := true; again && tries > 0; {
		again = false
		for _, next := range simpler(s) {
			if tries > 0 && breaks(next) {
				s, again = next, true
				break
			}
		}
	}
	return s
}

// simpler are scripts with a little less in them.
func simpler(s *script) (list []*script) {
	with := func(i int, replace ...line) {
		lines := slices.Concat(s.lines[:i], replace, s.lines[i+1:])
		for n := range lines {
			if n == 0 || !lines[n-1].command() || lines[n-1].beside > 0 {
				lines[n].beside = 0
			}
		}
		list = append(list, &script{s.store, lines})
	}
	for i := range s.lines {
		with(i)
	}
	for i, l := range s.lines {
		for _, at := range slices.Sorted(maps.Keys(l.faults)) {
			less := l
			less.faults = maps.Clone(l.faults)
			delete(less.faults, at)
			with(i, less)
		}
		if l.beside > 0 {
			less := l
			less.beside = 0
			with(i, less)
		}
		for _, w := range l.config {
			less := l
			less.config = without(l.config, w.name)
			with(i, less)
		}
		for n, w := range l.config {
			less := l
			less.config = slices.Clone(l.config)
			if w.first || w.noted || len(w.refs) > 0 {
				w.first, w.noted, w.refs = false, false, nil
				less.config[n] = w
				with(i, less)
			}
		}
		if l.command() && l.machine > 1 {
			less := l
			less.machine = 1
			with(i, less)
		}
	}
	return list
}
