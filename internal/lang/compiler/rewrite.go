package compiler

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

// A scope says what the expressions of one place may refer to besides the
// declarations of the module.
type scope struct {
	count, each bool
	eachKey     bool // only each.key, not each.value
	self        bool
	caller      bool // the instance around whose change an action is invoked
	actions     bool // actions are what is referred to
	// within is the block whose data source is visible.
	within program.Observer
	// own is the resource that the expression configures, which can't need
	// itself.
	own *program.Resource
	// condition is set within a condition of own: "precondition" or such.
	condition string
	// destroy is set where only self, count.index and each.key are left.
	destroy bool
	// static is set where the value is needed before anything is installed.
	static bool
	// names are left alone: they mean something to the caller that decodes the body.
	names []string
	// outputs: those of the module are there too. Variables that it doesn't declare are left
	// alone if the caller that evaluates the expression gives them.
	outputs bool
	given   func(variable string) bool
}

var noScope = &scope{}

// instances is the scope of a block with that repetition.
func instances(r program.Repeat) *scope {
	return &scope{count: r.Count != nil, each: r.ForEach != nil}
}

// expr compiles an expression.
func (c *compiler) expr(e hcl.Expression, in *scope) *program.Expr {
	if e == nil {
		return nil
	}
	node, ok := e.(hclsyntax.Expression)
	if !ok {
		return &program.Expr{Expression: e}
	}
	r := rewriter{c: c, in: in}
	node = r.expr(node)
	r.finish()
	return &program.Expr{Expression: node, Refs: r.refs}
}

// attribute compiles the expression of an optional argument.
func (c *compiler) attribute(attr *hcl.Attribute, in *scope) *program.Expr {
	if attr == nil {
		return nil
	}
	return c.expr(attr.Expr, in)
}

// A rewriter replaces the references of one expression, or of all expressions
// of a body, by nodes of the program.
type rewriter struct {
	c     *compiler
	in    *scope
	bound []string // names that for expressions and dynamic blocks bind
	refs  []*program.Ref
	// generated: within the content of a dynamic block. References there may be
	// broken as long as no block is generated: modules in use rely on it.
	generated bool
	// trying counts the enclosing calls of try and can; tried are the
	// references within, and those in generated content.
	trying int
	tried  map[*program.Ref]bool
}

func (r *rewriter) isBound(name string) bool {
	for _, b := range r.bound {
		if b == name {
			return true
		}
	}
	return slices.Contains(r.in.names, name)
}

// isGiven reports whether a reference is to a variable that only who evaluates
// the expression knows.
func (r *rewriter) isGiven(t hcl.Traversal) bool {
	if r.in.given == nil || t.RootName() != "var" || len(t) < 2 {
		return false
	}
	attr, ok := t[1].(hcl.TraverseAttr)
	return ok && r.c.prog.VariableByName[attr.Name] == nil && r.in.given(attr.Name)
}

// within runs f while names are bound.
func (r *rewriter) within(names []string, f func()) {
	n := len(r.bound)
	for _, name := range names {
		if name != "" {
			r.bound = append(r.bound, name)
		}
	}
	f()
	r.bound = r.bound[:n]
}

func (r *rewriter) each(list []hclsyntax.Expression) {
	for i := range list {
		list[i] = r.expr(list[i])
	}
}

