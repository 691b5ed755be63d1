package order

import "slices"

// resolve follows R11: where a provider is configured with values that are only there
// after an update or a replacement, its objects can't be deleted before that, although
// they depend on what is changed. First updates stop waiting for deletions, then all
// else stops waiting for the deletions through such a provider, unless it is one of the
// same provider or the own replacement.
func (g *graph) resolve(b *builder) {
	served := map[int]int{}
	for i := range g.objects {
		if g.objects[i].Serves {
			served[g.objects[i].Provider] = i
		}
	}
	opened := map[int][]int{} // by the number of a deletion: the openings that it waits for
	for i := range g.objects {
		o := &g.objects[i]
		if !o.Delete || o.Forgets {
			continue
		}
		for _, provider := range o.endsThrough() {
			if by, ok := served[provider]; ok {
				opened[b.delete(i)] = append(opened[b.delete(i)], b.create(by))
			}
		}
		b.wait(b.delete(i), opened[b.delete(i)])
	}
	if len(opened) == 0 {
		return
	}
	if c := newCircles(g, b); c != nil {
		c.drop(func(int) bool { return true }, func(s int) bool {
			return b.updates(g.objects, s) && !g.objects[b.object(s)].Opens && !g.objects[b.object(s)].Forgets
		})
	}
	if c := newCircles(g, b); c != nil {
		c.drop(func(s int) bool {
			return slices.ContainsFunc(opened[s], func(o int) bool { return c.core[o-1] })
		}, func(int) bool { return true })
		c.hold()
	}
	for deletion, openings := range opened { // the steps get these again
		b.after[deletion-1] = slices.DeleteFunc(b.after[deletion-1], func(s int) bool { return slices.Contains(openings, s) })
	}
}

// circles are what can't be kept as the rules have it.
type circles struct {
	g    *graph
	b    *builder
	core []bool // by number-1: on a circle or between some
	// hard are the deletions of the core that others don't wait for any more.
	hard map[int]bool
	// soft and behind memorize, by step and provider.
	soft, behind map[[2]int]int
	ends         map[int]bool // deletions and what joins some
}

// newCircles finds the circles; nil without one.
func newCircles(g *graph, b *builder) *circles {
	core := circular(b.after)
	if core == nil {
		return nil
	}
	return &circles{g: g, b: b, core: core, hard: map[int]bool{}, soft: map[[2]int]int{}, behind: map[[2]int]int{}, ends: map[int]bool{}}
}

// object is what a leg belongs to.
func (b *builder) object(step int) int { return b.legs[step-1].object }

func (c *circles) deletes(step int) bool { return c.b.is(step, Delete) }

// provider is whom a deletion through a hard provider calls, 0 for other steps.
func (c *circles) provider(step int) int {
	if !c.deletes(step) || !c.hard[step] {
		return 0
	}
	return c.g.objects[c.b.object(step)].Provider
}

// endsObjects reports whether a step is a deletion or joins some.
func (c *circles) endsObjects(step int) bool {
	if step <= len(c.b.legs) {
		return c.deletes(step)
	}
	is, known := c.ends[step]
	if !known {
		is = slices.ContainsFunc(c.b.after[step-1], c.endsObjects)
		c.ends[step] = is
	}
	return is
}

// drop lets legs of the core stop waiting for the deletions that are hard, but not for
// what these wait for, as far as that are deletions too.
func (c *circles) drop(hard, leg func(step int) bool) {
	for s := 1; s <= len(c.b.legs); s++ {
		if c.core[s-1] && c.deletes(s) && hard(s) {
			c.hard[s] = true
		}
	}
	fresh := map[int][]int{}
	for s := 1; s <= len(c.b.legs); s++ {
		if !c.core[s-1] || !leg(s) {
			continue
		}
		var after []int
		for _, before := range c.b.after[s-1] {
			own := c.deletes(before) && c.b.object(before) == c.b.object(s)
			if c.core[before-1] && c.endsObjects(before) && !own {
				before = c.instead(before, c.provider(s))
			}
			if before != none {
				after = append(after, before)
			}
		}
		fresh[s] = after
	}
	for s, after := range fresh {
		c.b.after[s-1] = after
	}
}

// instead is what a leg of the core waits for in place of a deletion, or of what joins
// some. Provider is whom the leg calls if it is a hard deletion itself.
func (c *circles) instead(step, provider int) int {
	if !c.core[step-1] {
		return step
	}
	key := [2]int{step, provider}
	if to, known := c.soft[key]; known {
		return to
	}
	var list []int
	if c.deletes(step) && (!c.hard[step] || c.provider(step) == provider) {
		list = []int{step, c.same(step, provider)}
	} else {
		for _, before := range c.b.after[step-1] {
			if c.endsObjects(before) {
				list = append(list, c.instead(before, provider))
			}
		}
	}
	c.soft[key] = c.b.gate(list)
	return c.soft[key]
}

// same joins the nearest hard deletions through a provider that a step waits for.
func (c *circles) same(step, provider int) int {
	if provider == 0 || !c.core[step-1] {
		return none
	}
	key := [2]int{step, provider}
	if to, known := c.behind[key]; known {
		return to
	}
	var list []int
	for _, before := range c.b.after[step-1] {
		switch {
		case !c.endsObjects(before):
		case c.provider(before) == provider:
			list = append(list, before)
		default:
			list = append(list, c.same(before, provider))
		}
	}
	c.behind[key] = c.b.gate(list)
	return c.behind[key]
}

// hold lets what comes after the circles wait for all that was dropped.
func (c *circles) hold() {
	var hard []int
	for s := range c.hard {
		hard = append(hard, s)
	}
	gate := c.b.gate(hard)
	touches := make([]bool, len(c.core)) // gates that wait for something in the core
	waits := func(s int) bool {
		return slices.ContainsFunc(c.b.after[s-1], func(before int) bool {
			return before <= len(c.core) && (c.core[before-1] || touches[before-1])
		})
	}
	for s := len(c.b.legs) + 1; s <= len(c.core); s++ { // a gate waits for earlier gates only
		touches[s-1] = waits(s)
	}
	for s := 1; s <= len(c.b.legs); s++ {
		if !c.core[s-1] && waits(s) {
			c.b.wait(s, []int{gate})
		}
	}
}

// circular marks the steps on circles and between them, by number-1; nil without one. after
// has what each waits for.
func circular(after [][]int) []bool {
	waiting, waited := make([]int, len(after)), make([]int, len(after))
	next := inverse(after, 1)
	for s, list := range after {
		waiting[s], waited[s] = len(list), len(next[s])
	}
	core := make([]bool, len(after))
	left := len(after)
	for s := range core {
		core[s] = true
	}
	peel := func(count []int, onwards [][]int, others []int, back [][]int) {
		var ready []int
		for s := range count {
			if core[s] && count[s] == 0 {
				ready = append(ready, s)
			}
		}
		for at := 0; at < len(ready); at++ {
			s := ready[at]
			core[s] = false
			left--
			for _, before := range back[s] { // what is taken away waits no more
				others[before-1]--
			}
			for _, m := range onwards[s] {
				if count[m-1]--; core[m-1] && count[m-1] == 0 {
					ready = append(ready, m-1)
				}
			}
		}
	}
	peel(waiting, next, waited, after)
	if left == 0 {
		return nil
	}
	peel(waited, after, waiting, next)
	return core
}
