package compiler

import (
	"math/big"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
)

// traversalStep is one step of a traversal. It isn't ok for one that no address has.
func traversalStep(t hcl.Traverser) (step addressStep, ok bool) {
	switch t := t.(type) {
	case hcl.TraverseRoot:
		return addressStep{Name: t.Name}, true
	case hcl.TraverseAttr:
		return addressStep{Name: t.Name}, true
	case hcl.TraverseIndex:
		return addressStep{Key: &hclsyntax.LiteralValueExpr{Val: t.Key, SrcRange: t.SrcRange}}, true
	}
	return addressStep{}, false
}

// traversalSteps are the steps of a traversal.
func traversalSteps(t hcl.Traversal) []addressStep {
	steps := make([]addressStep, 0, len(t))
	for _, s := range t {
		step, _ := traversalStep(s)
		steps = append(steps, step)
	}
	return steps
}

// An addressStep is one step of an address: a name or a key.
type addressStep struct {
	Name string
	Key  hcl.Expression
}

// An address is a module or resource with its keys as expressions.
type address struct {
	Modules    []string
	ModuleKeys []hcl.Expression
	Name       addr.Name
	Key        hcl.Expression
	Rest       int // steps left over
}

// parseAddress reads the steps of an address, or says what is wrong.
func parseAddress(steps []addressStep) (a address, problem string) {
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

// constantKey is the key of a literal; without an expression it is NoKey.
func constantKey(e hcl.Expression) (key addr.Key, bad bool) {
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

// addressSteps flattens an expression of names and indices.
func addressSteps(expr hcl.Expression) ([]addressStep, bool) {
	var t hcl.Traversal
	var steps []addressStep
	switch e := expr.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		t = e.Traversal
	case *hclsyntax.RelativeTraversalExpr:
		inner, ok := addressSteps(e.Source)
		if !ok {
			return nil, false
		}
		steps, t = inner, e.Traversal
	case *hclsyntax.IndexExpr:
		inner, ok := addressSteps(e.Collection)
		return append(inner, addressStep{Key: e.Key}), ok
	default:
		return nil, false
	}
	for _, s := range t {
		step, ok := traversalStep(s)
		if !ok {
			return nil, false
		}
		steps = append(steps, step)
	}
	return steps, true
}
