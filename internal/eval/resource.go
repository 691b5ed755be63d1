package eval

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/lang/program"
)

type resourceCells struct {
	expansion promise.Cell[instances]
	whole     promise.Rare[cty.Value]
}

// instances are the instances of one resource in one frame.
type instances = members[*Instance]

// An Instance is one instance of a resource in a frame.
type Instance struct {
	Addr     addr.Instance
	Frame    *Frame
	Resource *program.Resource
	Each     *Each

	cell promise.Cell[cty.Value]
}

func (i *Instance) String() string { return i.Addr.String() }

// Context is the context of the instance's own expressions. Where self is given
// it is the value of the instance, by whatever name.
func (i *Instance) Context(t *promise.Task, self cty.Value) *hcl.EvalContext {
	live := i.Addr.Name.Mode == addr.Ephemeral
	return i.Frame.newContext(&scope{frame: i.Frame, task: t, own: i, each: i.Each, self: self, live: live})
}

// Node is the instance's place among the cells; its dependencies are what
// its host read to answer.
func (i *Instance) Node() *promise.Node { return &i.cell.Node }

// Value returns the value that references to the instance get. It isn't ok where the instance
// has failed or isn't there, which the caller needn't report.
func (i *Instance) Value(t *promise.Task, via *hcl.Range) (cty.Value, bool) {
	v, ok := i.present(t, via)
	if v == cty.NilVal {
		t.Fail()
	}
	return orUnknown(v), ok && v != cty.NilVal
}

// present is the value of the instance, NilVal where it isn't there.
func (i *Instance) present(t *promise.Task, via *hcl.Range) (cty.Value, bool) {
	return get(i.Frame, &i.cell, t, i, via, func(t *promise.Task) (cty.Value, bool) {
		v, ok := i.Frame.ev.Host.Resource(t, i)
		for _, e := range i.Expansions() {
			t.Depend(e)
		}
		i.readSources(t)
		if ok = ok && t.Failures() == 0; !ok {
			v = orUnknown(v)
		}
		if l := t.Reported(); len(l) > 0 {
			l.InAddress(i.Addr.String())
		}
		return v, ok
	})
}

// Missing is the value of an instance, of a type, that isn't there and that
// nobody makes: references to all instances go without it, but for a gap in the
// keys that are there.
func (i *Instance) Missing(ty cty.Type, there []addr.Key) cty.Value {
	n, counted := i.Addr.Key.Int()
	later := func(k addr.Key) bool {
		other, ok := k.Int()
		return ok && other > n
	}
	switch {
	case i.Resource.Repeat.Enabled != nil:
		return cty.NullVal(ty)
	case i.Addr.Key != addr.NoKey && !(counted && slices.ContainsFunc(there, later)):
		return cty.NilVal
	}
	return cty.UnknownVal(ty)
}

// DependsOn makes what the task computes depend on what the instance depends
// on beside its references: depends_on of the resource and of the module
// calls around it.
func (i *Instance) DependsOn(t *promise.Task) (ok bool) {
	return t.Within(func(t *promise.Task) {
		i.Frame.Depend(t, i.Resource.DependsOn)
		i.Frame.awaitCalls(t)
	})
}

// Named returns the instances of another resource of the same module that a
// reference in one of i's expressions names: the one with the key that is written,
// as far as the key is known; and in i's own count or for_each, where it names all,
// the one with i's key, because i is there for that one. Otherwise it is all of
// them, and exact is false.
func (i *Instance) Named(t *promise.Task, ref *program.Ref, repeats bool) (list []*Instance, exact bool) {
	in := i.Frame.instances(t, ref.Resource, nil)
	if ref.Key != nil {
		t.Try(func(t *promise.Task) { list, exact = i.Frame.Named(t, i.Context(t, cty.NilVal), ref) })
		if len(list) == 0 {
			return in.list, false
		}
		return list, exact
	}
	if repeats && !in.Unknown && in.Kind != Single {
		if named := in.find(i.Addr.Key); named != nil {
			return []*Instance{named}, true
		}
	}
	return in.list, false
}

// Named returns the instances that a reference to a resource names where the context is that
// of its expression: all of them and false where its key isn't known, and none where the key
// can't be evaluated or none has it.
func (f *Frame) Named(t *promise.Task, ctx *hcl.EvalContext, ref *program.Ref) (list []*Instance, exact bool) {
	in := f.instances(t, ref.Resource, nil)
	return pick(in, in.list, ref.Key, ctx)
}

// Read makes what the task computes depend on the instance without using its value.
func (i *Instance) Read(t *promise.Task, via *hcl.Range) { i.present(t, via) }

