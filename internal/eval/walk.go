package eval

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/lang/program"
)

// Walk starts a task for everything in the frame and in the modules that it calls. It returns
// at once: rt.Wait reports the end.
func (f *Frame) Walk(rt *promise.Runtime) {
	p := f.Program
	rt.Go(func(t *promise.Task) {
		for _, v := range p.Variables {
			f.Variable(t, v, &v.Range)
		}
		for _, l := range p.Locals {
			f.Local(t, l, &l.Range)
		}
	})
	for _, r := range p.Resources {
		walkResource(f, rt, r)
	}
	for _, c := range p.AllCalls() {
		walkCall(f, rt, c, func(child *Frame) { child.Walk(rt) })
	}
	rt.Go(func(t *promise.Task) {
		for _, pr := range p.Providers {
			f.ProviderInstances(t, pr, nil)
		}
		for _, o := range p.Outputs {
			f.Output(t, o, nil)
		}
	})
}

// WalkRepeated starts a task for each block that may have other than one instance: a resource,
// or a call with everything below it, whose frame whole is reported; and for the other
// resources that also is true of. It returns at once.
func (f *Frame) WalkRepeated(rt *promise.Runtime, whole func(*Frame), also func(*program.Resource) bool) {
	for _, r := range f.Program.Resources {
		if r.Repeat.Expr() != nil || also(r) {
			walkResource(f, rt, r)
		}
	}
	for _, c := range f.Program.AllCalls() {
		if c.Repeat.Expr() != nil {
			walkCall(f, rt, c, func(child *Frame) { whole(child); child.Walk(rt) })
		} else {
			walkCall(f, rt, c, func(child *Frame) { child.WalkRepeated(rt, whole, also) })
		}
	}
}

// WalkSome starts a task for each resource of the frame that pick chooses, and returns at
// once.
func (f *Frame) WalkSome(rt *promise.Runtime, pick func(*program.Resource) bool) {
	for _, r := range f.Program.Resources {
		if pick(r) {
			walkResource(f, rt, r)
		}
	}
}

func walkResource(f *Frame, rt *promise.Runtime, r *program.Resource) {
	rt.Go(func(t *promise.Task) {
		list, ok := f.Found(t, r)
		if !ok {
			return // what stands for its instances is for references only
		}
		for _, i := range list {
			rt.Go(func(t *promise.Task) { i.Value(t, nil) })
		}
	})
}

func walkCall(f *Frame, rt *promise.Runtime, c *program.Call, each func(child *Frame)) {
	rt.Go(func(t *promise.Task) {
		children := f.Calls(t, c, nil)
		if f.calls[c.Index].expansion.Failed() {
			return
		}
		for _, child := range children {
			each(child)
		}
	})
}

// Bugs turns panics of a runtime into diagnostics.
func Bugs(rt *promise.Runtime) diag.List {
	var l diag.List
	for _, p := range rt.Panics() {
		subject := "an object"
		if p.Subject != nil {
			subject = p.Subject.String()
		}
		l.Add(diag.Bug.New(diag.Error, "weir crashed while it dealt with %s: %v.\n\nEverything else was dealt with as usual. Please report this with the following lines:\n\n%s", subject, p.Value, p.Stack))
	}
	return l
}

// Diagnostics gathers the problems of all cells of the frame and of the
// modules below it, in the order of declarations. The evaluation must be
// over. On the root frame it includes cycles.
func (f *Frame) Diagnostics() diag.List {
	var l diag.List
	for i := range f.variables {
		if raw := f.variables[i].raw.Made(); raw != nil {
			l.Append(raw.Diagnostics())
		}
		l.Append(f.variables[i].checked.Diagnostics())
	}
	for i := range f.locals {
		l.Append(f.locals[i].Diagnostics())
	}
	for i := range f.providers {
		l.Append(f.providers[i].expansion.Diagnostics())
	}
	for i := range f.resources {
		l.Append(f.resources[i].expansion.Diagnostics())
		in, _ := f.resources[i].expansion.Peek()
		for _, instance := range in.list {
			l.Append(instance.cell.Diagnostics())
		}
	}
	for i := range f.calls {
		l.Append(f.calls[i].expansion.Diagnostics())
		fs, _ := f.calls[i].expansion.Peek()
		for _, child := range fs.list {
			if child != nil {
				l.Append(child.Diagnostics())
			}
		}
	}
	for i := range f.outputs {
		l.Append(f.outputs[i].Diagnostics())
	}
	if f.Parent == nil && !f.ev.Coarse {
		l.Append(cycles(f.ev.cycles))
	}
	return l
}

