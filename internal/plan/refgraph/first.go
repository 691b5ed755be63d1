package refgraph

import (
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
)

// A First knows the blocks whose objects are created before those that they
// replace are destroyed: the blocks that say so and all that these lead to, as it
// is written. Instances make no difference, so that the flag of an object doesn't
// change with values or with the number of its users.
type First struct {
	root   *program.Tree
	blocks map[Site]bool
	trees  map[addr.Module]*program.Tree
}

// CreatesFirst knows that of a configuration, as far as the plan is about it.
func CreatesFirst(root *program.Tree, read func() *Of, covers func(Site) bool) *First {
	f := &First{root: root, trees: map[addr.Module]*program.Tree{}}
	if !anyFirst(root) {
		return f
	}
	var wanting []Site
	for _, at := range read().Resources() {
		if at.Declaration.(*program.Resource).CreateBeforeDestroy && covers(at) {
			wanting = append(wanting, at)
		}
	}
	f.blocks = read().Closure(wanting)
	return f
}

// anyFirst reports whether some block says so at all.
func anyFirst(t *program.Tree) bool {
	return slices.ContainsFunc(t.Program.Resources, func(res *program.Resource) bool { return res.CreateBeforeDestroy }) ||
		slices.ContainsFunc(t.Calls(), anyFirst)
}

// Has reports whether the objects of a resource of a module are created first.
func (f *First) Has(m addr.Module, res *program.Resource) bool {
	if f == nil || len(f.blocks) == 0 {
		return false
	}
	t, ok := f.trees[m]
	if !ok {
		t = f.root.At(m)
		f.trees[m] = t
	}
	return f.blocks[Site{t, res}]
}
