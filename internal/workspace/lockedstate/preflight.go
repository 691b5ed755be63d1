package lockedstate

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
)

// effects reports whether a plan does something to objects, rather than to the
// state alone.
func effects(p *plan.Plan) bool {
	if p.Graph == nil {
		return false
	}
	for _, s := range p.Graph.Steps {
		if s.Kind == execgraph.Apply || s.Kind == execgraph.Destroy {
			return true
		}
	}
	return false
}

// preflight rejects an apply whose results could not be kept. That the backend takes writes is
// shown by its lock, which is held by now.
func (s *Session) preflight(ctx context.Context, p *plan.Plan) diag.List {
	if diags := s.again(p); diags.HasErrors() {
		return diags
	}
	if err := s.store.Prepare(ctx, s.saved.size+int64(expected(p))); err != nil {
		return NotSaved.As("The state can't be saved").List("Nothing was done, because the new state could not be saved afterwards: %s.", err)
	}
	return nil
}

// expected is about how much longer a plan makes the state, in bytes.
func expected(p *plan.Plan) int {
	const object = 500 // what stands around the attributes
	n := 0
	for _, c := range p.Changes {
		if c.Action == plan.Create || c.Action == plan.Update || c.Action.IsReplace() {
			n += object + length(c.After)
		}
	}
	return n
}

// length is about how long a value is in a state.
func length(v cty.Value) int {
	const indent = 16
	if v == cty.NilVal {
		return 0
	}
	v, _ = v.Unmark()
	t := v.Type()
	switch {
	case !v.IsKnown():
		return 4 * indent
	case v.IsNull():
		return indent
	case t == cty.String:
		return indent + len(v.AsString())
	case t.IsPrimitiveType() || !v.CanIterateElements():
		return indent
	}
	n := indent
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		n += length(e)
		if !t.IsSetType() && k.Type() == cty.String { // in a set it is the element
			n += indent + len(k.AsString())
		}
	}
	return n
}
