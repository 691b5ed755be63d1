package compiler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

// resolve makes the node of a reference, or a placeholder after an error.
func (r *rewriter) resolve(t hcl.Traversal, at hcl.Range) hclsyntax.Expression {
	before := len(r.c.diags)
	ref := r.c.reference(t, at, r.in)
	if ref == nil {
		if r.generated {
			problems := slices.Clone(r.c.diags[before:])
			r.c.diags = r.c.diags[:before]
			return program.NewBrokenExpr(at, problems.ToHCL())
		}
		return placeholder(at)
	}
	r.refs = append(r.refs, ref)
	if r.trying > 0 || r.generated {
		if r.tried == nil {
			r.tried = map[*program.Ref]bool{}
		}
		r.tried[ref] = true
	}
	return program.NewRefExpr(ref)
}

// reference finds the declaration that a reference names. The result is nil
// after an error.
func (c *compiler) reference(t hcl.Traversal, at hcl.Range, in *scope) *program.Ref {
	before := len(c.diags)
	ref := resolver{c, in}.resolve(t, at)
	c.used(before, in)
	return ref
}

// used notes that the problems since then are about uses of declarations.
func (c *compiler) used(before int, in *scope) {
	for i := before; i < len(c.diags); i++ {
		c.diags[i].Use = !in.static
	}
}

// A resolver finds what references of one place name.
type resolver struct {
	*compiler
	in *scope
}

func (c resolver) resolve(t hcl.Traversal, at hcl.Range) *program.Ref {
	ref := &program.Ref{Text: syntax.TraversalText(t), Range: at}
	ok := false
	if c.stack {
		if !c.stackReference(ref, t) {
			return nil
		}
		if ref.Kind != 0 {
			return ref
		}
	}
	switch root := t.RootName(); root {
	case "var":
		ok = c.single(t, func(name string, rest hcl.Traversal) bool {
			ref.Kind, ref.Variable, ref.Rest = program.RefVariable, c.prog.VariableByName[name], rest
			return ref.Variable != nil || c.undeclaredVariable(name, at)
		})
	case "local":
		ok = c.single(t, func(name string, rest hcl.Traversal) bool {
			ref.Kind, ref.Local, ref.Rest = program.RefLocal, c.prog.LocalByName[name], rest
			return ref.Local != nil || c.undeclaredLocal(name, at)
		})
	case "module":
		ok = c.single(t, func(name string, rest hcl.Traversal) bool {
			ref.Kind, ref.Call = program.RefCall, c.prog.CallByName[addr.Mod(name)]
			return ref.Call != nil && c.callRest(ref, rest) || ref.Call == nil && c.undeclaredCall(name, at)
		})
	case "count", "each", "path", "terraform", "tofu":
		ok = c.single(t, func(name string, rest hcl.Traversal) bool {
			ref.Attr, ref.Rest = name, rest
			return c.fixed(ref, root)
		})
	case "output":
		if !c.in.outputs {
			ok = c.resourceRef(ref, addr.Managed, t, 0)
			break
		}
		ok = c.single(t, func(name string, rest hcl.Traversal) bool {
			ref.Kind, ref.Output, ref.Rest = program.RefOutput, c.prog.OutputByName[name], rest
			return ref.Output != nil || c.undeclaredOutput(name, at)
		})
	case "self":
		ref.Kind, ref.Rest = program.RefSelf, t[1:]
		if ok = c.in.self; !ok {
			c.diags.Add(diag.BadReference.As(`Invalid "self" reference`).Error(at, `The "self" object is not available in this context. It can be used only in resource provisioner, connection, and postcondition blocks.`))
		}
	case "caller":
		if !c.in.caller {
			ok = c.resourceRef(ref, addr.Managed, t, 0)
			break
		}
		ref.Kind, ref.Rest, ok = program.RefSelf, t[1:], true
	case "action":
		mode, skip := addr.Managed, 0
		if c.in.actions {
			mode, skip = addr.Action, 1
		}
		ok = c.resourceRef(ref, mode, t, skip)
	case "list":
		mode, skip := addr.Managed, 0
		if c.queries {
			mode, skip = addr.List, 1
		}
		ok = c.resourceRef(ref, mode, t, skip)
	case "data":
		ok = c.resourceRef(ref, addr.Data, t, 1)
	case "ephemeral":
		ok = c.resourceRef(ref, addr.Ephemeral, t, 1)
	case "resource":
		ok = c.resourceRef(ref, addr.Managed, t, 1)
	case "template", "lazy", "arg":
		c.diags.Add(diag.BadName.As("Reserved symbol name").Error(t[0].SourceRange(), "The symbol name %q is reserved. If a provider has a resource type of this name, write resource.%s.NAME.", root, root))
	default:
		ok = c.resourceRef(ref, addr.Managed, t, 0)
	}
	if !ok {
		return nil
	}
	return ref
}

