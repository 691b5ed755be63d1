package planner

import (
	"slices"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/program"
)

// A first knows the blocks whose objects are created before those that they
// replace are destroyed: the blocks that say so and all that these lead to, as it
// is written. Instances make no difference, so that the flag of an object doesn't
// change with values or with the number of its users.
type first struct {
	root   *program.Tree
	blocks map[site]bool
	trees  map[addr.Module]*program.Tree
}

// createsFirst looks no further than the plan goes.
func (r *run) createsFirst() *first {
	f := &first{root: r.Tree, trees: map[addr.Module]*program.Tree{}}
	if r.Mode == plan.Destroy || !anyFirst(r.Tree) {
		return f
	}
	var wanting []site
	for _, at := range r.references().resources() {
		if at.declaration.(*program.Resource).CreateBeforeDestroy && (r.scope == nil || r.scope.covers(at)) {
			wanting = append(wanting, at)
		}
	}
	f.blocks = r.references().closure(wanting)
	return f
}

// anyFirst reports whether some block says so at all.
func anyFirst(t *program.Tree) bool {
	return slices.ContainsFunc(t.Program.Resources, func(res *program.Resource) bool { return res.CreateBeforeDestroy }) ||
		slices.ContainsFunc(t.Calls(), anyFirst)
}

func (f *first) of(i *eval.Instance) bool {
	if len(f.blocks) == 0 {
		return false
	}
	t, ok := f.trees[i.Addr.Module]
	if !ok {
		t = f.root.At(i.Addr.Module)
		f.trees[i.Addr.Module] = t
	}
	return f.blocks[site{t, i.Resource}]
}
