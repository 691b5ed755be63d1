// Package symbols lists the dependencies between declarations of a configuration: references
// with their places, provider configurations of blocks, and resources that an instance depends
// on.
//
// It is found in the compiled program alone: nothing is evaluated, and neither states nor
// providers are inspected. It doesn't set texts.
package symbols

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
)

// Kind is what a declaration is.
type Kind = program.Kind

// The kinds.
const (
	Variable = program.KindVariable
	Local    = program.KindLocal
	Output   = program.KindOutput
	Resource = program.KindResource
	Data     = program.KindData
	Temporal = program.KindEphemeral
	Provider = program.KindProvider
	Call     = program.KindCall
	Check    = program.KindCheck
)

// rank is the place of a kind in outlines: observers come before calls, which have
// what is in them after them.
func rank(d program.Declaration) int {
	switch d.(type) {
	case *program.Variable, *program.Local:
		return 0
	case *program.Output:
		return 1
	case *program.Resource:
		return 2
	case *program.Provider:
		return 3
	case *program.Call:
		return 5
	}
	return 4
}

// A Declaration is one block, or one local value, for all its instances.
type Declaration struct {
	// Module is where it stands, without instance keys; Name what it is called
	// there.
	Module addr.Module
	Kind   Kind
	Name   string
	Range  hcl.Range
	// Repeat is the argument that says how many instances there are, or empty.
	Repeat string
	// Provider is the provider configuration that serves a resource, ServedAt where
	// the block or the call names it; it has no file where none does.
	Provider addr.ProviderConfig
	ServedAt hcl.Range
	Refers   []Reference
	// DependsOn are the resources that a resource depends on, through other
	// declarations too, by address.
	DependsOn []string

	resource addr.Name
}

// Address is the declaration's, without instance keys.
func (d *Declaration) Address() string { return address(d.Module, d.Name) }

func address(m addr.Module, name string) string {
	if m.IsRoot() {
		return name
	}
	return m.String() + "." + name
}

// ResourceName is the name of a resource, zero for others.
func (d *Declaration) ResourceName() addr.Name { return d.resource }

// A Reference leads from one declaration to another.
type Reference struct {
	To *Declaration
	// Argument is what it stands in: count, for_each, config, depends_on and so on.
	Argument string
	// Text is what is written, and Range where; both empty for what nobody writes.
	Text  string
	Range hcl.Range
}

// Of lists the declarations of a configuration, module by module.
func Of(tree *program.Tree) []*Declaration {
	o := &outliner{byName: map[string][]*Declaration{}}
	o.declare(&place{tree: tree, path: addr.Root})
	for _, visit := range o.later {
		visit()
	}
	o.depend()
	return o.all
}

// A place is a module in the tree.
type place struct {
	tree   *program.Tree
	path   addr.Module // without keys
	call   *program.Call
	parent *place
}

type outliner struct {
	all    []*Declaration
	byName map[string][]*Declaration // by address
	later  []func()                  // finding references, once all is declared
}

func (o *outliner) add(at *place, kind Kind, name string, r hcl.Range) *Declaration {
	d := &Declaration{Module: at.path, Kind: kind, Name: name, Range: r}
	o.all = append(o.all, d)
	o.byName[d.Address()] = append(o.byName[d.Address()], d)
	return d
}

// from is a declaration with the module that its expressions belong to.
type from struct {
	*outliner
	*Declaration
	at *place
}

// declare lists the declarations of a module and of those that it calls.
func (o *outliner) declare(at *place) {
	p := at.tree.Program
	if p == nil {
		return
	}
	list := p.Declarations()
	slices.SortStableFunc(list, func(a, b program.Declaration) int { return rank(a) - rank(b) })
	for _, is := range list {
		head := is.Head()
		d := o.add(at, head.Kind, head.Name, head.Range)
		o.later = append(o.later, func() { from{o, d, at}.parts(is) })
		switch is := is.(type) {
		case *program.Variable:
			o.later = append(o.later, func() { o.input(at, is, d) })
		case *program.Resource:
			d.resource, d.Repeat = is.Name, is.Repeat.Argument()
			d.Provider, d.ServedAt = at.providerOf(is.Provider)
		case *program.Provider:
			if is.ForEach != nil {
				d.Repeat = "for_each"
			}
		case *program.Call:
			d.Repeat = is.Repeat.Argument()
			for _, child := range at.tree.Of(is.Call) {
				o.declare(&place{child, at.path.Child(is.Call, addr.NoKey), is, at})
			}
		}
	}
}

// input has a variable refer to what the call gives it.
func (o *outliner) input(at *place, v *program.Variable, d *Declaration) {
	if at.call == nil {
		return
	}
	if in := at.call.Input(v.Name); in != nil {
		from{o, d, at.parent}.refs("input", in.Expr.Refs)
	}
}

