package planner

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/plan/refgraph"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/lifecycle"
)

// walkScope evaluates the instances that are in the scope for their own sake;
// whatever these need is evaluated because they ask for it.
func (r *run) walkScope(t *promise.Task, f *eval.Frame) {
	for _, res := range f.Program.Resources {
		if res.Check != nil && len(r.Targets) == 0 || !r.selection.MayChoose(addr.Resource{Module: f.Addr, Name: res.Name}) {
			continue
		}
		r.rt.Go(func(t *promise.Task) {
			list, ok := f.Found(t, res)
			for _, i := range list {
				if ok && r.selection.Wants(i.Addr) {
					r.rt.Go(func(t *promise.Task) {
						if !r.selection.leavesOut(t, i) {
							i.Value(t, nil)
						}
					})
				}
			}
		})
	}
	for _, c := range f.Program.AllCalls() {
		if len(r.Targets) > 0 && !r.selection.MayTargetBelow(f.Addr.Child(c.Call, addr.AnyKey)) {
			continue
		}
		for _, child := range f.Calls(t, c, nil) {
			r.rt.Go(func(t *promise.Task) { r.walkScope(t, child) })
		}
	}
}

// coveredOutputs evaluates the root outputs that the plan covers, and the
// validations that nothing has asked for.
func (r *run) coveredOutputs() {
	for _, f := range r.root.Frames() {
		tree := r.Tree.At(f.Addr)
		for _, v := range f.Program.Variables {
			if len(v.Validations) > 0 && r.selection.Covers(refgraph.Site{Tree: tree, Declaration: v}) {
				r.rt.Go(func(t *promise.Task) { f.Variable(t, v, &v.Range) })
			}
		}
	}
	r.rt.Wait()
	r.told, r.closed = r.root.Diagnostics(), true
	for _, o := range r.selection.Outputs() {
		if o.Expr != nil {
			r.rt.Go(func(t *promise.Task) { r.root.Output(t, o, nil) })
		}
	}
	r.rt.Wait()
}

// untouched is the value of an instance that nothing is done with: what the state has. Without
// that there is no such instance for the time being, and the caller that needs it stays as it
// is too.
func (r *run) untouched(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	r.record.reads(i.Addr)
	if stored := r.prior.Current(i.Addr); stored != nil {
		schemas, diags := r.Pool.Schemas(stored.Provider.Provider)
		if diags.HasErrors() {
			return cty.DynamicVal, t.Report(diags...)
		}
		if sch := schemas.Resource(i.Addr.Name.Mode, i.Addr.Name.Type); sch != nil {
			subject := lifecycle.Subject{Addr: i.Addr, Schema: sch}
			if v, err := subject.Decode(stored); err == nil {
				return instance.Marked(sch, v, stored), true
			}
		}
	}
	r.record.lacks()
	return cty.NilVal, true
}
