package why

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
)

// most is how many chains are given where several causes are possible.
const most = 8

// A place is where an expression stands: what each and count mean there comes
// from the repetition of a block in the frame.
type place struct {
	frame  *eval.Frame
	each   *eval.Each
	repeat program.Repeat
	block  string // the address of the block that is repeated
	// element is the key of the instance whose each.value the expression gives, nil for another
	// expression.
	element *addr.Key
}

// An expression is what can be followed: a part of the configuration with its
// references.
type expression struct {
	place
	expr hcl.Expression // nil where only the references matter
	refs []*program.Ref
	// before and after are its values where they are known.
	before, after cty.Value
}

// part is the part of an expression at a path with the references in it.
func part(at place, x *program.Expr, path cty.Path) expression {
	inner := schema.PartOf(x.Expression, path)
	return expression{place: at, expr: inner, refs: inside(x.Refs, inner.Range())}
}

// inside are the references that stand in a range.
func inside(refs []*program.Ref, r hcl.Range) []*program.Ref {
	var list []*program.Ref
	for _, ref := range refs {
		if ref.Range.Filename == r.Filename && ref.Range.Start.Byte >= r.Start.Byte && ref.Range.End.Byte <= r.End.Byte {
			list = append(list, ref)
		}
	}
	return list
}

// A judge says of a reference to a resource whether something of what it
// names is a cause, with the chain from there.
type judge func(at place, ref *program.Ref) []Chain

// A hop is an expression that was reached, with the links to it.
type hop struct {
	expression
	trail Chain
}

// follow finds what the value of an expression comes from: the nearest causes
// that the judge knows or else the inputs it is made of. The result is empty
// when its references lead to nothing of that.
func (e *explainer) follow(x expression, judged judge) []Chain {
	var strong, weak []Chain
	seen := map[string]bool{}
	queue := []hop{{expression: x}}
	for len(queue) > 0 {
		h := queue[0]
		queue = queue[1:]
		if name := impure(h.expr); name != "" {
			strong = append(strong, append(slices.Clone(h.trail), Link{Kind: Impure, Name: name, Range: h.expr.Range().Ptr()}))
		}
		for _, ref := range h.refs {
			if ref.Kind == program.RefResource {
				for _, tail := range judged(h.place, ref) {
					strong = append(strong, slices.Concat(h.trail, tail))
				}
				continue
			}
			next, end := e.step(h.place, ref)
			if end != nil && (decides(h.expr, ref) || e.matters(*end, ref, x)) {
				weak = append(weak, append(slices.Clone(h.trail), *end))
			}
			for _, n := range next {
				link := n.trail[0]
				if !seen[link.key()] {
					seen[link.key()] = true
					n.trail = append(slices.Clone(h.trail), link)
					queue = append(queue, n)
				}
			}
		}
	}
	if len(strong) > 0 {
		slices.SortStableFunc(strong, func(a, b Chain) int { return len(a) - len(b) })
		return strong[:1]
	}
	return possible(weak)
}

// possible marks the ends of several chains as alternatives.
func possible(chains []Chain) []Chain {
	seen := map[string]bool{}
	var list []Chain
	for _, c := range chains {
		end := c[len(c)-1]
		if !seen[end.key()] && len(list) < most {
			seen[end.key()] = true
			list = append(list, c)
		}
	}
	if len(list) > 1 {
		for _, c := range list {
			c[len(c)-1].Maybe = true
		}
	}
	return list
}

// step continues from a reference to what is no resource: to the expressions behind it, or to
// an input, which is an end.
func (e *explainer) step(at place, ref *program.Ref) (next []hop, end *Link) {
	f, path := at.frame, pathOf(ref.Rest)
	to := func(kind Kind, subject string, x expression) hop {
		return hop{x, Chain{{Kind: kind, Subject: subject, Range: x.expr.Range().Ptr()}}}
	}
	switch ref.Kind {
	case program.RefLocal:
		if ref.Local.Expr != nil {
			next = append(next, to(Local, f.Label("local."+ref.Local.Name), part(place{frame: f, element: at.element}, ref.Local.Expr, path)))
		}
	case program.RefVariable:
		name := f.Label("var." + ref.Variable.Name)
		if f.Parent == nil {
			return nil, e.input(ref.Variable)
		}
		in := f.Call.Input(ref.Variable.Name)
		if in == nil || in.Expr == nil {
			return nil, &Link{Kind: Default, Subject: name, Range: ref.Variable.Range.Ptr()}
		}
		next = append(next, to(Variable, name, part(e.callPlace(f), in.Expr, path)))
	case program.RefCall:
		for _, child := range e.children(at, ref) {
			for _, o := range child.Program.Outputs {
				if o.Expr != nil && (ref.Attr == "" || o.Name == ref.Attr) {
					next = append(next, to(Output, child.Label("output."+o.Name), part(place{frame: child}, o.Expr, path)))
				}
			}
		}
	case program.RefEach:
		if ref.Attr == "value" && at.each != nil && at.repeat.ForEach != nil {
			if key, ok := at.each.Key.Str(); ok {
				path = append(cty.IndexStringPath(key), path...)
			}
			h := to(Repetition, at.block, part(place{frame: f, element: &at.each.Key}, at.repeat.ForEach, path))
			h.trail[0].Name = "for_each"
			next = append(next, h)
		}
	case program.RefTerraform:
		if ref.Attr == "workspace" {
			return nil, &Link{Kind: Workspace, Range: ref.Range.Ptr()}
		}
	}
	return next, nil
}

