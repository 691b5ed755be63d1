package graphbuilder

import (
	"iter"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
)

// A Block names the instances of a resource in a module instance, or of a call: those with
// keys or the one without.
type Block struct {
	module addr.Module
	name   addr.Name
	call   addr.Call
	keyed  bool
}

// Leaving goes over what leaves the value of an expansion, where in has what leaves by BlocksOf.
// A block that isn't repeated has the instance without key: those with keys, from a time when it
// was repeated, aren't part of its value.
func Leaving[T any](in map[Block][]T, b eval.Block) iter.Seq[T] {
	at, repeat := Block{module: b.Frame.Addr}, program.Repeat{}
	if b.Resource != nil {
		at.name, repeat = b.Resource.Name, b.Resource.Repeat
	} else {
		at.call, repeat = b.Call.Call, b.Call.Repeat
	}
	return func(yield func(T) bool) {
		for _, keyed := range []bool{false, true} {
			if at.keyed = keyed; keyed && repeat.IsSingle() {
				return
			}
			for _, one := range in[at] {
				if !yield(one) {
					return
				}
			}
		}
	}
}

// BlocksOf are the resource of an instance and the calls around it.
func BlocksOf(i addr.Instance) []Block {
	list := []Block{{module: i.Module, name: i.Name, keyed: i.Key != addr.NoKey}}
	for m := i.Module; !m.IsRoot(); {
		parent, step, _ := m.Parent()
		list = append(list, Block{module: parent, call: step.Call, keyed: step.Key != addr.NoKey})
		m = parent
	}
	return list
}
