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
	fs, _ := get(f, &f.calls[c.Index].expansion, t, subject{f, c}, via, func(t *promise.Task) (frames, bool) {
		e, _ := f.expand(t, Block{Frame: f, Call: c})
		if c.Path != nil {
			return placed(t, f, c, e)
		}
		if live := f.Program.CallByName[c.Call]; live != nil && c.Nth > 0 {
			still := f.frames(t, live, nil)
			e = e.without(&still)
		}
		fs := frames{Expansion: e, list: []*Frame{}}
		for _, each := range e.Each() {
			fs.list = append(fs.list, load(t, f, c, each, f.Addr.Child(c.Call, each.Key)))
		}
		fs.index()
		return fs, true
	})
	if fs.list == nil { // a circle, which is reported where it is closed
		fs.Unknown = true
	}
	return fs
}

// placed are the instances that a removed block names by their path. Those that are still they
// don't exist gone, so that the block has no effect on them; while that isn't known, one
// stands for all.
func placed(t *promise.Task, f *Frame, c *program.Call, e Expansion) (frames, bool) {
	fs := frames{Expansion: e, list: []*Frame{}, byKey: map[string]*Frame{}}
	for _, each := range e.Each() {
		at, there, known, ok := place(t, f, c, each)
		if !ok {
			return fs, false
		}
		if !known && !fs.Unknown {
			e.Unknown = true
			return placed(t, f, c, e)
		}
		var child *Frame
		if !there {
			child = load(t, f, c, each, at)
		}
		fs.list = append(fs.list, child)
		if k, ok := each.Key.Str(); ok {
			fs.byKey[k] = child
		}
	}
	return fs, true
}

// load makes the frame of an instance of a call; nil where nothing is loaded.
func load(t *promise.Task, f *Frame, c *program.Call, each *Each, at addr.Module) *Frame {
	p, ok := f.ev.Host.Program(t, f, c, each.Key)
	if !ok {
		t.Fail()
	}
	if p == nil {
		return nil
	}
	return f.ev.newFrame(p, at, f, c, each)
}

// place follows the path of a removed block, and reports whether the configuration still has
// what is there.
func place(t *promise.Task, f *Frame, c *program.Call, each *Each) (at addr.Module, there, known, ok bool) {
	at, known = f.Addr, true
	live := f
	for _, step := range c.Path {
		key, ok := pathKey(t, f, step, each)
		if !ok {
			return at, false, true, false
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
	return at, live != nil && known, known, true
}

// pathKey evaluates the key of a step.
func pathKey(t *promise.Task, f *Frame, step program.PathStep, each *Each) (addr.Key, bool) {
	if step.Key == nil {
		return addr.NoKey, true
	}
	v, ok := Evaluate(t, step.Key, f.Context(t, each, cty.NilVal))
	if !ok {
		return addr.NoKey, false
	}
	if !v.IsKnown() {
		return addr.AnyKey, true
	}
	if v.Type() == cty.Number {
		var err error
		if v, err = convert.Convert(v, cty.String); err != nil {
			return addr.NoKey, true
		}
	}
	k, err := KeyOf(v)
	if err != nil {
		return k, t.Report(diag.BadRemoved.As("Invalid from argument").Error(step.Key.Range(), "The key of %s that is removed can't be found out: %s.", step.Call, err))
	}
	return k, true
}

// outputsOf is the object of all outputs of the frame.
func (f *Frame) outputsOf(t *promise.Task, via *hcl.Range) cty.Value {
	v, _ := get(f, f.object.Cell(), t, named{f, "outputs"}, via, func(t *promise.Task) (cty.Value, bool) {
		object := make(map[string]cty.Value, len(f.Program.Outputs))
		for _, o := range f.Program.Outputs {
			object[o.Name], _ = f.Output(t, o, via)
		}
		return cty.ObjectVal(object), true
	})
	return orUnknown(v)
}

// wholeCall is the value of all instances of a call together.
func (f *Frame) wholeCall(t *promise.Task, c *program.Call, via *hcl.Range) cty.Value {
	v, _ := get(f, f.calls[c.Index].whole.Cell(), t, subject{f, c}, via, func(t *promise.Task) (cty.Value, bool) {
		fs := f.frames(t, c, via)
		values := make([]cty.Value, len(fs.list))
		for i, child := range fs.list {
			values[i] = cty.DynamicVal
			if child != nil {
				values[i] = child.outputsOf(t, via)
			}
		}
		return fs.collect(values), true
	})
	return orUnknown(v)
}

// closed waits for everything in all instances of a call.
func (f *Frame) closed(t *promise.Task, c *program.Call, via *hcl.Range) {
	get(f, f.calls[c.Index].closed.Cell(), t, Block{Frame: f, Call: c}, via, func(t *promise.Task) (struct{}, bool) {
		for _, child := range f.Calls(t, c, via) {
			child.all(t, via)
		}
		return struct{}{}, true
	})
}

// all waits for everything in the frame but ephemeral resources and actions, which are there
// only for code that refers to them, and what is within checks.
func (f *Frame) all(t *promise.Task, via *hcl.Range) {
	get(f, f.content.Cell(), t, named{f, "content"}, via, func(t *promise.Task) (struct{}, bool) {
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
		return struct{}{}, true
	})
}

// Child returns the instance of a call with that key, or nil.
func (f *Frame) Child(t *promise.Task, c *program.Call, k addr.Key) *Frame {
	fs := f.frames(t, c, nil)
	return fs.find(k)
}
