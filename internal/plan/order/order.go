// Package order decides in what order objects are created, updated and deleted: a pure
// function over numbered objects with a proof that it never makes a cycle.
//
// An object has up to two legs, one that creates or updates it and one that deletes what was
// there before. The final plan of a replacement may be a third.
// The caller says which legs there are and who depends on whom, by configuration and by what
// is stored; the package says which objects are replaced with create before destroy (CBD),
// which steps the legs consist of, what has to be opened and closed for them, and which step
// waits for which: what it returns is all that is run. It rejects addresses, states and
// providers, which it knows by their numbers.
//
// # Rules
//
//	R0  x is created after y, where x depends on y by configuration
//	R1  x is created after its deletion; with CBD deleted after its creation
//	R2  x is created after the deletion of y, where x has a stored dependency on y
//	R3  y is deleted after the deletion of x, where x has a stored dependency on y
//	R4  y is created after the deletion of x, where x has a stored dependency on y
//	R5  in R2 and R4, a deletion with CBD comes after the creation instead, but not
//	    after what only evaluates, as outputs and checks do
//	R6  in R2, what is free doesn't wait, and an update that is free comes before
//	    the deletion instead
//	R7  a replacement that can be is prepared first: after the creations that x
//	    depends on by configuration, and before x and all that had a stored
//	    dependency on it are deleted without CBD
//	R8  what calls a provider comes after its opening, and that after what its
//	    configuration depends on; nothing is opened that nobody waits for, unless
//	    it is wanted for itself
//	R9  a provider is closed when all that call it have ended, in whatever way,
//	    and all that was opened with its help is closed; that is closed after
//	    everything that may use it, in the reverse order of the openings
//	R10 what comes last is read when everything else has ended and what was made
//	    is as it should be, and evaluated after all that is read so
//	R11 where a provider depends on a creation that R2 or R4 hold back until one of
//	    its own objects is deleted, updates don't wait for deletions, and if that
//	    isn't enough, nothing waits for the deletions through such a provider but
//	    what it deletes too, and the object's own replacement; what is invoked
//	    for a deletion counts as part of it
//	R12 what is invoked around a creation or deletion is part of it: before a creation
//	    it comes after the preparation, else after the second part of a creation and the
//	    first of a deletion, one after the other
//
// A creation or update is free if no former user of the object is deleted
// without CBD and nothing that the object depends on by configuration has a
// deletion, or a creation or update that isn't free: it may have let go of what
// is deleted and needs nothing that comes after that. A read lets go of nothing,
// so it isn't free where what it waits for is deleted without CBD; nor is that
// kept for the update of a former user then, unless the update would come only
// after the deletion for other reasons, or certainly lets go of it. A replacement without CBD
// can be prepared if all that it depends on by configuration is free: what it
// needs is there before anything is deleted.
//
// Dependencies are transitive. Objects that weren't stored before depend by
// configuration alone, in R2 too.
//
// # Why there is no cycle
//
// Anything that is free and what is prepared, dependencies first; deletions without CBD,
// dependents first; then other creations, dependencies first; then deletions with CBD,
// dependents first: this order keeps all rules, if whatever an object with CBD had a stored
// dependency on is deleted with CBD too. The flags are chosen so: CBD spreads from configured
// objects that want it to everything they depend on, and a leftover (an object without
// configuration) gets it only where that holds already.
//
// R8 makes nothing but deletions wait for what they didn't wait for anyway: who creates
// depends on the provider by configuration. R9 and R10 add what nobody waits for but closings
// and what comes last, in this order. So a circle leads from the opening of a provider to one
// of its deletions, and R11 breaks it there: from such a deletion the way continues to others
// of the same provider and to the creation in the object's place, which isn't free, and from
// that only to what depends on it by configuration, other providers and their deletions
// included, never back to what the first provider depends on.
package order

import "slices"