// single reads the name behind an object such as var.
func (c resolver) single(t hcl.Traversal, use func(name string, rest hcl.Traversal) bool) bool {
	root := t.RootName()
	if len(t) < 2 {
		c.diags.Add(diag.BadReference.Error(t[0].SourceRange(), "The %q object cannot be accessed directly. Instead, access one of its attributes.", root))
		return false
	}
	attr, ok := t[1].(hcl.TraverseAttr)
	if !ok {
		c.diags.Add(diag.BadReference.Error(t[1].SourceRange(), "The %q object does not support this operation: write %s.NAME.", root, root))
		return false
	}
	return use(attr.Name, t[2:])
}

func (c resolver) undeclaredVariable(name string, at hcl.Range) bool {
	if c.variableNames == nil {
		for _, v := range c.prog.Variables {
			c.variableNames = append(c.variableNames, v.Name)
		}
	}
	hint := syntax.Suggest(name, c.variableNames)
	if hint == "" {
		hint = fmt.Sprintf(" This variable can be declared with a variable %q {} block.", name)
	}
	c.undeclared(UndeclaredVariable.Error(at, "An input variable with the name %q has not been declared.%s", name, hint))
	return false
}

func (c resolver) undeclaredLocal(name string, at hcl.Range) bool {
	if c.localNames == nil {
		for _, l := range c.prog.Locals {
			c.localNames = append(c.localNames, l.Name)
		}
	}
	c.undeclared(UndeclaredLocal.Error(at, "A local value with the name %q has not been declared.%s", name, syntax.Suggest(name, c.localNames)))
	return false
}

func (c resolver) undeclaredCall(name string, at hcl.Range) bool {
	if c.callNames == nil {
		for _, m := range c.prog.Calls {
			c.callNames = append(c.callNames, m.Name)
		}
	}
	c.undeclared(UndeclaredModule.Error(at, "No module call named %q is declared in this module.%s", name, syntax.Suggest(name, c.callNames)))
	return false
}

func (c resolver) undeclaredOutput(name string, at hcl.Range) bool {
	var names []string
	for _, o := range c.prog.Outputs {
		names = append(names, o.Name)
	}
	c.diags.Add(UndeclaredOutput.Error(at, "An output value with the name %q has not been declared.%s", name, syntax.Suggest(name, names)))
	return false
}

// callRest reads what follows the name of a call: a key and an output.
func (c resolver) callRest(ref *program.Ref, rest hcl.Traversal) bool {
	single := ref.Call.Repeat.IsSingle()
	if len(rest) > 0 && !single {
		index, ok := rest[0].(hcl.TraverseIndex)
		if !ok {
			if ref.Call.Repeat.Count != nil {
				c.diags.Add(diag.NoAttribute.Error(ref.Range, "Because %s has \"count\" set, its outputs must be accessed on specific instances, as in %s[0]%s, or on all of them with %s[*].",
					ref.Call, ref.Call, syntax.TraversalText(rest[:1]), ref.Call))
				return false
			}
			ref.Rest = rest // an instance whose key is a name
			return true
		}
		if ref.Key = c.key(index, "module"); ref.Key == nil {
			return false
		}
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return true
	}
	switch step := rest[0].(type) {
	case hcl.TraverseAttr:
		ref.Attr, rest = step.Name, rest[1:]
	case hcl.TraverseIndex:
		if step.Key.Type() != cty.String || step.Key.IsNull() {
			c.diags.Add(diag.BadReference.Error(step.SrcRange, "Because %s has neither \"count\" nor \"for_each\" set, there are no instances to choose from: remove the index.", ref.Call))
			return false
		}
		ref.Attr, rest = step.Key.AsString(), rest[1:]
	default:
		c.diags.Add(diag.BadReference.Error(rest[0].SourceRange(), "Module instance objects do not support this operation."))
		return false
	}
	ref.Rest = rest
	return true
}

// key makes the expression of a constant instance key.
func (c resolver) key(step hcl.TraverseIndex, what string) hcl.Expression {
	if !step.Key.IsNull() && step.Key.IsKnown() {
		if t := step.Key.Type(); t == cty.String || t == cty.Number {
			return &hclsyntax.LiteralValueExpr{Val: step.Key, SrcRange: step.SrcRange}
		}
	}
	c.diags.Add(MissingKey.As("Invalid index key").Error(step.SrcRange, "Invalid index for %s instance: it must be a string or a number.", what))
	return nil
}

