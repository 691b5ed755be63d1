package prior

import (
	"iter"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
)

// FollowMoves renames what stored objects depend on where it has moved, by pairs of old and
// new resources without keys, so that the order of later deletions is the right one.
func FollowMoves(s *state.Snapshot, pairs iter.Seq2[addr.Resource, addr.Resource]) {
	moved := map[addr.Resource][]addr.Resource{}
	for old, now := range pairs {
		if old != now && !slices.Contains(moved[old], now) {
			moved[old] = append(moved[old], now)
		}
	}
	if len(moved) == 0 {
		return
	}
	here := map[addr.Resource]bool{}
	for a := range s.Objects {
		here[a.Resource.Erase()] = true
	}
	for a, o := range s.Objects {
		if deps, changed := renamed(o.Dependencies, moved, here); changed {
			fresh := *o
			fresh.Dependencies = deps
			s.Objects[a] = &fresh
		}
	}
}

// renamed is a list of dependencies after moves. Those that are still there
// under the old name, because only some instances have moved, keep it beside
// the new one.
func renamed(deps []addr.Resource, moved map[addr.Resource][]addr.Resource, here map[addr.Resource]bool) ([]addr.Resource, bool) {
	if !slices.ContainsFunc(deps, func(d addr.Resource) bool { return moved[d] != nil }) {
		return deps, false
	}
	var list []addr.Resource
	for _, d := range deps {
		if moved[d] == nil || here[d] {
			list = append(list, d)
		}
		list = append(list, moved[d]...)
	}
	slices.SortFunc(list, func(a, b addr.Resource) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(list), true
}
