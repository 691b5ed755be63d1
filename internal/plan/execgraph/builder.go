package execgraph

import (
	"maps"
	"slices"

	"weir.dev/weir/internal/word/addr"
)

// A Ref is a step of a graph that is being built.
type Ref int

// A Creation is the step that creates an object: what may come after it
// depends on its outcome.
type Creation struct {
	step   Ref
	object addr.Object
}

// Step is the creation itself.
func (c Creation) Step() Ref { return c.step }

// A Builder makes a graph. Each method adds a step that waits for the given
// ones. The opening of providers that steps call, the closing of what was
// opened and the order of the steps are the builder's own business.
type Builder struct {
	steps  []Step
	after  [][]Ref
	opened map[addr.ProviderConfig]Ref
	// updates are the Apply steps whose object is there before, ascending.
	updates []Ref
	// failure names the step whose failure a step is for.
	failure map[Ref]Ref
	within  []Ref // reads of data sources within checks
	checks  []Ref // the checks that these are in
	kept    []Ref // openings that are needed for themselves
}

// NewBuilder makes a builder with room for so many steps.
func NewBuilder(room int) *Builder {
	return &Builder{
		steps: make([]Step, 0, room), after: make([][]Ref, 0, room),
		opened: map[addr.ProviderConfig]Ref{}, failure: map[Ref]Ref{},
	}
}

func (b *Builder) add(s Step, after []Ref) Ref {
	b.steps = append(b.steps, s)
	b.after = append(b.after, after)
	return Ref(len(b.steps) - 1)
}

// Gate joins steps for others.
func (b *Builder) Gate(after []Ref) Ref { return b.add(Step{Kind: Gate}, after) }

// OpenProvider opens a provider instance after what its configuration needs.
// Providers that need nothing open by themselves; those that nobody calls
// don't open.
func (b *Builder) OpenProvider(p addr.ProviderConfig, after []Ref) Ref {
	n := b.add(Step{Kind: OpenProvider, Provider: p}, after)
	b.opened[p] = n
	return n
}

// OpenEphemeral opens an ephemeral resource instance if anybody waits for it.
// It is closed when nothing can need it any more.
func (b *Builder) OpenEphemeral(o addr.Object, p addr.ProviderConfig, after []Ref) Ref {
	return b.add(Step{Kind: OpenEphemeral, Object: o, Provider: p}, after)
}

// ReadData reads a data source.
func (b *Builder) ReadData(o addr.Object, p addr.ProviderConfig, after []Ref) Ref {
	return b.add(Step{Kind: ReadData, Object: o, Provider: p}, after)
}

// ReadCheckData reads a data source within a check block: once everything else
// is done.
func (b *Builder) ReadCheckData(o addr.Object, p addr.ProviderConfig, after []Ref) Ref {
	n := b.ReadData(o, p, after)
	b.within = append(b.within, n)
	return n
}

// Finalize makes the final plan of a replacement.
func (b *Builder) Finalize(o addr.Object, p addr.ProviderConfig, after []Ref) Ref {
	return b.add(Step{Kind: Finalize, Object: o, Provider: p}, after)
}

// Create creates an object where none is.
func (b *Builder) Create(o addr.Object, p addr.ProviderConfig, after []Ref) Creation {
	return Creation{b.add(Step{Kind: Apply, Object: o, Provider: p}, after), o}
}

// Replace creates an object in the place of one that is put aside before, and
// taken back where the creation fails and leaves nothing.
func (b *Builder) Replace(o addr.Object, p addr.ProviderConfig, after []Ref) Creation {
	aside := b.add(Step{Kind: Depose, Object: o}, after)
	c := b.Create(o, p, []Ref{aside})
	back := b.add(Step{Kind: RestoreDeposed, Object: o, When: OnFailure}, []Ref{c.step})
	b.failure[back] = c.step
	return c
}

// Provision runs the provisioners of what was created.
func (b *Builder) Provision(c Creation) Ref {
	return b.add(Step{Kind: Provision, Object: c.object}, []Ref{c.step})
}

// Update changes an object that is there.
func (b *Builder) Update(o addr.Object, p addr.ProviderConfig, after []Ref) Ref {
	n := b.add(Step{Kind: Apply, Object: o, Provider: p}, after)
	b.updates = append(b.updates, n)
	return n
}

// ProvisionDestroy runs the provisioners of an object before its end.
func (b *Builder) ProvisionDestroy(o addr.Object, after []Ref) Ref {
	return b.add(Step{Kind: ProvisionDestroy, Object: o}, after)
}

