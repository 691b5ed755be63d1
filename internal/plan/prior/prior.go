// Package prior tracks the objects of the prior state: where they have moved, and which
// instance claimed each.
//
// It owns moves and claims: each object is claimed once, or is left for the sweep. It doesn't
// ask providers.
package prior

import (
	"sync"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
)

// A Prior is the state before the run with the bookkeeping of who took which
// object: each is claimed by one desired instance, or swept (I4).
type Prior struct {
	Snapshot *state.Snapshot
	Keys     *state.Keys
	moves    moveTable

	mu      sync.Mutex
	claimed map[addr.Instance]*addr.Instance // old address to new, nil for the same
}

// New is what a state has, which may be nil.
func New(s *state.Snapshot) *Prior {
	if s == nil {
		s = state.Empty()
	}
	return &Prior{Snapshot: s, Keys: s.Keys(), claimed: make(map[addr.Instance]*addr.Instance, len(s.Objects))}
}

// Current is the stored current object, or nil.
func (p *Prior) Current(i addr.Instance) *state.Object {
	return p.Snapshot.Objects[addr.Object{Instance: i}]
}

// claim gives the objects of the old address to the new one, unless they
// belong to somebody already.
func (p *Prior) claim(old, new addr.Instance) bool {
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

// Owner is who claimed the objects of an address.
func (p *Prior) Owner(old addr.Instance) (addr.Instance, bool) {
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
