package prior

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan/moves"
)

// An early host answers for what has to be known before anything is planned:
// of resources and provider functions nothing is known.
type early struct{ eval.Host }

// Resource implements eval.Host.
func (early) Resource(*promise.Task, *eval.Instance) (cty.Value, bool) {
	return cty.DynamicVal, true
}

// Expand implements eval.Host.
func (early) Expand(_ *promise.Task, _ eval.Block, configured func() (eval.Expansion, bool)) (eval.Expansion, bool) {
	return configured()
}

// Call implements eval.Host.
func (early) Call(*promise.Task, *eval.Frame, *program.ProviderFunction, []cty.Value) (cty.Value, error) {
	return cty.DynamicVal, nil
}

// computedMoves evaluates the moved blocks that are repeated or have computed keys. Where
// objects come from has to be known before any of them is planned, so they can use variables,
// locals and functions only. Each gives statements of the root with all keys.
func computedMoves(p *program.Program, host eval.Host, facts eval.Facts) ([]moves.Statement, diag.List) {
	rt := promise.NewRuntime(1)
	ev := &eval.Evaluator{Host: early{host}, Facts: facts}
	root := ev.NewRoot(p)
	var list []moves.Statement
	var visit func(t *promise.Task, f *eval.Frame)
	visit = func(t *promise.Task, f *eval.Frame) {
		for _, m := range f.Program.Moved {
			if !m.Computed() {
				continue
			}
			list = append(list, movesOf(t, f, m)...)
		}
		for _, c := range f.Program.Calls {
			for _, child := range f.Calls(t, c, nil) {
				visit(t, child)
			}
		}
	}
	rt.Do(func(t *promise.Task) { visit(t, root) })
	diags := rt.Diagnostics()
	if len(diags) == 0 {
		// A failed cell that a block reads is reported by the evaluation of the
		// whole; here nothing may be moved then.
		if problems := root.Diagnostics(); problems.HasErrors() {
			return nil, nil
		}
	}
	return list, diags
}

// movesOf are the statements of one moved block in one module instance.
func movesOf(t *promise.Task, f *eval.Frame, m *program.Moved) (list []moves.Statement) {
	instances := []*eval.Each{nil}
	if m.ForEach != nil {
		v, ok := eval.Evaluate(t, m.ForEach, f.Context(t, nil, cty.NilVal))
		if !ok {
			return nil
		}
		e, diags := eval.ForEach(v, m.ForEach, "for_each")
		if e.Unknown && !diags.HasErrors() {
			diags.Add(diag.BadRepetition.As("Invalid for_each argument").Error(m.ForEach.Range(), "The for_each of a moved block has to be known before anything is planned, so it can refer to input variables, locals and functions, but not to resources, nor to module outputs that depend on resources."))
		}
		if !t.Report(diags...) {
			return nil
		}
		instances = e.Each()
	}
	for _, each := range instances {
		from, ok := movedEnd(t, f, m.From, m.FromKeys, each)
		to, fits := movedEnd(t, f, m.To, m.ToKeys, each)
		if same := from; ok && fits {
			if same.Range = to.Range; same != to {
				list = append(list, moves.Statement{Module: addr.Root, From: from, To: to, Range: m.Range})
			}
		}
	}
	return list
}

// movedEnd is an end of a moved block with its keys, as an address of the
// root.
func movedEnd(t *promise.Task, f *eval.Frame, e program.Endpoint, keys []*program.Expr, each *eval.Each) (_ program.Endpoint, ok bool) {
	ok = true
	key := func(n int, constant addr.Key) addr.Key {
		if keys == nil || keys[n] == nil {
			return constant
		}
		v, known := eval.Evaluate(t, keys[n], f.Context(t, each, cty.NilVal))
		if !known {
			ok = false
			return constant
		}
		k, err := eval.KeyOf(v)
		if err != nil {
			ok = t.Report(diag.BadMoved.As("Invalid instance key in a moved block").Error(keys[n].Range(), "The keys of moved objects are strings or whole numbers and can be made of input variables, locals, functions, and each of the block: %s.", err))
		}
		return k
	}
	steps := slices.Clone(e.Module.Steps())
	for n := range steps {
		steps[n].Key = key(n, steps[n].Key)
	}
	if keys != nil {
		e.Key = key(len(keys)-1, e.Key)
	}
	e.Module = addr.FromSteps(append(f.Addr.Steps(), steps...))
	return e, ok
}
