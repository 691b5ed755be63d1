package weir

import (
	"errors"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin"
)

// start makes what the engine starts instances of the provider with.
func (p *Provider) start() (plugin.Builtin, error) {
	s, err := p.schemas()
	if err != nil {
		return nil, err
	}
	return func() (provider.Provider, *provider.Schemas) { return &running{Provider: p, schemas: s}, s }, nil
}

// schemas declares the provider's types. It fails for what lacks a function.
func (p *Provider) schemas() (*provider.Schemas, error) {
	s := &provider.Schemas{
		Resources: provider.Types{}, DataSources: provider.Types{}, Ephemerals: provider.Types{}, Actions: provider.Types{}, Lists: provider.Types{},
		Functions: map[string]*provider.Function{},
	}
	var err error
	if s.Provider, err = shape(p.Config, p.ConfigBlocks); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	add := func(to provider.Types, what, name string, attributes map[string]Attribute, blocks map[string]Block, lacks string) *schema.Schema {
		if err != nil {
			return nil
		}
		var sch *schema.Schema
		if sch, err = shape(attributes, blocks); err == nil && lacks != "" {
			err = fmt.Errorf("%s is missing", lacks)
		}
		if err != nil {
			err = fmt.Errorf("%s %s: %w", what, name, err)
			return nil
		}
		to[name] = provider.Known(sch)
		return sch
	}
	for name, t := range p.Resources {
		sch := add(s.Resources, "resource", name, t.Attributes, t.Blocks, missing(t.Create == nil, "Create"))
		if sch == nil {
			return nil, err
		}
		sch.Version = int64(t.Version)
		if sch.Identity, err = identity(t); err != nil {
			return nil, fmt.Errorf("resource %s: identity: %w", name, err)
		}
	}
	for name, t := range p.Data {
		add(s.DataSources, "data source", name, t.Attributes, t.Blocks, missing(t.Read == nil, "Read"))
	}
	for name, t := range p.Ephemerals {
		add(s.Ephemerals, "ephemeral resource", name, t.Attributes, t.Blocks, missing(t.Open == nil, "Open"))
	}
	for name, t := range p.Actions {
		add(s.Actions, "action", name, t.Attributes, t.Blocks, missing(t.Invoke == nil, "Invoke"))
	}
	for name, t := range p.Lists {
		add(s.Lists, "list", name, t.Attributes, t.Blocks, missing(t.List == nil, "List"))
		if err == nil && len(p.Resources[name].Identity) == 0 {
			err = fmt.Errorf("list %s: a resource type of that name with an Identity is missing", name)
		}
	}
	for name, f := range p.Functions {
		if s.Functions[name], err = f.signature(err); err != nil {
			return nil, fmt.Errorf("function %s: %w", name, err)
		}
	}
	return s, err
}

func missing(lacks bool, name string) string {
	if lacks {
		return name
	}
	return ""
}

// signature declares the function, unless there is an error already.
func (f Function) signature(err error) (*provider.Function, error) {
	if err != nil {
		return nil, err
	}
	if f.Call == nil {
		return nil, errors.New("the function Call is missing")
	}
	out := &provider.Function{Summary: f.Summary, Description: f.Description}
	if out.Return, err = parseType(f.Returns); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	for _, p := range f.Parameters {
		declared, err := p.declare()
		if err != nil {
			return nil, err
		}
		out.Parameters = append(out.Parameters, declared)
	}
	if f.Variadic != nil {
		declared, err := f.Variadic.declare()
		if err != nil {
			return nil, err
		}
		out.Variadic = &declared
	}
	return out, nil
}

func (p Parameter) declare() (provider.Parameter, error) {
	t, err := parseType(p.Type)
	if err != nil {
		err = fmt.Errorf("parameter %q: %w", p.Name, err)
	}
	return provider.Parameter{Name: p.Name, Type: t, AllowNull: p.AllowNull, Description: p.Description}, err
}