// Frames lists the frame and all those below it that were made, in the order
// of their calls and keys.
func (f *Frame) Frames() []*Frame {
	list := []*Frame{f}
	for i := range f.calls {
		fs, _ := f.calls[i].expansion.Peek()
		for _, child := range fs.list {
			if child != nil {
				list = append(list, child.Frames()...)
			}
		}
	}
	return list
}

// Expanded returns the instances of a resource if they were computed.
func (f *Frame) Expanded(r *program.Resource) []*Instance {
	in, _ := f.resources[r.Index].expansion.Peek()
	return in.list
}

// OutputValue returns the value of an output if it was computed and isn't
// failed.
func (f *Frame) OutputValue(o *program.Output) (v cty.Value, node *promise.Node, ok bool) {
	c := &f.outputs[o.Index]
	r, ok := c.Peek()
	return orUnknown(r.value), &c.Node, ok && !c.Failed()
}

// LocalValue returns the value of a local if it was computed and isn't failed.
func (f *Frame) LocalValue(l *program.Local) (v cty.Value, ok bool) {
	c := &f.locals[l.Index]
	local, ok := c.Peek()
	return orUnknown(local), ok && !c.Failed()
}

// ChildFrame returns the instance of a call with that key. known is false
// when the call's instances weren't computed or aren't known.
func (f *Frame) ChildFrame(c *program.Call, k addr.Key) (child *Frame, known bool) {
	fs, ok := f.calls[c.Index].expansion.Peek()
	if !ok || fs.Unknown {
		return nil, false
	}
	return fs.find(k), true
}

// Within returns the instance of a call of that name and key, or else what a
// removed block has of it; nil if it wasn't made.
func (f *Frame) Within(s addr.Step) *Frame {
	for _, c := range f.Program.Named(s.Call) {
		if c.Path != nil {
			continue
		}
		if child, _ := f.ChildFrame(c, s.Key); child != nil {
			return child
		}
	}
	return nil
}

// Claims reports whether an instance of a removed block's call is at that address.
func Claims(f *Frame, c *program.Call, m addr.Module) bool {
	for _, child := range f.Children(c) {
		if child.Addr == m {
			return true
		}
	}
	return false
}

// Placed finds a module instance that a removed block elsewhere names by its path, or that is
// part of one, as it was loaded for that; nil without one.
func Placed(f *Frame, m addr.Module) *Frame {
	for _, c := range f.Program.AllCalls() {
		for _, child := range f.Children(c) {
			switch {
			case !child.Addr.Contains(m):
			case child.Addr == m:
				return child
			default:
				if found := Placed(child, m); found != nil {
					return found
				}
			}
		}
	}
	return nil
}

// Gone reports whether the frame is, or is part of, what a removed block names.
func (f *Frame) Gone() bool { return f.Call != nil && (f.Call.Gone || f.Parent.Gone()) }

// Children lists the instances of a call that were made.
func (f *Frame) Children(c *program.Call) []*Frame {
	fs, _ := f.calls[c.Index].expansion.Peek()
	var list []*Frame
	for _, child := range fs.list {
		if child != nil {
			list = append(list, child)
		}
	}
	return list
}

// Lookup returns the instance of a resource with that key, and how the
// resource is expanded. known is false when its instances weren't computed or
// aren't known.
func (f *Frame) Lookup(r *program.Resource, k addr.Key) (i *Instance, e Expansion, known bool) {
	in, ok := f.resources[r.Index].expansion.Peek()
	if !ok || in.Unknown {
		return nil, in.Expansion, false
	}
	return in.find(k), in.Expansion, true
}

// OutputOutcomes returns the outcomes of an output's preconditions.
func (f *Frame) OutputOutcomes(o *program.Output) []Outcome {
	r, _ := f.outputs[o.Index].Peek()
	return r.outcomes
}

// VariableNode is the node of a variable whose validations were evaluated.
func (f *Frame) VariableNode(v *program.Variable) *promise.Node {
	return &f.variables[v.Index].checked.Node
}

// VariableOutcomes returns the outcomes of a variable's validations.
func (f *Frame) VariableOutcomes(v *program.Variable) []Outcome {
	r, _ := f.variables[v.Index].checked.Peek()
	return r.outcomes
}