// fixed checks references to objects that have a fixed set of attributes.
func (c resolver) fixed(ref *program.Ref, root string) bool {
	switch root {
	case "count":
		ref.Kind = program.RefCount
		if ref.Attr != "index" {
			c.diags.Add(diag.BadReference.As(`Invalid "count" attribute`).Error(ref.Range, `The "count" object does not have an attribute named %q. The only supported attribute is count.index, which is the index of each instance of a block that has the "count" argument set.`, ref.Attr))
			return false
		}
		if !c.in.count {
			c.diags.Add(diag.NotRepeated.Error(ref.Range, `The "count" object can only be used in "module", "resource", and "data" blocks, and only when the "count" argument is set.`))
			return false
		}
	case "each":
		ref.Kind = program.RefEach
		if ref.Attr != "key" && ref.Attr != "value" {
			c.diags.Add(diag.BadReference.As(`Invalid "each" attribute`).Error(ref.Range, `The "each" object does not have an attribute named %q. The supported attributes are each.key and each.value, the current key and value pair of the "for_each" argument.`, ref.Attr))
			return false
		}
		if !c.in.each {
			c.diags.Add(diag.NotRepeated.As(`Reference to "each" in context without for_each`).Error(ref.Range, `The "each" object can be used only in "module" or "resource" blocks, and only when the "for_each" argument is set.`))
			return false
		}
		if c.in.eachKey && ref.Attr != "key" {
			c.diags.Add(BadLifecycle.As("Invalid each reference in replace_triggered_by expression").Error(ref.Range, "Only each.key may be used in replace_triggered_by."))
			return false
		}
	case "path":
		ref.Kind = program.RefPath
		switch ref.Attr {
		case "module", "root", "cwd":
		default:
			c.diags.Add(diag.BadReference.As(`Invalid "path" attribute`).Error(ref.Range, `The "path" object does not have an attribute named %q.%s The attributes are cwd, module and root.`, ref.Attr, syntax.Suggest(ref.Attr, []string{"cwd", "module", "root"})))
			return false
		}
	default:
		ref.Kind = program.RefTerraform
		switch ref.Attr {
		case "workspace", "applying":
		case "env":
			c.diags.Add(diag.BadReference.As(fmt.Sprintf("Invalid %q attribute", root)).Error(ref.Range, "There is no %s.env attribute any more: the workspace name is %s.workspace.", root, root))
			return false
		default:
			c.diags.Add(diag.BadReference.As(fmt.Sprintf("Invalid %q attribute", root)).Error(ref.Range, `The %q object does not have an attribute named %q. The only supported attributes are %s.workspace and %s.applying.`, root, ref.Attr, root, root))
			return false
		}
	}
	return true
}

// resourceRef reads a reference to a resource, whose type stands at index
// skip of the traversal.
func (c resolver) resourceRef(ref *program.Ref, mode addr.Mode, t hcl.Traversal, skip int) bool {
	if len(t) < 2+skip {
		if skip == 0 {
			c.diags.Add(diag.BadReference.Error(ref.Range, "A reference to a resource type must be followed by at least one attribute access, specifying the resource name."))
		} else {
			c.diags.Add(diag.BadReference.Error(ref.Range, "The %q object must be followed by two attribute names: the resource type and the resource name.", t.RootName()))
		}
		return false
	}
	name := addr.Name{Mode: mode, Type: t.RootName()}
	if skip > 0 {
		typ, ok := t[1].(hcl.TraverseAttr)
		if !ok {
			c.diags.Add(diag.BadReference.Error(t[1].SourceRange(), "The %q object does not support this operation.", t.RootName()))
			return false
		}
		name.Type = typ.Name
	}
	last, ok := t[1+skip].(hcl.TraverseAttr)
	if !ok {
		c.diags.Add(diag.BadReference.Error(t[1+skip].SourceRange(), "A reference to a resource type must be followed by at least one attribute access, specifying the resource name."))
		return false
	}
	name.Name = last.Name
	ref.Kind, ref.Resource = program.RefResource, c.prog.ResourceByName[name]
	if ref.Resource == nil {
		c.undeclaredResource(name, ref.Range)
		return false
	}
	if ref.Resource.Check != nil && ref.Resource.Check != c.in.within {
		c.diags.Add(diag.BadReference.As("Reference to scoped resource").Error(ref.Range, "The referenced %s resource %q %q is declared in %s block %q and can be used only there.", mode, name.Type, name.Name, ref.Resource.Check.Head().Kind, ref.Resource.Check.Label()))
		return false
	}
	return c.resourceRest(ref, t[2+skip:])
}

