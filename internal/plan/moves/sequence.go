package moves

import "slices"

// dependencies lists for each statement those that apply before it: what
// arrives is moved on, what is inside moves before what is around it leaves
// and after it arrives.
func (t *Table) dependencies() [][]int {
	from, to := newIndex(), newIndex()
	for i, s := range t.statements {
		from.add(s.from, i)
		to.add(s.to, i)
	}
	after := make([][]int, len(t.statements))
	wait := func(i, before int) {
		if i != before {
			after[i] = append(after[i], before)
		}
	}
	for i, s := range t.statements {
		for _, j := range to.overlapping(s.from) {
			if s.from.chains(t.statements[j].to) {
				wait(i, j)
			}
		}
		for _, end := range []pattern{s.from, s.to} {
			for _, around := range end.around() {
				for _, j := range to.overlapping(around) {
					if o := t.statements[j]; end.within(o.to) && !s.reindexes(o) {
						wait(i, j)
					}
				}
				for _, j := range from.overlapping(around) {
					if o := t.statements[j]; end.within(o.from) && !o.reindexes(s) {
						wait(j, i)
					}
				}
			}
		}
	}
	for i := range after {
		slices.Sort(after[i])
		after[i] = slices.Compact(after[i])
	}
	return after
}

// chains reports whether what arrives at o can be what leaves from p, given
// that they overlap.
func (p pattern) chains(o pattern) bool {
	return p.isModule() || p.key.IsAny() == o.key.IsAny()
}

// around lists what p can lie in: its own place for whole resources and
// calls, and all modules above.
func (p pattern) around() []pattern {
	out := []pattern{p}
	n := len(p.steps)
	if p.isModule() {
		n--
	}
	for i := 1; i <= n; i++ {
		out = append(out, p.module(i))
	}
	return out
}

// within reports whether p lies in o, given that what p lies in overlaps o.
func (p pattern) within(o pattern) bool {
	if o.isModule() {
		if p.isModule() && len(p.steps) == len(o.steps) {
			return o.isCall() && !p.isCall()
		}
		return true
	}
	return o.key.IsAny() && !p.key.IsAny()
}

// reindexes reports whether s changes only the keys of a module in which the
// statement o is declared: o then matches before and after, and the order of
// the two doesn't matter.
func (s *statement) reindexes(o *statement) bool {
	return s.depth < o.depth && s.from.isModule() && s.from.erased() == s.to.erased()
}

// circlesOf groups the nodes of a graph into strongly connected components,
// those that a node depends on before its own.
func circlesOf(after [][]int) [][]int {
	index := make([]int, len(after))
	low := make([]int, len(after))
	open := make([]bool, len(after))
	var path []int
	var out [][]int
	reached := 0
	var visit func(i int)
	visit = func(i int) {
		reached++
		index[i], low[i] = reached, reached
		path, open[i] = append(path, i), true
		for _, j := range after[i] {
			if index[j] == 0 {
				visit(j)
			}
			if open[j] {
				low[i] = min(low[i], low[j])
			}
		}
		if low[i] != index[i] {
			return
		}
		at := slices.Index(path, i)
		component := slices.Clone(path[at:])
		path = path[:at]
		for _, j := range component {
			open[j] = false
		}
		out = append(out, component)
	}
	for i := range after {
		if index[i] == 0 {
			visit(i)
		}
	}
	return out
}
