// Package program defines the compiled form of one module source: flat tables of declarations
// whose expressions have every reference resolved.
//
// It is a noun. Package analyze makes it once per source, however many
// module instances share it; package eval evaluates it. Nobody changes it
// after that, and it knows nothing of instances, schemas, states or phases.
package program

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/persisted"
)

// A Program is one module source. Every table is in source order (by file
// name, then position), and each declaration's Index is its place there.
type Program struct {
	// Partial: the source has syntax errors, so that it may declare more.
	Partial bool
	// Stack: the source is a stack, whose outputs are sensitive where their values are.
	Stack bool
	// Dir is the directory of the source, as path.module shows it.
	Dir string
	// Registry is where addresses without a host are.
	Registry addr.Registry

	Variables []*Variable
	Locals    []*Local
	Outputs   []*Output
	Resources []*Resource // of all modes; also data in observers
	Calls     []*Call
	Providers []*Provider
	Observers []Observer
	Moved     []*Moved
	Removed   []*Removed
	Imports   []*Import
	// Gone are the calls of removed blocks. Their indices follow those of Calls.
	Gone []*Call

	// Requirements has the providers that the source names or implies, by
	// local name.
	Requirements map[string]*Requirement
	// AttributeReads are the references to parts of resources.
	AttributeReads []*Ref
	// Functions are the provider functions that expressions call.
	Functions []*ProviderFunction

	RequiredVersions []*VersionConstraint
	Backend          *Backend         // nil without
	ProviderMeta     map[string]*Body // by provider local name
	Encryption       *Body            // nil without

	VariableByName map[string]*Variable
	LocalByName    map[string]*Local
	OutputByName   map[string]*Output
	ResourceByName map[addr.Name]*Resource
	CallByName     map[addr.Call]*Call
}

// An Expr is an expression in whose tree references are nodes of type
// *RefExpr. It evaluates in any context made by NewContext or derived from it.
type Expr struct {
	hcl.Expression
	// Refs are the static references in source order, those in keys of other
	// references included.
	Refs []*Ref
}

// Broken reports whether a reference of the expression has an error, which was
// reported when the program was compiled.
func (e *Expr) Broken() bool {
	found := false
	if node, ok := e.Expression.(hclsyntax.Node); ok {
		_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
			if literal, ok := n.(*hclsyntax.LiteralValueExpr); ok && !literal.Val.IsKnown() {
				found = true
			}
			return nil
		})
	}
	return found
}

// A Body is the part of a block that a schema gives meaning to. Its
// expressions are like those of Expr.
type Body struct {
	hcl.Body
	Refs []*Ref
	// Range is the block's header, for problems of the body as a whole.
	Range hcl.Range
}

// A Variable is an input variable.
type Variable struct {
	Index       int
	Name        string
	Type        cty.Type // DynamicPseudoType for any
	Defaults    *typeexpr.Defaults
	Default     cty.Value // NilVal when a value is required
	Description string
	Deprecated  string
	Sensitive   bool
	Ephemeral   bool
	Nullable    bool
	// Const: the value has to be known before a plan is made. NotConst: the variable is
	// declared with const = false, so nothing may need its value before.
	Const, NotConst bool
	Validations     []*Condition
	Range           hcl.Range
	// Untyped: no type was declared, so values from outside stay text.
	Untyped bool
}

// Required reports whether a value has to be given.
func (v *Variable) Required() bool { return v.Default == cty.NilVal }

// A Local is one entry of a locals block.
type Local struct {
	Index int
	Name  string
	Expr  *Expr
	Range hcl.Range
}

// An Output is an output value. Type is NilType unless declared.
type Output struct {
	Index         int
	Name          string
	Expr          *Expr
	Type          cty.Type
	Defaults      *typeexpr.Defaults
	Description   string
	Deprecated    string
	Sensitive     bool
	Ephemeral     bool
	DependsOn     []*Ref
	Preconditions []*Condition
	Range         hcl.Range
}

// A Repeat says how many instances a block has. At most one field is set.
type Repeat struct {
	Count   *Expr
	ForEach *Expr
	Enabled *Expr
}

// IsSingle reports whether the block has at most one instance, without key.
func (r Repeat) IsSingle() bool { return r.Count == nil && r.ForEach == nil }

// Expr is the repetition argument, or nil.
func (r Repeat) Expr() *Expr {
	switch {
	case r.Count != nil:
		return r.Count
	case r.ForEach != nil:
		return r.ForEach
	}
	return r.Enabled
}

