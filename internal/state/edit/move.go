package edit

import (
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state"
)

// A Move gives one object another address.
type Move = state.Move

// The summaries of what is wrong with a request to move.
const (
	wrongSource = "Invalid source address"
	wrongTarget = "Invalid target address"
	wrongMove   = "Invalid state move request"
)

// Moves finds the objects that the request is about.
func Moves(from, to *state.Snapshot, source, destination string) ([]Move, diag.List) {
	src, err := addr.ParsePattern(source)
	if err != nil {
		return nil, BadMove.As(wrongSource).List("Cannot move %s: %s.", source, err)
	}
	dst, err := addr.ParsePattern(destination)
	if err != nil {
		return nil, BadMove.As(wrongTarget).List("Cannot move to %s: %s.", destination, err)
	}
	if src.IsPattern() || dst.IsPattern() {
		return renamed(from, to, src, dst)
	}
	if src.IsModule() != dst.IsModule() {
		return nil, BadMove.As(wrongTarget).List("Cannot move %s to %s: both have to be modules, or both resources.", src, dst)
	}
	if !src.IsModule() {
		switch {
		case src.Name.Mode != addr.Managed || dst.Name.Mode != addr.Managed:
			return nil, BadMove.As(wrongMove).List("Cannot move %s to %s: only managed resources can be moved.", src, dst)
		case src.Name.Type != dst.Name.Type:
			return nil, BadMove.As(wrongMove).List("Cannot move %s to %s: resource types don't match.", src, dst)
		}
	}
	var moves []Move
	for _, at := range from.Addresses() {
		if !selected(src, at.Instance) {
			continue
		}
		moved := at
		if src.IsModule() {
			moved.Module = rebase(at.Module, src.Module, dst.Module)
		} else {
			moved.Resource = addr.Resource{Module: dst.Module, Name: dst.Name}
			if src.HasKey || dst.HasKey {
				moved.Key = dst.Key
			}
		}
		moves = append(moves, Move{From: at, To: moved})
	}
	if len(moves) == 0 {
		diags := BadMove.As(wrongSource).List("Cannot move %s: does not match anything in the current state.", src)
		if _, taken := to.Objects[addr.Object{Instance: dst.Instance()}]; taken && src.HasKey {
			diags.Append(alreadyThere(dst.Instance()))
		}
		return nil, diags
	}
	if dst.HasKey && !src.HasKey && !src.IsModule() && slices.ContainsFunc(moves, func(m Move) bool { return m.From.Key != addr.NoKey }) {
		return nil, BadMove.As(wrongTarget).List("Cannot move %s to %s: the source has several instances, and the destination is one.", src, dst)
	}
	leaving := map[addr.Object]bool{}
	for _, m := range moves {
		leaving[m.From] = true
	}
	return moves, taken(to, moves, from == to, leaving)
}

// renamed are the moves from what a pattern names to what another makes of it.
func renamed(from, to *state.Snapshot, src, dst addr.Target) ([]Move, diag.List) {
	r, err := addr.NewRenaming(src, dst)
	if err != nil {
		return nil, BadMove.As(wrongTarget).List("Cannot move %s to %s: %s.", src, dst, err)
	}
	if !src.IsModule() && (src.Name.Mode != addr.Managed || dst.Name.Mode != addr.Managed) {
		return nil, BadMove.As(wrongMove).List("Cannot move %s to %s: only managed resources can be moved.", src, dst)
	}
	var moves []Move
	leaving, arriving := map[addr.Object]bool{}, map[addr.Object]addr.Object{}
	for _, at := range from.Addresses() {
		instance, ok, err := r.Of(at.Instance)
		if err != nil {
			return nil, BadMove.As(wrongTarget).List("Cannot move %s to %s: %s.", at, dst, err)
		}
		if !ok {
			continue
		}
		m := Move{From: at, To: addr.Object{Instance: instance, Deposed: at.Deposed}}
		if at.Name.Type != instance.Name.Type {
			return nil, BadMove.As(wrongMove).List("Cannot move %s to %s: resource types don't match.", at, instance)
		}
		if other, taken := arriving[m.To]; taken {
			return nil, BadMove.As(wrongTarget).List("Cannot move %s to %s: %s would get that address too.", at, m.To, other)
		}
		moves, leaving[at], arriving[m.To] = append(moves, m), true, at
	}
	if len(moves) == 0 {
		return nil, diag.List{Unmatched(from, src)}
	}
	return moves, taken(to, moves, from == to, leaving)
}

// taken rejects moves to where something else is.
func taken(to *state.Snapshot, moves []Move, same bool, leaving map[addr.Object]bool) diag.List {
	for _, m := range moves {
		if _, taken := to.Objects[m.To]; taken && (!same || !leaving[m.To] || m.To == m.From) {
			return alreadyThere(m.To.Instance)
		}
	}
	return nil
}

func alreadyThere(i addr.Instance) diag.List {
	return BadMove.As(wrongTarget).List("Cannot move to %s: there is already a resource instance at that address in the current state.", i)
}

// Moved are the states after moves from one to another, which may be the same.
func Moved(from, to *state.Snapshot, moves []Move) (source, target *state.Snapshot) {
	source = from.Clone()
	target = source
	if to != from {
		target = to.Clone()
	}
	for _, m := range moves {
		delete(source.Objects, m.From)
	}
	for _, m := range moves {
		target.Objects[m.To] = from.Objects[m.From]
	}
	renameDependencies(source, moves)
	if target != source {
		renameDependencies(target, moves)
	}
	return source, target
}

// selected is narrower than Target.Matches: a module without key is that one
// instance.
func selected(t addr.Target, i addr.Instance) bool {
	if t.IsModule() {
		return t.Module.Contains(i.Module)
	}
	return t.Module == i.Module && t.Name == i.Name && (!t.HasKey || t.Key == i.Key)
}

// rebase puts what lies in a module into another one.
func rebase(m, from, to addr.Module) addr.Module {
	steps := append(to.Steps(), m.Steps()[len(from.Steps()):]...)
	return addr.FromSteps(steps)
}

// renameDependencies makes what depended on moved resources depend on their
// new names.
func renameDependencies(s *state.Snapshot, moves []Move) {
	renamed := map[addr.Resource]addr.Resource{}
	for _, m := range moves {
		if old, name := m.From.Resource.Erase(), m.To.Resource.Erase(); old != name {
			renamed[old] = name
		}
	}
	rekeyed := map[addr.Resource]bool{}
	for _, m := range moves {
		rekeyed[m.From.Resource.Erase()], rekeyed[m.To.Resource.Erase()] = true, true
	}
	s.ForgetUses(rekeyed)
	for _, at := range s.Addresses() {
		delete(renamed, at.Resource.Erase()) // other instances stayed
	}
	for at, o := range s.Objects {
		if !slices.ContainsFunc(o.Dependencies, func(d addr.Resource) bool { _, ok := renamed[d]; return ok }) {
			continue
		}
		changed := *o
		changed.Dependencies = nil
		for _, d := range o.Dependencies {
			if name, ok := renamed[d]; ok {
				d = name
			}
			changed.Dependencies = append(changed.Dependencies, d)
		}
		slices.SortFunc(changed.Dependencies, addr.Resource.Compare)
		changed.Dependencies = slices.Compact(changed.Dependencies)
		s.Objects[at] = &changed
	}
}
