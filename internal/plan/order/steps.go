package order

import "slices"

// steps makes the edges. Each rule follows a relation through objects that
// don't have the leg in question, for which it makes a gate; gates that join
// nothing or serve nobody are never seen outside.
func (g *graph) steps() []Step {
	b := g.legs()
	g.creations(b)
	early, late := g.deletions()
	if early {
		g.earlyDeletions(b)
		g.goneFirst(b)
		g.freeFirst(b)
		g.preparedFirst(b)
	}
	if late {
		g.lateDeletions(b)
		g.replacedFirst(b)
	}
	if early {
		g.resolve(b)
	}
	return b.finish(g.objects)
}

// deletions reports whether there are any without and with CBD.
func (g *graph) deletions() (early, late bool) {
	for i := range g.objects {
		if g.objects[i].Delete {
			early = early || !g.cbd[i]
			late = late || g.cbd[i]
		}
	}
	return early, late
}

// creations follows R0.
func (g *graph) creations(b *builder) {
	done := make([]int, len(g.objects))
	for _, i := range g.configOrder {
		config := g.config[i]
		if o := &g.objects[i]; !o.Create && !o.Delete && !o.gate() {
			config = slices.DeleteFunc(slices.Clone(config), func(to int) bool { return g.objects[to].Opens })
		}
		before := collect(done, config)
		if g.prepares[i] {
			b.wait(b.prepare(i), before)
			before = []int{b.prepare(i)}
		}
		if g.objects[i].Create {
			b.wait(b.create(i), before)
			done[i] = b.create(i)
		} else {
			done[i] = b.gate(before)
		}
	}
}

// earlyDeletions follows R3 among deletions without CBD, R4 and R1.
func (g *graph) earlyDeletions(b *builder) {
	gone := make([]int, len(g.objects)) // the deletions of the object and of all its users
	for _, i := range slices.Backward(g.wasOrder) {
		o := &g.objects[i]
		before := collect(gone, g.users[i])
		if o.Delete && !g.cbd[i] {
			b.wait(b.delete(i), before)
			gone[i] = b.delete(i)
		} else {
			gone[i] = b.gate(before)
		}
		if o.Create && gone[i] != none {
			b.wait(b.create(i), []int{gone[i]})
		}
	}
}

// goneFirst follows R2 for deletions without CBD: the last one of a chain of
// dependencies waits for the others by R3.
func (g *graph) goneFirst(b *builder) {
	gone := make([]int, len(g.objects)) // the deletions of the object and of all it depended on
	for _, i := range g.wasOrder {
		o := &g.objects[i]
		before := collect(gone, g.was[i])
		all := b.gate(before)
		if o.Create && all != none && !g.free[i] {
			b.wait(b.create(i), []int{all})
		}
		if all == none && o.Delete && !g.cbd[i] {
			all = b.delete(i)
		}
		gone[i] = all
	}
}

// freeFirst follows R6.
func (g *graph) freeFirst(b *builder) {
	done := make([]int, len(g.objects)) // the updates of all former users that are free
	for _, i := range slices.Backward(g.wasOrder) {
		all := b.gate(collect(done, g.users[i]))
		if g.objects[i].Delete && !g.cbd[i] && all != none {
			b.wait(b.delete(i), []int{all})
		}
		if o := &g.objects[i]; g.free[i] && o.Create && o.Stored {
			all = b.gate([]int{all, b.create(i)})
		}
		done[i] = all
	}
}

// preparedFirst follows R7.
func (g *graph) preparedFirst(b *builder) {
	ready := make([]int, len(g.objects)) // the preparations of the object and of all it depended on
	for _, i := range g.wasOrder {
		before := collect(ready, g.was[i])
		if g.prepares[i] {
			before = append(before, b.prepare(i))
		}
		all := b.gate(before)
		if g.objects[i].Delete && !g.cbd[i] && all != none {
			b.wait(b.delete(i), []int{all})
		}
		ready[i] = all
	}
}

