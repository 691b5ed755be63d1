package planner

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/moves"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/state"
)

// A moveTable tells where the objects of desired instances come from.
type moveTable struct{ table *moves.Table }

// from reports whether some statement moves objects away from the address.
func (m *moveTable) from(i addr.Instance) bool { return m.table != nil && m.table.MayMove(i) }

// claimFor takes the prior object of an instance: its own, or the first one
// that a move leads to and that nobody has.
func (r *run) claimFor(i *eval.Instance) (previous addr.Instance, stored *state.Object) {
	if o := r.prior.current(i.Addr); o != nil {
		r.prior.claim(i.Addr, i.Addr)
		return i.Addr, o
	}
	if r.moves.table == nil {
		return i.Addr, nil
	}
	for _, origin := range r.moves.table.Origins(i.Addr) {
		if o := r.prior.current(origin); o != nil && r.prior.claim(origin, i.Addr) {
			return origin, o
		}
	}
	return i.Addr, nil
}

// compileMoves compiles the move statements of all modules, and those that
// follow from count coming or going.
func (r *run) compileMoves() diag.List {
	var statements []moves.Statement
	var collect func(m addr.Module, tree *program.Tree)
	collect = func(m addr.Module, tree *program.Tree) {
		modules := tree.Modules
		if modules == nil {
			modules = []addr.Module{m}
		}
		for _, s := range tree.Program.Moved {
			for _, m := range modules {
				statements = append(statements, moves.Statement{Module: m, From: s.From, To: s.To, Range: s.Range})
			}
		}
		for _, c := range tree.Program.Calls {
			for _, child := range tree.Of(c.Name) {
				collect(m.Child(c.Name, addr.NoKey), child)
			}
		}
	}
	collect(addr.Root, r.Tree)
	var prior []addr.Instance
	for a := range r.prior.snapshot.Objects {
		prior = append(prior, a.Instance)
	}
	slices.SortFunc(prior, addr.Instance.Compare)
	prior = slices.Compact(prior)
	statements = append(statements, moves.Implied(statements, prior, declarations{r.Tree})...)
	table, diags := moves.Compile(statements)
	r.moves.table = table
	return diags
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
func (d declarations) Call(caller addr.Module, name string) (moves.Repetition, hcl.Range) {
	t := d.root.At(caller)
	if t == nil {
		return moves.Absent, hcl.Range{}
	}
	c := t.Program.CallByName[name]
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
