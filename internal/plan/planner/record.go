package planner

import (
	"maps"
	"slices"
	"sync"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/plan"
)

// A record has what was decided so far. Every stage writes to it, at the same time as others.
type record struct {
	mu       sync.Mutex
	objects  map[*eval.Instance]*object
	left     []*object // those without configuration
	drift    []*plan.Change
	deferred map[addr.Instance]*plan.Deferred
	leases   []leased
	stored   map[addr.Instance]bool // read in the state only
	diags    diag.List              // of what has no task
	// lacking: something was asked for that doesn't exist.
	lacking bool
}

func newRecord(objects int) *record {
	return &record{objects: make(map[*eval.Instance]*object, objects), deferred: map[addr.Instance]*plan.Deferred{}, stored: map[addr.Instance]bool{}}
}

// add records an object. Anything that has no configuration is recorded once.
func (r *record) add(o *object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.instance == nil {
		r.left = append(r.left, o)
		return
	}
	r.objects[o.instance] = o
}

// find returns the object that was recorded of an instance, or nil.
func (r *record) find(i *eval.Instance) *object {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects[i]
}

// changes reports whether a change of the instance is planned.
func (r *record) changes(i *eval.Instance) bool {
	o := r.find(i)
	return o != nil && o.change != nil && o.change.Action != plan.NoOp
}

// postpone records a change that waits for a later round. The object and its dependents stay
// unchanged in this one, because something that they need isn't known yet.
func (r *record) postpone(o *object, c *plan.Change, reason string) {
	r.mu.Lock()
	r.deferred[c.Addr.Instance] = &plan.Deferred{Change: c, Reason: reason}
	r.mu.Unlock()
	if !c.Addr.HasAny() {
		r.add(o)
	}
}

func (r *record) isDeferred(i addr.Instance) bool {
	if i.HasAny() {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deferred[i] != nil
}

// drifted records a difference between the state and what a provider says.
func (r *record) drifted(c *plan.Change) {
	r.mu.Lock()
	r.drift = append(r.drift, c)
	r.mu.Unlock()
}

// opened records an ephemeral resource that is open until planning is over.
func (r *record) opened(l leased) {
	r.mu.Lock()
	r.leases = append(r.leases, l)
	r.mu.Unlock()
}

// lacks records that something was asked for that doesn't exist.
func (r *record) lacks() {
	r.mu.Lock()
	r.lacking = true
	r.mu.Unlock()
}

// reads records that an instance was read in the state only.
func (r *record) reads(i addr.Instance) {
	r.mu.Lock()
	r.stored[i] = true
	r.mu.Unlock()
}

// scope lists the instances that were read in the state.
func (r *record) scope(objects []*object) []addr.Instance {
	all := maps.Clone(r.stored)
	for _, o := range objects {
		all[o.addr.Instance], all[o.previous()] = true, true
	}
	for i := range r.deferred {
		all[i] = !i.HasAny()
	}
	maps.DeleteFunc(all, func(_ addr.Instance, one bool) bool { return !one })
	return slices.SortedFunc(maps.Keys(all), addr.Instance.Compare)
}

// note adds problems that are found without a task.
func (r *record) note(diags diag.List) {
	r.mu.Lock()
	r.diags.Append(diags)
	r.mu.Unlock()
}

// sorted lists the objects by address.
func (r *record) sorted() []*object {
	list := append(make([]*object, 0, len(r.objects)+len(r.left)), r.left...)
	for _, o := range r.objects {
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b *object) int { return a.addr.Compare(*b.addr) })
	return list
}