// callPlace is where the arguments of a frame's call stand.
func (e *explainer) callPlace(f *eval.Frame) place {
	return place{frame: f.Parent, each: f.Each, repeat: f.Call.Repeat, block: f.Parent.Addr.Child(f.Call.Call, addr.NoKey).String()}
}

// instancePlace is where the arguments of a resource instance stand.
func (e *explainer) instancePlace(i *eval.Instance) place {
	return place{frame: i.Frame, each: i.Each, repeat: i.Resource.Repeat, block: i.Addr.Resource.String()}
}

// children are the module instances that a reference names.
func (e *explainer) children(at place, ref *program.Ref) []*eval.Frame {
	all := at.frame.Children(ref.Call)
	key, ok := keyOf(at, ref.Key)
	if !ok {
		return all
	}
	return slices.DeleteFunc(all, func(f *eval.Frame) bool {
		_, step, _ := f.Addr.Parent()
		return step.Key != key
	})
}

// keyOf is the key of a reference where it is written out or that of the
// place; otherwise any may be meant.
func keyOf(at place, expr hcl.Expression) (addr.Key, bool) {
	if expr == nil {
		return addr.NoKey, false
	}
	if ref, ok := expr.(*program.RefExpr); ok {
		if (ref.Ref.Kind == program.RefCount || ref.Ref.Kind == program.RefEach && ref.Ref.Attr == "key") && at.each != nil {
			return at.each.Key, true
		}
		return addr.NoKey, false
	}
	if len(program.References(expr)) > 0 {
		return addr.NoKey, false
	}
	v, hd := expr.Value(nil)
	if hd.HasErrors() {
		return addr.NoKey, false
	}
	key, err := eval.KeyOf(v)
	return key, err == nil
}

// input is the end at a root variable.
func (e *explainer) input(v *program.Variable) *Link {
	l := &Link{Kind: Default, Subject: "var." + v.Name, Range: v.Range.Ptr()}
	if set := e.in.Plan.Variables[v.Name]; set != nil {
		l.After = set.Value
		if v.Sensitive {
			l.After = l.After.Mark(sensitive)
		}
		if v.Ephemeral {
			l.After = cty.NilVal
		}
	}
	if from, ok := e.in.Sources[v.Name]; ok {
		l.Kind, l.Name = Given, from.From
		if from.Range.Filename != "" {
			l.Range = from.Range.Ptr()
		}
	}
	return l
}

// decides reports whether a reference stands where its value is asked something, in a
// condition or an operation, rather than shown.
func decides(expr hcl.Expression, ref *program.Ref) (yes bool) {
	if x, ok := expr.(*program.Expr); ok {
		expr = x.Expression
	}
	node, ok := expr.(hclsyntax.Node)
	if !ok || expr == nil {
		return false
	}
	hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.ConditionalExpr:
			yes = yes || len(inside([]*program.Ref{ref}, n.Condition.Range())) > 0
		case *hclsyntax.BinaryOpExpr, *hclsyntax.UnaryOpExpr:
			yes = yes || len(inside([]*program.Ref{ref}, n.Range())) > 0
		}
		return nil
	})
	return yes
}

// matters reports whether an input can be why a value differs. One whose text
// is in both forms as often isn't: it has stayed the same.
func (e *explainer) matters(end Link, ref *program.Ref, x expression) bool {
	text, ok := shownAs(at(plain(end.After), pathOf(ref.Rest)))
	before, ok1 := textOf(plain(x.before))
	after, ok2 := textOf(plain(x.after))
	return !ok || !ok1 || !ok2 || text == "" || strings.Count(before, text) != strings.Count(after, text) || !strings.Contains(after, text)
}

// impure finds a call of a function whose result is another in every run.
func impure(expr hcl.Expression) (name string) {
	if x, ok := expr.(*program.Expr); ok {
		expr = x.Expression
	}
	node, ok := expr.(hclsyntax.Node)
	if !ok || expr == nil {
		return ""
	}
	hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
			switch call.Name {
			case "timestamp", "plantimestamp", "uuid", "bcrypt":
				name = call.Name
			}
		}
		return nil
	})
	return name
}
