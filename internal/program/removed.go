package program

import "weir.dev/weir/internal/addr"

// Removals are the removed blocks of a tree, by the address without keys of
// what they name.
type Removals struct {
	root   *Tree
	blocks map[string][]removal
}

type removal struct {
	block     *Removed
	in        *Tree
	declaring addr.Module // without keys
}

// Removals gathers the removed blocks of all modules.
func (t *Tree) Removals() *Removals {
	all := &Removals{root: t, blocks: map[string][]removal{}}
	var collect func(m addr.Module, t *Tree)
	collect = func(m addr.Module, t *Tree) {
		for _, block := range t.Program.Removed {
			named := addr.FromSteps(append(m.Steps(), block.From.Module.Erase().Steps()...)).String()
			if block.From.Name != (addr.Name{}) {
				named = addr.Resource{Module: addr.Module(named), Name: block.From.Name}.String()
			}
			all.blocks[named] = append(all.blocks[named], removal{block, t, m})
		}
		for _, call := range t.CallNames() {
			for _, child := range t.Of(call) {
				collect(m.Child(call, addr.NoKey), child)
			}
		}
	}
	collect(addr.Root, t)
	return all
}

// Find is the block that covers an instance, or nil, and the module instance
// that it stands in: one that names the resource before those of modules
// around it, and one with keys before those that name all instances.
func (r *Removals) Find(i addr.Instance) (*Removed, addr.Module) {
	if len(r.blocks) == 0 {
		return nil, addr.Root
	}
	module := i.Module.Erase()
	for named, up := i.Resource.Erase().String(), false; ; named, up = module.String(), true {
		if block, in := r.best(named, i); block != nil {
			return block, in
		}
		if up {
			module, _, _ = module.Parent()
		}
		if module.IsRoot() {
			return nil, addr.Root
		}
	}
}

func (r *Removals) best(named string, i addr.Instance) (best *Removed, in addr.Module) {
	for _, c := range r.blocks[named] {
		if !c.block.From.Names(c.declaring, i) || best != nil && !c.block.From.Keyed() {
			continue
		}
		// Other instances of the module may have loaded another program.
		at := addr.FromSteps(i.Module.Steps()[:len(c.declaring.Steps())])
		if r.root.At(at) == c.in {
			best, in = c.block, at
		}
	}
	return best, in
}
