package planner

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/state"
)

// Each object passes these stages. Each is made from the one before, and none changes once it is
// made:
//
//	priorObject            the provider that serves it, and what the state has
//	refreshedObject        what it is like now: reader.read
//	resourceconfig.Config  its configuration: calls.configure
//	proposal               what the provider would do: managed.propose
//	plan.Change            what will be done: changeOf, readLater, deletion, noOp
//	object                 what later stages need of it, in the record

// A priorObject is an object with what the state has of it.
type priorObject struct {
	instance.Opened
	from   *addr.Instance // where it was before a move; nil for where it is
	stored *state.Object  // nil without a prior object
}

// claim is the object with what the state has of it, at the address that it had.
func claim(o instance.Opened, previous addr.Instance, stored *state.Object) *priorObject {
	p := &priorObject{Opened: o, stored: stored}
	if previous != o.Addr.Instance {
		from := previous // only what has moved is on the heap
		p.from = &from
	}
	return p
}

// previous is where the object was before.
func (o *priorObject) previous() addr.Instance {
	if o.from != nil {
		return *o.from
	}
	return o.Addr.Instance
}

// takesOver reports whether the object was one of another type, or of another
// resource with another provider. A provider that only has another address now
// knows its own objects.
func (o *priorObject) takesOver() bool {
	return o.previous().Name.Type != o.Addr.Name.Type ||
		o.stored.Provider.Provider != o.Conn.Addr.Provider && o.previous().Resource.Erase() != o.Addr.Resource.Erase()
}

// A refreshedObject is an object as it is before the plan.
type refreshedObject struct {
	*priorObject
	now       lifecycle.Object
	kept      *state.Object   // what the state has of it from now on; nil for nothing
	importing *plan.Importing // nil unless an import block named it
	stale     bool            // it wasn't read, so it may have changed outside
}

// value is the object's value with marks.
func (o *refreshedObject) value() cty.Value {
	return instance.Marked(o.Subject.Schema, o.now.Value, o.kept)
}

// A proposal is what the provider would do with an object, and whether something beside it
// wants the object replaced.
type proposal struct {
	lifecycle.Planned
	force plan.Reason
}

// An object is what was decided about one object of a resource instance. Where it has a change,
// addr is the change's own: there are as many objects as instances.
type object struct {
	addr     *addr.Object
	from     *addr.Instance // where it was before a move; nil for where it is
	instance *eval.Instance // nil without configuration
	stored   *state.Object  // nil for nothing
	conn     *providerclient.Conn
	change   *plan.Change
	stale    bool // it may have changed outside
	// invocations are those around the change.
	invocations []*plan.Invocation
	// conditions: the instance has conditions to evaluate in apply.
	conditions bool
	// again: the data source was read and is read in apply again.
	again bool
}

func (o *object) previous() addr.Instance {
	if o.from != nil {
		return *o.from
	}
	return o.addr.Instance
}

// decided is an object with its change, nil for none, and with what the state has of it.
func (o *priorObject) decided(c *plan.Change, stored *state.Object) *object {
	d := &object{from: o.from, instance: o.Instance, stored: stored, conn: o.Conn, change: c}
	if c != nil {
		d.addr = &c.Addr
	} else {
		at := o.Addr
		d.addr = &at
	}
	return d
}

func (o *refreshedObject) decided(c *plan.Change) *object {
	d := o.priorObject.decided(c, o.kept)
	d.stale = o.stale
	return d
}