// resourceRest reads what follows the name of a resource.
func (c resolver) resourceRest(ref *program.Ref, rest hcl.Traversal) bool {
	name, repeat := ref.Resource.Name, ref.Resource.Repeat
	if len(rest) == 0 {
		return true
	}
	index, indexed := rest[0].(hcl.TraverseIndex)
	switch {
	case indexed && repeat.IsSingle():
		c.diags.Add(MissingKey.As("Unexpected resource instance key").Error(ref.Range, `Because %s does not have "count" or "for_each" set, references to it must not include an index key. Remove the bracketed index to refer to the single instance of this resource.`, name))
		return false
	case indexed:
		if ref.Key = c.key(index, "resource"); ref.Key == nil {
			return false
		}
		rest = rest[1:]
	case repeat.Count != nil:
		c.diags.Add(MissingKey.Error(ref.Range, "Because %s has \"count\" set, its attributes must be accessed on specific instances.\n\nFor example, to correlate with indices of a referring resource, use:\n    %s[count.index]", name, name))
		return false
	case repeat.ForEach != nil:
		c.diags.Add(MissingKey.Error(ref.Range, "Because %s has \"for_each\" set, its attributes must be accessed on specific instances.\n\nFor example, to correlate with indices of a referring resource, use:\n    %s[each.key]", name, name))
		return false
	}
	ref.Rest = rest
	return true
}

// likeType proposes what a reference to a resource was probably meant for that names a type of
// which none exists: a resource of that name, or what isn't a resource.
func (c resolver) likeType(name addr.Name) string {
	var types []string
	for kind, names := range c.resourceNames {
		if kind.Mode == name.Mode && slices.Contains(names, name.Name) {
			types = append(types, kind.Type)
		}
	}
	if hint := syntax.Suggest(name.Type, types); hint != "" || name.Mode != addr.Managed || len(name.Type) < 3 || strings.Contains(name.Type, "_") {
		return hint
	}
	return syntax.Suggest(name.Type, []string{"var", "local", "module", "data", "ephemeral", "each", "count", "self", "path", "terraform"})
}

func (c resolver) undeclaredResource(name addr.Name, at hcl.Range) {
	hint := ""
	for _, mode := range []addr.Mode{addr.Managed, addr.Data, addr.Ephemeral} {
		other := addr.Name{Mode: mode, Type: name.Type, Name: name.Name}
		if c.prog.ResourceByName[other] != nil {
			hint = fmt.Sprintf("\n\nDid you mean the %s resource %s?", mode, other)
			break
		}
	}
	if hint == "" {
		if c.resourceNames == nil {
			c.resourceNames = map[addr.Name][]string{}
			for _, r := range c.prog.Resources {
				kind := addr.Name{Mode: r.Name.Mode, Type: r.Name.Type}
				c.resourceNames[kind] = append(c.resourceNames[kind], r.Name.Name)
			}
		}
		names := c.resourceNames[addr.Name{Mode: name.Mode, Type: name.Type}]
		if hint = syntax.Suggest(name.Name, names); names == nil {
			hint = c.likeType(name)
		}
	}
	c.undeclared(UndeclaredResource.Error(at, "A %s resource %q %q has not been declared in this module.%s", name.Mode, name.Type, name.Name, hint))
}

// stackReference resolves references to components and stacks, and rejects what only modules
// know. Others are left to the caller.
func (c resolver) stackReference(ref *program.Ref, t hcl.Traversal) bool {
	switch root := t.RootName(); root {
	case "var", "local", "each":
		return true
	case "terraform", "tofu":
		if len(t) > 1 {
			if attr, ok := t[1].(hcl.TraverseAttr); ok && attr.Name == "applying" {
				return true
			}
		}
	case "component", "stack":
		kind, _ := addr.ParseKind(root)
		return c.single(t, func(name string, rest hcl.Traversal) bool {
			ref.Kind, ref.Call = program.RefCall, c.prog.CallByName[addr.Call{Kind: kind, Name: name}]
			return ref.Call != nil && c.callRest(ref, rest) || ref.Call == nil && c.undeclaredStackCall(kind, name, ref.Range)
		})
	case "provider":
		c.diags.Add(diag.BadReference.Error(ref.Range, "Provider configurations can be referred to only in the \"providers\" argument of a component. They aren't values, and a stack that is embedded declares its own."))
		return false
	}
	c.diags.Add(UndeclaredSymbol.Error(ref.Range, "There is no symbol %q in stacks. Expressions there may refer to var, local, component, stack and, beside for_each, each. Put other expressions into a module.", t.RootName()))
	return false
}

func (c resolver) undeclaredStackCall(kind addr.Kind, name string, at hcl.Range) bool {
	var names []string
	for _, m := range c.prog.Calls {
		if m.Kind == kind {
			names = append(names, m.Name)
		}
	}
	code := UndeclaredComponent
	if kind == addr.Stack {
		code = UndeclaredStack
	}
	c.undeclared(code.Error(at, "No %s named %q is declared in this stack.%s", kind, name, syntax.Suggest(name, names)))
	return false
}
