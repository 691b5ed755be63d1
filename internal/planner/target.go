package planner

import (
	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/promise"
)

// wanted reports whether targeting lets an object without configuration, or
// a deposed one, be dealt with.
func (r *run) wanted(i addr.Instance) bool {
	for _, t := range r.Excludes {
		if t.Matches(i) {
			return false
		}
	}
	return len(r.Targets) == 0 || r.targeted(i)
}

func (r *run) targeted(i addr.Instance) bool {
	for _, t := range r.Targets {
		if t.Matches(i) {
			return true
		}
	}
	return false
}

// walkTargets evaluates the instances that targets name; whatever these need
// is evaluated because they ask for it.
func (r *run) walkTargets(t *promise.Task, f *eval.Frame) {
	if f.Parent == nil {
		r.expandImports(t)
	}
	for _, res := range f.Program.Resources {
		if !r.mayTarget(addr.Resource{Module: f.Addr, Name: res.Name}) {
			continue
		}
		for _, i := range f.Instances(t, res, nil) {
			if r.targeted(i.Addr) {
				r.rt.Go(func(t *promise.Task) { i.Value(t, nil) })
			}
		}
	}
	for _, c := range f.Program.Calls {
		if !r.mayTargetBelow(f.Addr.Child(c.Name, addr.AnyKey)) {
			continue
		}
		for _, child := range f.Calls(t, c, nil) {
			r.rt.Go(func(t *promise.Task) { r.walkTargets(t, child) })
		}
	}
}

// mayTarget reports whether some instance of the resource may be targeted.
func (r *run) mayTarget(res addr.Resource) bool {
	return r.targeted(res.Instance(addr.AnyKey))
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

// targetedOutputs evaluates the root outputs all of whose resources were
// planned.
func (r *run) targetedOutputs() {
	for _, o := range r.Tree.Program.Outputs {
		if o.Expr != nil && r.covers(r.root, append(o.Expr.Refs[:len(o.Expr.Refs):len(o.Expr.Refs)], o.DependsOn...), map[any]bool{}) {
			r.rt.Go(func(t *promise.Task) { r.root.Output(t, o, nil) })
		}
	}
}

// covers reports whether everything that the references lead to was planned
// and is targeted or needed by a target.
func (r *run) covers(f *eval.Frame, refs []*program.Ref, seen map[any]bool) bool {
	for _, ref := range refs {
		switch ref.Kind {
		case program.RefResource:
			if seen[ref.Resource] {
				continue
			}
			seen[ref.Resource] = true
			list := f.Expanded(ref.Resource)
			if list == nil {
				return false
			}
			for _, i := range list {
				if r.find(addr.Object{Instance: i.Addr}) == nil {
					return false
				}
			}
		case program.RefLocal:
			if !seen[ref.Local] && ref.Local.Expr != nil {
				seen[ref.Local] = true
				if !r.covers(f, ref.Local.Expr.Refs, seen) {
					return false
				}
			}
		case program.RefCall:
			if !r.coversCall(f, ref, seen) {
				return false
			}
		case program.RefVariable:
			if f.Call != nil {
				if in := f.Call.Input(ref.Variable.Name); in != nil && in.Expr != nil && !r.covers(f.Parent, in.Expr.Refs, seen) {
					return false
				}
			}
		}
	}
	return true
}

func (r *run) coversCall(f *eval.Frame, ref *program.Ref, seen map[any]bool) bool {
	children := f.Children(ref.Call)
	if len(children) == 0 {
		return false
	}
	for _, child := range children {
		for _, o := range child.Program.Outputs {
			if ref.Attr != "" && o.Name != ref.Attr || o.Expr == nil {
				continue
			}
			if !r.covers(child, o.Expr.Refs, seen) {
				return false
			}
		}
	}
	return true
}

// leftOut reports whether -exclude leaves an instance out: itself, or
// something that it depends on. The cells read so far tell the latter.
func (r *run) leftOut(t *promise.Task, i *eval.Instance) bool {
	if len(r.Excludes) == 0 {
		return false
	}
	out := false
	for _, e := range r.Excludes {
		out = out || e.Matches(i.Addr)
	}
	out = out || r.leaving.reaches(t.Current().Deps())
	if out {
		r.mu.Lock()
		r.excluded[i.Addr] = true
		r.mu.Unlock()
	}
	return out
}

// excludedOutput reports whether an output hangs on something that -exclude
// leaves out, so that it stays as it is.
func (r *run) excludedOutput(n *promise.Node) bool {
	return len(r.Excludes) > 0 && r.leaving.reaches(n.Deps())
}

func (r *run) isExcluded(i addr.Instance) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.excluded[i]
}