// awaitCalls waits for the depends_on of the frame's call and of those
// around it.
func (f *Frame) awaitCalls(t *promise.Task) {
	if !f.hasAwaited() {
		return
	}
	get(f, f.awaited.Cell(), t, named{f, "depends_on"}, nil, func(t *promise.Task) (struct{}, bool) {
		f.Parent.Depend(t, f.Call.DependsOn)
		f.Parent.awaitCalls(t)
		return struct{}{}, true
	})
}

func (f *Frame) hasAwaited() bool {
	for ; f.Parent != nil; f = f.Parent {
		if len(f.Call.DependsOn) > 0 {
			return true
		}
	}
	return false
}

// Expansions are the cells that decided that there is this instance: how its
// resource and the module calls around it were expanded.
func (i *Instance) Expansions() []*promise.Node {
	f := i.Frame
	list := []*promise.Node{&f.resources[i.Resource.Index].expansion.Node}
	for ; f.Parent != nil; f = f.Parent {
		list = append(list, &f.Parent.calls[f.Call.Index].expansion.Node)
	}
	return list
}

// readSources reads the instances that the instance and the modules around it are repeated
// for.
func (i *Instance) readSources(t *promise.Task) {
	if s := i.Each.source; s != nil {
		s.element(t, i.Each.Key)
	}
	for f := i.Frame; f.Parent != nil; f = f.Parent {
		if s := f.Each.source; s != nil {
			s.element(t, f.Each.Key)
		}
	}
}

// Found returns the instances of a resource, and whether they could be found
// out; otherwise there is one that stands for them.
func (f *Frame) Found(t *promise.Task, r *program.Resource) (list []*Instance, ok bool) {
	list = f.Instances(t, r, nil)
	return list, !f.resources[r.Index].expansion.Failed()
}

// Instances returns the instances of a resource.
func (f *Frame) Instances(t *promise.Task, r *program.Resource, via *hcl.Range) []*Instance {
	return f.instances(t, r, via).list
}

func (f *Frame) instances(t *promise.Task, r *program.Resource, via *hcl.Range) instances {
	in, _ := get(f, &f.resources[r.Index].expansion, t, subject{f, r}, via, func(t *promise.Task) (instances, bool) {
		e, ok := f.expand(t, Block{Frame: f, Resource: r})
		in := instances{Expansion: e}
		resource := addr.Resource{Module: f.Addr, Name: r.Name}
		each := e.Each()
		block := make([]Instance, len(each))
		in.list = make([]*Instance, len(each))
		for i, each := range each {
			block[i] = Instance{Addr: resource.Instance(each.Key), Frame: f, Resource: r, Each: each}
			in.list[i] = &block[i]
		}
		in.index()
		return in, ok
	})
	if in.list == nil { // a circle, which is reported where it is closed
		in.Unknown = true
	}
	return in
}

// whole is the value of all instances of a resource together.
func (f *Frame) whole(t *promise.Task, r *program.Resource, via *hcl.Range) cty.Value {
	v, _ := get(f, f.resources[r.Index].whole.Cell(), t, Block{Frame: f, Resource: r}, via, func(t *promise.Task) (cty.Value, bool) {
		in := f.instances(t, r, via)
		values := make([]cty.Value, len(in.list))
		for i, instance := range in.list {
			values[i], _ = instance.present(t, via)
		}
		return in.gather(values)
	})
	return orUnknown(v)
}

// collect puts the values of instances, in order, into what a reference to
// all of them gives.
func (e Expansion) collect(values []cty.Value) cty.Value {
	switch {
	case e.Unknown:
		return cty.DynamicVal
	case e.Kind == Counted:
		return cty.TupleVal(values)
	case e.Kind == Keyed:
		object := make(map[string]cty.Value, len(values))
		for i, k := range e.Keys {
			object[k] = values[i]
		}
		return cty.ObjectVal(object)
	case len(values) == 0:
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return values[0]
}

// gather is collect for instances of which some may not be there: they are
// left out. A list is cut where the last one is; with a gap in it, it isn't ok.
func (e Expansion) gather(values []cty.Value) (cty.Value, bool) {
	if !slices.Contains(values, cty.NilVal) {
		return e.collect(values), true
	}
	there := Expansion{Kind: e.Kind, Unknown: e.Unknown}
	var found []cty.Value
	for i, v := range values {
		switch {
		case v != cty.NilVal && len(found) < i && e.Kind == Counted:
			return cty.DynamicVal, false
		case v != cty.NilVal:
			found = append(found, v)
			if e.Kind == Keyed {
				there.Keys = append(there.Keys, e.Keys[i])
			}
		case e.Kind == Single || e.Unknown:
			return cty.DynamicVal, false
		}
	}
	return there.collect(found), true
}

// Instance returns the instance of a resource with that key, or nil.
func (f *Frame) Instance(t *promise.Task, r *program.Resource, k addr.Key) *Instance {
	in := f.instances(t, r, nil)
	return in.find(k)
}