// lateDeletions follows R1, R2 and R3 for deletions with CBD: they wait for
// all that happens to the object and its users.
func (g *graph) lateDeletions(b *builder) {
	done := make([]int, len(g.objects))
	for _, i := range slices.Backward(g.wasOrder) {
		o := &g.objects[i]
		before := collect(done, g.users[i])
		if o.Create {
			if !o.Evaluates || o.Configured {
				before = append(before, b.create(i))
			}
		} else if o.Delete && !g.cbd[i] {
			before = append(before, b.delete(i))
		}
		if o.Delete && g.cbd[i] {
			b.wait(b.delete(i), before)
			done[i] = b.delete(i)
		} else {
			done[i] = b.gate(before)
		}
	}
}

// replacedFirst follows R4 for deletions with CBD: they wait for the
// creations of what the object depended on.
func (g *graph) replacedFirst(b *builder) {
	done := make([]int, len(g.objects))
	for _, i := range g.wasOrder {
		o := &g.objects[i]
		before := collect(done, g.was[i])
		all := b.gate(before)
		if o.Delete && g.cbd[i] && all != none {
			b.wait(b.delete(i), []int{all})
		}
		if o.Create {
			all = b.gate([]int{all, b.create(i)})
		}
		done[i] = all
	}
}

// none stands where there is nothing to wait for. Steps are numbered from 1
// while the graph is built, so that fresh slices have none everywhere.
const none = 0

func collect(of []int, of2 []int) []int {
	out := make([]int, 0, len(of2))
	for _, i := range of2 {
		if of[i] != none {
			out = append(out, of[i])
		}
	}
	return out
}

// A builder numbers the steps: the legs of each object, then gates.
type builder struct {
	legs  []part   // by number-1
	of    [][3]int // the numbers of an object's legs by their kinds, none for missing ones
	after [][]int  // by number-1
}

// A part is a leg: what an object has of a kind, which is Create, Delete or Prepare.
type part struct {
	object int
	kind   Kind
}

// legs numbers what legs there are.
func (g *graph) legs() *builder {
	b := &builder{of: make([][3]int, len(g.objects)), legs: make([]part, 0, len(g.objects))}
	for i := range g.objects {
		for kind, has := range [...]bool{Create: g.objects[i].Create, Delete: g.objects[i].Delete, Prepare: g.prepares[i]} {
			if has {
				b.legs = append(b.legs, part{i, Kind(kind)}) // #nosec G115 -- one of three
				b.of[i][kind] = len(b.legs)
			}
		}
	}
	b.after = make([][]int, len(b.legs))
	return b
}

func (b *builder) create(i int) int  { return b.of[i][Create] }
func (b *builder) delete(i int) int  { return b.of[i][Delete] }
func (b *builder) prepare(i int) int { return b.of[i][Prepare] }

// is reports whether a step is a leg of a kind.
func (b *builder) is(step int, k Kind) bool { return step <= len(b.legs) && b.legs[step-1].kind == k }

func (b *builder) wait(step int, before []int) {
	b.after[step-1] = append(b.after[step-1], before...)
}

// gate joins steps; one step needs no gate.
func (b *builder) gate(before []int) int {
	before = slices.DeleteFunc(before, func(s int) bool { return s == none })
	slices.Sort(before)
	before = slices.Compact(before)
	switch len(before) {
	case 0:
		return none
	case 1:
		return before[0]
	}
	b.after = append(b.after, before)
	return len(b.after)
}

// finish leaves out what nobody needs and puts the rest in order.
func (b *builder) finish(objects []Object) []Step {
	b.inline(b.consumers())
	b.reduce(objects)
	uses := b.consumers()
	number := make([]int, len(b.after))
	sorted := b.sorted(uses)
	steps := make([]Step, 0, len(sorted))
	for _, s := range sorted {
		step := Step{Kind: Gate, Object: -1}
		if s < len(b.legs) {
			step = Step{Kind: b.legs[s].kind, Object: b.legs[s].object}
		}
		step.After = b.after[s]
		for i, before := range step.After {
			step.After[i] = number[before-1]
		}
		slices.Sort(step.After)
		number[s] = len(steps)
		steps = append(steps, step)
	}
	return steps
}

