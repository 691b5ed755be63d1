package planner

import (
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/suggest"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
)

// unmatchedTargets warns of -target and -exclude options that name nothing: neither
// the configuration nor the state has what they are about. Patterns that name nothing
// are errors; targeting.Name reports those.
func (r *run) unmatchedTargets() (diags diag.List) {
	option, targets := "-target", r.Targets
	if len(r.Excludes) > 0 { // only one of the two can be given
		option, targets = "-exclude", r.Excludes
	}
	for _, t := range targets {
		if t.IsPattern() || r.inState(t) {
			continue
		}
		has, unsure := r.hasInstance(r.root, t.Module.Steps(), t)
		where := "Neither the configuration nor the state has"
		if r.Mode == plan.Destroy { // blocks are expanded by the state there
			has, unsure = r.hasBlock(t) && !hasKeys(t), false
			if r.hasBlock(t) {
				where = "The state has no object at"
			}
		}
		if !has && !unsure {
			diags.Add(diag.NoInstance.As("Nothing has the address "+t.String()).New(diag.Warning, "%s %s, so the %s option for it has no effect. %s", where, t, option, r.proposed(t)))
		}
	}
	return diags
}

func hasKeys(t addr.Target) bool {
	return t.HasKey || slices.ContainsFunc(t.Module.Steps(), func(s addr.Step) bool { return s.Key != addr.NoKey })
}

// inState reports whether the state has an object that a target names, by its address
// before or after moves.
func (r *run) inState(t addr.Target) bool {
	for a := range r.prior.Snapshot.Objects {
		if t.Matches(a.Instance) || t.Matches(r.prior.Now(a.Instance)) {
			return true
		}
	}
	return false
}

// hasBlock reports whether the configuration has a block for what a target names,
// whatever the keys.
func (r *run) hasBlock(t addr.Target) bool {
	if !t.IsModule() {
		return slices.ContainsFunc(r.blocks(), t.Names)
	}
	trees := []*program.Tree{r.Tree}
	for _, s := range t.Module.Steps() {
		var below []*program.Tree
		for _, tree := range trees {
			below = append(below, tree.Of(s.Call)...)
		}
		trees = below
	}
	return len(trees) > 0
}

// blocks are the resources of the configuration without keys.
func (r *run) blocks() []addr.Resource {
	in := r.references()
	sites := in.Resources()
	list := make([]addr.Resource, len(sites))
	for i, at := range sites {
		list[i] = addr.Resource{Module: in.Path(at.Tree), Name: at.Declaration.(*program.Resource).Name}
	}
	return list
}

// hasInstance reports whether the evaluated configuration has what a target names in
// a module, given the steps to it from there. unsure is for what wasn't expanded.
func (r *run) hasInstance(f *eval.Frame, steps []addr.Step, t addr.Target) (has, unsure bool) {
	if len(steps) == 0 {
		res := f.Program.ResourceByName[t.Name]
		if t.IsModule() || res == nil || !t.HasKey {
			return t.IsModule() || res != nil, false
		}
		i, _, known := f.Lookup(res, t.Key)
		return i != nil, !known
	}
	call := f.Program.CallByName[steps[0].Call]
	if call == nil {
		return false, false
	}
	if steps[0].Key != addr.NoKey {
		child, known := f.ChildFrame(call, steps[0].Key)
		if child == nil {
			return false, !known
		}
		return r.hasInstance(child, steps[1:], t)
	}
	if len(steps) == 1 && t.IsModule() {
		return true, false
	}
	children := f.Children(call)
	for _, child := range children {
		if h, u := r.hasInstance(child, steps[1:], t); h {
			return true, false
		} else if u {
			unsure = true
		}
	}
	// Without instances the blocks of the module say what could be there.
	return len(children) == 0 && r.hasBlock(t), unsure
}

// proposed names what was probably meant by a target that names nothing.
func (r *run) proposed(t addr.Target) string {
	blocks := r.blocks()
	for a := range r.prior.Snapshot.Objects {
		blocks = append(blocks, a.Resource.Erase())
	}
	if hasKeys(t) {
		// The block may be right, and the key wrong.
		if there := r.instances(t); len(there) > 0 {
			if best := suggest.Ask(t.String(), there); best != "" {
				return strings.TrimSpace(best)
			}
			if len(there) > maxOptions {
				there = append(there[:maxOptions], "…")
			}
			return "There are " + strings.Join(there, ", ") + "."
		}
	}
	names := make([]string, 0, len(blocks))
	for _, b := range blocks {
		if t.IsModule() {
			for m := b.Module; !m.IsRoot(); m, _, _ = m.Parent() {
				names = append(names, m.String())
			}
			continue
		}
		names = append(names, b.String())
	}
	slices.Sort(names)
	if best := suggest.Ask(t.String(), slices.Compact(names)); best != "" {
		return strings.TrimSpace(best)
	}
	return t.Choices(blocks)
}

// instances are the addresses that the state and the evaluated configuration have of
// what a target names, whatever the keys.
func (r *run) instances(t addr.Target) []string {
	set := map[string]bool{}
	add := func(i addr.Instance) {
		switch {
		case !t.Names(i.Resource):
		case t.IsModule():
			set[addr.FromSteps(i.Module.Steps()[:len(t.Module.Steps())]).String()] = true
		default:
			set[i.String()] = true
		}
	}
	for a := range r.prior.Snapshot.Objects {
		add(r.prior.Now(a.Instance))
	}
	for _, f := range r.root.Frames() {
		if f.Gone() {
			continue
		}
		for _, res := range f.Program.Resources {
			at := addr.Resource{Module: f.Addr, Name: res.Name}
			if t.Names(at) {
				for _, i := range f.Expanded(res) {
					add(i.Addr)
				}
			}
		}
	}
	list := make([]string, 0, len(set))
	for text := range set {
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}
