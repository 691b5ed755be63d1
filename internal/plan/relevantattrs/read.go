package relevantattrs

import (
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
)

// ReadBy lists the attributes of resources that an expression of a module instance
// leads to, in the module instances that there are.
func ReadBy(f *eval.Frame, e *program.Expr) []plan.Attribute {
	c := &attributes{seen: map[string]bool{}, passed: map[passage]bool{}}
	c.follow(f, e.Refs)
	return c.list
}

// attributes collects those that references lead to in the module instances
// that there are.
type attributes struct {
	list   []plan.Attribute
	seen   map[string]bool
	passed map[passage]bool
}

// called is an output of a module call, or all of them.
type called struct {
	call *program.Call
	attr string
}

// A passage is a declaration in a module instance.
type passage struct {
	frame       *eval.Frame
	declaration any
}

// pass reports whether the declaration wasn't followed yet.
func (c *attributes) pass(f *eval.Frame, declaration any) bool {
	p := passage{f, declaration}
	fresh := !c.passed[p]
	c.passed[p] = true
	return fresh
}

func (c *attributes) follow(f *eval.Frame, refs []*program.Ref) {
	for _, ref := range refs {
		switch ref.Kind {
		case program.RefResource:
			a := plan.Attribute{Resource: addr.Resource{Module: f.Addr, Name: ref.Resource.Name}.Instance(constantKey(ref)), Path: program.Path(ref.Rest)}
			if text := a.Resource.String() + value.PathString(a.Path); !c.seen[text] {
				c.seen[text] = true
				c.list = append(c.list, a)
			}
		case program.RefLocal:
			if ref.Local.Expr != nil && c.pass(f, ref.Local) {
				c.follow(f, ref.Local.Expr.Refs)
			}
		case program.RefVariable:
			if f.Call == nil || !c.pass(f, ref.Variable) {
				continue
			}
			if in := f.Call.Input(ref.Variable.Name); in != nil && in.Expr != nil {
				c.follow(f.Parent, in.Expr.Refs)
			}
		case program.RefCall:
			if !c.pass(f, called{ref.Call, ref.Attr}) {
				continue // all instances were inspected
			}
			for _, child := range f.Children(ref.Call) {
				for _, o := range child.Program.Outputs {
					if (ref.Attr == "" || o.Name == ref.Attr) && o.Expr != nil && c.pass(child, o) {
						c.follow(child, o.Expr.Refs)
					}
				}
			}
		}
	}
}
