package eval

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/lang/program"
)

type callCells struct {
	expansion promise.Cell[frames]
	whole     promise.Rare[cty.Value]
	closed    promise.Rare[struct{}]
}

// frames are the instances of one module call in one frame; nil where nothing is loaded.
type frames = members[*Frame]

// without leaves out the keys that a call still has: they aren't gone, so a
// removed block has no effect on them. Nothing is certain while these aren't known.
func (e Expansion) without(live *frames) Expansion {
	switch {
	case e.Unknown:
	case live.Unknown:
		e.Unknown = true
	case e.Kind == Keyed:
		e.Keys = slices.DeleteFunc(slices.Clone(e.Keys), func(k string) bool { return live.has(addr.StringKey(k)) })
	case e.Kind == Single && live.has(addr.NoKey):
		e.Count = 0
	}
	return e
}

// Calls returns the instances of a module call, without those whose source
// couldn't be loaded.
func (f *Frame) Calls(t *promise.Task, c *program.Call, via *hcl.Range) []*Frame {
	fs := f.frames(t, c, via)
	var list []*Frame
	for _, child := range fs.list {
		if child != nil {
			list = append(list, child)
		}
	}
	return list
}

func (f *Frame) frames(t *promise.Task, c *program.Call, via *hcl.Range) frames {
	fs := get(f, &f.calls[c.Index].expansion, t, subject{f, c}, via, func(t *promise.Task) frames {
		e, diags := f.expand(t, Block{Frame: f, Call: c})
		if c.Path != nil {
			return placed(t, f, c, e, diags)
		}
		if live := f.Program.CallByName[c.Call]; live != nil && c.Nth > 0 {
			still := f.frames(t, live, nil)
			e = e.without(&still)
		}
		fs := frames{Expansion: e, list: []*Frame{}, diags: diags}
		for _, each := range e.Each() {
			p, more := f.ev.Host.Program(t, f, c, each.Key)
			fs.diags.Append(more)
			var child *Frame
			if more.HasErrors() {
				t.Fail()
			}
			if p != nil {
				child = f.ev.newFrame(p, f.Addr.Child(c.Call, each.Key), f, c, each)
			}
			fs.list = append(fs.list, child)
		}
		fs.index()
		return fs
	})
	if fs.list == nil { // a circle, which is reported where it is closed
		fs.Unknown = true
	}
	return fs
}

// placed are the instances that a removed block names by their path. Those that are still they
// don't exist gone, so that the block has no effect on them; while that isn't known, one
// stands for all.
func placed(t *promise.Task, f *Frame, c *program.Call, e Expansion, diags diag.List) frames {
	fs := frames{Expansion: e, list: []*Frame{}, diags: diags, byKey: map[string]*Frame{}}
	for _, each := range e.Each() {
		at, there, known, more := place(t, f, c, each)
		fs.diags.Append(more)
		if more.HasErrors() {
			t.Fail()
			return fs
		}
		if !known && !fs.Unknown {
			e.Unknown = true
			return placed(t, f, c, e, fs.diags)
		}
		var child *Frame
		if !there {
			var p *program.Program
			p, more = f.ev.Host.Program(t, f, c, each.Key)
			fs.diags.Append(more)
			if more.HasErrors() {
				t.Fail()
			}
			if p != nil {
				child = f.ev.newFrame(p, at, f, c, each)
			}
		}
		fs.list = append(fs.list, child)
		if k, ok := each.Key.Str(); ok {
			fs.byKey[k] = child
		}
	}
	return fs
}

// place follows the path of a removed block, and reports whether the configuration still has
// what is there.
func place(t *promise.Task, f *Frame, c *program.Call, each *Each) (at addr.Module, there, known bool, diags diag.List) {
	at, known = f.Addr, true
	live := f
	for _, step := range c.Path {
		key, more := pathKey(t, f, step, each)
		diags.Append(more)
		if more.HasErrors() {
			return at, false, true, diags
		}
		at = at.Child(step.Call, key)
		if live == nil {
			continue
		}
		call := live.Program.CallByName[step.Call]
		if call == nil {
			live = nil
			continue
		}
		fs := live.frames(t, call, nil)
		known = known && !fs.Unknown && !key.IsAny()
		live = fs.find(key)
	}
	return at, live != nil && known, known, diags
}

// pathKey evaluates the key of a step.
func pathKey(t *promise.Task, f *Frame, step program.PathStep, each *Each) (addr.Key, diag.List) {
	if step.Key == nil {
		return addr.NoKey, nil
	}
	v, diags := Evaluate(t, step.Key, f.Context(t, each, cty.NilVal))
	if diags.HasErrors() || t.Current().Failed() {
		return addr.NoKey, diags
	}
	if !v.IsKnown() {
		return addr.AnyKey, diags
	}
	if v.Type() == cty.Number {
		var err error
		if v, err = convert.Convert(v, cty.String); err != nil {
			return addr.NoKey, diags
		}
	}
	k, err := KeyOf(v)
	if err != nil {
		diags.Add(diag.BadRemoved.As("Invalid from argument").Error(step.Key.Range(), "The key of %s that is removed can't be found out: %s.", step.Call, err))
	}
	return k, diags
}

// outputsOf is the object of all outputs of the frame.
func (f *Frame) outputsOf(t *promise.Task, via *hcl.Range) cty.Value {
	v := get(f, f.object.Cell(), t, named{f, "outputs"}, via, func(t *promise.Task) cty.Value {
		object := make(map[string]cty.Value, len(f.Program.Outputs))
		for _, o := range f.Program.Outputs {
			object[o.Name] = f.Output(t, o, via)
		}
		return cty.ObjectVal(object)
	})
	return orUnknown(v)
}

// wholeCall is the value of all instances of a call together.
func (f *Frame) wholeCall(t *promise.Task, c *program.Call, via *hcl.Range) cty.Value {
	v := get(f, f.calls[c.Index].whole.Cell(), t, subject{f, c}, via, func(t *promise.Task) cty.Value {
		fs := f.frames(t, c, via)
		values := make([]cty.Value, len(fs.list))
		for i, child := range fs.list {
			values[i] = cty.DynamicVal
			if child != nil {
				values[i] = child.outputsOf(t, via)
			}
		}
		return fs.collect(values)
	})
	return orUnknown(v)
}

// closed waits for everything in all instances of a call.
func (f *Frame) closed(t *promise.Task, c *program.Call, via *hcl.Range) {
	get(f, f.calls[c.Index].closed.Cell(), t, Block{Frame: f, Call: c}, via, func(t *promise.Task) struct{} {
		for _, child := range f.Calls(t, c, via) {
			child.all(t, via)
		}
		return struct{}{}
	})
}

// all waits for everything in the frame but ephemeral resources and actions, which are there
// only for code that refers to them, and what is within checks.
func (f *Frame) all(t *promise.Task, via *hcl.Range) {
	get(f, f.content.Cell(), t, named{f, "content"}, via, func(t *promise.Task) struct{} {
		for _, r := range f.Program.Resources {
			if r.Name.Mode.IsStored() && r.Check == nil {
				f.whole(t, r, via)
			}
		}
		for _, c := range f.Program.Calls {
			f.closed(t, c, via)
		}
		for _, o := range f.Program.Outputs {
			f.Output(t, o, via)
		}
		return struct{}{}
	})
}

// Child returns the instance of a call with that key, or nil.
func (f *Frame) Child(t *promise.Task, c *program.Call, k addr.Key) *Frame {
	fs := f.frames(t, c, nil)
	return fs.find(k)
}