// A Resource is a managed resource, a data source or an ephemeral resource; actions and
// list resources are declared alike.
type Resource struct {
	Index    int
	Name     addr.Name
	Repeat   Repeat
	Provider ProviderUse
	Config   *Body

	DependsOn []*Ref
	persisted.Settings
	PreventDestroy     *Expr // nil without
	IgnoreChanges      []hcl.Traversal
	IgnoreAll          bool
	ReplaceTriggeredBy []*Ref
	Preconditions      []*Condition
	Postconditions     []*Condition
	Triggers           []*Trigger
	// Limit and Whole say how many objects a list resource is requested, and whether with all
	// their attributes; nil without.
	Limit, Whole *Expr

	Connection   *Body // nil without
	Provisioners []*Provisioner

	// Check is the check block, or another observer, that a data source stands in and only
	// that may refer to it; nil for all others.
	Check Observer
	// Range is the block's header, TypeRange the type in it.
	Range, TypeRange hcl.Range
}

// Provisions reports whether something runs when an instance was created.
func (r *Resource) Provisions() bool {
	return slices.ContainsFunc(r.Provisioners, func(p *Provisioner) bool { return !p.OnDestroy })
}

// A Provisioner runs at creation or destruction of an instance.
type Provisioner struct {
	Type       string
	OnDestroy  bool
	Continue   bool // on_failure = continue
	Config     *Body
	Connection *Body // nil without
	Outer      *Body // the connection of the whole block, for what Connection leaves out
	Range      hcl.Range
}

// Connections are the connection blocks that say how the provisioner reaches another
// machine, from the outer one to its own.
func (p *Provisioner) Connections() []*Body {
	var list []*Body
	for _, b := range []*Body{p.Outer, p.Connection} {
		if b != nil {
			list = append(list, b)
		}
	}
	return list
}

// A ProviderUse names a provider configuration as a module sees it.
type ProviderUse struct {
	LocalName string
	Alias     string
	Key       *Expr // instance key, nil without
	Provider  addr.Provider
	// Explicit: the configuration names it; otherwise it follows from the
	// resource type.
	Explicit bool
	Range    hcl.Range
}

// LocalName is how the source knows the provider of a use elsewhere.
func (p *Program) LocalName(use ProviderUse) string {
	for _, name := range slices.Sorted(maps.Keys(p.Requirements)) {
		if p.Requirements[name].Provider == use.Provider {
			return name
		}
	}
	return use.LocalName
}

// A Call is a module call, or a component or an embedded stack.
type Call struct {
	addr.Call
	Index int
	// Gone: what is called has been removed. Nothing of it is loaded but the
	// providers that its objects still need.
	Gone bool
	// Nth numbers the removed blocks that name the same call, from 1. It is 0
	// for the call itself.
	Nth     int
	Repeat  Repeat
	Source  *Expr // nil after an error
	Version *Expr // nil without
	Inputs  []*Input
	// Object has the inputs of a component or stack as one value, where they aren't
	// written out; nil where they are.
	Object *Expr
	// Path leads to what a removed block names where that isn't an instance of a
	// call beside the block with the key of the block's for_each; nil where it is.
	Path []PathStep
	// Providers are the configurations passed explicitly; Passes is set when
	// the call has a providers argument at all.
	Providers []*PassedProvider
	Passes    bool
	// Quiet: within the module nothing is notified of what is deprecated.
	Quiet     bool
	DependsOn []*Ref
	// Reads are the references to single outputs of the call, but those that
	// may fail within try and can.
	Reads []*Ref
	// EachReads are the outputs that are read of each instance with [*] or in a
	// for expression.
	EachReads []*Ref
	Range     hcl.Range
}

// AllCalls are the calls and then those of removed blocks.
func (p *Program) AllCalls() []*Call {
	return append(p.Calls[:len(p.Calls):len(p.Calls)], p.Gone...)
}

// Named are the calls of that name: the one that there is, if any, and those of
// removed blocks.
func (p *Program) Named(name addr.Call) []*Call {
	var list []*Call
	if c := p.CallByName[name]; c != nil {
		list = append(list, c)
	}
	for _, c := range p.Gone {
		if c.Call == name {
			list = append(list, c)
		}
	}
	return list
}

// Input returns the input with that name, or nil.
func (c *Call) Input(name string) *Input {
	for _, in := range c.Inputs {
		if in.Name == name {
			return in
		}
	}
	if c.Object != nil {
		return c.attribute(name)
	}
	return nil
}