// Destroy deletes an object.
func (b *Builder) Destroy(o addr.Object, p addr.ProviderConfig, after []Ref) Ref {
	return b.add(Step{Kind: Destroy, Object: o, Provider: p}, after)
}

// Forget drops an object from the state.
func (b *Builder) Forget(o addr.Object, after []Ref) Ref {
	return b.add(Step{Kind: Forget, Object: o}, after)
}

// Condition evaluates the conditions of an object that doesn't change.
func (b *Builder) Condition(o addr.Object, after []Ref) Ref {
	return b.add(Step{Kind: Condition, Object: o}, after)
}

// Output evaluates a root output.
func (b *Builder) Output(name string, after []Ref) Ref {
	return b.add(Step{Kind: Output, Name: name}, after)
}

// Check evaluates a check block, or the conditions of an output or a variable
// that nothing else may ask for. The name says which, as in check.NAME.
func (b *Builder) Check(m addr.Module, name string, after []Ref) Ref {
	return b.add(Step{Kind: Condition, Name: name, Module: m}, after)
}

// CheckData evaluates a check block with a data source: once that is read.
func (b *Builder) CheckData(m addr.Module, name string, after []Ref) Ref {
	n := b.Check(m, name, after)
	b.checks = append(b.checks, n)
	return n
}

// Build makes the graph. It fails with the steps that would wait for each
// other. The builder is used up.
func (b *Builder) Build() (*Graph, []Step) {
	b.connect()
	b.prune()
	b.holdChecks()
	b.close()
	b.breakCycles()
	return b.sorted()
}

// connect makes every step that calls a provider wait for its opening.
func (b *Builder) connect() {
	for n := range b.steps {
		s := &b.steps[n]
		if !s.Kind.Calls() {
			continue
		}
		open, ok := b.opened[s.Provider]
		if !ok {
			open = b.OpenProvider(s.Provider, nil)
		}
		b.after[n] = append(b.after[n], open)
	}
}

// Keep lets an opening stay though nobody waits for it.
func (b *Builder) Keep(opening Ref) { b.kept = append(b.kept, opening) }

// prune takes away openings that nobody waits for.
func (b *Builder) prune() {
	for changed := true; changed; {
		changed = false
		used := make([]bool, len(b.steps))
		for _, after := range b.after {
			for _, a := range after {
				used[a] = true
			}
		}
		for _, n := range b.kept {
			used[n] = true
		}
		for n := range b.steps {
			k := b.steps[n].Kind
			if (k == OpenProvider || k == OpenEphemeral) && !used[n] {
				b.steps[n], b.after[n], changed = Step{}, nil, true
			}
		}
	}
}

// holdChecks lets data sources within checks wait for all other steps, and
// their checks for them. They aren't read where a managed object is not what it
// should be.
func (b *Builder) holdChecks() {
	if len(b.checks)+len(b.within) == 0 {
		return
	}
	// What others wait for is done when they are.
	covered := make([]bool, len(b.steps))
	for _, n := range slices.Concat(b.within, b.checks) {
		covered[n] = true
	}
	var others []Ref
	for n, s := range b.steps {
		if s.Kind == RestoreDeposed {
			covered[n] = true
		} else if !covered[n] {
			for _, a := range b.after[n] {
				covered[a] = true
			}
		}
	}
	var made []Ref
	for n, s := range b.steps {
		if !covered[n] && s.Kind != 0 {
			others = append(others, Ref(n))
		}
		if s.Kind == Apply || s.Kind == Provision || s.Kind == Condition && s.Name == "" {
			made = append(made, Ref(n))
		}
	}
	var last []Ref
	if len(others) > 0 {
		last = append(last, b.add(Step{Kind: Gate, When: Always}, others))
	}
	if len(made) > 0 {
		last = append(last, b.add(Step{Kind: Gate}, made))
	}
	for _, n := range b.within {
		b.after[n] = append(b.after[n], last...)
	}
	last = append(last, b.within...)
	last = b.gateFor(last, len(b.checks), OnSuccess)
	for _, n := range b.checks {
		b.after[n] = append(b.after[n], last...)
	}
}

// gateFor joins steps for so many others where that saves edges.
func (b *Builder) gateFor(steps []Ref, others int, when When) []Ref {
	if len(steps)*others <= len(steps)+others {
		return steps
	}
	return []Ref{b.add(Step{Kind: Gate, When: when}, steps)}
}

