package program

import "weir.dev/weir/internal/core/addr"

// Removals are the removed blocks of a tree, by the address without keys of
// what they name.
type Removals struct {
	root   *Tree
	blocks map[end][]removal
}

// An end is what a block names, without keys: a resource or all of a module.
type end = addr.Resource

type removal struct {
	block     *Removed
	in        *Tree
	declaring addr.Module // without keys
}

// Removals gathers the removed blocks of all modules.
func (t *Tree) Removals() *Removals {
	all := &Removals{root: t, blocks: map[end][]removal{}}
	var collect func(m addr.Module, t *Tree)
	collect = func(m addr.Module, t *Tree) {
		for _, block := range t.Program.Removed {
			named := end{Module: addr.FromSteps(append(m.Steps(), block.From.Module.Erase().Steps()...)), Name: block.From.Name}
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

// Claims reports whether the call of a block in a module instance has an instance at that
// address. Nil stands for who asks for blocks of modules only.
type Claims func(in addr.Module, block *Removed, m addr.Module) bool

// Find is the block that covers an instance, or nil, and the module instance
// that it stands in: one that names the resource before those of modules
// around it, and one with keys before those that name all instances.
func (r *Removals) Find(i addr.Instance, claims Claims) (*Removed, addr.Module) {
	if len(r.blocks) == 0 {
		return nil, addr.Root
	}
	module := i.Module.Erase()
	for named, up := i.Resource.Erase(), false; ; named, up = (end{Module: module}), true {
		if block, in := r.best(named, i, claims); block != nil {
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

func (r *Removals) best(named end, i addr.Instance, claims Claims) (best *Removed, in addr.Module) {
	for _, c := range r.blocks[named] {
		if !c.block.From.Names(c.declaring, i) || best != nil && !c.block.From.Keyed() {
			continue
		}
		// Other instances of the module may have loaded another program.
		steps, depth := i.Module.Steps(), len(c.declaring.Steps())
		at := addr.FromSteps(steps[:depth])
		if c.block.Call != nil && (claims == nil || !claims(at, c.block, addr.FromSteps(steps[:depth+c.block.Call.Depth()]))) {
			continue
		}
		if r.root.At(at) == c.in {
			best, in = c.block, at
		}
	}
	return best, in
}
