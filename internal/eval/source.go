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

// find returns the source's instance with a key, of a resource or of a module call; nil for none.
func (s *source) find(t *promise.Task, k addr.Key) (*Instance, *Frame) {
	if s.ref.Resource != nil {
		in := s.frame.instances(t, s.ref.Resource, &s.ref.Range)
		return in.find(k), nil
	}
	fs := s.frame.frames(t, s.ref.Call, &s.ref.Range)
	return nil, fs.find(k)
}

// element is the value of the source's instance with a key.
func (s *source) element(t *promise.Task, k addr.Key) cty.Value {
	i, child := s.find(t, k)
	switch {
	case i != nil:
		v, _ := i.Value(t, &s.ref.Range)
		return v
	case child != nil:
		return child.outputsOf(t, &s.ref.Range)
	}
	return cty.DynamicVal
}

// Over returns what the instance of a block with a key is there for, where the block is repeated
// over another one: the instance of the resource, or of the module call, with that key. rest are
// the other references of the repetition. Both are nil for another repetition.
func (f *Frame) Over(t *promise.Task, repeat program.Repeat, k addr.Key) (of *Instance, child *Frame, rest []*program.Ref) {
	expr := repeat.Expr()
	if expr == nil {
		return nil, nil, nil
	}
	s := f.sourceOf(kindOf(repeat), expr)
	if s == nil {
		return nil, nil, expr.Refs
	}
	if of, child = s.find(t, k); of == nil && child == nil {
		return nil, nil, expr.Refs
	}
	rest, _ = s.without(expr)
	return of, child, rest
}

// without lists the references of an expression but for that to the source. Those of a local
// value that leads to the source take the place of the local value.
func (s *source) without(expr *program.Expr) (rest []*program.Ref, leads bool) {
	for _, ref := range expr.Refs {
		if ref == s.ref {
			leads = true
			continue
		}
		if ref.Kind == program.RefLocal && ref.Local.Expr != nil {
			if behind, ok := s.without(ref.Local.Expr); ok {
				rest, leads = append(rest, behind...), true
				continue
			}
		}
		rest = append(rest, ref)
	}
	return rest, leads
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
