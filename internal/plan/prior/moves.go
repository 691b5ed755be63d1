package prior

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan/moves"
	"weir.dev/weir/internal/state"
)

// A moveTable is what the move statements do to the prior objects.
type moveTable struct {
	table   *moves.Table
	to      map[addr.Instance]addr.Instance // of those that move, by their old address
	from    map[addr.Instance]addr.Instance // the inverse
	blocked []moves.Blocked
}

// Away reports whether the object at the address in the prior state moves.
func (p *Prior) Away(i addr.Instance) bool {
	_, moves := p.moves.to[i]
	return moves
}

// Now is the address of a prior object after the moves.
func (p *Prior) Now(i addr.Instance) addr.Instance {
	if to, moves := p.moves.to[i]; moves {
		return to
	}
	return i
}

// Origin is the prior object that has the address after the moves, nil for
// none, and where it was.
func (p *Prior) Origin(i addr.Instance) (previous addr.Instance, stored *state.Object) {
	previous, moved := p.moves.from[i]
	if !moved {
		if p.Away(i) {
			return i, nil
		}
		previous = i
	}
	if o := p.Current(previous); o != nil {
		return previous, o
	}
	return i, nil
}

// ClaimFor takes the prior object of an instance.
func (p *Prior) ClaimFor(i addr.Instance) (previous addr.Instance, stored *state.Object) {
	previous, stored = p.Origin(i)
	if stored != nil && p.claim(previous, i) {
		return previous, stored
	}
	return i, nil
}

// KeysNow are the keys that prior objects have after the moves.
func (p *Prior) KeysNow() *state.Keys {
	if len(p.moves.to) == 0 {
		return p.Keys
	}
	after := state.Empty()
	for a, o := range p.Snapshot.Objects {
		a.Instance = p.Now(a.Instance)
		after.Objects[a] = o
	}
	return after.Keys()
}

// Moved are the new addresses of what moves, by the old ones.
func (p *Prior) Moved() map[addr.Instance]addr.Instance { return p.moves.to }

// Blocked are the objects that couldn't move.
func (p *Prior) Blocked() []moves.Blocked { return p.moves.blocked }

// Moves is the table of all move statements.
func (p *Prior) Moves() *moves.Table { return p.moves.table }

// CompileMoves compiles the move statements of all modules, and those that
// follow from count coming or going.
func (p *Prior) CompileMoves(root *program.Tree, host eval.Host, facts eval.Facts) diag.List {
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
	collect(addr.Root, root)
	var problems diag.List
	if computed {
		var more []moves.Statement
		more, problems = computedMoves(root.Program, host, facts)
		statements = append(statements, more...)
	}
	var prior []addr.Instance
	for a := range p.Snapshot.Objects {
		prior = append(prior, a.Instance)
	}
	slices.SortFunc(prior, addr.Instance.Compare)
	prior = slices.Compact(prior)
	statements = append(statements, moves.Implied(statements, prior, declarations{root})...)
	table, diags := moves.Compile(statements)
	m := &p.moves
	m.table = table
	if !diags.HasErrors() {
		var ambiguous diag.List
		m.to, m.blocked, ambiguous = table.Apply(prior)
		diags.Append(ambiguous)
		m.from = make(map[addr.Instance]addr.Instance, len(m.to))
		for from, to := range m.to {
			m.from[to] = from
		}
	}
	return append(problems, diags...)
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
