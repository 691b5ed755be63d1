package planner

import (
	"slices"

	"weir.dev/weir/internal/execgraph"
	"weir.dev/weir/internal/plan"
)

// untie drops what can't be kept where a provider is configured with values
// that are only there after an update or a replacement: its objects can't be
// deleted before that, although they depend on what is changed. First updates
// stop waiting for deletions, then all else stops waiting for the deletions
// through such a provider. Whatever comes after the circle still waits for
// them.
func (d *draft) untie() {
	core := d.circular()
	if core == nil {
		return
	}
	d.loosen(core, func(n, a int) bool {
		s := &d.steps[n]
		return s.Kind == execgraph.Apply && d.b.r.find(s.Object).change.Action == plan.Update && d.deletes(a)
	})
	if core = d.circular(); core == nil {
		return
	}
	d.loosen(core, func(n, a int) bool {
		s, deletion := &d.steps[n], &d.steps[a]
		open, ok := d.opened[deletion.Provider]
		if deletion.Kind != execgraph.Destroy || !ok || !core[open] {
			return false
		}
		// Its own replacement and what the same provider deletes can wait.
		return s.Provider != deletion.Provider || s.Kind != execgraph.Destroy && s.Object.Instance != deletion.Object.Instance
	})
}

// deletes reports whether a step is a deletion or joins some.
func (d *draft) deletes(n int) bool {
	switch d.steps[n].Kind {
	case execgraph.Destroy:
		return true
	case execgraph.Gate:
		return slices.ContainsFunc(d.after[n], d.deletes)
	}
	return false
}

// loosen drops the waiting of n for a within the core where drop says so. What
// comes before the core n still waits for. Outside of the core whoever waits
// for something in it waits for what was dropped too.
func (d *draft) loosen(core []bool, drop func(n, a int) bool) {
	var loosened, dropped []int
	for n := range core {
		if !core[n] {
			continue
		}
		var kept []int
		for _, a := range d.after[n] {
			if core[a] && drop(n, a) {
				dropped = append(dropped, a)
			} else {
				kept = append(kept, a)
			}
		}
		if len(kept) < len(d.after[n]) {
			loosened = append(loosened, n)
		}
		d.after[n] = kept
	}
	if dropped == nil {
		return
	}
	before := d.beforeCore(core, dropped)
	if len(before) > 1 {
		before = []int{d.add(execgraph.Step{Kind: execgraph.Gate}, before)}
	}
	for _, n := range loosened {
		d.after[n] = append(d.after[n], before...)
	}
	gate := d.add(execgraph.Step{Kind: execgraph.Gate}, dropped)
	for n := range core {
		if !core[n] && slices.ContainsFunc(d.after[n], func(a int) bool { return core[a] }) {
			d.after[n] = append(d.after[n], gate)
		}
	}
}

// beforeCore lists the steps outside of the core that some of it wait for, by
// way of others in the core too. None of them waits for anything in the core.
func (d *draft) beforeCore(core []bool, from []int) []int {
	seen := make([]bool, len(core))
	var before []int
	todo := slices.Clone(from)
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		if core[n] {
			todo = append(todo, d.after[n]...)
		} else {
			before = append(before, n)
		}
	}
	return before
}

// circular marks the steps on circles and between them; nil when there are
// none.
func (d *draft) circular() []bool {
	waiting, waited := make([]int, len(d.steps)), make([]int, len(d.steps))
	next := d.next()
	for n := range d.steps {
		waiting[n], waited[n] = len(d.after[n]), len(next[n])
	}
	core := make([]bool, len(d.steps))
	for n := range core {
		core[n] = true
	}
	left := len(d.steps)
	peel := func(count []int, onwards [][]int) {
		var ready []int
		for n := range count {
			if core[n] && count[n] == 0 {
				ready = append(ready, n)
			}
		}
		for at := 0; at < len(ready); at++ {
			core[ready[at]] = false
			left--
			for _, m := range onwards[ready[at]] {
				if count[m]--; core[m] && count[m] == 0 {
					ready = append(ready, m)
				}
			}
		}
	}
	peel(waiting, next)
	if left == 0 {
		return nil
	}
	for n := range d.steps { // what the first round has taken away waits no more
		if !core[n] {
			for _, a := range d.after[n] {
				waited[a]--
			}
		}
	}
	peel(waited, d.after)
	return core
}
