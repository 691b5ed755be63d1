package planner

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/instance"
	"weir.dev/weir/internal/lifecycle"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/promise"
)

// A scope is what -target and -exclude make of the configuration before
// anything is evaluated.
//
// With targets, their instances are evaluated and whatever these ask for. With
// exclusions, everything is but the excluded instances and the resources that
// refer to excluded ones, by whatever instance. Then the plan is closed: root
// outputs that lead to nothing left out are evaluated, from what is planned and
// what is there, and nothing is planned for their sake. Check blocks and their
// data sources aren't evaluated at all.
type scope struct {
	references *references
	// leftOut are the declarations that lead to something excluded.
	leftOut map[site]bool
	// outputs are the root outputs that the plan covers.
	outputs []*program.Output
	// within are the declarations that the plan is about.
	within map[site]bool
}

// covers reports whether the plan is about a declaration.
func (s *scope) covers(at site) bool { return s.within[at] }

// newScope is nil for a plan of everything.
func (r *run) newScope() *scope {
	if r.whole() {
		return nil
	}
	s := &scope{references: r.references()}
	all := s.references.resources()
	named, missing := map[site]bool{}, map[site]bool{}
	for _, at := range all {
		if slices.ContainsFunc(slices.Concat(r.Targets, r.Excludes), func(t addr.Target) bool { return names(t, s.resource(at)) }) {
			named[at] = true
		}
	}
	if len(r.Targets) > 0 {
		covered := s.references.closure(slices.Collect(maps.Keys(named)))
		for _, at := range all {
			if !covered[at] {
				missing[at] = true
			}
		}
	} else {
		s.leftOut = s.references.leading(named, append(all, s.references.providers()...))
		for _, at := range all {
			if s.leftOut[at] || r.excludesAll(s.resource(at)) {
				missing[at] = true
			}
		}
	}
	s.cover(r.Tree, all, missing)
	var first []site
	for _, at := range all {
		if !missing[at] {
			first = append(first, at)
		}
	}
	for _, o := range s.outputs {
		first = append(first, site{r.Tree, o})
	}
	s.within = s.references.closure(first)
	return s
}

// cover finds the outputs that lead to resources, and to none that is missing.
func (s *scope) cover(root *program.Tree, all []site, missing map[site]bool) {
	var outputs []site
	for _, o := range root.Program.Outputs {
		outputs = append(outputs, site{root, o})
	}
	some := map[site]bool{}
	for _, at := range all {
		some[at] = true
	}
	leads, lacks := s.references.leading(some, outputs), s.references.leading(missing, outputs)
	for _, at := range outputs {
		if leads[at] && !lacks[at] {
			s.outputs = append(s.outputs, at.declaration.(*program.Output))
		}
	}
}

// resource is the address of a resource of the configuration, without keys.
func (s *scope) resource(at site) addr.Resource {
	return addr.Resource{Module: s.references.callers[at.tree].path, Name: at.declaration.(*program.Resource).Name}
}

// names reports whether the address is one of the resource's, whatever its keys.
func names(t addr.Target, res addr.Resource) bool {
	t.Module, t.HasKey = t.Module.Erase(), false
	return t.Matches(res.Erase().Instance(addr.NoKey))
}

// excludesAll reports whether all instances of a resource are excluded.
func (r *run) excludesAll(res addr.Resource) bool {
	return slices.ContainsFunc(r.Excludes, func(t addr.Target) bool {
		return !t.HasKey && t.Matches(res.Erase().Instance(addr.NoKey))
	})
}

// wanted reports whether the addresses given with -target and -exclude, by
// themselves, let an instance be dealt with.
func (r *run) wanted(i addr.Instance) bool { return addr.Wanted(r.Targets, r.Excludes, i) }

func (r *run) targeted(i addr.Instance) bool {
	for _, t := range r.Targets {
		if t.Matches(i) {
			return true
		}
	}
	return false
}

// chosen reports whether an instance, which may be one that the configuration
// doesn't have any more, is to be dealt with for its own sake.
func (r *run) chosen(i addr.Instance) bool {
	return r.wanted(i) && !r.dependsOnExcluded(i.Resource)
}

// leavesOut reports whether -exclude leaves an instance as it is.
func (r *run) leavesOut(i addr.Instance) bool {
	return len(r.Excludes) > 0 && !r.chosen(i)
}

// passesOver reports whether -target names other instances of the same block. Then
// those are meant, also where something else needs more of them.
func (r *run) passesOver(i addr.Instance) bool {
	return len(r.Targets) > 0 && !r.targeted(i) && slices.ContainsFunc(r.Targets, func(t addr.Target) bool { return names(t, i.Resource) })
}