// consumers counts who waits for each step; -1 is for what is left out: gates that no leg
// waits for.
func (b *builder) consumers() []int {
	uses := make([]int, len(b.after))
	for s := range uses {
		uses[s] = -1
	}
	todo := make([]int, len(b.legs), len(b.after))
	for s := range todo {
		todo[s], uses[s] = s, 0
	}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		slices.Sort(b.after[s])
		b.after[s] = slices.Compact(b.after[s])
		for _, before := range b.after[s] {
			if uses[before-1] < 0 {
				uses[before-1] = 0
				todo = append(todo, before-1)
			}
			uses[before-1]++
		}
	}
	return uses
}

// inline replaces gates that cost more than the edges they save: those that
// one step waits for, and those that join two for two.
func (b *builder) inline(uses []int) {
	for s := len(b.legs); s < len(b.after); s++ { // a gate waits for earlier gates only
		if uses[s] >= 0 {
			b.after[s] = b.inlined(b.after[s], uses)
		}
	}
	for s := range b.legs {
		if uses[s] >= 0 {
			b.after[s] = b.inlined(b.after[s], uses)
		}
	}
}

func (b *builder) inlined(after, uses []int) []int {
	replaced := func(before int) bool {
		s := before - 1
		return s >= len(b.legs) && (uses[s] == 1 || uses[s] == 2 && len(b.after[s]) == 2)
	}
	if !slices.ContainsFunc(after, replaced) {
		return after
	}
	var out []int
	for _, before := range after {
		if replaced(before) {
			out = append(out, b.after[before-1]...)
		} else {
			out = append(out, before)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// reduce drops edges that another edge of the same step makes superfluous, as
// far as that is seen in two steps. Deletions stay named by who waits for them
// beside an update that does so too: what that update is for may be another reason.
func (b *builder) reduce(objects []Object) {
	const few = 16
	covered := make([]int, len(b.after))
	reduced := make([][]int, len(b.after))
	for s, after := range b.after {
		for _, before := range after {
			updates := b.updates(objects, before)
			if next := b.after[before-1]; len(next) <= few {
				for _, far := range next {
					if !updates || b.creates(far) {
						covered[far-1] = s + 1
					}
				}
			}
		}
		reduced[s] = after
		if superfluous := func(before int) bool { return covered[before-1] == s+1 }; slices.ContainsFunc(after, superfluous) {
			reduced[s] = slices.DeleteFunc(slices.Clone(after), superfluous)
		}
	}
	b.after = reduced
}

// creates reports whether a step is a creation or update.
func (b *builder) creates(step int) bool { return b.is(step, Create) }

// updates reports whether a step changes an object that is there.
func (b *builder) updates(objects []Object, step int) bool {
	if !b.creates(step) {
		return false
	}
	o := &objects[b.legs[step-1].object]
	return o.Stored && !o.Delete
}

// sorted is the steps in use in an order that keeps all edges, lowest numbers
// first within what is ready together.
func (b *builder) sorted(uses []int) []int {
	waiting := make([]int, len(b.after))
	ready := make([]int, 0, len(b.after))
	total := 0
	for s := range b.after {
		if uses[s] < 0 {
			b.after[s] = nil
			continue
		}
		total++
		if waiting[s] = len(b.after[s]); waiting[s] == 0 {
			ready = append(ready, s)
		}
	}
	next := inverse(b.after, 1)
	for at := 0; at < len(ready); at++ {
		for _, s := range next[ready[at]] {
			if waiting[s-1]--; waiting[s-1] == 0 {
				ready = append(ready, s-1)
			}
		}
	}
	if len(ready) != total {
		panic("order: the rules made a cycle")
	}
	return ready
}

// inverse lists who has each node in its list; nodes are numbered from first.
func inverse(lists [][]int, first int) [][]int {
	counts, edges := make([]int, len(lists)), 0
	for _, list := range lists {
		edges += len(list)
		for _, to := range list {
			counts[to-first]++
		}
	}
	room := make([]int, edges)
	of := make([][]int, len(lists))
	for n, count := range counts {
		of[n], room = room[:0:count], room[count:]
	}
	for n, list := range lists {
		for _, to := range list {
			of[to-first] = append(of[to-first], n+first)
		}
	}
	return of
}
