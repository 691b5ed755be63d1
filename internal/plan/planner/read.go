package planner

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/secret"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/listrefresh"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/resourceconfig"
	"weir.dev/weir/internal/state"
)

// A reader finds out what objects are like before the plan: it upgrades and refreshes what the
// state has, and imports what import blocks name.
type reader struct {
	options *Options
	calls   *calls
	record  *record
	imports *imports
	chosen  func(addr.Instance) bool
	lists   *listrefresh.Lists // nil for none
	secrets *secret.Known
}

// read upgrades and refreshes the object's prior form, or imports it. Anything that is
// stored of it is then what the provider said, whatever else changes.
func (r *reader) read(t *promise.Task, o *priorObject) (*refreshedObject, bool) {
	if o.stored == nil {
		return r.imported(t, o)
	}
	before, ok := r.before(t, o)
	if !ok {
		return nil, false
	}
	// Anything that is upgraded or taken over is inspected in any case.
	same := o.Instance == nil || o.stored.SchemaVersion == o.Subject.Schema.Version && !o.takesOver()
	stale := same && !r.options.SkipRefresh && r.options.Looks.Leaves(o.Addr, o.Subject, before, o.Conn, r.isWanted(o))
	if !r.options.SkipRefresh && !stale {
		return r.refresh(t, o, before)
	}
	return r.unread(t, o, before, stale)
}

// asStored returns an object as it is in the state. The caller knows that it leaves the state.
func (r *reader) asStored(t *promise.Task, o *priorObject) (*refreshedObject, bool) {
	before, ok := r.before(t, o)
	if !ok {
		return nil, false
	}
	return r.unread(t, o, before, false)
}

// before is what the state has, in the form of the present schema.
func (r *reader) before(t *promise.Task, o *priorObject) (lifecycle.Object, bool) {
	before, diags := r.upgrade(o)
	if !r.report(t, o, diags) {
		return before, false
	}
	r.secrets.AddMarked(instance.Marked(o.Subject.Schema, before.Value, o.stored))
	return before, true
}

func (r *reader) unread(t *promise.Task, o *priorObject, before lifecycle.Object, stale bool) (*refreshedObject, bool) {
	metrics.Unread.Add(1)
	now := &refreshedObject{priorObject: o, now: before, stale: stale}
	var diags diag.List
	now.kept, diags = kept(o, o.stored, before, nil)
	return now, t.Report(diags...)
}

// reread is read for an object that wasn't read because nothing seemed to be done with it.
func (r *reader) reread(t *promise.Task, o *refreshedObject) (*refreshedObject, bool) {
	metrics.Unread.Add(-1)
	p := *o.priorObject
	p.stored = o.kept
	return r.refresh(t, &p, o.now)
}

// report reports errors where the configuration is. Warnings name no object: many objects have the
// same ones, which are shown once.
func (r *reader) report(t *promise.Task, o *priorObject, diags diag.List) (ok bool) {
	if diags.HasErrors() {
		diags = r.calls.locate(&o.Opened, diags)
	}
	return t.Report(diags...)
}

// upgrade decodes what is stored, in the form of the present schema.
func (r *reader) upgrade(o *priorObject) (before lifecycle.Object, diags diag.List) {
	if !o.takesOver() {
		o.Conn.Call(o.Addr.Name, func() { before, diags = o.Subject.Upgrade(r.calls.ctx, o.stored) })
		return before, diags
	}
	if !o.Conn.Schemas.MoveState {
		return o.Subject.None(), provider.Lacking.As("Unsupported moved resource type").List("The provider %s doesn't support moving objects of type %s to %s.", o.Conn.Addr.Provider.ForDisplay(), o.previous().Name.Type, o.Addr.Name.Type)
	}
	o.Conn.Call(o.Addr.Name, func() { before, diags = o.Subject.Move(r.calls.ctx, o.previous(), o.stored) })
	return before, diags
}

// isWanted reports whether an object must be read even if it was read recently: it ends, has moved,
// is in doubt, or is a target. An old value would be wrong or useless in these cases.
func (r *reader) isWanted(o *priorObject) bool {
	return o.Instance == nil || o.from != nil || r.options.Mode == plan.Destroy ||
		slices.Contains(r.options.InDoubt, o.Addr.Instance) || len(r.options.Targets) > 0 && r.chosen(o.Addr.Instance)
}

// refresh replaces the prior form of an object by the real object. A missing object leaves the
// state.
func (r *reader) refresh(t *promise.Task, o *priorObject, before lifecycle.Object) (*refreshedObject, bool) {
	now, ok := r.present(t, o, before)
	if !ok {
		return nil, false
	}
	r.noteDrift(o, before, now)
	r.options.Looks.Looked(o.Addr, o.Subject, now, o.Conn)
	next := &refreshedObject{priorObject: o, now: now}
	if !now.Exists() {
		return next, true
	}
	fresh, diags := kept(o, o.stored, now, nil)
	next.kept = fresh
	return next, t.Report(diags...)
}