// dependsOnExcluded reports whether a resource refers to one that has excluded
// instances.
func (r *run) dependsOnExcluded(res addr.Resource) bool {
	if r.scope == nil || len(r.scope.leftOut) == 0 {
		return false
	}
	tree := r.Tree.At(res.Module)
	return tree != nil && r.scope.leftOut[site{tree, tree.Program.ResourceByName[res.Name]}]
}

// providerLeftOut reports whether a provider configuration refers to something
// that -exclude leaves out.
func (r *run) providerLeftOut(p addr.ProviderConfig) bool {
	if r.scope == nil || len(r.scope.leftOut) == 0 {
		return false
	}
	tree := r.Tree.At(p.Module)
	return tree != nil && slices.ContainsFunc(tree.Program.Providers, func(decl *program.Provider) bool {
		return decl.Provider == p.Provider && decl.Alias == p.Alias && r.scope.leftOut[site{tree, decl}]
	})
}

// walkScope evaluates the instances that are in the scope for their own sake;
// whatever these need is evaluated because they ask for it.
func (r *run) walkScope(t *promise.Task, f *eval.Frame) {
	for _, res := range f.Program.Resources {
		if res.Check != nil || !r.mayChoose(addr.Resource{Module: f.Addr, Name: res.Name}) {
			continue
		}
		r.rt.Go(func(t *promise.Task) {
			list, ok := f.Found(t, res)
			for _, i := range list {
				if ok && r.chosen(i.Addr) {
					r.rt.Go(func(t *promise.Task) { i.Value(t, nil) })
				}
			}
		})
	}
	for _, c := range f.Program.AllCalls() {
		if len(r.Targets) > 0 && !r.mayTargetBelow(f.Addr.Child(c.Call, addr.AnyKey)) {
			continue
		}
		for _, child := range f.Calls(t, c, nil) {
			r.rt.Go(func(t *promise.Task) { r.walkScope(t, child) })
		}
	}
}

// mayChoose reports whether some instance of the resource may be chosen.
func (r *run) mayChoose(res addr.Resource) bool {
	if len(r.Targets) > 0 {
		return r.targeted(res.Instance(addr.AnyKey))
	}
	return !r.excludesAll(res) && !r.dependsOnExcluded(res)
}

// mayTargetBelow reports whether something in an instance of the call, whose
// address has the key Any, may be targeted.
func (r *run) mayTargetBelow(m addr.Module) bool {
	steps := m.Steps()
	for _, t := range r.Targets {
		ts := t.Module.Steps()
		match := true
		for n := range min(len(ts), len(steps)) {
			a, b := ts[n], steps[n]
			if a.Name != b.Name || a.Key != b.Key && a.Key != addr.NoKey && !b.Key.IsAny() {
				match = false
			}
		}
		if match && (t.IsModule() || len(ts) >= len(steps)) {
			return true
		}
	}
	return false
}

// coveredOutputs evaluates the root outputs that the plan covers, and the
// validations that nothing has asked for.
func (r *run) coveredOutputs() {
	for _, f := range r.root.Frames() {
		tree := r.Tree.At(f.Addr)
		for _, v := range f.Program.Variables {
			if len(v.Validations) > 0 && r.scope.covers(site{tree, v}) {
				r.rt.Go(func(t *promise.Task) { f.Variable(t, v, &v.Range) })
			}
		}
	}
	r.rt.Wait()
	r.told, r.closed = r.root.Diagnostics(), true
	for _, o := range r.scope.outputs {
		if o.Expr != nil {
			r.rt.Go(func(t *promise.Task) { r.root.Output(t, o, nil) })
		}
	}
	r.rt.Wait()
}

// untouched is the value of an instance that nothing is done with: what the
// state has. Without that there is no such instance for the time being, and
// whoever needs it stays as it is too.
func (r *run) untouched(t *promise.Task, i *eval.Instance) (cty.Value, diag.List) {
	if stored := r.prior.current(i.Addr); stored != nil {
		schemas, diags := r.pool.Schemas(stored.Provider.Provider)
		if diags.HasErrors() {
			return cty.DynamicVal, diags
		}
		if sch := schemas.Resource(i.Addr.Name.Mode, i.Addr.Name.Type); sch != nil {
			subject := lifecycle.Subject{Addr: i.Addr, Schema: sch}
			if v, err := subject.Decode(stored); err == nil {
				return instance.Marked(sch, v, stored), nil
			}
		}
	}
	r.mu.Lock()
	r.lacking = true
	r.mu.Unlock()
	return cty.NilVal, nil
}
