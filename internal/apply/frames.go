package apply

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
)

// find returns the evaluator's instance for an address, or nil.
func (r *run) find(t *promise.Task, a addr.Instance) *eval.Instance {
	f := r.frame(t, a.Module)
	if f == nil {
		return nil
	}
	res := f.Program.ResourceByName[a.Name]
	if res == nil {
		return nil
	}
	return f.Instance(t, res, a.Key)
}

// standIn is an instance for the end of an object, made without evaluating
// anything: which instances there are may follow from what is still to be
// done. It is nil when the configuration doesn't have the resource.
func (r *run) standIn(a addr.Instance) *eval.Instance {
	tree := r.Tree.At(a.Module)
	if tree == nil {
		return nil
	}
	res := tree.Program.ResourceByName[a.Name]
	if res == nil {
		return nil
	}
	each := &eval.Each{Key: a.Key, Value: cty.DynamicVal}
	return &eval.Instance{Addr: a, Frame: r.standInFrame(tree.Program, a.Module), Resource: res, Each: each}
}

// standInFrame is the frame of stand-ins.
func (r *run) standInFrame(p *program.Program, m addr.Module) *eval.Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.standIns[m]
	if f == nil {
		f = r.root.Detached(p, m)
		r.standIns[m] = f
	}
	return f
}

// frame returns the module instance for an address, or nil.
func (r *run) frame(t *promise.Task, m addr.Module) *eval.Frame {
	f := r.root
	for _, s := range m.Steps() {
		var child *eval.Frame
		for _, c := range f.Program.Named(s.Call) {
			if child = f.Child(t, c, s.Key); child != nil {
				break
			}
		}
		if f = child; f == nil {
			return nil
		}
	}
	return f
}
