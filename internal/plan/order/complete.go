package order

import "slices"

// complete makes what is run of ordered legs: the steps of each, the openings and
// closings around them, what comes last.
func complete(objects []Object, cbd []bool, legs []Step) []Step {
	r := &run{objects: objects, cbd: cbd}
	room := len(legs) + len(legs)/8
	r.steps, r.after = make([]Step, 0, room), make([][]int, 0, room)
	r.expand(legs)
	r.open()
	r.prune()
	r.holdLast()
	r.close()
	return r.sorted()
}

// A run is the steps while they are put together.
type run struct {
	objects []Object
	cbd     []bool

	steps  []Step  // their After is empty until the end
	after  [][]int // what each waits for, in any order and maybe twice
	gone   []bool  // openings that nobody waits for
	opened []int   // by number: the step that opens the provider, -1 for none
}

func (r *run) add(s Step, after []int) int {
	r.steps = append(r.steps, s)
	r.after = append(r.after, after)
	return len(r.steps) - 1
}

// gate joins steps for so many others where that saves edges.
func (r *run) gate(steps []int, others int, when When) []int {
	if len(steps)*others <= len(steps)+others {
		return steps
	}
	return []int{r.join(steps, when)}
}

func (r *run) join(steps []int, when When) int {
	return r.add(Step{Kind: Gate, When: when, Object: -1}, steps)
}

// object is what a step is about; the zero object where it is about none.
func (r *run) object(n int) *Object {
	if o := r.steps[n].Object; o >= 0 {
		return &r.objects[o]
	}
	return &Object{}
}

// is reports whether a step is the creation of an object that the test holds for.
func (r *run) is(n int, test func(*Object) bool) bool {
	return r.steps[n].Kind == Create && test(&r.objects[r.steps[n].Object])
}

// opensProvider reports whether a step opens a provider.
func (r *run) opensProvider(n int) bool {
	return r.steps[n].Kind == Open || r.is(n, func(o *Object) bool { return o.Serves })
}

// opensOther reports whether a step opens something with the help of a provider.
func (r *run) opensOther(n int) bool {
	return r.is(n, func(o *Object) bool { return o.Opens && !o.Serves && o.Provider > 0 })
}

// calls reports whether a step calls a provider that has to be open.
func (r *run) calls(n int) bool {
	return r.steps[n].Provider > 0 && r.steps[n].Kind != Close && !r.opensProvider(n)
}

// makes reports whether a step changes an object or says whether it is as it
// should be.
func (r *run) makes(n int) bool {
	return r.steps[n].Kind == Provision || r.steps[n].Kind == Invoke || r.is(n, func(o *Object) bool {
		return !o.Opens && (!o.Reads && !o.Evaluates || o.Evaluates && o.Configured)
	})
}

// expand makes the steps that each leg consists of.
func (r *run) expand(legs []Step) {
	last := make([]int, len(legs)) // the step that ends a leg
	prepared := make([]int, len(r.objects))
	edges := len(legs)
	for _, s := range legs {
		edges += len(s.After)
	}
	room := make([]int, edges)
	for n, s := range legs {
		after := room[: 0 : len(s.After)+1] // and the opening of the provider that it calls
		room = room[len(s.After)+1:]
		for _, a := range s.After {
			after = append(after, last[a])
		}
		switch s.Kind {
		case Create:
			last[n] = r.creation(s.Object, after, prepared[s.Object])
		case Delete:
			last[n] = r.deletion(s.Object, after)
		case Prepare:
			last[n] = r.add(Step{Kind: Prepare, Object: s.Object, Provider: r.objects[s.Object].Provider}, after)
			prepared[s.Object] = last[n] + 1
		default:
			last[n] = r.add(s.bare(), after)
		}
	}
}

// bare is a step without what it waits for.
func (s Step) bare() Step {
	s.After = nil
	return s
}

// creation adds what brings an object into its new form. prepared is the number of
// the step that has prepared it, from 1, 0 for none.
func (r *run) creation(object int, after []int, prepared int) int {
	o := &r.objects[object]
	s := Step{Kind: Create, Object: object, Provider: o.Provider}
	if prepared == 0 && r.invokes(object, BeforeCreation) {
		prepared = r.add(Step{Kind: Prepare, Object: object, Provider: o.Provider}, after) + 1
		after = []int{prepared - 1}
	}
	if prepared > 0 {
		s.Takes = []int{prepared - 1}
		after = r.invoke(object, BeforeCreation, after, s.Takes)
	}
	aside := -1
	if r.replacesFirst(object) || o.Forgets {
		aside = r.add(Step{Kind: Aside, Object: object}, after)
		after = []int{aside}
	}
	made := r.add(s, after)
	if r.replacesFirst(object) {
		r.add(Step{Kind: Restore, When: OnFailure, Object: object, Takes: []int{aside, made}}, []int{made})
	}
	if o.Provisions {
		made = r.add(Step{Kind: Provision, Object: object, Takes: []int{made}}, []int{made})
	}
	return r.invoke(object, AfterCreation, []int{made}, []int{made})[0]
}

