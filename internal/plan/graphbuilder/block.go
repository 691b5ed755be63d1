package graphbuilder

import (
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/eval"
)

// A Block names a resource in a module instance, or a call.
type Block struct {
	module addr.Module
	name   addr.Name
	call   addr.Call
}

// BlockOf is where an expansion is written.
func BlockOf(b eval.Block) Block {
	if b.Resource != nil {
		return Block{module: b.Frame.Addr, name: b.Resource.Name}
	}
	return Block{module: b.Frame.Addr, call: b.Call.Call}
}

// BlocksOf are the resource of an instance and the calls around it.
func BlocksOf(i addr.Instance) []Block {
	list := []Block{{module: i.Module, name: i.Name}}
	for m := i.Module; !m.IsRoot(); {
		parent, step, _ := m.Parent()
		list = append(list, Block{module: parent, call: step.Call})
		m = parent
	}
	return list
}