// expr rewrites a tree and returns what takes its place.
func (r *rewriter) expr(e hclsyntax.Expression) hclsyntax.Expression {
	switch e := e.(type) {
	case nil:
		return nil
	case *hclsyntax.ScopeTraversalExpr:
		if r.isBound(e.Traversal.RootName()) || r.isGiven(e.Traversal) {
			return e
		}
		return r.resolve(e.Traversal, e.SrcRange)
	case *hclsyntax.RelativeTraversalExpr:
		return r.relative(e)
	case *hclsyntax.IndexExpr:
		return r.index(e)
	case *hclsyntax.SplatExpr:
		e.Source = r.expr(e.Source)
		e.Each = r.expr(e.Each)
		if each, ok := e.Each.(*hclsyntax.RelativeTraversalExpr); ok && each.Source == e.Item {
			readEach(splatCall(e.Source), each.Traversal, e.SrcRange)
		}
	case *hclsyntax.TemplateExpr:
		r.each(e.Parts)
		textParts(e)
	case *hclsyntax.TemplateWrapExpr:
		e.Wrapped = r.expr(e.Wrapped)
	case *hclsyntax.TemplateJoinExpr:
		e.Tuple = r.expr(e.Tuple)
	case *hclsyntax.ParenthesesExpr:
		e.Expression = r.expr(e.Expression)
	case *syntax.StringExpr:
		r.c.diags.Append(e.Problems)
		e.Problems = nil
		e.Expression = r.expr(e.Expression)
	case *hclsyntax.FunctionCallExpr:
		r.function(e)
	case *hclsyntax.ConditionalExpr:
		e.Condition = r.expr(e.Condition)
		e.TrueResult = r.expr(e.TrueResult)
		e.FalseResult = r.expr(e.FalseResult)
	case *hclsyntax.BinaryOpExpr:
		e.LHS = r.expr(e.LHS)
		e.RHS = r.expr(e.RHS)
	case *hclsyntax.UnaryOpExpr:
		e.Val = r.expr(e.Val)
	case *hclsyntax.TupleConsExpr:
		r.each(e.Exprs)
	case *hclsyntax.ObjectConsExpr:
		for i, item := range e.Items {
			e.Items[i].KeyExpr = r.expr(item.KeyExpr)
			e.Items[i].ValueExpr = r.expr(item.ValueExpr)
		}
	case *hclsyntax.ObjectConsKeyExpr:
		// A bare name is the key itself.
		if _, bare := e.Wrapped.(*hclsyntax.ScopeTraversalExpr); !bare || e.ForceNonLiteral {
			e.Wrapped = r.expr(e.Wrapped)
		}
	case *hclsyntax.ForExpr:
		e.CollExpr = r.expr(e.CollExpr)
		r.within([]string{e.KeyVar, e.ValVar}, func() {
			e.KeyExpr = r.expr(e.KeyExpr)
			e.ValExpr = r.expr(e.ValExpr)
			e.CondExpr = r.expr(e.CondExpr)
		})
		if call := wholeCall(e.CollExpr); call != nil {
			for _, t := range e.ValExpr.Variables() {
				if t.RootName() == e.ValVar {
					readEach(call, t[1:], t.SourceRange())
				}
			}
		}
		return program.NewLoopExpr(e)
	case *program.RefExpr:
		r.refs = append(r.refs, e.Ref)
	}
	return e
}

// wholeCall is the call all of whose instances an expression names, or nil.
func wholeCall(e hclsyntax.Expression) *program.Call {
	if node, ok := e.(*program.RefExpr); ok && takesKey(node.Ref) {
		return node.Ref.Call
	}
	return nil
}

// splatCall is wholeCall for what a splat goes through, where a single instance is
// a list of one, or of none.
func splatCall(e hclsyntax.Expression) *program.Call {
	node, ok := e.(*program.RefExpr)
	if ok && node.Ref.Kind == program.RefCall && node.Ref.Key == nil && node.Ref.Attr == "" && len(node.Ref.Rest) == 0 {
		return node.Ref.Call
	}
	return nil
}

// readEach notes that an output of each instance of a call is read.
func readEach(call *program.Call, rest hcl.Traversal, at hcl.Range) {
	if call == nil || len(rest) == 0 {
		return
	}
	if attr, ok := rest[0].(hcl.TraverseAttr); ok {
		call.EachReads = append(call.EachReads, &program.Ref{Kind: program.RefCall, Call: call, Attr: attr.Name, Range: at})
	}
}

// textParts makes the parts of a template give texts quickly.
func textParts(e *hclsyntax.TemplateExpr) {
	if len(e.Parts) < 2 {
		return
	}
	for i, part := range e.Parts {
		if _, literal := part.(*hclsyntax.LiteralValueExpr); !literal {
			e.Parts[i] = program.NewTextExpr(part)
		}
	}
}

// relative gives attributes behind a reference to it.
func (r *rewriter) relative(e *hclsyntax.RelativeTraversalExpr) hclsyntax.Expression {
	e.Source = r.expr(e.Source)
	node, ok := e.Source.(*program.RefExpr)
	if !ok {
		return e
	}
	ref, rest := node.Ref, e.Traversal
	if ref.Kind == program.RefCall && ref.Attr == "" && len(ref.Rest) == 0 && (ref.Key != nil || ref.Call.Repeat.IsSingle()) {
		attr, ok := rest[0].(hcl.TraverseAttr)
		if !ok {
			defer r.c.used(len(r.c.diags), r.in)
			r.c.diags.Add(diag.BadReference.Error(e.SrcRange, "An instance of a module is followed by the name of an output: %s.NAME.", ref.Text))
			return placeholder(e.SrcRange)
		}
		ref.Attr, rest = attr.Name, rest[1:]
	}
	ref.Rest = append(ref.Rest, rest...)
	ref.Text += syntax.TraversalText(e.Traversal)
	r.extend(node, e.SrcRange)
	return node
}

// index makes a computed index the key of a reference where the declaration
// is repeated.
func (r *rewriter) index(e *hclsyntax.IndexExpr) hclsyntax.Expression {
	e.Collection = r.expr(e.Collection)
	node, ok := e.Collection.(*program.RefExpr)
	e.Key = r.expr(e.Key)
	if !ok || !takesKey(node.Ref) {
		return e
	}
	node.Ref.Key = e.Key
	node.Ref.Text += "[" + keyText(e.Key) + "]"
	r.extend(node, e.SrcRange)
	return node
}

func (r *rewriter) extend(node *program.RefExpr, to hcl.Range) {
	node.Ref.Range = hcl.RangeBetween(node.Ref.Range, to)
	node.SrcRange = node.Ref.Range
}

