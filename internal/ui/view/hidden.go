package view

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/secret"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view/jsonstate"
)

// Every view hides the same values. Marks hide a value. A text that repeats a hidden value is
// hidden too where a provider decided it, as in computed attributes. Results of nonsensitive in
// the configuration are shown, because its author wanted that.

// Secrets are texts that are sensitive anywhere in the plan. The tree, which may be nil, says
// which variables are.
func Secrets(p *plan.Plan, tree *program.Tree) *secret.Known {
	hide := &secret.Known{}
	for _, list := range [][]*plan.Change{p.Changes, p.Drift} {
		for _, c := range list {
			for _, v := range []cty.Value{c.Before, c.After} {
				if v != cty.NilVal {
					hide.AddMarked(v)
				}
			}
		}
	}
	for _, o := range p.Outputs {
		for _, v := range []cty.Value{o.Before, o.After} {
			switch {
			case v == cty.NilVal:
			case o.Sensitive || o.BeforeSensitive:
				v, _ = v.UnmarkDeep()
				hide.Add(v)
			default:
				hide.AddMarked(v)
			}
		}
	}
	if tree == nil || tree.Program == nil {
		return hide
	}
	for _, v := range tree.Program.Variables {
		if given := p.Variables[v.Name]; v.Sensitive && given != nil && given.Value != cty.NilVal {
			hide.Add(given.Value)
		}
	}
	return hide
}

// Hidden is a plan in which texts of providers that repeat secrets are marked as sensitive. It
// is for views only and changes nothing that is applied.
func Hidden(p *plan.Plan, hide *secret.Known) *plan.Plan {
	if hide.Empty() {
		return p
	}
	out := *p
	for _, list := range []*[]*plan.Change{&out.Changes, &out.Drift} {
		all := make([]*plan.Change, len(*list))
		for i, c := range *list {
			s := jsonstate.Schema(p.Schemas, c.Provider.Provider, c.Addr.Name)
			before, repeated := hidden(c.Before, s, hide)
			after, again := hidden(c.After, s, hide)
			all[i] = c
			if repeated || again {
				next := *c
				next.Before, next.After = before, after
				all[i] = &next
			}
		}
		*list = all
	}
	return &out
}

// hidden is an object in which texts that a provider decided are marked where they repeat a
// secret, and whether there is one. Without a schema it may have decided all of them.
func hidden(v cty.Value, s *schema.Schema, hide *secret.Known) (out cty.Value, found bool) {
	if v == cty.NilVal || hide.Empty() {
		return v, false
	}
	out, err := cty.Transform(v, func(path cty.Path, v cty.Value) (cty.Value, error) {
		if v.IsMarked() || v.Type() != cty.String || !v.IsKnown() || v.IsNull() || !decided(s, path) || hide.Mask(v.AsString()) == v.AsString() {
			return v, nil
		}
		found = true
		return v.Mark(value.Sensitive), nil
	})
	if err != nil || !found {
		return v, false
	}
	return out, true
}

// decided reports whether a provider decides about what is at a path.
func decided(s *schema.Schema, path cty.Path) bool {
	if s == nil || s.Block == nil {
		return true
	}
	attributes, blocks := s.Block.Attributes, s.Block.Blocks
	for _, step := range path {
		name, ok := step.(cty.GetAttrStep)
		if !ok {
			continue // the key of an element
		}
		if block := blocks[name.Name]; block != nil {
			attributes, blocks = block.Attributes, block.Blocks
			continue
		}
		a := attributes[name.Name]
		switch {
		case a == nil:
			return true
		case a.Computed || a.Nested == nil:
			return a.Computed
		}
		attributes, blocks = a.Nested.Attributes, nil
	}
	return false
}
