package program

import (
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
)

// Kind is what a declaration is.
type Kind string

// The kinds that others tell apart. Calls are those of modules, components and embedded
// stacks.
const (
	KindVariable  Kind = "variable"
	KindLocal     Kind = "local"
	KindOutput    Kind = "output"
	KindResource  Kind = "resource"
	KindData      Kind = "data"
	KindEphemeral Kind = "ephemeral"
	KindAction    Kind = "action"
	KindList      Kind = "list"
	KindProvider  Kind = "provider"
	KindCall      Kind = "call"
)

// A Declaration is one entry of a program's tables. Anyone who prints programs, edits them or
// follows references goes by only this.
type Declaration interface {
	Head() Head
	// Parts gives the expressions of the declaration, those of one meaning together.
	Parts(add func(Part))
	// title is the line that the declaration prints, without references.
	title() string
}

// A Head says which declaration it is: Name is what it is called in its module, such as
// var.x or sim_object.a, and Range where its block begins.
type Head struct {
	Kind  Kind
	Name  string
	Range hcl.Range
}

// A Part is an expression, or what else of a declaration has references, with what it
// means. One of Expr, Body and Refs is set, or none where Note alone is to be printed.
type Part struct {
	// Argument is what it stands in: count, for_each, config, precondition and so on.
	Argument string
	// Role is what it is to editors, empty for what they leave alone.
	Role Role
	Expr *Expr
	// Message is the error message of a condition.
	Message *Expr
	Body    *Body
	// Connection belongs to the body of a provisioner; nil without.
	Connection *Body
	Refs       []*Ref
	// Note is printed in the place of Argument.
	Note string
	// Inline: it is printed on the line of the declaration.
	Inline bool
	// Setting: it says what is loaded or passed by a call, and isn't what the call
	// refers to.
	Setting bool
	// AtDestroy: nobody asks for it before the object is destroyed.
	AtDestroy bool
}

// References are those of all expressions of the part.
func (p *Part) References() []*Ref {
	refs := p.Refs
	if p.Expr != nil {
		refs = p.Expr.Refs
	}
	if p.Body != nil {
		refs = p.Body.Refs
	}
	if p.Message != nil {
		refs = append(refs[:len(refs):len(refs)], p.Message.Refs...)
	}
	if p.Connection != nil {
		refs = append(refs[:len(refs):len(refs)], p.Connection.Refs...)
	}
	return refs
}

// An Observer is a declaration that looks at what the others have come to. It is evaluated
// when they are planned and again as a step of the apply, nothing can refer to it, and its
// outcomes are in plans and states. Stages treat all kinds of observers alike; package checks has for each the result of it.
type Observer interface {
	Declaration
	// Label is its name without what begins the address, which is the kind.
	Label() string
	// Place is the index among the program's observers.
	Place() int
	// Own is a data source that stands in the block, for only it; nil without.
	Own() *Resource
	// Outcomes is how many there are once it was evaluated.
	Outcomes() int
}

// Declarations are the entries of all tables whose expressions belong to the module.
func (p *Program) Declarations() []Declaration {
	var list []Declaration
	list = appendAll(list, p.Providers)
	list = appendAll(list, p.Variables)
	list = appendAll(list, p.Locals)
	list = appendAll(list, p.Resources)
	list = appendAll(list, p.Calls)
	list = appendAll(list, p.Observers)
	return appendAll(list, p.Outputs)
}

func appendAll[D Declaration](list []Declaration, table []D) []Declaration {
	list = slices.Grow(list, len(table))
	for _, d := range table {
		list = append(list, d)
	}
	return list
}

// expression gives an expression unless it is nil.
func expression(add func(Part), p Part) {
	if p.Expr != nil {
		add(p)
	}
}

// body gives a body unless it is nil.
func body(add func(Part), argument string, role Role, b *Body) {
	if b != nil {
		add(Part{Argument: argument, Role: role, Body: b})
	}
}

func references(add func(Part), argument string, refs []*Ref) {
	if len(refs) > 0 {
		add(Part{Argument: argument, Refs: refs})
	}
}

func conditions(add func(Part), argument string, role Role, list []*Condition) {
	for _, c := range list {
		add(Part{Argument: argument, Role: role, Expr: c.Condition, Message: c.ErrorMessage})
	}
}

// Argument is the name of the argument that is set, or empty.
func (r Repeat) Argument() string {
	switch {
	case r.Count != nil:
		return "count"
	case r.ForEach != nil:
		return "for_each"
	case r.Enabled != nil:
		return "enabled"
	}
	return ""
}