// An Object is a node of the graph. One that has no leg, isn't configured and
// wasn't stored is a gate: it only joins many objects for many others.
type Object struct {
	Create bool // there is a leg that creates or updates
	Delete bool // there is a leg that deletes

	// Reads: the creation, of what wasn't stored, only reads and lets go of
	// nothing. State has its other prerequisites: objects that are deleted.
	Reads bool

	// Opens: the creation only opens what others need for their legs. Dependents of an object without legs don't wait for its dependencies.
	Opens bool
	// Wanted: it is opened also where nobody waits for that.
	Wanted bool
	// Evaluates: the creation only evaluates something, with what is there by then.
	// That may fail, so no deletion waits for it unless it is Configured.
	Evaluates bool
	// Last: the creation, which reads or evaluates, comes after everything else.
	// Nothing depends on it.
	Last bool

	// Provider is the number of the provider that the legs call, from 1; 0 is for
	// legs that call none. Those with lower numbers are closed first.
	Provider int
	// Serves: the creation opens that provider itself. One that no object serves
	// opens without further ado.
	Serves bool

	// Invokes lists what is done beside the legs, through providers of its own: each
	// comes after what is before it in the same phase.
	Invokes []Invoked

	// Forgets: the object that was there is only forgotten, which calls nobody:
	// by the deletion, or before a creation without one.
	Forgets bool
	// Provisions: a creation has a second part, for which others wait too.
	Provisions bool
	// Deprovisions: a deletion has a first part, unless the object was put aside.
	Deprovisions bool

	Configured bool // the configuration has it
	Stored     bool // the prior state has it
	Deposed    bool // it was replaced before and is left over
	WantsCBD   bool // by configuration, or as stored for a leftover

	// Config and State are what it depends on directly: what its
	// configuration refers to, and what is stored with the object. A gate
	// stands for its own lists in lists of the same kind; one without State
	// isn't meant to be in lists of stored dependencies.
	Config []int
	State  []int

	// Holds are leftovers that a stored object certainly uses until its update.
	Holds []int
}

// A Phase is a place around the legs of an object.
type Phase uint8

const (
	BeforeCreation Phase = iota // after what is prepared, which there is then
	AfterCreation               // after its second part, too
	BeforeDeletion              // after its first part
	AfterDeletion
)

// An Invoked calls a provider, by its number, in a phase.
type Invoked struct {
	Phase    Phase
	Provider int
}

// endsThrough are the providers that are called for the deletion, by their numbers.
func (o *Object) endsThrough() []int {
	list := []int{o.Provider}
	for _, i := range o.Invokes {
		if i.Phase >= BeforeDeletion {
			list = append(list, i.Provider)
		}
	}
	return list
}

func (o *Object) gate() bool { return !o.Create && !o.Delete && !o.Configured && !o.Stored }

// Kind is what a step does.
type Kind uint8

const (
	Create      Kind = iota // create, update, read, open or evaluate the object
	Delete                  // delete the object, or forget it
	Prepare                 // all of its replacement that has no effect
	Gate                    // join other steps
	Open                    // open a provider that no object serves
	Aside                   // put aside or forget what was there, before the creation
	Restore                 // take back what was put aside, where the creation has failed
	Provision               // the second part of a creation
	Deprovision             // the first part of a deletion
	Invoke                  // do what Nth of Invokes stands for
	Close                   // close what the object has opened; without object, the provider
)

// When says under which outcome of the steps it waits for a step is run.
type When uint8

const (
	OnSuccess When = iota // all succeeded
	Always                // all have ended, in whatever way
	OnFailure             // what it takes up last has failed
)

// A Step is a part of a leg of an object, or what others need.
type Step struct {
	Kind   Kind
	When   When
	Object int // -1 for what isn't about one
	// Provider is the one that the step calls, opens or closes; 0 is none.
	Provider int
	// Nth is meaningful with Invoke.
	Nth int
	// After lists the steps that come before, by their index, ascending.
	After []int
	// Takes lists those of them whose outcome the step continues with: a creation what was
	// prepared, its second part the object, the taking back what was put aside and the
	// creation, a closing what was opened.
	Takes []int
}

