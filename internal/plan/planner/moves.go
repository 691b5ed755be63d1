package planner

import (
	"fmt"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan/prior"
)

// checkMoves reports statements that contradict what the configuration has,
// and objects that couldn't move.
func (l *layout) checkMoves(p *prior.Prior) (diags diag.List) {
	if l.root.Diagnostics().HasErrors() {
		return nil
	}
	frames := map[addr.Module][]addr.Module{}
	for _, f := range l.root.Frames() {
		m := f.Addr.Erase()
		frames[m] = append(frames[m], f.Addr)
	}
	diags.Append(p.Moves().Validate(func(m addr.Module) []addr.Module { return frames[m] }, l.declares))
	var list strings.Builder
	for _, b := range p.Blocked() {
		fmt.Fprintf(&list, "\n  - %s could not move to %s", b.From, b.To)
	}
	if len(p.Blocked()) > 0 {
		diags.Append(UnresolvedMoves.Warnings("Other objects are at the addresses to which moved blocks, or count that was added or removed, would move these:%s\n\nThey keep their addresses, and are destroyed where the configuration has nothing there. If that isn't meant, correct the addresses with \"%s\" or \"%s\", and plan again.", list.String(), diag.Run("state mv", ""), diag.Run("state rm", "")))
	}
	return diags
}

// checkCovered reports moves of objects that -target or -exclude leaves out on
// one side: the plan would then end or make what only has another address.
func (s *selection) checkCovered(moved map[addr.Instance]addr.Instance) diag.List {
	if s.Whole() {
		return nil
	}
	var left []addr.Instance
	for from, to := range moved {
		for _, i := range []addr.Instance{from, to} {
			if !s.Wants(i) {
				left = append(left, i)
			}
		}
	}
	if len(left) == 0 {
		return nil
	}
	slices.SortFunc(left, addr.Instance.Compare)
	left = slices.Compact(left)
	var list strings.Builder
	if len(s.Targets) > 0 {
		for _, i := range left {
			fmt.Fprintf(&list, "\n  -target=%q", i)
		}
		return MovesExcluded.List("Objects in the state have other addresses in the configuration now, and the -target options cover only one of the two addresses, or none. Do without -target, or add these options:%s", list.String())
	}
	for _, i := range left {
		fmt.Fprintf(&list, "\n  %s", i)
	}
	return MovesExcluded.List("Objects in the state have other addresses in the configuration now, and the -exclude options leave these of the addresses out:%s\n\nDo without -exclude until the objects have moved.", list.String())
}