// attribute is an input that Object may have.
func (c *Call) attribute(name string) *Input {
	at := c.Object.Range()
	node, ok := c.Object.Expression.(hclsyntax.Expression)
	if !ok {
		return &Input{Name: name, Expr: c.Object, Range: at}
	}
	attr := &hclsyntax.RelativeTraversalExpr{Source: node, Traversal: hcl.Traversal{hcl.TraverseAttr{Name: name, SrcRange: at}}, SrcRange: at}
	return &Input{Name: name, Expr: &Expr{Expression: attr, Refs: c.Object.Refs}, Range: at}
}

// Depth is how many steps lead from the module of a call to an instance of it.
func (c *Call) Depth() int { return max(1, len(c.Path)) }

// A PathStep is a call with the key of one of its instances, nil without.
type PathStep struct {
	addr.Call
	Key *Expr
}

// An Input is an argument of a call that sets a variable of the module.
type Input struct {
	Index int
	Name  string
	Expr  *Expr
	Range hcl.Range // the argument's name
}

// A PassedProvider gives the called module a provider configuration under
// the name and alias that the module knows.
type PassedProvider struct {
	LocalName string
	Alias     string
	Outer     ProviderUse
	Range     hcl.Range
}

// Passed is what the call passes under a name and alias that the module knows, or
// nil.
func (c *Call) Passed(localName, alias string) *PassedProvider {
	for _, p := range c.Providers {
		if p.LocalName == localName && p.Alias == alias {
			return p
		}
	}
	return nil
}

// A Provider is a provider configuration.
type Provider struct {
	Index     int
	LocalName string
	Alias     string
	Provider  addr.Provider
	ForEach   *Expr // nil without
	Config    *Body
	Version   string // deprecated constraint inside the block
	// Mocked: a stand-in takes the provider's place, which isn't configured.
	Mocked bool
	Range  hcl.Range
}

// A Requirement is what a source says of a provider it uses.
type Requirement struct {
	LocalName   string
	Provider    addr.Provider
	Constraints string   // as written, empty for any version
	Aliases     []string // configuration_aliases; empty for the default configuration
	// Implied: no required_providers entry has it.
	Implied bool
	Range   hcl.Range
}

// HasAlias reports whether callers may pass a configuration with the alias. r
// may be nil.
func (r *Requirement) HasAlias(alias string) bool {
	return r != nil && slices.Contains(r.Aliases, alias)
}

// A ProviderFunction is a function of a provider that expressions call by
// the name Full, such as provider::time::rfc3339_parse.
type ProviderFunction struct {
	Full      string
	LocalName string
	Alias     string
	Name      string
	Provider  addr.Provider
	Range     hcl.Range
}

// A Condition is a validation, precondition, postcondition or assertion.
type Condition struct {
	Condition    *Expr
	ErrorMessage *Expr
	Range        hcl.Range
}

// An Endpoint is an object that moved and removed blocks name: a resource, a
// resource instance, a module call or one of its instances, relative to the
// module. Steps without a key mean all instances.
type Endpoint struct {
	Module addr.Module
	Name   addr.Name // zero for a module
	Key    addr.Key
	Range  hcl.Range
}

// A Moved is a moved block. Keys that aren't constant are AnyKey in its ends,
// and their expressions stand in FromKeys and ToKeys: those of the modules by
// step, then that of the resource. The lists are nil when all are constant.
type Moved struct {
	From, To         Endpoint
	FromKeys, ToKeys []*Expr
	ForEach          *Expr // nil without
	Range            hcl.Range
}

// Computed reports whether the block has to be evaluated.
func (m *Moved) Computed() bool { return m.ForEach != nil || m.FromKeys != nil || m.ToKeys != nil }

// A Removed is a removed block. An end without keys stands for all instances. Destroy is nil when the block doesn't say.
type Removed struct {
	From    Endpoint
	Destroy *bool
	// Call says which instances of a component or stack are gone, and what they
	// were. It is nil for blocks of modules, which say so in From.
	Call         *Call
	Provisioners []*Provisioner
	Connection   *Body
	Range        hcl.Range
}

// An Import is an import block. To is relative to the module; ToKey is the
// instance key's expression, nil without. Module keys that aren't constant are
// AnyKey in To, and their expressions stand in ModuleKeys at the index of their
// step; it is nil when all are constant.
type Import struct {
	To         addr.Resource
	ModuleKeys []*Expr
	ToKey      *Expr
	ForEach    *Expr // nil without
	ID         *Expr // exactly one of ID and Identity is set
	Identity   *Expr
	Provider   ProviderUse // meaningful when Explicit
	Range      hcl.Range
}

