package planner

import (
	"cmp"
	"slices"
	"sync"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/prior"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/lifecycle"
)

// The reasons why a change waits for a later round, as in the JSON format.
const (
	countUnknown         = "instance_count_unknown"
	deferredPrerequisite = "deferred_prereq"
	inDoubt              = "in_doubt" // not one of other programs
	neededInDoubt        = "needed_in_doubt"
)

// A deferral decides which changes and reads wait for a later round.
type deferral struct {
	allow   bool
	inDoubt []addr.Instance
	needed  map[addr.Resource]bool // by what is in doubt
	waiting *search
}

func newDeferral(o *Options, p *prior.Prior, r *record) *deferral {
	return &deferral{allow: o.AllowDeferral, inDoubt: o.InDoubt, needed: p.Snapshot.Behind(o.Needed), waiting: newSearch(r.isDeferred)}
}

// holds reports whether an object has to stay because something in doubt may need
// it, under the address that it has or the one that it had.
func (d *deferral) holds(o *priorObject) bool {
	return len(d.needed) > 0 && (d.needed[o.Addr.Resource.Erase()] || d.needed[o.previous().Resource.Erase()])
}

// ofRead says why a read has to wait for a later round, empty when it needn't: it stands for
// instances whose keys aren't known, or it depends on something that waits. The cells read so far
// tell the latter.
func (d *deferral) ofRead(t *promise.Task, i *eval.Instance) string {
	reads := t.Current().Deps()
	if d.allow || len(d.inDoubt) > 0 {
		reads = append(reads[:len(reads):len(reads)], i.Expansions()...)
	}
	switch {
	case i.Addr.HasAny():
		return countUnknown
	case d.waiting.reaches(reads):
		return deferredPrerequisite
	}
	return ""
}

// ofChange is ofRead for a change. answer is what the provider said.
func (d *deferral) ofChange(t *promise.Task, o *refreshedObject, c *plan.Change, answer provider.DeferredReason) string {
	why := d.ofRead(t, o.Instance)
	switch {
	case why == countUnknown:
		return why
	case !o.now.Exists() && slices.Contains(d.inDoubt, o.Addr.Instance):
		return inDoubt
	case o.now.Exists() && c.Action.IsReplace() && d.holds(o.priorObject):
		return neededInDoubt
	}
	return cmp.Or(why, string(answer))
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

// deferralRejected is the problem that a provider can't plan an object yet.
func deferralRejected(o *instance.Opened, reason provider.DeferredReason) diag.Diagnostic {
	return lifecycle.InvalidPlan.As("Provider deferred changes when deferral is not allowed").Error(o.Instance.Resource.Range, "The provider of %s can't plan it yet (%s). Use -allow-deferral to do the rest now and this in a later run.", o.Addr, reason)
}