// A Result is an order.
type Result struct {
	// CBD has the flag of each object, also where nothing is replaced.
	CBD []bool
	// Keep has the flags that follow from configuration alone: these are
	// stored, the others hold for this time only.
	Keep []bool
	// Steps are all that is run, in an order that keeps all rules.
	Steps []Step
	// Dropped are stored dependencies that were ignored because they go in
	// circles: pairs of an object and what it depends on.
	Dropped [][2]int
	// Cycle is a shortest circle of dependencies by configuration, each
	// object depending on the next and the last on the first. With a cycle
	// there are no steps.
	Cycle []int
}

// Decide orders the legs of the objects. Its cost is linear in objects and
// dependencies.
func Decide(objects []Object) Result {
	g := &graph{objects: objects}
	config := make([][]int, len(objects))
	for i := range objects {
		config[i] = objects[i].Config
	}
	var circles [][]int
	g.config = config
	g.configOrder, circles = components(config)
	if circles != nil {
		return Result{Cycle: shortest(config, circles)}
	}
	g.stored()
	g.awaited = g.awaits()
	g.arrange()
	if g.relax() {
		if g.arrange(); g.relax() {
			clear(g.awaited)
			g.arrange()
		}
	}
	result := Result{CBD: g.cbd, Keep: g.keep, Dropped: g.dropped}
	result.Steps = complete(objects, g.cbd, g.steps())
	return result
}

type graph struct {
	objects []Object

	config      [][]int
	configOrder []int // dependencies first

	// was is what the objects depended on when they were stored, and users
	// its inverse.
	was      [][]int
	users    [][]int
	wasOrder []int // dependencies first
	dropped  [][2]int

	awaited   []bool // some read waits for it to go
	cbd, keep []bool
	free      []bool
	prepares  []bool
}

// stored gathers the former dependencies, without those that go in circles
// and those on objects that didn't exist.
func (g *graph) stored() {
	n := len(g.objects)
	g.was = make([][]int, n)
	for i := range g.objects {
		o := &g.objects[i]
		if o.Last {
			continue // it waits for everything, and nothing for it
		}
		if !o.Stored && (!o.gate() || o.State == nil) {
			g.was[i] = o.Config
			if !o.Reads || o.State == nil {
				continue
			}
			g.was[i] = slices.Clone(o.Config)
		}
		for _, to := range o.State {
			if t := &g.objects[to]; t.Stored || t.gate() {
				g.was[i] = append(g.was[i], to)
			}
		}
	}
	g.dropped = g.breakCircles()
	g.users = inverse(g.was, 0)
}

// breakCircles drops the dependencies within each circle and orders the rest. Those on a gate go
// first: the gate joins more than what the object depended on, and that may make the circle.
func (g *graph) breakCircles() (dropped [][2]int) {
	for _, drop := range []func(to int) bool{
		func(to int) bool { return g.objects[to].gate() },
		func(int) bool { return true },
	} {
		var circles [][]int
		if g.wasOrder, circles = components(g.was); circles == nil {
			return dropped
		}
		in := make([]int, len(g.objects))
		for i, circle := range circles {
			for _, o := range circle {
				in[o] = i + 1
			}
		}
		for i, deps := range g.was {
			if in[i] == 0 {
				continue
			}
			var kept []int
			for _, to := range deps {
				if in[to] == in[i] && drop(to) {
					dropped = append(dropped, [2]int{i, to})
				} else {
					kept = append(kept, to)
				}
			}
			g.was[i] = kept
		}
	}
	return dropped
}

// flags decides who is replaced with create before destroy.
func (g *graph) flags() {
	n := len(g.objects)
	g.cbd = make([]bool, n)
	for i := range g.objects {
		o := &g.objects[i]
		g.cbd[i] = o.Configured && o.WantsCBD
	}
	spread(g.cbd, g.config)
	g.keep = slices.Clone(g.cbd)
	spread(g.cbd, g.config, g.was)
	inUse := g.inUse()
	// allowed: whatever is deleted of its former dependencies is CBD.
	allowed := make([]bool, n)
	for _, i := range g.wasOrder {
		allowed[i] = true
		for _, to := range g.was[i] {
			if !allowed[to] || g.objects[to].Delete && !g.cbd[to] {
				allowed[i] = false
			}
		}
		o := &g.objects[i]
		if o.Delete && !o.Configured && allowed[i] && (o.WantsCBD || o.Deposed || inUse[i] && !g.awaited[i]) {
			g.cbd[i] = true
		}
	}
	for i := range g.objects {
		if g.objects[i].gate() {
			g.cbd[i] = false
		}
	}
}

