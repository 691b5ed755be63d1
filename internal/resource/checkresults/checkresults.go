// Package checkresults collects the results of conditions by their object in the configuration.
//
// It owns the sums. It doesn't evaluate anything or decide what follows from a condition that
// doesn't hold.
package checkresults

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/state"
)

// A Set has the outcomes so far. Its methods may be called at the same time.
type Set struct {
	mu sync.Mutex
	m  map[checkable]map[string]*outcomes
	// unsure has the objects of which it isn't known what instances they have.
	unsure map[checkable]bool
}

// A checkable is an object of the configuration that has conditions.
type checkable struct{ kind, address string }

// outcomes are those of one instance.
type outcomes struct {
	state.CheckObject
	evaluated bool // or else what there was before is kept as long as nothing is
	left      int  // conditions that there are and that nobody has evaluated
}

// A Subject is an instance with conditions: its kind, the address of its object
// in the configuration and its own.
type Subject struct{ Kind, Address, Instance string }

// In is the subject with that name in a module instance.
func In(f *eval.Frame, kind, name string) Subject { return Subject(*f.Checkable(kind, name)) }

// Of is an observer of a module instance.
func Of(f *eval.Frame, o program.Observer) Subject {
	return In(f, string(o.Head().Kind), o.Head().Name)
}

func (s Subject) checkable() checkable { return checkable{s.Kind, s.Address} }

// New is a set without outcomes.
func New() *Set {
	return &Set{m: map[checkable]map[string]*outcomes{}, unsure: map[checkable]bool{}}
}

// Again starts from the instances of earlier results. Whether their conditions
// hold isn't known until they are evaluated again, but for those of variables,
// whose values are the same.
func Again(earlier []state.CheckResult) *Set {
	c := New()
	for _, r := range earlier {
		if len(r.Objects) == 0 && r.Status == string(eval.Unknown) {
			c.Unexpanded(r.Kind, r.Address)
		}
		c.Declare(r.Kind, r.Address)
		for _, o := range r.Objects {
			if r.Kind != "input_variable" {
				o = state.CheckObject{Address: o.Address, Status: string(eval.Unknown)}
			}
			c.m[checkable{r.Kind, r.Address}][o.Address] = &outcomes{CheckObject: o}
		}
	}
	return c
}

// Declare notes that the object has conditions, even if no instance does.
func (c *Set) Declare(kind, address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := (checkable{kind, address}); c.m[k] == nil {
		c.m[k] = map[string]*outcomes{}
	}
}

// Unexpanded notes that the object has conditions, and that nobody has found
// out for which instances, unless something is known of it.
func (c *Set) Unexpanded(kind, address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := (checkable{kind, address}); c.m[k] == nil {
		c.m[k], c.unsure[k] = map[string]*outcomes{}, true
	}
}

// Add notes the outcomes of conditions of one instance, which has that many.
func (c *Set) Add(s Subject, conditions int, list []eval.Outcome) {
	c.Declare(s.Kind, s.Address)
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.m[s.checkable()][s.Instance]
	if o == nil || !o.evaluated {
		o = &outcomes{CheckObject: state.CheckObject{Address: s.Instance, Status: string(eval.Pass)}, evaluated: true, left: conditions}
		c.m[s.checkable()][s.Instance] = o
	}
	for _, outcome := range list {
		o.left--
		o.Status = worse(o.Status, string(outcome.Status))
		if outcome.Status == eval.Fail {
			o.Messages = append(o.Messages, outcome.Message)
		}
	}
}

// Unevaluated records that the conditions of one instance weren't evaluated, unless some of them
// have outcomes.
func (c *Set) Unevaluated(s Subject) {
	c.Declare(s.Kind, s.Address)
	c.mu.Lock()
	defer c.mu.Unlock()
	if objects := c.m[s.checkable()]; objects[s.Instance] == nil {
		objects[s.Instance] = &outcomes{CheckObject: state.CheckObject{Address: s.Instance, Status: string(eval.Unknown)}}
	}
}

// Known reports whether the outcomes of all conditions of an instance are known.
func (c *Set) Known(s Subject) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.m[s.checkable()][s.Instance]
	return o != nil && o.left <= 0 && o.Status != string(eval.Unknown)
}

func severity(status string) int {
	switch status {
	case string(eval.Unknown):
		return 1
	case string(eval.Fail):
		return 2
	case string(eval.Failed):
		return 3
	}
	return 0
}

func worse(a, b string) string {
	if severity(b) > severity(a) {
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
			o := objects[name].CheckObject
			if objects[name].left > 0 {
				o.Status = worse(o.Status, string(eval.Unknown))
			}
			r.Objects = append(r.Objects, o)
			r.Status = worse(r.Status, o.Status)
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
