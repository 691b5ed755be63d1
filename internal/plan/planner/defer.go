package planner

import (
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/resourceconfig"
)

// The reasons why a change waits for a later round, as in the JSON format.
const (
	countUnknown         = "instance_count_unknown"
	deferredPrerequisite = "deferred_prereq"
	inDoubt              = "in_doubt" // not one of other programs
	neededInDoubt        = "needed_in_doubt"
)

// holds reports whether an object has to stay because something in doubt may need
// it, under the address that it has or the one that it had.
func (r *run) holds(o *object) bool {
	return len(r.needed) > 0 && (r.needed[o.addr.Resource.Erase()] || r.needed[o.previous().Resource.Erase()])
}

// deferral says why an instance has to wait for a later round, empty when it
// needn't: it stands for instances whose keys aren't known, or it depends on
// something that waits. The cells read so far tell the latter.
func (r *run) deferral(t *promise.Task, i *eval.Instance, o *object, answer provider.DeferredReason) string {
	reads := t.Current().Deps()
	if r.AllowDeferral || len(r.InDoubt) > 0 {
		reads = append(reads[:len(reads):len(reads)], i.Expansions()...)
	}
	switch {
	case i.Addr.HasAny():
		return countUnknown
	case !o.before.Exists() && slices.Contains(r.InDoubt, i.Addr):
		return inDoubt
	case o.before.Exists() && o.change != nil && o.change.Action.IsReplace() && r.holds(o):
		return neededInDoubt
	case r.waiting.reaches(reads):
		return deferredPrerequisite
	}
	return string(answer)
}

func (r *run) isDeferred(i addr.Instance) bool {
	if i.HasAny() {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deferred[i] != nil
}

// A search reports which cells lead to an instance that is chosen, without passing through
// other instances: each of these knows for itself, except ephemeral ones, of which nothing is
// recorded. Cells are asked when they are computed, and what they lead to is found out once.
type search struct {
	chosen func(addr.Instance) bool
	mu     sync.Mutex
	known  map[*promise.Node]bool
}

func newSearch(chosen func(addr.Instance) bool) *search {
	return &search{chosen: chosen, known: map[*promise.Node]bool{}}
}

// reaches reports whether one of the cells is or leads to a chosen instance.
func (s *search) reaches(nodes []*promise.Node) bool {
	return s.among(nodes, map[*promise.Node]bool{})
}

// among passes over cells in entered: they are in a circle.
func (s *search) among(nodes []*promise.Node, entered map[*promise.Node]bool) bool {
	return slices.ContainsFunc(nodes, func(n *promise.Node) bool {
		if i, ok := n.Subject.(*eval.Instance); ok {
			if s.chosen(i.Addr) {
				return true
			}
			if i.Addr.Name.Mode != addr.Ephemeral {
				return false
			}
		}
		s.mu.Lock()
		leads, known := s.known[n]
		s.mu.Unlock()
		if known || entered[n] {
			return leads
		}
		entered[n] = true
		leads = s.among(n.Deps(), entered)
		s.mu.Lock()
		s.known[n] = leads
		s.mu.Unlock()
		return leads
	})
}

// postponeChange moves a planned change to the deferred ones. The object and its dependents stay
// unchanged in this round, because something that they need isn't known yet.
func (r *run) postponeChange(o *object, reason string) {
	c := o.change
	if c == nil {
		v := instance.Marked(o.subject.Schema, o.before.Value, o.stored)
		c = &plan.Change{Addr: *o.addr, From: o.from, Provider: o.conn.At(), Action: plan.NoOp, Before: v, After: v}
	}
	o.change, o.conditions = nil, false
	r.mu.Lock()
	r.deferred[o.addr.Instance] = &plan.Deferred{Change: c, Reason: reason}
	r.mu.Unlock()
	if !o.addr.HasAny() {
		r.record(o)
	}
}

// deferData keeps the read of a data source for a later round.
func (r *run) deferData(o *object, config resourceconfig.Config, reason string) cty.Value {
	v := r.postpone(o, config, plan.ReadConfigUnknown, nil)
	r.mu.Lock()
	delete(r.objects, o.instance)
	r.mu.Unlock()
	o.stored = r.prior.Current(o.addr.Instance)
	r.postponeChange(o, reason)
	return v
}

// deferredOutput reports whether an output depends on something that waits.
func (r *run) deferredOutput(n *promise.Node) bool {
	return (r.AllowDeferral || len(r.deferred) > 0) && r.waiting.reaches(n.Deps())
}

// deferralRejected is the problem that a provider can't plan an object yet.
func deferralRejected(o *object, reason provider.DeferredReason) diag.Diagnostic {
	return lifecycle.InvalidPlan.As("Provider deferred changes when deferral is not allowed").Error(o.instance.Resource.Range, "The provider of %s can't plan it yet (%s). Use -allow-deferral to do the rest now and this in a later run.", o.addr, reason)
}
