package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/moves"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/state"
)

// A moveTable is what the move statements do to the prior objects.
type moveTable struct {
	table   *moves.Table
	to      map[addr.Instance]addr.Instance // of those that move, by their old address
	from    map[addr.Instance]addr.Instance // the inverse
	blocked []moves.Blocked
}

// away reports whether the object at the address in the prior state moves.
func (m *moveTable) away(i addr.Instance) bool {
	_, moves := m.to[i]
	return moves
}

// now is the address of a prior object after the moves.
func (m *moveTable) now(i addr.Instance) addr.Instance {
	if to, moves := m.to[i]; moves {
		return to
	}
	return i
}

// origin is the prior object that has the address after the moves, nil for
// none, and where it was.
func (r *run) origin(i addr.Instance) (previous addr.Instance, stored *state.Object) {
	previous, moved := r.moves.from[i]
	if !moved {
		if r.moves.away(i) {
			return i, nil
		}
		previous = i
	}
	if o := r.prior.current(previous); o != nil {
		return previous, o
	}
	return i, nil
}

// claimFor takes the prior object of an instance.
func (r *run) claimFor(i *eval.Instance) (previous addr.Instance, stored *state.Object) {
	previous, stored = r.origin(i.Addr)
	if stored != nil && r.prior.claim(previous, i.Addr) {
		return previous, stored
	}
	return i.Addr, nil
}

// movedKeys are the keys that prior objects have after the moves.
func (r *run) movedKeys() *state.Keys {
	if len(r.moves.to) == 0 {
		return r.prior.keys
	}
	after := state.Empty()
	for a, o := range r.prior.snapshot.Objects {
		a.Instance = r.moves.now(a.Instance)
		after.Objects[a] = o
	}
	return after.Keys()
}

// compileMoves compiles the move statements of all modules, and those that
// follow from count coming or going.
func (r *run) compileMoves() diag.List {
	var statements []moves.Statement
	computed := false
	var collect func(m addr.Module, tree *program.Tree)
	collect = func(m addr.Module, tree *program.Tree) {
		modules := tree.Modules
		if modules == nil {
			modules = []addr.Module{m}
		}
		for _, s := range tree.Program.Moved {
			if s.Computed() {
				computed = true
				continue
			}
			for _, m := range modules {
				statements = append(statements, moves.Statement{Module: m, From: s.From, To: s.To, Range: s.Range})
			}
		}
		for _, c := range tree.Program.Calls {
			for _, child := range tree.Of(c.Call) {
				collect(m.Child(c.Call, addr.NoKey), child)
			}
		}
	}
	collect(addr.Root, r.Tree)
	var problems diag.List
	if computed {
		var more []moves.Statement
		more, problems = r.computedMoves()
		statements = append(statements, more...)
	}
	var prior []addr.Instance
	for a := range r.prior.snapshot.Objects {
		prior = append(prior, a.Instance)
	}
	slices.SortFunc(prior, addr.Instance.Compare)
	prior = slices.Compact(prior)
	statements = append(statements, moves.Implied(statements, prior, declarations{r.Tree})...)
	table, diags := moves.Compile(statements)
	m := r.moves
	m.table = table
	if !diags.HasErrors() {
		m.to, m.blocked = table.Apply(prior)
		m.from = make(map[addr.Instance]addr.Instance, len(m.to))
		for from, to := range m.to {
			m.from[to] = from
		}
	}
	return append(problems, diags...)
}

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
	r.note(r.moves.table.Validate(func(m addr.Module) []addr.Module { return frames[m] }, r.declares))
	var list strings.Builder
	for _, b := range r.moves.blocked {
		fmt.Fprintf(&list, "\n  - %s could not move to %s", b.From, b.To)
	}
	if len(r.moves.blocked) > 0 {
		r.note(diag.List{{Severity: diag.Warning, Summary: "Unresolved resource instance address changes",
			Detail: "Other objects are at the addresses to which moved blocks, or count that was added or removed, would move these:" + list.String() + "\n\nThey keep their addresses, and are destroyed where the configuration has nothing there. If that isn't meant, settle with \"weir state mv\" or \"weir state rm\" which objects belong where, and plan again."}})
	}
}

// checkCovered reports moves of objects that -target or -exclude leaves out on
// one side: the plan would then end or make what only has another address.
func (r *run) checkCovered(moved map[addr.Instance]addr.Instance) diag.List {
	if r.whole() {
		return nil
	}
	var left []addr.Instance
	for from, to := range moved {
		for _, i := range []addr.Instance{from, to} {
			if !r.wanted(i) {
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
		return diag.OneError("Moved resource instances excluded by targeting", "Objects in the state have other addresses in the configuration now, and the -target options cover only one of the two addresses, or none. Do without -target, or add these options:%s", list.String())
	}
	for _, i := range left {
		fmt.Fprintf(&list, "\n  %s", i)
	}
	return diag.OneError("Moved resource instances excluded by targeting", "Objects in the state have other addresses in the configuration now, and the -exclude options leave these of the addresses out:%s\n\nDo without -exclude until the objects have moved.", list.String())
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

// declarations answers how the configuration repeats its blocks.
type declarations struct{ root *program.Tree }

// Resource implements moves.Declarations.
func (d declarations) Resource(a addr.Resource) (moves.Repetition, hcl.Range) {
	t := d.root.At(a.Module)
	if t == nil {
		return moves.Absent, hcl.Range{}
	}
	res := t.Program.ResourceByName[a.Name]
	if res == nil {
		return moves.Absent, hcl.Range{}
	}
	return repetition(res.Repeat), res.Range
}

// Call implements moves.Declarations.
func (d declarations) Call(caller addr.Module, call addr.Call) (moves.Repetition, hcl.Range) {
	t := d.root.At(caller)
	if t == nil {
		return moves.Absent, hcl.Range{}
	}
	c := t.Program.CallByName[call]
	if c == nil {
		return moves.Absent, hcl.Range{}
	}
	return repetition(c.Repeat), c.Range
}

func repetition(r program.Repeat) moves.Repetition {
	switch {
	case r.Count != nil:
		return moves.Counted
	case r.ForEach != nil:
		return moves.Other
	}
	return moves.Single
}
