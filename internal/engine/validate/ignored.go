package validate

import (
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

// ignored warns of what calls write in objects although the variable's type
// doesn't have it. It looks at every call of a program once.
func ignored(tree *program.Tree, seen map[*program.Program]bool) diag.List {
	var diags diag.List
	p := tree.Program
	if p == nil || seen[p] {
		return nil
	}
	seen[p] = true
	for _, call := range p.Calls {
		told := map[string]bool{}
		for _, child := range tree.Of(call.Call) {
			for _, in := range call.Inputs {
				if child.Program == nil || in.Expr == nil || told[in.Name] {
					continue
				}
				if v := child.Program.VariableByName[in.Name]; v != nil {
					list := syntax.DiscardedAttributes(in.Expr.Expression, v.Type)
					told[in.Name] = len(list) > 0
					for _, d := range list {
						diags.Add(d.Warning("input variable \"" + v.Name + "\""))
					}
				}
			}
			diags.Append(ignored(child, seen))
		}
	}
	return diags
}
