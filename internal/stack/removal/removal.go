// Package removal decides what becomes of the parts of a stack that are gone
// from its configuration: removed blocks claim them, and without one the plan is
// refused.
//
// It compares names. That objects without configuration are destroyed, or
// forgotten, is up to package planner.
package removal

import (
	"fmt"
	"maps"
	"slices"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/stack/parts"
	"weir.dev/weir/internal/state"
)

// Adapt gives the objects of removed stacks the addresses of the blocks that
// remove them, where their providers still are. modules are the instances that
// a plan has found. The result is the state itself if there are none.
func Adapt(prior *state.Snapshot, modules []addr.Module) *state.Snapshot {
	moved := map[addr.Module]addr.Module{} // from the stack that is gone
	for _, m := range modules {
		if parent, last, ok := m.Parent(); ok && last.Kind == addr.RemovedStack && !parts.Removed(parent) {
			moved[parts.Restored(m)] = m
		}
	}
	for _, m := range modules {
		delete(moved, m) // still there: the removed block has no effect
	}
	if len(moved) == 0 || prior == nil {
		return prior
	}
	out := prior.Clone()
	changed := false
	for a, o := range prior.Objects {
		from, to := origin(a.Module, moved)
		b, fresh := a, *o
		if to != "" {
			b, fresh = renamed(a, o, from, to)
			delete(out.Objects, a)
			changed = true
		}
		// What depends on a removed stack depends on it under both names.
		for _, from := range slices.Sorted(maps.Keys(moved)) {
			for _, d := range fresh.Dependencies {
				if from.Erase().Contains(d.Module) {
					d.Module = rename(d.Module, from.Erase(), moved[from].Erase())
					fresh.Dependencies = append(slices.Clone(fresh.Dependencies), d)
				}
			}
		}
		slices.SortFunc(fresh.Dependencies, addr.Resource.Compare)
		out.Objects[b] = &fresh
	}
	if !changed {
		return prior
	}
	return out
}

func origin(m addr.Module, moved map[addr.Module]addr.Module) (from, to addr.Module) {
	for f, t := range moved {
		if f.Contains(m) {
			return f, t
		}
	}
	return "", ""
}

func renamed(a addr.Object, o *state.Object, from, to addr.Module) (addr.Object, state.Object) {
	b, fresh := parts.Renamed(a, o, func(m addr.Module) addr.Module {
		switch {
		case from.Contains(m):
			return rename(m, from, to)
		case from.Erase().Contains(m):
			return rename(m, from.Erase(), to.Erase())
		}
		return m
	})
	return b, *fresh
}

// rename replaces the beginning of an address; stacks below it are removed too.
func rename(m, from, to addr.Module) addr.Module {
	steps := m.Steps()[len(from.Steps()):]
	for i := range steps {
		if steps[i].Kind == addr.Stack {
			steps[i].Kind = addr.RemovedStack
		}
	}
	return addr.FromSteps(slices.Concat(to.Steps(), steps))
}

// Unclaimed lists the parts that have objects, but neither configuration nor a
// removed block, each with the block to paste.
func Unclaimed(prior *state.Snapshot, modules []addr.Module, tree *program.Tree) diag.List {
	if prior == nil {
		return nil
	}
	there := map[addr.Module]bool{}
	claimed := map[addr.Module]bool{}
	for _, m := range modules {
		there[m] = true
		if parts.Removed(m) {
			claimed[parts.Restored(m)] = true
		}
	}
	found := map[addr.Module]int{}
	for a := range prior.Objects {
		if parts.Removed(a.Module) {
			continue
		}
		_, instance, ok := parts.Instance(a.Module)
		if !ok || there[instance] {
			continue
		}
		if m := missing(instance, there, claimed); m != "" {
			found[m]++
		}
	}
	var diags diag.List
	for _, m := range slices.SortedFunc(maps.Keys(found), addr.Module.Compare) {
		diags.Add(problem(m, found[m], tree))
	}
	return diags
}

// missing is the outermost part around an instance that is gone, empty if it is
// claimed or not known to be gone.
func missing(instance addr.Module, there, claimed map[addr.Module]bool) addr.Module {
	steps := instance.Steps()
	for i := range steps {
		m := addr.FromSteps(steps[:i+1])
		if there[m] {
			continue
		}
		parent := addr.FromSteps(steps[:i])
		if there[parent.Child(steps[i].Call, addr.AnyKey)] || claimed[m] || claimed[parent.Child(steps[i].Call, addr.NoKey)] || claimed[parent.Child(steps[i].Call, addr.AnyKey)] {
			return ""
		}
		return m
	}
	return ""
}

func problem(m addr.Module, objects int, tree *program.Tree) diag.Diagnostic {
	parent, last, _ := m.Parent()
	source, providers := "\"SOURCE\"", ""
	d := diag.Diagnostic{Severity: diag.Error, Summary: "Unclaimed " + last.Kind.String() + " instance"}
	if t := tree.At(parent); t != nil {
		if c := t.Program.CallByName[last.Call]; c != nil {
			if children := t.Of(last.Call); len(children) > 0 {
				source = addr.Quote(children[0].Source)
			}
			for _, p := range c.Providers {
				if providers == "" {
					providers = "\n      providers = {"
				}
				key := ""
				if p.Outer.Key != nil {
					key = "[each.key]"
				}
				providers += fmt.Sprintf("\n        %s = provider.%s.%s%s", p.LocalName, p.Outer.LocalName, p.Outer.Alias, key)
			}
			if providers != "" {
				providers += "\n      }"
			}
			d.Subject = c.Range.Ptr()
			if e := c.Repeat.Expr(); e != nil {
				d.Subject = e.Range().Ptr()
			}
		}
	}
	each, from := "", last.Call.String()
	if key, ok := last.Key.Str(); ok {
		each = fmt.Sprintf("      for_each  = toset([%s])\n", addr.Quote(key))
		from += "[each.key]"
	}
	d.Detail = fmt.Sprintf("The state has %d objects of %s, and the configuration doesn't have it any more. So that nothing is destroyed by mistake, its removal has to be declared. To destroy the objects, add this block:\n    removed {\n%s      from      = %s\n      source    = %s%s\n    }\nWith lifecycle { destroy = false } in it, they are forgotten instead.", objects, m, each, from, source, providers)
	return d
}