// invokes reports whether something is invoked in a phase.
func (r *run) invokes(object int, p Phase) bool {
	return slices.ContainsFunc(r.objects[object].Invokes, func(i Invoked) bool { return i.Phase == p })
}

// invoke adds what is invoked in a phase, one after the other, and returns what comes
// after all of it has to wait for.
func (r *run) invoke(object int, p Phase, after, takes []int) []int {
	for n, i := range r.objects[object].Invokes {
		if i.Phase == p {
			after = []int{r.add(Step{Kind: Invoke, Object: object, Provider: i.Provider, Nth: n, Takes: slices.Clone(takes)}, after)}
		}
	}
	return after
}

// replacesFirst reports whether an object is created before the one in its place is
// deleted.
func (r *run) replacesFirst(object int) bool {
	o := &r.objects[object]
	return o.Create && o.Delete && r.cbd[object]
}

// deletion adds the end of an object.
func (r *run) deletion(object int, after []int) int {
	o := &r.objects[object]
	if o.Forgets {
		return r.add(Step{Kind: Delete, Object: object}, after)
	}
	if o.Deprovisions && !o.Deposed && !r.replacesFirst(object) {
		after = []int{r.add(Step{Kind: Deprovision, Object: object}, after)}
	}
	after = r.invoke(object, BeforeDeletion, after, nil)
	deleted := r.add(Step{Kind: Delete, Object: object, Provider: o.Provider}, after)
	return r.invoke(object, AfterDeletion, []int{deleted}, nil)[0]
}

// open lets every step that calls a provider wait for its opening (R8).
func (r *run) open() {
	number := 0
	for _, s := range r.steps {
		number = max(number, s.Provider)
	}
	r.opened = make([]int, number+1)
	for p := range r.opened {
		r.opened[p] = -1
	}
	for n, s := range r.steps {
		if r.opensProvider(n) {
			r.opened[s.Provider] = n
		}
	}
	for n := range len(r.steps) {
		if !r.calls(n) {
			continue
		}
		p := r.steps[n].Provider
		if r.opened[p] < 0 {
			r.opened[p] = r.add(Step{Kind: Open, Object: -1, Provider: p}, nil)
		}
		r.after[n] = append(r.after[n], r.opened[p])
	}
}

// prune takes away openings that nobody waits for (R8).
func (r *run) prune() {
	r.gone = make([]bool, len(r.steps))
	uses := make([]int, len(r.steps))
	for _, after := range r.after {
		for _, a := range after {
			uses[a]++
		}
	}
	var todo []int
	look := func(n int) {
		if uses[n] == 0 && (r.opensProvider(n) || r.opensOther(n)) && !r.object(n).Wanted {
			todo = append(todo, n)
		}
	}
	for n := range r.steps {
		look(n)
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		r.gone[n] = true
		for _, a := range r.after[n] {
			uses[a]--
			look(a)
		}
		r.after[n] = nil
	}
}

// isGone reports whether a step was taken away.
func (r *run) isGone(n int) bool { return n < len(r.gone) && r.gone[n] }

// comesLast reports whether a step comes when everything else has ended.
func (r *run) comesLast(n int) bool { return r.is(n, func(o *Object) bool { return o.Last }) }

