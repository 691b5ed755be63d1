package eval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/lang/program"
)

// A source is the block that another one is repeated over: for_each = aws_subnet.a, or
// count = length(aws_subnet.a). Its keys decide which instances there are, so they need no
// value of it. An instance reads the value of the source's instance with its own key, and waits
// for that one only.
type source struct {
	frame *Frame
	ref   *program.Ref // to all instances of the source
	// loop makes each.value of the source's key and value, where for_each is a for expression
	// over the source that keeps the keys; nil where each.value is the source's value.
	loop *hclsyntax.ForExpr
	keys bool // each.value is the key, as in toset(keys(...))
}

// sourceOf finds the source of a repetition. It is nil where the values of instances may decide
// which instances there are.
func (f *Frame) sourceOf(kind Kind, expr hcl.Expression) *source {
	switch e := plain(expr).(type) {
	case *hclsyntax.FunctionCallExpr:
		switch {
		case kind == Counted && e.Name == "length" && len(e.Args) == 1:
			if ref := allOf(e.Args[0]); ref != nil {
				return &source{frame: f, ref: ref}
			}
		case kind == Keyed && e.Name == "toset" && len(e.Args) == 1:
			keys, ok := plain(e.Args[0]).(*hclsyntax.FunctionCallExpr)
			if !ok || keys.Name != "keys" || len(keys.Args) != 1 {
				return nil
			}
			if ref := allOf(keys.Args[0]); ref != nil {
				return &source{frame: f, ref: ref, keys: true}
			}
		}
	case *hclsyntax.ForExpr:
		key, ok := plain(e.KeyExpr).(*hclsyntax.ScopeTraversalExpr)
		if kind != Keyed || !ok || len(key.Traversal) != 1 || e.KeyVar == "" || key.Traversal.RootName() != e.KeyVar || e.CondExpr != nil || e.Group {
			return nil
		}
		if ref := allOf(e.CollExpr); ref != nil {
			return &source{frame: f, ref: ref, loop: e}
		}
	case *program.RefExpr:
		if e.Ref.Kind == program.RefLocal && len(e.Ref.Rest) == 0 && e.Ref.Local.Expr != nil {
			return f.sourceOf(kind, e.Ref.Local.Expr)
		}
		if ref := allOf(e); ref != nil && kind == Keyed {
			return &source{frame: f, ref: ref}
		}
	}
	return nil
}

// allOf is a reference to all instances of a repeated block whose objects are stored, or of a
// repeated module call; nil for any other expression.
func allOf(expr hcl.Expression) *program.Ref {
	e, ok := plain(expr).(*program.RefExpr)
	if !ok {
		return nil
	}
	switch ref := e.Ref; {
	case ref.Key != nil || len(ref.Rest) > 0:
	case ref.Kind == program.RefLocal && ref.Local.Expr != nil:
		return allOf(ref.Local.Expr)
	case ref.Kind == program.RefResource && ref.Resource.Name.Mode.IsStored() && !ref.Resource.Repeat.IsSingle(),
		ref.Kind == program.RefCall && ref.Attr == "" && !ref.Call.Repeat.IsSingle():
		return ref
	}
	return nil
}

// plain is an expression as it was written, without parentheses.
func plain(expr hcl.Expression) hcl.Expression {
	for {
		switch e := expr.(type) {
		case *program.RefExpr:
			return e
		case *program.Expr:
			expr = e.Expression
		case *hclsyntax.ParenthesesExpr:
			expr = e.Expression
		case interface{ UnwrapExpression() hcl.Expression }:
			expr = e.UnwrapExpression()
		default:
			return expr
		}
	}
}

// expand repeats a block over the source. It isn't ok where the source's keys aren't known or
// are of another kind; then its value decides.
func (s *source) expand(t *promise.Task, kind Kind) (Expansion, bool) {
	var of Expansion
	if s.ref.Resource != nil {
		of = s.frame.instances(t, s.ref.Resource, &s.ref.Range).Expansion
	} else {
		of = s.frame.frames(t, s.ref.Call, &s.ref.Range).Expansion
	}
	if of.Unknown || of.Kind != kind { // no instance would have the key of another
		return Expansion{}, false
	}
	return Expansion{Kind: kind, Count: of.Count, Keys: of.Keys, source: s}, true
}

// element is the value of the source's instance with a key.
func (s *source) element(t *promise.Task, k addr.Key) cty.Value {
	if s.ref.Resource != nil {
		in := s.frame.instances(t, s.ref.Resource, &s.ref.Range)
		i := in.find(k)
		if i == nil {
			return cty.DynamicVal
		}
		v, _ := i.Value(t, &s.ref.Range)
		return v
	}
	fs := s.frame.frames(t, s.ref.Call, &s.ref.Range)
	child := fs.find(k)
	if child == nil {
		return cty.DynamicVal
	}
	return child.outputsOf(t, &s.ref.Range)
}

// value is each.value of the instance with a key.
func (s *source) value(t *promise.Task, k addr.Key) (cty.Value, hcl.Diagnostics) {
	name, _ := k.Str()
	if s.keys {
		return cty.StringVal(name), nil
	}
	v := s.element(t, k)
	if s.loop == nil {
		return v, nil
	}
	ctx := s.frame.Context(t, nil, cty.NilVal).NewChild()
	ctx.Variables = map[string]cty.Value{s.loop.KeyVar: cty.StringVal(name)}
	if s.loop.ValVar != "" {
		ctx.Variables[s.loop.ValVar] = v
	}
	return s.loop.ValExpr.Value(ctx)
}
