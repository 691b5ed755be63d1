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
func (r *run) provision(t *promise.Task, s *step, out *outcome) diag.List {
	c := r.outcome(s, execgraph.Apply).made
	i := c.op.instance
	diags := r.runProvisioners(t, *s.Object, i, i.Resource.Provisioners, false, c.value)
	r.provisioned(c, !diags.HasErrors())
	if diags.HasErrors() {
		return append(diags, r.postconditions(t, i, c.value)...)
	}
	c.object.Tainted = false
	diags.Append(r.save(c.op, c.object, c.value, false))
	return append(diags, r.complete(t, c.op, c.value, out)...)
}

// provisioned reports that an object is complete, which it isn't before its provisioners have
// ended, or that it won't be.
func (r *run) provisioned(c *created, well bool) {
	e := event.Event{Kind: event.ApplyErrored, Addr: c.op.change.Addr, Action: plan.Create}
	if well {
		e.Kind = event.ApplyComplete
	}
	e.IDKey, e.IDValue = instance.Identify(c.value, c.op.subject.Schema.Block, nil)
	r.tell(e)
}

// provisionDestroy runs the destruction-time provisioners of an object: those
// of its resource, or of the removed block that ended it.
func (r *run) provisionDestroy(t *promise.Task, s *step) diag.List {
	if r.object(*s.Object) == nil {
		return nil
	}
	self := r.change(s).Before
	if i := r.standIn(s.Object.Instance); i != nil {
		return r.runProvisioners(t, *s.Object, i, i.Resource.Provisioners, true, self)
	}
	block, in := r.removals().Find(s.Object.Instance, nil)
	tree := r.Tree.At(in)
	if block == nil || tree == nil {
		return nil
	}
	standIn := &eval.Instance{Addr: s.Object.Instance, Frame: r.standInFrame(tree.Program, in), Each: &eval.Each{Key: s.Object.Key, Value: cty.DynamicVal}}
	return r.runProvisioners(t, *s.Object, standIn, block.Provisioners, true, self)
}

func (r *run) runProvisioners(t *promise.Task, o addr.Object, i *eval.Instance, list []*program.Provisioner, onDestroy bool, self cty.Value) diag.List {
	var diags diag.List
	for _, p := range list {
		if p.OnDestroy != onDestroy {
			continue
		}
		more := r.runProvisioner(t, o, i, p, self)
		if p.Continue {
			for n := range more {
				more[n].Severity = diag.Warning
			}
		}
		diags.Append(more)
		if more.HasErrors() {
			break
		}
	}
	return diags.InAddress(o.Instance.String())
}

func (r *run) runProvisioner(t *promise.Task, o addr.Object, i *eval.Instance, p *program.Provisioner, self cty.Value) diag.List {
	kind := provisioner.Find(p.Type)
	if kind == nil {
		var diags diag.List
		diags.Add(diag.UnknownProvisioner.Error(p.Range, "There is no provisioner named %q.", p.Type))
		return diags
	}
	v, hd := kind.Schema().Decode(p.Config.Body, i.Context(t, self))
	diags := eval.Diagnostics(hd)
	if diags.HasErrors() {
		return diags
	}
	r.Facts.Secrets.AddMarked(v)
	unmarked, marks := v.UnmarkDeep()
	at := r.Commands
	if provisioner.Connects(p.Type) {
		var more diag.List
		at.Connection, more = connection(p, i.Context(t, self), r.Facts.Secrets)
		diags.Append(more)
		if diags.HasErrors() {
			return diags
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
	e.Kind = event.ProvisionComplete
	if err != nil {
		e.Kind = event.ProvisionErrored
		var command *provisioner.CommandError
		switch {
		case errors.As(err, &command) && hidden:
			diags.Add(ProvisionerFailed.As(p.Type+" provisioner error").Error(p.Range, "Error running the command: %s. (output suppressed due to sensitive value in config)", command.Err))
		case command != nil:
			// Programs look for this text.
			diags.Add(ProvisionerFailed.As(p.Type+" provisioner error").Error(p.Range, "%s", command))
		default:
			diags.Add(ProvisionerFailed.As(p.Type+" provisioner error").Error(p.Range, "Error in the provisioner of %s: %s.", o, err))
		}
	}
	r.tell(e)
	return diags
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
