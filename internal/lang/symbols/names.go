package symbols

import (
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
)

// Names are what references in a module may begin with, in the order of the program's tables.
// Functions aren't among them.
func Names(p *program.Program) []Target {
	var list []Target
	for _, v := range p.Variables {
		list = append(list, Target{Kind: Variable, Name: "var." + v.Name})
	}
	for _, l := range p.Locals {
		list = append(list, Target{Kind: Local, Name: "local." + l.Name})
	}
	for _, c := range p.Calls {
		list = append(list, Target{Kind: Call, Name: c.String()})
	}
	for _, r := range p.Resources {
		if r.Name.Mode != addr.Action && r.Name.Mode != addr.List {
			list = append(list, Target{Kind: r.Head().Kind, Name: r.Name.String()})
		}
	}
	return list
}

// Surroundings are the references that lead to no declaration.
var Surroundings = []string{"path.module", "path.root", "path.cwd", "terraform.workspace"}