// holdLast lets what comes last wait for all other steps, and what is evaluated then
// for what is read (R10).
func (r *run) holdLast() {
	var reads, evaluates []int
	covered := make([]bool, len(r.steps)) // what others wait for is done when they are
	for n := range r.steps {
		if !r.comesLast(n) {
			continue
		}
		covered[n] = true
		if r.object(n).Evaluates {
			evaluates = append(evaluates, n)
		} else {
			reads = append(reads, n)
		}
	}
	if len(reads)+len(evaluates) == 0 {
		return
	}
	for n, s := range r.steps {
		if s.Kind == Restore {
			covered[n] = true
		} else if !covered[n] {
			for _, a := range r.after[n] {
				covered[a] = true
			}
		}
	}
	var others, made []int
	for n := range r.steps {
		if !covered[n] && !r.gone[n] {
			others = append(others, n)
		}
		if r.makes(n) {
			made = append(made, n)
		}
	}
	var last []int
	if len(others) > 0 {
		last = append(last, r.join(others, Always))
	}
	if len(made) > 0 {
		last = append(last, r.join(made, OnSuccess))
	}
	for _, n := range reads {
		r.after[n] = append(r.after[n], last...)
	}
	last = r.gate(append(last, reads...), len(evaluates), OnSuccess)
	for _, n := range evaluates {
		r.after[n] = append(r.after[n], last...)
	}
}

// close adds the steps that close what was opened (R9): a provider after its last
// caller, other things when everything else is done, each after those that were opened
// with its help.
func (r *run) close() {
	callers := make([][]int, len(r.opened))
	helps := make([]bool, len(r.opened)) // something is open with its help
	var openings []int
	for n, s := range r.steps {
		if r.isGone(n) {
			continue
		}
		if r.opensOther(n) {
			openings = append(openings, n)
			helps[s.Provider] = true
		}
		if s.Provider > 0 {
			callers[s.Provider] = append(callers[s.Provider], n)
		}
	}
	var ends []int
	for p, after := range callers {
		if after != nil && !helps[p] {
			ends = append(ends, r.add(Step{Kind: Close, When: Always, Object: -1, Provider: p}, after))
		}
	}
	if openings == nil {
		return
	}
	for n, s := range r.steps {
		if s.Kind == Provision || s.Kind == Invoke || helps[s.Provider] && !r.isGone(n) || r.is(n, func(o *Object) bool { return o.Evaluates }) {
			ends = append(ends, n)
		}
	}
	closings := make([][]int, len(r.opened))
	for _, level := range slices.Backward(r.levels(openings)) {
		after := r.gate(ends, len(level), Always)
		ends = nil
		for _, n := range slices.Backward(level) {
			s := r.steps[n]
			end := r.add(Step{Kind: Close, When: Always, Object: s.Object, Provider: s.Provider, Takes: []int{n}}, slices.Clone(after))
			closings[s.Provider] = append(closings[s.Provider], end)
			ends = append(ends, end)
		}
	}
	for p := range callers {
		if helps[p] {
			r.add(Step{Kind: Close, When: Always, Object: -1, Provider: p}, closings[p])
		}
	}
}

// levels groups openings: each waits for some of the level before, directly or
// not, and for none of its own.
func (r *run) levels(openings []int) [][]int {
	opened := make([]int, len(r.steps)) // levels that are open when the step ends
	var levels [][]int
	next := 0
	for n := range r.steps {
		for _, a := range r.after[n] {
			opened[n] = max(opened[n], opened[a])
		}
		if next < len(openings) && openings[next] == n {
			next++
			if opened[n]++; opened[n] > len(levels) {
				levels = append(levels, nil)
			}
			levels[opened[n]-1] = append(levels[opened[n]-1], n)
		}
	}
	return levels
}

// sorted numbers the steps so that each waits for earlier ones only.
func (r *run) sorted() []Step {
	waiting := make([]int, len(r.steps))
	ready := make([]int, 0, len(r.steps))
	total, edges := 0, 0
	for n := range r.steps {
		slices.Sort(r.after[n])
		r.after[n] = slices.Compact(r.after[n])
		edges += len(r.after[n])
		if r.isGone(n) {
			continue
		}
		total++
		if waiting[n] = len(r.after[n]); waiting[n] == 0 {
			ready = append(ready, n)
		}
	}
	next := inverse(r.after, 0)
	steps := make([]Step, 0, total)
	number := make([]int, len(r.steps))
	room := make([]int, edges)
	for at := 0; at < len(ready); at++ {
		n := ready[at]
		s := r.steps[n]
		s.After, room = room[:len(r.after[n]):len(r.after[n])], room[len(r.after[n]):]
		for i, a := range r.after[n] {
			s.After[i] = number[a]
		}
		slices.Sort(s.After)
		for i, a := range s.Takes {
			s.Takes[i] = number[a]
		}
		number[n] = len(steps)
		steps = append(steps, s)
		for _, m := range next[n] {
			if waiting[m]--; waiting[m] == 0 {
				ready = append(ready, m)
			}
		}
	}
	if len(steps) != total {
		panic("order: the rules made a cycle")
	}
	return steps
}
