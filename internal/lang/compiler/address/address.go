// Package address parses addresses of modules and resources in moved, removed and import
// blocks.
//
// It owns their form. It doesn't know what they are addresses of.
package address

import (
	"math/big"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
)

// TraversalSteps are the steps of a traversal.
func TraversalSteps(t hcl.Traversal) []Step {
	steps := make([]Step, 0, len(t))
	for _, s := range t {
		switch s := s.(type) {
		case hcl.TraverseRoot:
			steps = append(steps, Step{Name: s.Name})
		case hcl.TraverseAttr:
			steps = append(steps, Step{Name: s.Name})
		case hcl.TraverseIndex:
			steps = append(steps, Step{Key: &hclsyntax.LiteralValueExpr{Val: s.Key, SrcRange: s.SrcRange}})
		default:
			steps = append(steps, Step{})
		}
	}
	return steps
}

// A Step is one step of an address: a name or a key.
type Step struct {
	Name string
	Key  hcl.Expression
}

// An Address is a module or resource with its keys as expressions.
type Address struct {
	Modules    []string
	ModuleKeys []hcl.Expression
	Name       addr.Name
	Key        hcl.Expression
	Rest       int // steps left over
}

// Parse reads the steps of an address, or says what is wrong.
func Parse(steps []Step) (a Address, problem string) {
	takeKey := func() hcl.Expression {
		if len(steps) > 0 && steps[0].Key != nil {
			key := steps[0].Key
			steps = steps[1:]
			return key
		}
		return nil
	}
	for len(steps) > 0 && steps[0].Name == "module" {
		if len(steps) < 2 || steps[1].Name == "" {
			return a, `Prefix "module." must be followed by a module name.`
		}
		a.Modules = append(a.Modules, steps[1].Name)
		steps = steps[2:]
		a.ModuleKeys = append(a.ModuleKeys, takeKey())
	}
	if len(steps) == 0 {
		return a, ""
	}
	switch steps[0].Name {
	case "data":
		a.Name.Mode = addr.Data
		steps = steps[1:]
	case "ephemeral":
		a.Name.Mode = addr.Ephemeral
		steps = steps[1:]
	case "resource":
		steps = steps[1:]
	}
	if len(steps) < 2 || steps[0].Name == "" || steps[1].Name == "" {
		return a, "Resource specification must include a resource type and name."
	}
	a.Name.Type, a.Name.Name = steps[0].Name, steps[1].Name
	steps = steps[2:]
	a.Key = takeKey()
	a.Rest = len(steps)
	return a, ""
}

// ConstantKey is the key of a literal; without an expression it is NoKey.
func ConstantKey(e hcl.Expression) (key addr.Key, bad bool) {
	literal, ok := e.(*hclsyntax.LiteralValueExpr)
	switch {
	case e == nil:
		return addr.NoKey, false
	case !ok || literal.Val.IsNull() || !literal.Val.IsKnown():
		return addr.NoKey, true
	case literal.Val.Type() == cty.String:
		return addr.StringKey(literal.Val.AsString()), false
	case literal.Val.Type() == cty.Number:
		n, accuracy := literal.Val.AsBigFloat().Int64()
		return addr.IntKey(int(n)), accuracy != big.Exact || n < 0 || n != int64(int(n))
	}
	return addr.NoKey, true
}

// Steps flattens an expression of names and indices.
func Steps(expr hcl.Expression) ([]Step, bool) {
	var t hcl.Traversal
	var steps []Step
	switch e := expr.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		t = e.Traversal
	case *hclsyntax.RelativeTraversalExpr:
		inner, ok := Steps(e.Source)
		if !ok {
			return nil, false
		}
		steps, t = inner, e.Traversal
	case *hclsyntax.IndexExpr:
		inner, ok := Steps(e.Collection)
		return append(inner, Step{Key: e.Key}), ok
	default:
		return nil, false
	}
	for _, s := range t {
		switch s := s.(type) {
		case hcl.TraverseRoot:
			steps = append(steps, Step{Name: s.Name})
		case hcl.TraverseAttr:
			steps = append(steps, Step{Name: s.Name})
		case hcl.TraverseIndex:
			steps = append(steps, Step{Key: &hclsyntax.LiteralValueExpr{Val: s.Key, SrcRange: s.SrcRange}})
		default:
			return nil, false
		}
	}
	return steps, true
}
