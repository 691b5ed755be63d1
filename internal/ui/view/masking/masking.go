// Package masking marks what views of a plan hide: all of them the same values.
//
// It owns one rule. Marks hide a value. A text that repeats a hidden value is hidden too where
// a provider decided it, as in computed attributes. Results of nonsensitive in the
// configuration are shown, because its author wanted that. A state has the rule for each
// object by itself (jsonstate.Cover): nothing says there which value came from which.
package masking

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/secret"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view/jsonstate"
)

// Secrets are texts that are sensitive in objects of the plan and in variables; the tree, which
// may be nil, says in which. Outputs have no secrets of their own: they repeat objects and
// variables, and a sensitive one may do so with values that aren't secret.
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

// A Place is an attribute whose value repeats a secret.
type Place struct {
	Addr addr.Object
	Path cty.Path
}

func (p Place) String() string { return p.Addr.String() + value.PathString(p.Path) }

// Plan is a plan in which texts of providers that repeat secrets are marked as sensitive, and
// the attributes that they are in. It is for views only and changes nothing that is applied.
func Plan(p *plan.Plan, hide *secret.Known) (*plan.Plan, []Place) {
	if hide.Empty() {
		return p, nil
	}
	out := *p
	var places []Place
	for _, list := range []*[]*plan.Change{&out.Changes, &out.Drift} {
		all := make([]*plan.Change, len(*list))
		for i, c := range *list {
			s := jsonstate.Schema(p.Schemas, c.Provider.Provider, c.Addr.Name)
			before, repeated := hide.MarkRepeated(c.Before, s.Decides)
			after, again := hide.MarkRepeated(c.After, s.Decides)
			all[i] = c
			if len(repeated)+len(again) > 0 {
				next := *c
				next.Before, next.After = before, after
				all[i] = &next
			}
			for _, path := range slices.Concat(repeated, again) {
				places = append(places, Place{c.Addr, path})
			}
		}
		*list = all
	}
	slices.SortFunc(places, func(a, b Place) int {
		if n := a.Addr.Compare(b.Addr); n != 0 {
			return n
		}
		return slices.Compare([]byte(value.PathString(a.Path)), []byte(value.PathString(b.Path)))
	})
	return &out, slices.CompactFunc(places, func(a, b Place) bool { return a.Addr == b.Addr && a.Path.Equals(b.Path) })
}
