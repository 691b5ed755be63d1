// Package checks gathers the outcomes of conditions by the object of the
// configuration that they stand in.
//
// It owns the sums. It refuses to evaluate anything and to decide what follows
// from a condition that doesn't hold.
package checks

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/state"
)

// A Set has the outcomes so far. Its methods may be called at the same time.
type Set struct {
	mu sync.Mutex
	m  map[checkable]map[string]*state.CheckObject
	// unsure has the objects of which it isn't known what instances they have.
	unsure map[checkable]bool
}

// A checkable is an object of the configuration that has conditions.
type checkable struct{ kind, address string }

// New starts from earlier results, which later outcomes of the same instances
// replace; nil starts from nothing.
func New(earlier []state.CheckResult) *Set {
	c := &Set{m: map[checkable]map[string]*state.CheckObject{}, unsure: map[checkable]bool{}}
	for _, r := range earlier {
		c.Declare(r.Kind, r.Address)
		if len(r.Objects) == 0 && r.Status == string(eval.Unknown) {
			c.Unexpanded(r.Kind, r.Address)
		}
		for _, o := range r.Objects {
			c.m[checkable{r.Kind, r.Address}][o.Address] = &o
		}
	}
	return c
}

// Reset forgets what is known of one instance.
func (c *Set) Reset(kind, address, instance string) {
	c.Declare(kind, address)
	c.mu.Lock()
	delete(c.m[checkable{kind, address}], instance)
	c.mu.Unlock()
}

// Declare notes that the object has conditions, even if no instance does.
func (c *Set) Declare(kind, address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := (checkable{kind, address}); c.m[k] == nil {
		c.m[k] = map[string]*state.CheckObject{}
	}
}

// Unexpanded notes that the object has conditions, and that nobody has found
// out for which instances.
func (c *Set) Unexpanded(kind, address string) {
	c.Declare(kind, address)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsure[checkable{kind, address}] = true
}

// Add notes the outcomes of conditions of one instance.
func (c *Set) Add(kind, address, instance string, outcomes []eval.Outcome) {
	c.Declare(kind, address)
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.m[checkable{kind, address}][instance]
	if o == nil {
		o = &state.CheckObject{Address: instance, Status: string(eval.Pass)}
		c.m[checkable{kind, address}][instance] = o
	}
	for _, outcome := range outcomes {
		o.Status = worse(o.Status, string(outcome.Status))
		if outcome.Status == eval.Fail {
			o.Messages = append(o.Messages, outcome.Message)
		}
	}
}

// Unevaluated notes conditions of one instance that nobody has evaluated, unless
// there are outcomes of some.
func (c *Set) Unevaluated(kind, address, instance string) {
	c.Declare(kind, address)
	c.mu.Lock()
	defer c.mu.Unlock()
	if objects := c.m[checkable{kind, address}]; objects[instance] == nil {
		objects[instance] = &state.CheckObject{Address: instance, Status: string(eval.Unknown)}
	}
}

var severity = map[string]int{string(eval.Pass): 0, string(eval.Unknown): 1, string(eval.Fail): 2, string(eval.Failed): 3}

func worse(a, b string) string {
	if severity[b] > severity[a] {
		return b
	}
	return a
}

// Results lists everything in order.
func (c *Set) Results() []state.CheckResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	results := make([]state.CheckResult, 0, len(c.m))
	for k, objects := range c.m {
		r := state.CheckResult{Kind: k.kind, Address: k.address, Status: string(eval.Pass)}
		for _, name := range slices.Sorted(maps.Keys(objects)) {
			r.Objects = append(r.Objects, *objects[name])
			r.Status = worse(r.Status, objects[name].Status)
		}
		if len(objects) == 0 && c.unsure[k] {
			r.Status = string(eval.Unknown)
		}
		results = append(results, r)
	}
	slices.SortFunc(results, func(a, b state.CheckResult) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Address, b.Address))
	})
	return results
}