// present is the present form of an object.
func (r *reader) present(t *promise.Task, o *priorObject, before lifecycle.Object) (now lifecycle.Object, ok bool) {
	idKey, id := instance.Identify(before.Value, o.Subject.Schema.Block, o.stored.Sensitive)
	e := event.Event{Kind: event.RefreshStart, Addr: o.Addr, IDKey: idKey, IDValue: id}
	r.calls.tell(e)
	now = before
	var diags diag.List
	if !r.lists.Unchanged(t, o.Conn, o.Subject, before) {
		o.Conn.AskOf(t, r.calls.ctx, providerclient.Read, o.Subject, func(s lifecycle.Subject) diag.List {
			now, _, diags = s.Refresh(r.calls.ctx, before)
			return diags
		})
	}
	e.Kind = event.RefreshComplete
	if !now.Exists() {
		e.IDKey, e.IDValue = "", ""
	}
	r.calls.tell(e)
	return now, r.report(t, o, diags)
}

// noteDrift records how an object differs from what the state had of it.
func (r *reader) noteDrift(o *priorObject, before, now lifecycle.Object) {
	same := now.Value.RawEquals(before.Value)
	if same && o.from == nil || o.previous().Name.Type != o.Addr.Name.Type {
		return
	}
	if r.options.Mode == plan.Destroy || o.Addr.Deposed != "" { // it goes, however it looks by now
		return
	}
	c := &plan.Change{
		Addr: o.Addr, From: o.from, Provider: &o.stored.Provider, Action: plan.Update,
		Before:         instance.Marked(o.Subject.Schema, before.Value, o.stored),
		After:          instance.Marked(o.Subject.Schema, now.Value, o.stored),
		BeforeIdentity: before.Identity, AfterIdentity: now.Identity,
	}
	switch {
	case !now.Exists():
		c.Action, c.AfterIdentity = plan.Delete, cty.NilVal
	case same:
		c.Action = plan.NoOp // it has another address
	}
	r.record.drifted(c)
}

// kept is what the state has of an object with its values before the plan. Its sensitive paths are
// the stored ones, those of the schema, and the given ones: losing one would print a secret in a
// later plan.
func kept(o *priorObject, stored *state.Object, now lifecycle.Object, sensitive []cty.Path) (*state.Object, diag.List) {
	marked := instance.Marked(o.Subject.Schema, resourceconfig.MarkPaths(now.Value, sensitive), stored)
	at := stored.Provider // until something is done with the object
	if at.Provider != o.Conn.Addr.Provider {
		at = o.Conn.Addr
	}
	fresh, err := o.Subject.Keep(stored, now, at, resourceconfig.SensitivePaths(marked))
	if err != nil {
		return nil, diag.Bug.As("Failed to encode an object").List("%s", err)
	}
	return fresh, nil
}

// hiding is an imported object of which the state hides what is sensitive in the configuration.
func (o *refreshedObject) hiding(t *promise.Task, sensitive []cty.Path) (*refreshedObject, bool) {
	next := *o
	var diags diag.List
	next.kept, diags = kept(o.priorObject, o.kept, o.now, sensitive)
	return &next, t.Report(diags...)
}

// imported imports the object that an import block names for an instance
// without a prior object.
func (r *reader) imported(t *promise.Task, o *priorObject) (now *refreshedObject, ok bool) {
	now = &refreshedObject{priorObject: o, now: o.Subject.None()}
	target := r.imports.find(o.Addr.Instance) // configuration is to be made for it
	if o.Instance != nil {
		if target, ok = r.imports.of(t, o.Instance); !ok {
			return nil, false
		}
	}
	if target == nil {
		return now, true
	}
	id, identity, ok := target.name(t, o.Subject.Schema)
	if !ok {
		return nil, false
	}
	if !o.Conn.Config.IsWhollyKnown() {
		return nil, t.Report(providerclient.BadConfiguration.Error(target.block.Range, "The configuration of %s depends on values that are known only after apply, but importing needs the provider now.", o.Conn.Addr))
	}
	importing := &plan.Importing{ID: id, Identity: identity}
	e := event.Event{Kind: event.ImportPrepare, Addr: o.Addr}
	e.IDKey, e.IDValue = importing.Label()
	r.calls.tell(e)
	e.Kind, e.IDKey, e.IDValue = event.RefreshStart, "id", id
	r.calls.tell(e)
	var diags diag.List
	o.Conn.Ask(r.calls.ctx, providerclient.Read, o.Addr.Name, func() diag.List {
		now.now, _, diags = o.Subject.Import(r.calls.ctx, id, identity)
		return diags
	})
	e.Kind = event.RefreshComplete
	r.calls.tell(e)
	for n := range diags {
		if diags[n].Subject == nil {
			diags[n].Subject = target.block.Range.Ptr()
		}
	}
	if !t.Report(diags...) {
		return nil, false
	}
	now.importing = importing
	target.done = now.importing
	stored, err := o.Subject.Store(now.now, o.Conn.Addr, resourceconfig.SensitivePaths(o.Subject.Schema.Block.MarkSensitive(now.now.Value)))
	if err != nil {
		return nil, t.Report(diag.Bug.As("Failed to encode an imported object").List("%s", err)...)
	}
	now.kept = stored
	return now, true
}