// A Backend is a backend block. Type "cloud" is a cloud block.
type Backend struct {
	Type   string
	Config *Body
	Range  hcl.Range
	// Store is set for a state_store block, whose Type is one of the provider.
	Store *StateStore
}

// A StateStore is what a state_store block says of the provider that stores the states.
type StateStore struct {
	Name     string // in required_providers
	Provider addr.Provider
	Config   *Body
}

// A VersionConstraint limits the engine's version. Product is "terraform"
// for required_version in a .tf file, "opentofu" for one in a .tofu file or
// in a language block. Problems are what is wrong with it.
type VersionConstraint struct {
	Product    string
	Constraint string
	Problems   diag.List
	Range      hcl.Range
}

// A Tree is the program of a module with the programs of its calls, as far
// as all instances of a call load the same source.
type Tree struct {
	Program *Program
	// Source and Version are as the call wrote them, empty for the root.
	Source, Version string
	// Children are by call.
	Children map[addr.Call]*Tree
	// Gone are what removed blocks have loaded.
	Gone []*Tree
	// Variants are the calls whose instances load different programs: a tree
	// for each program, in the order of the first instance that loads it.
	Variants map[addr.Call][]*Tree
	// Modules are the module instances that load a variant or something below
	// one; a step without a key stands for all. Elsewhere it is nil.
	Modules []addr.Module
}

// MaxModules bounds the module calls of a configuration, each counted as often as the module
// around it is called. A tree that doubles at each level takes all memory otherwise. It is set
// before anything is loaded.
var MaxModules = 50_000

// A Checkable is an object with conditions: its kind, in the words of states,
// and its address without keys.
type Checkable struct{ Kind, Address string }

// Checkables lists the objects with conditions in all modules.
func (t *Tree) Checkables() []Checkable { return t.checkables("", nil) }

func (t *Tree) checkables(prefix string, list []Checkable) []Checkable {
	if t.Program == nil {
		return list
	}
	add := func(conditions int, kind, name string) {
		if conditions > 0 {
			list = append(list, Checkable{kind, prefix + name})
		}
	}
	for _, v := range t.Program.Variables {
		add(len(v.Validations), "input_variable", "var."+v.Name)
	}
	for _, o := range t.Program.Outputs {
		add(len(o.Preconditions), "output_value", "output."+o.Name)
	}
	for _, r := range t.Program.Resources {
		add(len(r.Preconditions)+len(r.Postconditions), "resource", r.Name.String())
	}
	for _, o := range t.Program.Observers {
		add(1, string(o.Head().Kind), o.Head().Name)
	}
	for _, call := range t.CallNames() {
		for _, child := range t.Of(call) {
			list = child.checkables(prefix+call.String()+".", list)
		}
	}
	return list
}

// At finds the tree of a module instance, or nil.
func (t *Tree) At(m addr.Module) *Tree {
	steps := m.Steps()
	for i, s := range steps {
		var next *Tree
		for _, child := range t.Of(s.Call) {
			if child.loadedBy(steps[:i+1]) {
				next = child
				break
			}
		}
		if next == nil {
			return nil
		}
		t = next
	}
	return t
}

func (t *Tree) loadedBy(steps []addr.Step) bool {
	for _, m := range t.Modules {
		matches := func(a, b addr.Step) bool { return a.Key == addr.NoKey || a.Key == b.Key }
		if slices.EqualFunc(m.Steps(), steps, matches) {
			return true
		}
	}
	return t.Modules == nil
}

// Calls lists the trees below t, by call, variants included, and then those of
// removed blocks.
func (t *Tree) Calls() []*Tree {
	var list []*Tree
	for _, call := range t.CallNames() {
		list = append(list, t.Of(call)...)
	}
	return append(list, t.Gone...)
}

// Varies reports whether what is loaded below t may depend on values.
func (t *Tree) Varies() bool {
	for _, c := range t.Program.AllCalls() {
		if c.Source != nil && len(c.Source.Refs) > 0 || c.Version != nil && len(c.Version.Refs) > 0 {
			return true
		}
	}
	return slices.ContainsFunc(t.Calls(), (*Tree).Varies)
}

// CallNames are the names of the calls that something is loaded for, sorted.
func (t *Tree) CallNames() []addr.Call {
	names := slices.AppendSeq(slices.Collect(maps.Keys(t.Children)), maps.Keys(t.Variants))
	slices.SortFunc(names, addr.Call.Compare)
	return names
}

// Of lists the trees that instances of a call load.
func (t *Tree) Of(call addr.Call) []*Tree {
	if child := t.Children[call]; child != nil {
		return []*Tree{child}
	}
	return t.Variants[call]
}