// close adds the steps that close what was opened: a provider after its last
// user, ephemeral resources when everything else is done, each after those that
// were opened with its help.
func (b *Builder) close() {
	users := map[addr.ProviderConfig][]Ref{}
	held := map[addr.ProviderConfig]bool{} // by ephemeral resources
	var ephemerals, ends []Ref
	for n, s := range b.steps {
		if s.Kind == OpenEphemeral {
			ephemerals = append(ephemerals, Ref(n))
			held[s.Provider] = true
		}
		if s.Kind.Calls() || s.Kind == OpenProvider {
			users[s.Provider] = append(users[s.Provider], Ref(n))
		}
	}
	providers := slices.SortedFunc(maps.Keys(users), addr.ProviderConfig.Compare)
	for _, p := range providers {
		if !held[p] {
			ends = append(ends, b.add(Step{Kind: CloseProvider, Provider: p, When: Always}, users[p]))
		}
	}
	if len(ephemerals) > 0 {
		for n, s := range b.steps {
			if s.Kind == Condition || s.Kind == Output || s.Kind == Provision || held[s.Provider] && s.Kind != Gate {
				ends = append(ends, Ref(n))
			}
		}
	}
	closing := map[addr.ProviderConfig][]Ref{}
	for _, level := range slices.Backward(b.levels(ephemerals)) {
		after := b.gateFor(ends, len(level), Always)
		ends = nil
		for _, n := range slices.Backward(level) {
			s := b.steps[n]
			end := b.add(Step{Kind: CloseEphemeral, Object: s.Object, Provider: s.Provider, When: Always}, slices.Clone(after))
			closing[s.Provider] = append(closing[s.Provider], end)
			ends = append(ends, end)
		}
	}
	for _, p := range providers {
		if held[p] {
			b.add(Step{Kind: CloseProvider, Provider: p, When: Always}, closing[p])
		}
	}
}

// levels groups the openings of ephemeral resources: each waits for some of
// the level before, directly or not, and for none of its own.
func (b *Builder) levels(ephemerals []Ref) [][]Ref {
	if len(ephemerals) == 0 {
		return nil
	}
	opened := make([]int, len(b.steps)) // levels that are open when the step ends
	var levels [][]Ref
	for n, s := range b.steps {
		for _, a := range b.after[n] {
			opened[n] = max(opened[n], opened[a])
		}
		if s.Kind == OpenEphemeral {
			if opened[n]++; opened[n] > len(levels) {
				levels = append(levels, nil)
			}
			levels[opened[n]-1] = append(levels[opened[n]-1], Ref(n))
		}
	}
	return levels
}

// next lists the steps that wait for each.
func (b *Builder) next() [][]Ref {
	counts, edges := make([]int, len(b.steps)), 0
	for _, after := range b.after {
		edges += len(after)
		for _, a := range after {
			counts[a]++
		}
	}
	room := make([]Ref, edges)
	next := make([][]Ref, len(b.steps))
	for n, count := range counts {
		next[n], room = room[:0:count], room[count:]
	}
	for n, after := range b.after {
		for _, a := range after {
			next[a] = append(next[a], Ref(n))
		}
	}
	return next
}

// sorted numbers the steps so that each waits for earlier ones only.
func (b *Builder) sorted() (*Graph, []Step) {
	waiting := make([]int, len(b.steps))
	ready := make([]Ref, 0, len(b.steps))
	for n := range b.steps {
		slices.Sort(b.after[n])
		b.after[n] = slices.Compact(b.after[n])
		if waiting[n] = len(b.after[n]); waiting[n] == 0 && b.steps[n].Kind != 0 {
			ready = append(ready, Ref(n))
		}
	}
	next := b.next()
	g := &Graph{Steps: make([]Step, 0, len(b.steps))}
	number := make([]ID, len(b.steps))
	for at := 0; at < len(ready); at++ {
		n := ready[at]
		s := b.steps[n]
		s.After = slices.Grow(s.After, len(b.after[n]))
		for _, a := range b.after[n] {
			s.After = append(s.After, number[a])
		}
		slices.Sort(s.After)
		if s.When == OnFailure {
			s.Of = number[b.failure[n]]
		}
		number[n] = ID(len(g.Steps))
		g.Steps = append(g.Steps, s)
		for _, m := range next[n] {
			if waiting[m]--; waiting[m] == 0 {
				ready = append(ready, m)
			}
		}
	}
	var circle []Step
	for n, s := range b.steps {
		if waiting[n] > 0 && s.Kind != Gate {
			circle = append(circle, s)
		}
	}
	if circle != nil {
		return nil, circle
	}
	return g, nil
}
