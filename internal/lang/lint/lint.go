// Package lint warns of parts of a configuration that are valid and often a mistake, by the
// rules that somebody chose.
//
// It looks at the compiled program and evaluates nothing. Names and meaning of the rules are
// those of OpenTofu's RFC 20260406. Rules of providers can have a namespace of their own.
package lint

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

// A Schema is the type of the objects of a resource, cty.DynamicPseudoType if it isn't known.
type Schema func(*program.Resource) cty.Type

// A check is a rule: find looks at one module.
type check struct {
	code   diag.Code
	groups []string
	find   func(*unit)
}

var checks = []check{
	{UnusedDependency, []string{"core:confusing"}, (*unit).unusedDependencies},
	{QuotedReference, []string{"core:confusing", "core:mistake"}, (*unit).quotedReferences},
	{IneffectiveComparison, []string{"core:mistake"}, (*unit).ineffectiveComparisons},
	{ImpureFunction, []string{"core:noconverge"}, (*unit).impureFunctions},
}

// Check applies rules to all modules of a configuration, each once, however many calls it has.
func Check(tree *program.Tree, rules *Rules, schema Schema) diag.List {
	var due []check
	for _, c := range checks {
		if rules.want(c) {
			due = append(due, c)
		}
	}
	if len(due) == 0 {
		return nil
	}
	var diags diag.List
	seen := map[*program.Program]bool{}
	var visit func(*program.Tree)
	visit = func(t *program.Tree) {
		if t == nil || t.Program == nil || seen[t.Program] {
			return
		}
		seen[t.Program] = true
		for _, c := range due {
			c.find(&unit{Program: t.Program, schema: schema, diags: &diags})
		}
		for _, call := range t.Program.Calls {
			for _, child := range t.Of(call.Call) {
				visit(child)
			}
		}
	}
	visit(tree)
	slices.SortStableFunc(diags, func(a, b diag.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Subject.Filename, b.Subject.Filename), cmp.Compare(a.Subject.Start.Byte, b.Subject.Start.Byte))
	})
	return diags
}

// A unit is a module that a rule looks at.
type unit struct {
	*program.Program
	schema Schema
	diags  *diag.List
}

func (m *unit) warn(c diag.Code, r hcl.Range, format string, args ...any) {
	m.diags.Add(c.Warning(r, format, args...))
}

// each visits the nodes of all expressions of the module, in no particular order.
func (m *unit) each(visit func(hclsyntax.Node)) {
	for _, d := range m.Declarations() {
		d.Parts(func(p program.Part) {
			if p.Setting {
				return
			}
			if p.Expr != nil {
				nodes(p.Expr.Expression, visit)
			}
			if p.Body != nil {
				bodyNodes(p.Body.Body, nil, visit)
			}
			if p.Connection != nil {
				bodyNodes(p.Connection.Body, nil, visit)
			}
		})
	}
}

func nodes(e hcl.Expression, visit func(hclsyntax.Node)) {
	if wrapped, ok := e.(*program.Expr); ok {
		e = wrapped.Expression
	}
	node, ok := e.(hclsyntax.Node)
	if !ok {
		return
	}
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		visit(n)
		if ref, ok := n.(*program.RefExpr); ok && ref.Ref.Key != nil {
			nodes(ref.Ref.Key, visit)
		}
		return nil
	})
}

// bodyNodes visits the expressions of a body, but those of the arguments that are left out.
func bodyNodes(b hcl.Body, leaveOut []string, visit func(hclsyntax.Node)) {
	switch b := b.(type) {
	case *hclsyntax.Body:
		for name, attr := range b.Attributes {
			if !slices.Contains(leaveOut, name) {
				nodes(attr.Expr, visit)
			}
		}
		for _, block := range b.Blocks {
			if !slices.Contains(leaveOut, block.Type) {
				bodyNodes(block.Body, nil, visit)
			}
		}
	case *syntax.JSONBody:
		for _, member := range b.Members {
			if !slices.Contains(leaveOut, member.Name) {
				nodes(member.Value.Expr, visit)
			}
		}
	case *syntax.UnionBody:
		for _, part := range b.Parts {
			bodyNodes(part, leaveOut, visit)
		}
	}
}
