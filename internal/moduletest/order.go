package moduletest

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/moduletest/testresult"
)

// waits says which earlier runs each run of a file waits for: all of them, unless
// it is parallel. Then it is those that aren't parallel, those on the same state,
// and those that it refers to.
func waits(f *testresult.File) [][]int {
	common, known := referenced(f.File)
	list := make([][]int, len(f.Runs))
	for i, r := range f.Runs {
		refs := append(slices.Clone(common), references(r.Run)...)
		for n, earlier := range f.Runs[:i] {
			if !r.Parallel || !earlier.Parallel || !known || key(r) == key(earlier) || slices.Contains(refs, earlier.Name) {
				list[i] = append(list[i], n)
			}
		}
	}
	return list
}

// closed adds the runs that others wait for through runs between them.
func closed(waits [][]int) [][]int {
	all := make([][]int, len(waits))
	for i, earlier := range waits {
		for _, n := range earlier {
			all[i] = append(append(all[i], n), all[n]...)
		}
		slices.Sort(all[i])
		all[i] = slices.Compact(all[i])
	}
	return all
}

// referenced are the runs that what all runs share refers to, if that can be known.
func referenced(f *testfile.File) (names []string, known bool) {
	for _, a := range f.Variables {
		names = append(names, runNames(a.Expr)...)
	}
	for _, o := range f.Overrides {
		names = append(names, runNames(o.Values)...)
	}
	for _, p := range f.Providers {
		switch body := p.Config.(type) {
		case nil:
		case *hclsyntax.Body:
			_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
				if ref, ok := n.(*hclsyntax.ScopeTraversalExpr); ok {
					names = append(names, runName(ref.Traversal)...)
				}
				return nil
			})
		default:
			return nil, false
		}
	}
	return names, true
}

// references are the runs that a run refers to.
func references(r *testfile.Run) []string {
	var names []string
	for _, a := range r.Variables {
		names = append(names, runNames(a.Expr)...)
	}
	for _, a := range r.Asserts {
		names = append(names, runNames(a.Condition)...)
		names = append(names, runNames(a.ErrorMessage)...)
	}
	for _, o := range r.Overrides {
		names = append(names, runNames(o.Values)...)
	}
	return names
}

func runNames(expr hcl.Expression) []string {
	if expr == nil {
		return nil
	}
	var names []string
	for _, t := range expr.Variables() {
		names = append(names, runName(t)...)
	}
	return names
}

func runName(t hcl.Traversal) []string {
	if t.RootName() != "run" || len(t) < 2 {
		return nil
	}
	if attr, ok := t[1].(hcl.TraverseAttr); ok {
		return []string{attr.Name}
	}
	return nil
}
