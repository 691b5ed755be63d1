// Package removal decides what happens to parts of a stack that left its configuration:
// removed blocks claim them, and without one the plan fails.
//
// It compares names. That objects without configuration are destroyed, or
// forgotten, is up to package planner.
package removal

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/stack/shardedstate"
	"weir.dev/weir/internal/state"
)

// The kinds of problems that have names.
var (
	UnclaimedComponent = diag.Code{Name: "unclaimed-component", Summary: "Unclaimed component instance"}
	UnclaimedStack     = diag.Code{Name: "unclaimed-stack", Summary: "Unclaimed stack instance"}
)

// Unclaimed lists the parts that have objects, but neither configuration nor a
// removed block, each with the block to paste. modules are the instances that a
// plan has found, gone those that removed blocks name, and reached are the component
// instances of which the plan says what becomes of them.
func Unclaimed(prior *state.Snapshot, modules, gone []addr.Module, reached func(addr.Module) bool, tree *program.Tree, kept shardedstate.Memory) diag.List {
	if prior == nil {
		return nil
	}
	there := map[addr.Module]bool{}
	for _, m := range modules {
		there[m] = true
	}
	claimed := map[addr.Module]bool{}
	for _, m := range gone {
		claimed[m] = true
	}
	found := map[addr.Module]int{}
	for a := range prior.Objects {
		_, instance, ok := a.Module.Component()
		if !ok || there[instance] || !reached(instance) {
			continue
		}
		if m := missing(instance, there, claimed); m != "" {
			found[m]++
		}
	}
	var diags diag.List
	for _, m := range slices.SortedFunc(maps.Keys(found), addr.Module.Compare) {
		diags.Add(problem(m, found[m], prior, tree, kept))
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

func problem(m addr.Module, objects int, prior *state.Snapshot, tree *program.Tree, kept shardedstate.Memory) diag.Diagnostic {
	parent, last, _ := m.Parent()
	origin := kept.Components[m.Erase().String()]
	code := UnclaimedComponent
	if last.Kind == addr.Stack {
		code = UnclaimedStack
	}
	d := code.New(diag.Error, "")
	if t := tree.At(parent); t != nil {
		if c := t.Program.CallByName[last.Call]; c != nil {
			if children := t.Of(last.Call); len(children) > 0 {
				origin = shardedstate.OriginOf(c, children[0])
			}
			d.Subject = c.Range.Ptr()
			if e := c.Repeat.Expr(); e != nil {
				d.Subject = e.Range().Ptr()
			}
		}
	}
	source, providers := `"SOURCE"`, ""
	if origin.Source != "" {
		source = addr.Quote(origin.Source)
	}
	if origin.Version != "" {
		source += "\n      version   = " + addr.Quote(origin.Version)
	}
	width := 0
	for name := range origin.Providers {
		width = max(width, len(name))
	}
	for _, name := range slices.Sorted(maps.Keys(origin.Providers)) {
		providers += fmt.Sprintf("\n        %-*s = %s", width, name, withKey(origin.Providers[name], m, prior))
	}
	if providers != "" && last.Kind == addr.Component {
		providers = "\n      providers = {" + providers + "\n      }"
	}
	each, from := "", last.Call.String()
	if key, ok := last.Key.Str(); ok {
		each = fmt.Sprintf("      for_each  = toset([%s])\n", addr.Quote(key))
		from += "[each.key]"
	}
	d.Detail = fmt.Sprintf("The state has %d objects of %s, and the configuration doesn't have it any more. So that nothing is destroyed by mistake, its removal has to be declared. To destroy the objects, add this block%s:\n    removed {\n%s      from      = %s\n      source    = %s%s\n    }\nWith lifecycle { destroy = false } in it, they are forgotten instead.", objects, m, where(parent, tree), each, from, source, providers)
	return d
}

// withKey is the text of a provider configuration with the key that the objects of an
// instance have theirs by, in place of each.key: what they were made with may have come
// from anything.
func withKey(text string, m addr.Module, prior *state.Snapshot) string {
	use, found := strings.CutSuffix(text, "[each.key]")
	if !found {
		return text
	}
	var keys []string
	for a, o := range prior.Objects {
		_, instance, ok := a.Module.Component()
		key, isText := o.Provider.Key.Str()
		if ok && instance == m && isText && use == "provider."+o.Provider.Provider.Type+"."+o.Provider.Alias {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return text
	}
	return use + "[" + addr.Quote(slices.Min(keys)) + "]"
}

// where says in which files the block has to be.
func where(m addr.Module, tree *program.Tree) string {
	if t := tree.At(m); !m.IsRoot() && t != nil {
		return " to the files in " + t.Program.Dir
	}
	return ""
}
