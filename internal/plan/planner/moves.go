package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan/moves"
)

// checkMoves reports statements that contradict what the configuration has,
// and objects that couldn't move.
func (r *run) checkMoves() {
	if r.root.Diagnostics().HasErrors() {
		return
	}
	frames := map[addr.Module][]addr.Module{}
	for _, f := range r.root.Frames() {
		m := f.Addr.Erase()
		frames[m] = append(frames[m], f.Addr)
	}
	r.note(r.prior.Moves().Validate(func(m addr.Module) []addr.Module { return frames[m] }, r.declares))
	var list strings.Builder
	for _, b := range r.prior.Blocked() {
		fmt.Fprintf(&list, "\n  - %s could not move to %s", b.From, b.To)
	}
	if len(r.prior.Blocked()) > 0 {
		r.note(UnresolvedMoves.Warnings("Other objects are at the addresses to which moved blocks, or count that was added or removed, would move these:%s\n\nThey keep their addresses, and are destroyed where the configuration has nothing there. If that isn't meant, correct the addresses with \"%s\" or \"%s\", and plan again.", list.String(), diag.Run("state mv", ""), diag.Run("state rm", "")))
	}
}

// checkCovered reports moves of objects that -target or -exclude leaves out on
// one side: the plan would then end or make what only has another address.
func (r *run) checkCovered(moved map[addr.Instance]addr.Instance) diag.List {
	if r.scope.Whole() {
		return nil
	}
	var left []addr.Instance
	for from, to := range moved {
		for _, i := range []addr.Instance{from, to} {
			if !r.scope.Wants(i) {
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
	if len(r.Targets) > 0 {
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

// declares reports whether the configuration has what an end of a statement
// names, and where.
func (r *run) declares(o moves.Object) (hcl.Range, bool) {
	if (o.Name == addr.Name{}) {
		parent, step, _ := o.Module.Parent()
		f := r.frame(parent)
		if f == nil || f.Program.CallByName[step.Call] == nil {
			return hcl.Range{}, false
		}
		c := f.Program.CallByName[step.Call]
		if o.Whole {
			return c.Range, true
		}
		child, _ := f.ChildFrame(c, step.Key)
		return c.Range, child != nil
	}
	f := r.frame(o.Module)
	if f == nil || f.Program.ResourceByName[o.Name] == nil {
		return hcl.Range{}, false
	}
	res := f.Program.ResourceByName[o.Name]
	if o.Whole {
		return res.Range, true
	}
	i, _, _ := f.Lookup(res, o.Key)
	return res.Range, i != nil
}
