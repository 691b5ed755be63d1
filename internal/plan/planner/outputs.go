package planner

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/prior"
	"weir.dev/weir/internal/plan/relevantattrs"
)

// outputs are those of the root module, of which all that they read is planned.
type outputs struct {
	mode      plan.Mode
	prior     *prior.Prior
	layout    *layout
	selection *selection
	waits     func(*promise.Node) bool // for a later round
}

// changes compares the root outputs with the stored ones.
func (o *outputs) changes() []*plan.OutputChange {
	var list []*plan.OutputChange
	null := cty.NullVal(cty.DynamicPseudoType)
	declared := map[string]bool{}
	for _, declaration := range o.layout.tree.Program.Outputs {
		if declaration.Ephemeral { // in a test, which runs any module as a root
			continue
		}
		declared[declaration.Name] = true
		c := &plan.OutputChange{Name: declaration.Name, Before: null, After: null, Sensitive: declaration.Sensitive}
		stored, had := o.prior.Snapshot.Outputs[declaration.Name]
		had = had && !stored.Value.IsNull()
		if had {
			c.Before, c.BeforeSensitive = stored.Value, stored.Sensitive
		}
		v, node, ok := o.layout.root.OutputValue(declaration)
		ok = ok && !o.waits(node)
		switch {
		case o.mode == plan.Destroy:
			if !had || !o.endsWithObjects(declaration) {
				continue
			}
			c.Action = plan.Delete
		case !ok:
			continue
		default:
			c.After = v
			c.Sensitive = c.Sensitive || o.layout.tree.Program.Stack && value.IsSensitive(v)
			c.Action = outputAction(c, had)
		}
		c.Before = sensitiveIf(c.Before, c.BeforeSensitive)
		list = append(list, c)
	}
	if o.selection.Whole() {
		for name, stored := range o.prior.Snapshot.Outputs {
			if !declared[name] && !stored.Value.IsNull() {
				list = append(list, &plan.OutputChange{Name: name, Action: plan.Delete, Before: sensitiveIf(stored.Value, stored.Sensitive), After: null, BeforeSensitive: stored.Sensitive})
			}
		}
	}
	slices.SortFunc(list, func(a, b *plan.OutputChange) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return list
}

// endsWithObjects reports whether a plan to destroy removes an output: where
// only some objects are destroyed, one that reads objects of which all are.
// Outputs that read others too stay unchanged until the next apply.
func (o *outputs) endsWithObjects(d *program.Output) bool {
	if o.selection.Whole() {
		return true
	}
	if d.Expr == nil {
		return false
	}
	ends := false
	for _, a := range relevantattrs.ReadBy(o.layout.root, d.Expr) {
		of := a.Resource.Resource
		for _, key := range o.prior.Keys.Resource(of) {
			i := of.Instance(key)
			switch {
			case a.Resource.Key != addr.NoKey && a.Resource.Key != key:
			case !o.selection.destroys(i):
				return false
			default:
				ends = true
			}
		}
	}
	return ends
}

func sensitiveIf(v cty.Value, sensitive bool) cty.Value {
	if sensitive {
		return v.Mark(value.Sensitive)
	}
	return v
}

func outputAction(c *plan.OutputChange, had bool) plan.Action {
	after, _ := c.After.UnmarkDeep()
	switch {
	case !had && after.IsKnown() && after.IsNull():
		return plan.NoOp
	case !had:
		return plan.Create
	case after.IsKnown() && after.IsNull():
		return plan.Delete
	case c.BeforeSensitive != c.Sensitive:
		return plan.Update
	}
	if same := c.Before.Equals(after); same.IsKnown() && same.True() && c.Before.Type().Equals(after.Type()) {
		return plan.NoOp
	}
	if c.Before.RawEquals(after) {
		return plan.NoOp
	}
	return plan.Update
}
