package planner

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/conform"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/event"
	"weir.dev/weir/internal/lifecycle"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/promise"
	"weir.dev/weir/internal/value"
)

// An importTarget is what an import block says for one instance.
type importTarget struct {
	block *program.Import
	frame *eval.Frame
	each  *eval.Each
	// done is what was imported.
	done *plan.Importing
}

// expandImports finds the instances that import blocks name.
func (r *run) expandImports(t *promise.Task) {
	r.importsOf(t, r.root)
}

func (r *run) importsOf(t *promise.Task, f *eval.Frame) {
	for _, block := range f.Program.Imports {
		instances := []*eval.Each{nil}
		if block.ForEach != nil {
			v, diags := eval.Evaluate(t, block.ForEach, f.Context(t, nil, cty.NilVal))
			e, more := eval.ForEach(v, block.ForEach, "for_each")
			diags.Append(more)
			if e.Unknown && !diags.HasErrors() {
				diags.ErrorAt(block.ForEach.Range(), "Invalid for_each argument", "The for_each of an import block must be known when planning.")
			}
			r.note(diags)
			if diags.HasErrors() {
				continue
			}
			instances = e.Each()
		}
		for _, each := range instances {
			r.importTo(t, f, block, each)
		}
	}
	for _, c := range f.Program.Calls {
		for _, child := range f.Calls(t, c, nil) {
			r.importsOf(t, child)
		}
	}
}

func (r *run) importTo(t *promise.Task, f *eval.Frame, block *program.Import, each *eval.Each) {
	key := addr.NoKey
	if block.ToKey != nil {
		v, diags := eval.Evaluate(t, block.ToKey, f.Context(t, each, cty.NilVal))
		var err error
		if key, err = eval.KeyOf(v); err != nil && !diags.HasErrors() {
			diags.ErrorAt(block.ToKey.Range(), "Invalid import target", "The instance key of an import target must be known when planning: %s.", err)
		}
		r.note(diags)
		if diags.HasErrors() {
			return
		}
	}
	module := addr.FromSteps(append(f.Addr.Steps(), block.To.Module.Steps()...))
	target := addr.Resource{Module: module, Name: block.To.Name}.Instance(key)
	r.mu.Lock()
	_, twice := r.imports[target]
	if !twice {
		r.imports[target] = &importTarget{block: block, frame: f, each: each}
	}
	r.mu.Unlock()
	if twice {
		r.note(diag.List{{Severity: diag.Error, Summary: "Duplicate import configuration for " + addr.Quote(target.String()), Detail: "Another import block has the same target. Each object can be imported once; remove one of the two.", Subject: block.Range.Ptr()}})
	}
}

// importPrior imports the object that an import block names for an instance
// without a prior object.
func (r *run) importPrior(t *promise.Task, o *object) diag.List {
	target := r.imports[o.addr.Instance]
	if target == nil {
		return nil
	}
	id, identity, diags := r.importID(t, target, o)
	if diags.HasErrors() || t.Current().Failed() {
		return diags
	}
	if !o.conn.Config.IsWhollyKnown() {
		diags.ErrorAt(target.block.Range, "Invalid provider configuration", "The configuration of %s depends on values that are known only after apply, but importing needs the provider now.", o.conn.Addr)
		return diags
	}
	e := event.Event{Kind: event.ImportPrepare, Addr: o.addr, IDKey: "id", IDValue: id}
	r.tell(e)
	e.Kind = event.RefreshStart
	r.tell(e)
	var more diag.List
	r.pool.Call(func() { o.before, _, more = o.subject.Import(r.ctx, id, identity) })
	e.Kind = event.RefreshComplete
	r.tell(e)
	for n := range more {
		if more[n].Subject == nil {
			more[n].Subject = target.block.Range.Ptr()
		}
	}
	diags.Append(more)
	if diags.HasErrors() {
		return diags
	}
	target.done = &plan.Importing{ID: id, Identity: identity}
	stored, err := o.subject.Store(o.before, o.conn.Addr, nil)
	if err != nil {
		diags.Errorf("Failed to encode an imported object", "%s", err)
		return diags
	}
	o.stored = stored
	return diags
}