func parseType(text string) (cty.Type, error) {
	expr, diags := hclsyntax.ParseExpression([]byte(text), "", hcl.InitialPos)
	t := cty.NilType
	if !diags.HasErrors() {
		t, diags = typeexpr.TypeConstraint(expr)
	}
	if diags.HasErrors() || t.HasDynamicTypes() {
		return cty.NilType, fmt.Errorf("%q isn't a type that is known beforehand", text)
	}
	return t, nil
}

// shape is attributes and blocks as a schema.
func shape(attributes map[string]Attribute, blocks map[string]Block) (*schema.Schema, error) {
	b, err := block(Block{Attributes: attributes, Blocks: blocks}, false)
	return &schema.Schema{Block: b}, err
}

// block is a block's contents; inSet says that it is nested in a set, however deep.
func block(b Block, inSet bool) (*schema.Block, error) {
	attributes, err := shapes(b.Attributes, inSet)
	if err != nil {
		return nil, err
	}
	out := &schema.Block{
		Attributes: attributes, Blocks: map[string]*schema.NestedBlock{},
		Description: b.Description, Deprecated: b.Deprecated != "", DeprecationMessage: b.Deprecated,
	}
	for name, nested := range b.Blocks {
		if nested.Nesting == "" {
			nested.Nesting = NestList
		}
		n, err := nested.Nesting.nesting()
		if err != nil {
			return nil, fmt.Errorf("block %q: %w", name, err)
		}
		inner, err := block(nested, inSet || n == schema.Set)
		if err != nil {
			return nil, fmt.Errorf("block %q: %w", name, err)
		}
		out.Blocks[name] = &schema.NestedBlock{Block: inner, Nesting: n, Min: nested.Min, Max: nested.Max}
	}
	return out, nil
}

func shapes(attributes map[string]Attribute, inSet bool) (map[string]*schema.Attribute, error) {
	out := map[string]*schema.Attribute{}
	for name, a := range attributes {
		made, err := a.shape(inSet)
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", name, err)
		}
		out[name] = made
	}
	return out, nil
}

func (a Attribute) shape(inSet bool) (*schema.Attribute, error) {
	out := &schema.Attribute{
		Required: a.Required, Optional: a.Optional || !a.Required && !a.Computed, Computed: a.Computed,
		Sensitive: a.Sensitive, WriteOnly: a.WriteOnly, Description: a.Description, Deprecated: a.Deprecated != "", DeprecationMessage: a.Deprecated,
	}
	switch {
	case inSet && a.Replace:
		return nil, errors.New("elements of a set can't have Replace; the set can")
	case inSet && a.WriteOnly:
		return nil, errors.New("elements of a set can't be WriteOnly")
	case a.WriteOnly && (a.Computed || a.Replace):
		return nil, errors.New("a WriteOnly attribute can't be Computed or have Replace, as nothing stores it")
	case len(a.Attributes) == 0:
		var err error
		out.Type, err = parseType(a.Type)
		return out, err
	case a.Type != "":
		return nil, errors.New("it has a Type and Attributes; one of them is enough")
	}
	if a.Nesting == "" {
		a.Nesting = NestSingle
	}
	n, err := a.Nesting.nesting()
	if err != nil {
		return nil, err
	}
	nested, err := shapes(a.Attributes, inSet || n == schema.Set)
	out.Nested = &schema.Object{Attributes: nested, Nesting: n}
	return out, err
}

func (n Nesting) nesting() (schema.Nesting, error) {
	known, ok := map[Nesting]schema.Nesting{NestSingle: schema.Single, NestList: schema.List, NestSet: schema.Set, NestMap: schema.Map}[n]
	if !ok {
		return 0, fmt.Errorf("%q isn't a Nesting", n)
	}
	return known, nil
}

// identity is the identity of a type, nil without one. Its attributes are attributes of the type.
func identity(t ResourceType) (*schema.Object, error) {
	if len(t.Identity) == 0 {
		return nil, nil
	}
	for name, a := range t.Identity {
		if t.Attributes[name].Type != a.Type {
			return nil, fmt.Errorf("the type has no attribute %q of type %q", name, a.Type)
		}
	}
	attributes, err := shapes(t.Identity, false)
	return &schema.Object{Attributes: attributes, Nesting: schema.Single}, err
}