// spread gives the flag to everything that those who have it depend on.
func spread(flags []bool, graphs ...[][]int) {
	var todo []int
	for i, has := range flags {
		if has {
			todo = append(todo, i)
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, edges := range graphs {
			for _, to := range edges[i] {
				if !flags[to] {
					flags[to] = true
					todo = append(todo, to)
				}
			}
		}
	}
}

// inUse finds the objects whose former user is updated in place: these can
// be deleted only when the update has let them go.
func (g *graph) inUse() []bool {
	used := make([]bool, len(g.objects))
	for _, i := range slices.Backward(g.wasOrder) {
		o := &g.objects[i]
		if used[i] || o.Create && !o.Delete && o.Stored {
			for _, to := range g.was[i] {
				used[to] = true
			}
		}
	}
	return used
}

// awaits finds the objects that reads wait for: those in their State.
func (g *graph) awaits() []bool {
	awaited := make([]bool, len(g.objects))
	for i := range g.objects {
		if g.objects[i].Reads {
			g.await(g.objects[i].State, awaited)
		}
	}
	return awaited
}

// await marks stored dependencies, those behind gates included.
func (g *graph) await(state []int, awaited []bool) {
	for _, to := range state {
		if !awaited[to] {
			if awaited[to] = true; g.objects[to].gate() {
				g.await(g.objects[to].State, awaited)
			}
		}
	}
}

// arrange decides the flags and what follows from them.
func (g *graph) arrange() {
	g.flags()
	g.freedom()
}

// relax gives up waiting for objects that would be deleted while a former user
// of theirs, which is updated only later, still has them, unless that waits for
// a read itself and isn't known to use them. It reports whether there are any.
func (g *graph) relax() bool {
	reading := make([]bool, len(g.objects))
	for _, i := range g.configOrder {
		for _, to := range g.config[i] {
			reading[i] = reading[i] || reading[to] || g.objects[to].Reads && !g.free[to]
		}
	}
	late := func(user int) bool { // its update comes after the deletion
		o := &g.objects[user]
		return o.Create && !o.Delete && o.Stored && !g.free[user]
	}
	holds := make([]bool, len(g.objects)) // some former user does
	for i := range g.objects {
		for _, to := range g.objects[i].Holds {
			holds[to] = holds[to] || late(i)
		}
	}
	any := false
	for _, i := range slices.Backward(g.wasOrder) {
		for _, user := range g.users[i] {
			holds[i] = holds[i] || holds[user] || late(user) && !reading[user]
		}
		if o := &g.objects[i]; holds[i] && g.awaited[i] && o.Delete && !o.Configured && !g.cbd[i] {
			g.awaited[i], any = false, true
		}
	}
	return any
}

// freedom finds what is free (R6) and what is prepared (R7).
func (g *graph) freedom() {
	n := len(g.objects)
	abandoned := make([]bool, n) // some former user is deleted without CBD
	for _, i := range slices.Backward(g.wasOrder) {
		for _, user := range g.users[i] {
			abandoned[i] = abandoned[i] || abandoned[user] || g.objects[user].Delete && !g.cbd[user]
		}
	}
	behind := make([]bool, n) // it reads, and what it waits for is deleted without CBD
	for _, i := range g.wasOrder {
		for _, to := range g.objects[i].State {
			behind[i] = behind[i] || behind[to] && g.objects[to].gate() || g.objects[to].Delete && !g.cbd[to]
		}
	}
	g.free, g.prepares = make([]bool, n), make([]bool, n)
	for _, i := range g.configOrder {
		o := &g.objects[i]
		needs := true // all that it needs is free
		for _, to := range g.config[i] {
			needs = needs && g.free[to]
		}
		g.free[i] = needs && !o.Delete && !(o.Create && abandoned[i]) && !(o.Reads && behind[i])
		g.prepares[i] = needs && o.Create && o.Delete && !g.cbd[i]
	}
}