// importID evaluates what names the object to be imported.
func (r *run) importID(t *promise.Task, target *importTarget, o *object) (string, cty.Value, diag.List) {
	const summary = "Invalid import id argument"
	expr := target.block.ID
	if expr == nil {
		expr = target.block.Identity
	}
	v, diags := eval.Evaluate(t, expr, target.frame.Context(t, target.each, cty.NilVal))
	if diags.HasErrors() || t.Current().Failed() {
		return "", cty.NilVal, diags
	}
	v, marks := v.UnmarkDeep()
	switch {
	case value.HiddenMarks(marks):
		diags.ErrorAt(expr.Range(), summary, "The import ID must not be sensitive or ephemeral, since it is shown in the plan.")
	case !v.IsWhollyKnown():
		diags.ErrorAt(expr.Range(), summary, "The import block \"id\" argument depends on resource attributes that cannot be determined until apply, so weir cannot plan to import this resource.")
	case v.IsNull():
		diags.ErrorAt(expr.Range(), summary, "The import ID cannot be null.")
	}
	if diags.HasErrors() {
		return "", cty.NilVal, diags
	}
	if target.block.ID == nil {
		if o.subject.Schema.Identity == nil {
			diags.ErrorAt(expr.Range(), "Invalid import identity argument", "The resource type %s has no identity; use the id argument instead.", o.addr.Name.Type)
			return "", cty.NilVal, diags
		}
		identity, err := value.Convert(v, o.subject.Schema.Identity.DecodeType())
		if err == nil {
			identity, err = value.Convert(identity, o.subject.Schema.Identity.ElementType())
		}
		if err != nil {
			diags.ErrorAt(expr.Range(), "Invalid import identity argument", "The identity isn't suitable for %s: %s.", o.addr.Name.Type, value.ErrorString("", err))
		} else if errs := conform.Identity(o.subject.Schema.Identity, identity, false); len(errs) > 0 {
			diags.ErrorAt(expr.Range(), "Invalid import identity argument", "The identity isn't suitable for %s: %s.", o.addr.Name.Type, value.ErrorString("", errs[0]))
		}
		return "", identity, diags
	}
	id, err := value.Convert(v, cty.String)
	switch {
	case err != nil:
		diags.ErrorAt(expr.Range(), summary, "The import ID value is unsuitable: %s.", value.ErrorString("", err))
		return "", cty.NilVal, diags
	case id.AsString() == "":
		diags.ErrorAt(expr.Range(), summary, "The import ID value evaluates to an empty string, please provide a non-empty value.")
	}
	return id.AsString(), cty.NilVal, diags
}

func importingOf(r *run, o *object) *plan.Importing {
	if target := r.imports[o.addr.Instance]; target != nil {
		return target.done
	}
	return nil
}

// checkImports reports targets without configuration.
func (r *run) checkImports() {
	for a, target := range r.imports {
		desired, _, unsure := r.standing(a)
		if !desired && !unsure {
			r.note(diag.List{{Severity: diag.Error, Summary: "Configuration for import target does not exist", Detail: "The configuration for the given import target " + a.String() + " does not exist. All target instances must have an associated configuration to be imported. Write the resource block, or let weir write one with -generate-config-out=FILE.", Subject: target.block.Range.Ptr()}})
		}
	}
}

// moveType asks the provider to take over an object of another type.
func (r *run) moveType(o *object) (lifecycle.Object, diag.List) {
	if !o.conn.Schemas.MoveState {
		var diags diag.List
		diags.Errorf("Unsupported moved resource type", "The provider %s doesn't support moving objects of type %s to %s.", o.conn.Addr.Provider.ForDisplay(), o.previous.Name.Type, o.addr.Name.Type)
		return o.subject.None(), diags
	}
	var moved lifecycle.Object
	var diags diag.List
	r.pool.Call(func() { moved, diags = o.subject.Move(r.ctx, o.previous, o.stored) })
	if diags.HasErrors() {
		return moved, diags
	}
	stored, err := o.subject.Store(moved, o.conn.Addr, o.stored.Sensitive)
	if err != nil {
		diags.Errorf("Failed to encode a moved object", "%s", err)
		return moved, diags
	}
	stored.Dependencies, stored.CreateBeforeDestroy, stored.SkipDestroy = o.stored.Dependencies, o.stored.CreateBeforeDestroy, o.stored.SkipDestroy
	o.stored = stored
	return moved, diags
}
