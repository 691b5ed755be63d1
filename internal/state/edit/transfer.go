package edit

import (
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state"
)

// Transfers finds the objects that move from one state to another one by pairs of addresses, the
// second of which may be empty for the same address. It also returns the addresses whose objects are
// in the other state already.
func Transfers(from, to *state.Snapshot, pairs [][2]string) (moves []Move, done []string, diags diag.List) {
	leaving, arriving := map[addr.Object]bool{}, map[addr.Object]bool{}
	for _, pair := range pairs {
		source, destination := pair[0], pair[1]
		if destination == "" {
			destination = source
		}
		some, problems := Moves(from, to, source, destination)
		if problems.HasErrors() && isDone(from, to, source, destination) {
			done = append(done, source)
			continue
		}
		diags.Append(problems)
		for _, m := range some {
			switch {
			case leaving[m.From]:
				diags.Add(BadMove.As(wrongSource).New(diag.Error, "Cannot move %s: two of the addresses name it.", m.From))
			case arriving[m.To]:
				diags.Add(BadMove.As(wrongTarget).New(diag.Error, "Cannot move %s to %s: another object gets that address too.", m.From, m.To))
			default:
				leaving[m.From], arriving[m.To] = true, true
				moves = append(moves, m)
			}
		}
	}
	return moves, done, diags
}

// isDone reports whether an earlier run has moved the objects that addresses name: the source has
// none of them, and the destination has some.
func isDone(from, to *state.Snapshot, source, destination string) bool {
	src, err := addr.ParsePattern(source)
	dst, derr := addr.ParsePattern(destination)
	return err == nil && derr == nil && !Has(from, src) && Has(to, dst)
}

// Sent is the source of moves to another state, without the objects that move. Objects that
// depended on these depend on what they needed in turn, so that the order of deletions stays.
func Sent(from *state.Snapshot, moves []Move) *state.Snapshot {
	next := from.Clone()
	for _, m := range moves {
		delete(next.Objects, m.From)
	}
	names := map[addr.Resource][]addr.Resource{}
	for at := range next.Objects {
		names[at.Resource.Erase()] = []addr.Resource{at.Resource.Erase()}
	}
	b := newBridge(from, names)
	for at, o := range next.Objects {
		if slices.ContainsFunc(o.Dependencies, func(d addr.Resource) bool { return b.gone(d, moves) }) {
			next.Objects[at] = b.moved(o)
		}
	}
	return next
}

// Received is the destination of moves from another state. The objects depend on each other as
// before. Their dependencies on objects of the source end: no state can name these.
func Received(from, to *state.Snapshot, moves []Move) *state.Snapshot {
	next := to.Clone()
	names := map[addr.Resource][]addr.Resource{}
	for _, m := range moves {
		old, now := m.From.Resource.Erase(), m.To.Resource.Erase()
		if !slices.Contains(names[old], now) {
			names[old] = append(names[old], now)
		}
	}
	b := newBridge(from, names)
	for _, m := range moves {
		if o := from.Objects[m.From]; o != nil { // gone by hand since the record was made
			next.Objects[m.To] = b.moved(o)
		}
	}
	return next
}

// A bridge finds dependencies in a state that has only some of the resources of another one.
type bridge struct {
	names   map[addr.Resource][]addr.Resource // of what it has
	needs   map[addr.Resource][]addr.Resource // of all resources, as the other state has them
	reached map[addr.Resource][]addr.Resource // of resources that it doesn't have
	left    map[addr.Resource]bool
}

func newBridge(from *state.Snapshot, names map[addr.Resource][]addr.Resource) *bridge {
	b := &bridge{names, map[addr.Resource][]addr.Resource{}, map[addr.Resource][]addr.Resource{}, nil}
	for at, o := range from.Objects {
		if r := at.Resource.Erase(); names[r] == nil {
			b.needs[r] = append(b.needs[r], o.Dependencies...)
		}
	}
	return b
}

// gone reports whether all of a resource has moved.
func (b *bridge) gone(r addr.Resource, moves []Move) bool {
	if b.left == nil {
		b.left = map[addr.Resource]bool{}
		for _, m := range moves {
			b.left[m.From.Resource.Erase()] = true
		}
	}
	return b.left[r.Erase()] && b.names[r.Erase()] == nil
}

// moved is an object with the dependencies that it has on this side.
func (b *bridge) moved(o *state.Object) *state.Object {
	next := *o
	next.Dependencies, next.Uses = b.all(o.Dependencies), nil
	return &next
}

func (b *bridge) all(list []addr.Resource) []addr.Resource {
	var out []addr.Resource
	for _, r := range list {
		out = append(out, b.of(r.Erase())...)
	}
	slices.SortFunc(out, addr.Resource.Compare)
	return slices.Compact(out)
}

// of is a resource under its names here, or what it needed of what is here.
func (b *bridge) of(r addr.Resource) []addr.Resource {
	if here := b.names[r]; here != nil {
		return here
	}
	if known, ok := b.reached[r]; ok {
		return known
	}
	b.reached[r] = nil // dependencies have no circles, but a state may have been edited
	b.reached[r] = b.all(b.needs[r])
	return b.reached[r]
}

// A Crossing is a dependency that a move puts between two states.
type Crossing struct {
	Object addr.Object
	On     addr.Resource
}

// Crossings are the dependencies that moves put between states: those of what moves on what stays,
// and those of what stays on what moves.
func Crossings(from *state.Snapshot, moves []Move) (needs, needed []Crossing) {
	leaving := map[addr.Object]bool{}
	for _, m := range moves {
		leaving[m.From] = true
	}
	stay, gone := map[addr.Resource]bool{}, map[addr.Resource]bool{}
	for at := range from.Objects {
		if leaving[at] {
			gone[at.Resource.Erase()] = true
		} else {
			stay[at.Resource.Erase()] = true
		}
	}
	for _, at := range from.Addresses() {
		for _, d := range from.Objects[at].Dependencies {
			switch d := d.Erase(); {
			case leaving[at] && stay[d] && !gone[d]:
				needs = append(needs, Crossing{at, d})
			case !leaving[at] && gone[d] && !stay[d]:
				needed = append(needed, Crossing{at, d})
			}
		}
	}
	return needs, needed
}
