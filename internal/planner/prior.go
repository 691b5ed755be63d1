package planner

import (
	"sync"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/state"
)

// A prior is the state before the run with the bookkeeping of who took which
// object: each is claimed by one desired instance, or swept.
type prior struct {
	snapshot *state.Snapshot
	keys     *state.Keys

	mu      sync.Mutex
	claimed map[addr.Instance]*addr.Instance // old address to new, nil for the same
}

func newPrior(s *state.Snapshot) *prior {
	if s == nil {
		s = state.Empty()
	}
	return &prior{snapshot: s, keys: s.Keys(), claimed: make(map[addr.Instance]*addr.Instance, len(s.Objects))}
}

// current is the stored current object, or nil.
func (p *prior) current(i addr.Instance) *state.Object {
	return p.snapshot.Objects[addr.Object{Instance: i}]
}

// claim gives the objects of the old address to the new one, unless they
// belong to somebody already.
func (p *prior) claim(old, new addr.Instance) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, taken := p.claimed[old]; taken {
		return false
	}
	p.claimed[old] = nil
	if new != old {
		moved := new
		p.claimed[old] = &moved
	}
	return true
}

// owner is who claimed the objects of an address.
func (p *prior) owner(old addr.Instance) (addr.Instance, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch i, ok := p.claimed[old]; {
	case !ok:
		return addr.Instance{}, false
	case i == nil:
		return old, true
	default:
		return *i, true
	}
}