// takesKey reports whether an index behind the reference is an instance key.
func takesKey(ref *program.Ref) bool {
	if ref.Key != nil || len(ref.Rest) > 0 || ref.Attr != "" {
		return false
	}
	switch ref.Kind {
	case program.RefResource:
		return !ref.Resource.Repeat.IsSingle()
	case program.RefCall:
		return !ref.Call.Repeat.IsSingle()
	}
	return false
}

func keyText(key hcl.Expression) string {
	switch e := key.(type) {
	case *program.RefExpr:
		return e.Ref.Text
	case *hclsyntax.LiteralValueExpr:
		return syntax.KeyText(e.Val)
	case *hclsyntax.ScopeTraversalExpr:
		return syntax.TraversalText(e.Traversal)
	}
	return "..."
}

func placeholder(at hcl.Range) hclsyntax.Expression {
	return &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: at}
}

// function notes calls of provider functions.
func (r *rewriter) function(e *hclsyntax.FunctionCallExpr) {
	args := e.Args
	if len(args) == 2 && (e.Name == "convert" || e.Name == "core::convert") {
		args = args[:1] // the second argument is a type
	}
	switch e.Name {
	case "try", "can", "core::try", "core::can":
		r.trying++
		r.each(args)
		r.trying--
	default:
		r.each(args)
	}
	if strings.HasPrefix(e.Name, "provider::") {
		r.c.providerFunction(e)
	}
}

func (c *compiler) providerFunction(e *hclsyntax.FunctionCallExpr) {
	if c.functions[e.Name] != nil {
		return
	}
	parts := strings.Split(e.Name, "::")
	f := &program.ProviderFunction{Full: e.Name, Range: e.NameRange}
	switch len(parts) {
	case 3:
		f.LocalName, f.Name = parts[1], parts[2]
	case 4:
		f.LocalName, f.Alias, f.Name = parts[1], parts[2], parts[3]
	default:
		defer c.used(len(c.diags), noScope)
		c.diags.Add(BadFunction.As("Unable to parse provider function").Error(e.NameRange, "%q is not the name of a provider function, which is provider::PROVIDER::FUNCTION or provider::PROVIDER::ALIAS::FUNCTION.", e.Name))
		return
	}
	c.functions[e.Name] = f
	c.prog.Functions = append(c.prog.Functions, f)
}

// finish makes the checks that need whole references.
func (r *rewriter) finish() {
	before := len(r.c.diags)
	for _, ref := range r.refs {
		r.checkOwn(ref)
		if ref.Kind == program.RefCall && ref.Attr != "" && !r.tried[ref] {
			ref.Call.Reads = append(ref.Call.Reads, ref)
		}
		if ref.Kind == program.RefResource && len(ref.Rest) > 0 {
			ref.Lenient = r.tried[ref]
			r.c.prog.AttributeReads = append(r.c.prog.AttributeReads, ref)
		}
	}
	r.c.used(before, r.in)
	if r.in.destroy {
		for _, ref := range r.refs {
			r.checkDestroy(ref)
		}
	}
}

// checkOwn rejects what an instance can't wait for: itself, or all instances of its block.
// Where self is the object, in provisioners, its address is the same; all instances would be
// each other's.
func (r *rewriter) checkOwn(ref *program.Ref) {
	own := r.in.own
	if own == nil || ref.Kind != program.RefResource || ref.Resource != own {
		return
	}
	if r.in.condition != "" {
		r.c.diags.Add(diag.BadReference.As("Invalid reference in "+r.in.condition).Error(ref.Range, "Configuration for %s may not refer to itself. In a postcondition, self is the object.", own.Name))
		return
	}
	if r.in.self && (ref.Key != nil || own.Repeat.IsSingle()) {
		return
	}
	if key, ok := ref.Key.(*program.RefExpr); ref.Key == nil || ok && len(key.Ref.Rest) == 0 &&
		(key.Ref.Kind == program.RefCount || key.Ref.Kind == program.RefEach && key.Ref.Attr == "key") {
		r.c.diags.Add(SelfReference.Error(ref.Range, "Configuration for %s may not refer to itself.", own.Name))
	}
}

func (r *rewriter) checkDestroy(ref *program.Ref) {
	switch ref.Kind {
	case program.RefSelf, program.RefCount, program.RefPath, program.RefTerraform:
		return
	case program.RefEach:
		if ref.Attr == "key" {
			return
		}
	}
	r.c.diags.Add(diag.Diagnostic{
		Severity: diag.Error,
		Code:     diag.BadReference.Name, Summary: "Invalid reference from destroy provisioner",
		Detail:  "Destroy-time provisioners and their connection configurations may only refer to attributes of the related resource, via \"self\", \"count.index\", or \"each.key\". Other objects may be gone by then: keep what's needed in an attribute of the resource.",
		Subject: ref.Range.Ptr(),
	})
}
