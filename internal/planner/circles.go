package planner

import (
	"slices"

	"weir.dev/weir/internal/addr"
)

// dropCircles leaves out stored dependencies that would make a deletion wait
// for itself. An object is to be deleted before what it depended on changes.
// But where its provider is configured with values of that, the provider can
// only be opened, and the object deleted, after the change.
func (b *builder) dropCircles() {
	changed := map[addr.ProviderConfig]map[int]bool{}
	for i, o := range b.objects {
		if !b.vertices[i].Delete {
			continue
		}
		list, ok := changed[o.conn.Addr]
		if !ok {
			list = b.changedFor(o.conn.Addr)
			changed[o.conn.Addr] = list
		}
		if len(list) > 0 {
			b.vertices[i].State = b.harmless(b.vertices[i].State, o.conn.Addr, list)
		}
	}
}

// changedFor are the objects to be created or updated that the configuration
// of a provider instance hangs on.
func (b *builder) changedFor(p addr.ProviderConfig) map[int]bool {
	node := b.r.pool.Node(p)
	if node == nil {
		return nil
	}
	start, ok := b.vertexOf(node)
	if !ok {
		return nil
	}
	seen, changed := map[int]bool{start: true}, map[int]bool{}
	for stack := []int{start}; len(stack) > 0; {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if b.of[v].object != nil && b.vertices[v].Create {
			changed[v] = true
		}
		for _, next := range b.vertices[v].Config {
			if !seen[next] {
				seen[next] = true
				stack = append(stack, next)
			}
		}
	}
	return changed
}

// harmless are those of an object's stored dependencies that may wait for
// the deletion of the object, which comes after the changes.
func (b *builder) harmless(deps []int, p addr.ProviderConfig, changed map[int]bool) []int {
	var list []int
	for _, v := range deps {
		switch {
		case b.of[v].object != nil:
			if !b.precedes(v, p, changed) {
				list = append(list, v)
			}
		case slices.ContainsFunc(b.vertices[v].State, func(m int) bool { return b.precedes(m, p, changed) }):
			list = append(list, b.harmless(b.vertices[v].State, p, changed)...)
		default:
			list = append(list, v)
		}
	}
	return list
}

// precedes reports whether an object is one of those that change, or has to
// be deleted before one of them. Objects of the same provider are deleted
// after the changes as well.
func (b *builder) precedes(v int, p addr.ProviderConfig, changed map[int]bool) bool {
	o := b.of[v].object
	if changed[v] || o == nil || !b.vertices[v].Delete || o.conn.Addr == p {
		return changed[v]
	}
	for _, dep := range b.vertices[v].State {
		if changed[dep] {
			return true
		}
		if b.of[dep].object == nil && slices.ContainsFunc(b.vertices[dep].State, func(m int) bool { return changed[m] }) {
			return true
		}
	}
	return false
}