func (r Repeat) parts(add func(Part)) {
	expression(add, Part{Argument: r.Argument(), Role: Repetition, Expr: r.Expr()})
}

// Head implements Declaration.
func (v *Variable) Head() Head { return Head{KindVariable, "var." + v.Name, v.Range} }

// Parts implements Declaration.
func (v *Variable) Parts(add func(Part)) {
	conditions(add, "validation", Validation, v.Validations)
}

// Head implements Declaration.
func (l *Local) Head() Head { return Head{KindLocal, "local." + l.Name, l.Range} }

// Parts implements Declaration.
func (l *Local) Parts(add func(Part)) {
	expression(add, Part{Argument: "value", Role: Value, Expr: l.Expr, Inline: true})
}

// Head implements Declaration.
func (o *Output) Head() Head { return Head{KindOutput, "output." + o.Name, o.Range} }

// Parts implements Declaration.
func (o *Output) Parts(add func(Part)) {
	expression(add, Part{Argument: "value", Role: Value, Expr: o.Expr, Inline: true})
	references(add, "depends_on", o.DependsOn)
	conditions(add, "precondition", Precondition, o.Preconditions)
}

// Head implements Declaration.
func (r *Resource) Head() Head {
	kind := map[addr.Mode]Kind{addr.Managed: KindResource, addr.Data: KindData, addr.Ephemeral: KindEphemeral, addr.Action: KindAction, addr.List: KindList}[r.Name.Mode]
	return Head{kind, r.Name.String(), r.Range}
}

// Parts implements Declaration.
func (r *Resource) Parts(add func(Part)) {
	r.Repeat.parts(add)
	body(add, "config", Argument, r.Config)
	references(add, "depends_on", r.DependsOn)
	expression(add, Part{Argument: "limit", Expr: r.Limit})
	expression(add, Part{Argument: "include_resource", Expr: r.Whole})
	expression(add, Part{Argument: "prevent_destroy", Expr: r.PreventDestroy})
	if len(r.IgnoreChanges) > 0 {
		add(Part{Note: "ignores " + strconv.Itoa(len(r.IgnoreChanges))})
	}
	references(add, "replace_triggered_by", r.ReplaceTriggeredBy)
	conditions(add, "precondition", Precondition, r.Preconditions)
	conditions(add, "postcondition", Postcondition, r.Postconditions)
	for _, t := range r.Triggers {
		t.parts(add)
	}
	body(add, "connection", "", r.Connection)
	provisionerParts(add, r.Provisioners)
	expression(add, Part{Argument: "provider", Note: "provider key", Expr: r.Provider.Key})
}

func provisionerParts(add func(Part), list []*Provisioner) {
	for _, p := range list {
		note := "provisioner " + p.Type + flags(p.OnDestroy, "destroy", p.Continue, "continue")
		add(Part{Argument: "provisioner", Note: note, Body: p.Config, Connection: p.Connection, AtDestroy: p.OnDestroy})
	}
}

// Head implements Declaration.
func (c *Call) Head() Head { return Head{KindCall, c.String(), c.Range} }

// Parts implements Declaration. The inputs have the role of arguments: they belong to
// the variables of what is called.
func (c *Call) Parts(add func(Part)) {
	c.Repeat.parts(add)
	expression(add, Part{Argument: "source", Expr: c.Source, Setting: true})
	expression(add, Part{Argument: "version", Expr: c.Version, Setting: true})
	for _, in := range c.Inputs {
		expression(add, Part{Argument: in.Name, Role: Argument, Expr: in.Expr, Setting: true})
	}
	expression(add, Part{Argument: "inputs", Expr: c.Object, Setting: true})
	for _, step := range c.Path {
		add(Part{Note: "at " + step.Call.String(), Setting: true})
		expression(add, Part{Argument: "key", Expr: step.Key, Setting: true})
	}
	for _, p := range c.Providers {
		add(Part{Note: "passes " + dotted(p.Outer.LocalName, p.Outer.Alias) + " as " + dotted(p.LocalName, p.Alias), Setting: true})
		expression(add, Part{Argument: "key", Expr: p.Outer.Key, Setting: true})
	}
	references(add, "depends_on", c.DependsOn)
}

// Head implements Declaration.
func (p *Provider) Head() Head {
	return Head{KindProvider, addr.ProviderConfig{Provider: p.Provider, Alias: p.Alias}.String(), p.Range}
}

// Parts implements Declaration.
func (p *Provider) Parts(add func(Part)) {
	expression(add, Part{Argument: "for_each", Expr: p.ForEach})
	body(add, "config", "", p.Config)
}
