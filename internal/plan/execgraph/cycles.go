package execgraph

import "slices"

// breakCycles drops what can't be kept where a provider is configured with values
// that are only there after an update or a replacement: its objects can't be
// deleted before that, although they depend on what is changed. First updates
// stop waiting for deletions, then all else stops waiting for the deletions
// through such a provider. What comes after the circle still waits for them, in
// the first case only where it waits for everything: others that have to wait
// for a deletion do so themselves, not by way of an update.
func (b *Builder) breakCycles() {
	core := b.circular()
	if core == nil {
		return
	}
	deletes := b.deletions()
	b.dropWaits(core, func(n, a Ref) bool {
		_, updates := slices.BinarySearch(b.updates, n)
		return updates && deletes(a)
	}, b.awaitsAll)
	if core = b.circular(); core == nil {
		return
	}
	b.dropWaits(core, func(n, a Ref) bool {
		s, deletion := &b.steps[n], &b.steps[a]
		open, ok := b.opened[deletion.Provider]
		if deletion.Kind != Destroy || !ok || !core[open] {
			return false
		}
		// Its own replacement and what the same provider deletes can wait.
		return s.Provider != deletion.Provider || s.Kind != Destroy && s.Object.Instance != deletion.Object.Instance
	}, func(Ref) bool { return true })
}

// awaitsAll reports whether a step comes when everything else is done.
func (b *Builder) awaitsAll(n Ref) bool {
	return b.steps[n].When == Always || slices.Contains(b.within, n) || slices.Contains(b.checks, n)
}

// deletions tells whether a step is a deletion or joins some.
func (b *Builder) deletions() func(Ref) bool {
	known := map[Ref]bool{}
	var deletes func(Ref) bool
	deletes = func(n Ref) bool {
		if b.steps[n].Kind != Gate {
			return b.steps[n].Kind == Destroy
		}
		is, ok := known[n]
		if !ok {
			known[n] = false // gates may go in circles
			is = slices.ContainsFunc(b.after[n], deletes)
			known[n] = is
		}
		return is
	}
	return deletes
}

// dropWaits drops the waiting of n for a within the core where drop says so. What
// comes before the core n still waits for. Outside of the core what keep says and
// waits for something in it waits for what was dropped too.
func (b *Builder) dropWaits(core []bool, drop func(n, a Ref) bool, keep func(Ref) bool) {
	var freed, dropped []Ref
	for i := range core {
		n := Ref(i)
		if !core[n] {
			continue
		}
		var kept []Ref
		for _, a := range b.after[n] {
			if core[a] && drop(n, a) {
				dropped = append(dropped, a)
			} else {
				kept = append(kept, a)
			}
		}
		if len(kept) < len(b.after[n]) {
			freed = append(freed, n)
		}
		b.after[n] = kept
	}
	if dropped == nil {
		return
	}
	before := b.beforeCore(core, dropped)
	for _, n := range freed {
		for _, a := range before {
			if !slices.Contains(b.after[n], a) {
				b.after[n] = append(b.after[n], b.joined(&before))
				break
			}
		}
	}
	gate := b.add(Step{Kind: Gate}, dropped)
	for n := range core {
		if !core[n] && keep(Ref(n)) && slices.ContainsFunc(b.after[n], func(a Ref) bool { return core[a] }) {
			b.after[n] = append(b.after[n], gate)
		}
	}
}

// joined replaces several steps by a gate for them, and returns it.
func (b *Builder) joined(steps *[]Ref) Ref {
	if len(*steps) > 1 {
		*steps = []Ref{b.Gate(*steps)}
	}
	return (*steps)[0]
}

// beforeCore lists the steps outside of the core that some of it wait for, by
// way of others in the core too. None of them waits for anything in the core.
func (b *Builder) beforeCore(core []bool, from []Ref) []Ref {
	seen := make([]bool, len(core))
	var before []Ref
	todo := slices.Clone(from)
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		if core[n] {
			todo = append(todo, b.after[n]...)
		} else {
			before = append(before, n)
		}
	}
	return before
}

// circular marks the steps on circles and between them; nil when there are
// none.
func (b *Builder) circular() []bool {
	waiting, waited := make([]int, len(b.steps)), make([]int, len(b.steps))
	next := b.next()
	for n := range b.steps {
		waiting[n], waited[n] = len(b.after[n]), len(next[n])
	}
	core := make([]bool, len(b.steps))
	for n := range core {
		core[n] = true
	}
	left := len(b.steps)
	peel := func(count []int, onwards [][]Ref) {
		var ready []Ref
		for n := range count {
			if core[n] && count[n] == 0 {
				ready = append(ready, Ref(n))
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
	for n := range b.steps { // what the first round has taken away waits no more
		if !core[n] {
			for _, a := range b.after[n] {
				waited[a]--
			}
		}
	}
	peel(waited, b.after)
	return core
}
