package apply

import (
	"errors"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/secret"
	"weir.dev/weir/internal/core/trace"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/provider/provisioner"
	"weir.dev/weir/internal/resource/instance"
)

// provision runs the creation-time provisioners of an instance, one after the
// other. The instance is complete when they have.
func (r *run) provision(t *promise.Task, s *step, out *outcome) {
	c := r.progress.outcome(s, execgraph.Apply).made
	i := c.op.Instance
	ok := r.runProvisioners(t, *s.Object, i, i.Resource.Provisioners, false, c.value)
	r.provisioned(c, ok)
	if !ok {
		r.conditions(t, i, false, c.value) // of whatever there is
		return
	}
	c.object.Tainted = false
	t.Report(r.save(c.op, c.object, c.value, false)...)
	r.complete(t, c.op, c.value, out)
}

// provisioned reports that an object is complete, which it isn't before its provisioners have
// ended, or that it won't be.
func (r *run) provisioned(c *created, well bool) {
	e := event.Event{Kind: event.ApplyErrored, Addr: c.op.change.Addr, Action: plan.Create}
	if well {
		e.Kind = event.ApplyComplete
	}
	e.IDKey, e.IDValue = instance.Identify(c.value, c.op.Subject.Schema.Block, nil)
	r.tell(e)
}

// provisionDestroy runs the destruction-time provisioners of an object: those
// of its resource, or of the removed block that ended it.
func (r *run) provisionDestroy(t *promise.Task, s *step) {
	if r.working.object(*s.Object) == nil {
		return
	}
	self := r.change(s).Before
	if i := r.standIn(s.Object.Instance); i != nil {
		r.runProvisioners(t, *s.Object, i, i.Resource.Provisioners, true, self)
		return
	}
	block, in := r.removals().Find(s.Object.Instance, nil)
	tree := r.Tree.At(in)
	if block == nil || tree == nil {
		return
	}
	standIn := &eval.Instance{Addr: s.Object.Instance, Frame: r.standInFrame(tree.Program, in), Each: &eval.Each{Key: s.Object.Key, Value: cty.DynamicVal}}
	r.runProvisioners(t, *s.Object, standIn, block.Provisioners, true, self)
}

// runProvisioners runs one after the other until one fails that doesn't say to continue.
func (r *run) runProvisioners(t *promise.Task, o addr.Object, i *eval.Instance, list []*program.Provisioner, onDestroy bool, self cty.Value) (ok bool) {
	for _, p := range list {
		if p.OnDestroy != onDestroy {
			continue
		}
		if !t.Amend(func(l diag.List) diag.List {
			for n := range l {
				if p.Continue {
					l[n].Severity = diag.Warning
				}
			}
			return l.InAddress(o.Instance.String())
		}, func() { r.runProvisioner(t, o, i, p, self) }) {
			return false
		}
	}
	return true
}

func (r *run) runProvisioner(t *promise.Task, o addr.Object, i *eval.Instance, p *program.Provisioner, self cty.Value) (ok bool) {
	kind := provisioner.Find(p.Type)
	if kind == nil {
		return t.Report(diag.UnknownProvisioner.Error(p.Range, "There is no provisioner named %q.", p.Type))
	}
	v, hd := kind.Schema().Decode(p.Config.Body, i.Context(t, self))
	if !t.Report(eval.Diagnostics(hd)...) {
		return false
	}
	r.Facts.Secrets.AddMarked(v)
	unmarked, marks := v.UnmarkDeep()
	at := r.Commands
	if provisioner.Connects(p.Type) {
		var diags diag.List
		at.Connection, diags = connection(p, i.Context(t, self), r.Facts.Secrets)
		if !t.Report(diags...) {
			return false
		}
	}
	e := event.Event{Kind: event.ProvisionStart, Addr: o, Provisioner: p.Type}
	hidden := value.HiddenMarks(marks)
	silent := hidden && !(r.ShowSensitive && !marks.Has(value.Ephemeral))
	told := false
	var err error
	r.pool.Occupy(func() {
		ctx, span := trace.Begin(trace.About(r.commands, o), trace.Program, "provisioner "+p.Type)
		defer func() { span.End(err != nil) }()
		r.tell(e)
		err = kind.Run(ctx, at, unmarked, func(line string) {
			out := e
			out.Kind, out.Text = event.ProvisionOutput, line
			if silent {
				if told {
					return
				}
				told = true
				out.Text = "(output suppressed due to sensitive value in config)"
			}
			r.tell(out)
		})
	})
	e.Kind, ok = event.ProvisionComplete, true
	if err != nil {
		e.Kind = event.ProvisionErrored
		failed := ProvisionerFailed.As(p.Type + " provisioner error")
		var command *provisioner.CommandError
		switch {
		case errors.As(err, &command) && hidden:
			ok = t.Report(failed.Error(p.Range, "Error running the command: %s. (output suppressed due to sensitive value in config)", command.Err))
		case command != nil:
			// Programs look for this text.
			ok = t.Report(failed.Error(p.Range, "%s", command))
		default:
			ok = t.Report(failed.Error(p.Range, "Error in the provisioner of %s: %s.", o, err))
		}
	}
	r.tell(e)
	return ok
}

// connection is how a provisioner reaches its machine: what its own block says, and else
// that of the resource.
func connection(p *program.Provisioner, ctx *hcl.EvalContext, secrets *secret.Known) (cty.Value, diag.List) {
	var diags diag.List
	s := provisioner.Connection()
	merged := s.EmptyValue().AsValueMap()
	for _, b := range p.Connections() {
		v, hd := s.Decode(b.Body, ctx)
		diags.Append(eval.Diagnostics(hd))
		if hd.HasErrors() {
			return cty.NilVal, diags
		}
		secrets.AddMarked(v)
		v, _ = v.UnmarkDeep()
		for name, a := range v.AsValueMap() {
			if !a.IsNull() {
				merged[name] = a
			}
		}
	}
	return cty.ObjectVal(merged), diags
}