// parts adds what the expressions of a declaration refer to.
func (f from) parts(is program.Declaration) {
	if o, ok := is.(program.Observer); ok && o.Own() != nil {
		f.refer(f.at, o.Own().Name.String(), Reference{Argument: "data"})
	}
	is.Parts(func(p program.Part) {
		if !p.Setting {
			f.refs(p.Argument, p.References())
		}
	})
}

func (f from) refs(argument string, refs []*program.Ref) {
	for _, r := range refs {
		to := Reference{Argument: argument, Text: r.Text, Range: r.Range}
		switch r.Kind {
		case program.RefVariable:
			f.refer(f.at, "var."+r.Variable.Name, to)
		case program.RefLocal:
			f.refer(f.at, "local."+r.Local.Name, to)
		case program.RefResource:
			f.refer(f.at, r.Resource.Name.String(), to)
		case program.RefCall:
			f.callRef(r, to)
			if argument == "depends_on" {
				f.contents(f.at, r.Call, to)
			}
		}
	}
}

// callRef leads to one output of a call, or to all when the whole call is meant.
func (f from) callRef(r *program.Ref, to Reference) {
	loaded := f.at.tree.Of(r.Call.Call)
	if len(loaded) == 0 || loaded[0].Program == nil {
		f.refer(f.at, r.Call.String(), to)
		return
	}
	for _, child := range loaded {
		inner := &place{child, f.at.path.Child(r.Call.Call, addr.NoKey), r.Call, f.at}
		for _, v := range child.Program.Outputs {
			if r.Attr == "" || r.Attr == v.Name {
				f.refer(inner, "output."+v.Name, to)
			}
		}
	}
}

// contents leads to what depending on a call means: all resources of it and of those within
// it, but ephemeral ones, which are there only for code that refers to them, and what is
// within observers.
func (f from) contents(at *place, c *program.Call, to Reference) {
	for _, child := range at.tree.Of(c.Call) {
		if child.Program == nil {
			continue
		}
		inner := &place{child, at.path.Child(c.Call, addr.NoKey), c, at}
		for _, r := range child.Program.Resources {
			if r.Name.Mode.IsStored() && r.Check == nil {
				f.refer(inner, r.Name.String(), to)
			}
		}
		for _, within := range child.Program.Calls {
			f.contents(inner, within, to)
		}
	}
}

// refer adds a reference to what has a name in a module.
func (f from) refer(at *place, name string, r Reference) {
	for _, to := range f.byName[address(at.path, name)] {
		r.To = to
		f.Refers = append(f.Refers, r)
	}
}

// providerOf follows a provider configuration to the module that it comes from. Where
// nothing names it on the way the range has no file.
func (at *place) providerOf(use program.ProviderUse) (addr.ProviderConfig, hcl.Range) {
	name, alias := use.LocalName, use.Alias
	var named hcl.Range
	if use.Explicit {
		named = use.Range
	}
	for at.parent != nil && !at.declares(use.Provider, alias) {
		passed := at.call.Passed(name, alias)
		if passed == nil && alias != "" {
			break
		}
		if passed != nil {
			name, alias, named = passed.Outer.LocalName, passed.Outer.Alias, passed.Range
		}
		at = at.parent
	}
	return addr.ProviderConfig{Module: at.path, Provider: use.Provider, Alias: alias}, named
}

func (at *place) declares(p addr.Provider, alias string) bool {
	return slices.ContainsFunc(at.tree.Program.Providers, func(c *program.Provider) bool { return c.Provider == p && c.Alias == alias })
}

// depend finds the resources that each resource depends on. Anything that stands in a module
// that is called also depends on what decides about the call.
func (o *outliner) depend() {
	for _, d := range o.all {
		if !d.isResource() {
			continue
		}
		w := &way{o, map[*Declaration]bool{d: true}, map[string]bool{}}
		w.follow(d)
		d.DependsOn = slices.Sorted(maps.Keys(w.found))
	}
}

func (d *Declaration) isResource() bool { return d.resource != addr.Name{} }

// A way leads from a resource to the next ones.
type way struct {
	*outliner
	seen  map[*Declaration]bool
	found map[string]bool
}

func (w *way) follow(from *Declaration) {
	for _, r := range from.Refers {
		w.reach(r.To)
	}
	if parent, step, ok := from.Module.Parent(); ok {
		for _, call := range w.byName[address(parent, step.Call.String())] {
			w.reach(call)
		}
	}
}

func (w *way) reach(to *Declaration) {
	switch {
	case w.seen[to]:
	case to.isResource():
		w.seen[to] = true
		w.found[to.Address()] = true
	default:
		w.seen[to] = true
		w.follow(to)
	}
}
