// Package jsonconfig writes a configuration as JSON: the part of plan JSON with references
// instead of values.
//
// It owns that format. It doesn't evaluate: an expression either is constant by itself or is
// listed by the references in it.
package jsonconfig

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider"
)

type document struct {
	Providers map[string]*providerConfig `json:"provider_config,omitempty"`
	Root      *module                    `json:"root_module"`
}

type providerConfig struct {
	Name        string         `json:"name"`
	FullName    string         `json:"full_name"`
	Alias       string         `json:"alias,omitempty"`
	Constraint  string         `json:"version_constraint,omitempty"`
	Module      string         `json:"module_address,omitempty"`
	Expressions map[string]any `json:"expressions,omitempty"`

	// source is the key of the configuration that this one is, in the module
	// that has it; empty where it begins here.
	source string
}

type module struct {
	Outputs   map[string]*output   `json:"outputs,omitempty"`
	Resources []*resource          `json:"resources,omitempty"`
	Actions   []*action            `json:"actions,omitempty"`
	Calls     map[string]*call     `json:"module_calls,omitempty"`
	Variables map[string]*variable `json:"variables,omitempty"`
}

type call struct {
	Source      string         `json:"source,omitempty"`
	Expressions map[string]any `json:"expressions,omitempty"`
	Count       *expression    `json:"count_expression,omitempty"`
	ForEach     *expression    `json:"for_each_expression,omitempty"`
	Module      *module        `json:"module,omitempty"`
	Constraint  string         `json:"version_constraint,omitempty"`
	DependsOn   []string       `json:"depends_on,omitempty"`
}

type variable struct {
	Type        json.RawMessage `json:"type,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
	Description string          `json:"description,omitempty"`
	Required    bool            `json:"required,omitempty"`
	Sensitive   bool            `json:"sensitive,omitempty"`
	Ephemeral   bool            `json:"ephemeral,omitempty"`
	Deprecated  string          `json:"deprecated,omitempty"`
}

type resource struct {
	Address       string         `json:"address"`
	Mode          string         `json:"mode"`
	Type          string         `json:"type"`
	Name          string         `json:"name"`
	ProviderKey   string         `json:"provider_config_key,omitempty"`
	Provisioners  []provisioner  `json:"provisioners,omitempty"`
	Expressions   map[string]any `json:"expressions,omitempty"`
	SchemaVersion *int64         `json:"schema_version,omitempty"`
	Count         *expression    `json:"count_expression,omitempty"`
	ForEach       *expression    `json:"for_each_expression,omitempty"`
	DependsOn     []string       `json:"depends_on,omitempty"`
}

type action struct {
	Address     string      `json:"address"`
	Type        string      `json:"type"`
	Name        string      `json:"name"`
	ProviderKey string      `json:"provider_config_key,omitempty"`
	Count       *expression `json:"count_expression,omitempty"`
	ForEach     *expression `json:"for_each_expression,omitempty"`
}

type provisioner struct {
	Type        string         `json:"type"`
	Expressions map[string]any `json:"expressions,omitempty"`
}

type output struct {
	Sensitive   bool        `json:"sensitive,omitempty"`
	Ephemeral   bool        `json:"ephemeral,omitempty"`
	Deprecated  string      `json:"deprecated,omitempty"`
	Expression  *expression `json:"expression,omitempty"`
	DependsOn   []string    `json:"depends_on,omitempty"`
	Description string      `json:"description,omitempty"`
}

// Marshal writes the configuration of a module tree. Where the schema of a
// provider is missing, only arguments are written, no nested blocks.
func Marshal(tree *program.Tree, schemas map[addr.Provider]*provider.Schemas) (json.RawMessage, error) {
	w := &writer{schemas: schemas, providers: map[string]*providerConfig{}}
	root, err := w.module(&place{tree: tree})
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(w.providers, func(_ string, p *providerConfig) bool { return p.source != "" })
	return json.Marshal(document{w.providers, root})
}

// MarshalModule writes what can be said of a module by itself: what it declares, without
// expressions, which need the schemas of providers to be read, and without what it calls.
func MarshalModule(p *program.Program) (json.RawMessage, error) {
	w := &writer{providers: map[string]*providerConfig{}}
	m, err := w.module(&place{tree: &program.Tree{Program: p}})
	if err != nil {
		return nil, err
	}
	for _, c := range w.providers {
		c.Expressions = nil
	}
	for _, o := range m.Outputs {
		o.Expression = nil
	}
	for _, r := range m.Resources {
		r.Expressions, r.Count, r.ForEach = nil, nil, nil
		for i := range r.Provisioners {
			r.Provisioners[i].Expressions = nil
		}
	}
	for _, a := range m.Actions {
		a.Count, a.ForEach = nil, nil
	}
	for _, c := range m.Calls {
		c.Expressions, c.Count, c.ForEach = nil, nil, nil
	}
	return json.Marshal(document{w.providers, m})
}

// A place is a module in the tree, with the way to the root.
type place struct {
	tree   *program.Tree
	path   string // module.a.module.b, empty for the root
	parent *place // nil for the root
}

type writer struct {
	schemas   map[addr.Provider]*provider.Schemas
	providers map[string]*providerConfig
}

func (w *writer) module(at *place) (*module, error) {
	p := at.tree.Program
	out := &module{Outputs: map[string]*output{}, Calls: map[string]*call{}, Variables: map[string]*variable{}}
	w.providerConfigs(at)
	for _, r := range p.Resources {
		if r.Name.Mode == addr.Action {
			out.Actions = append(out.Actions, &action{
				r.Name.String(), r.Name.Type, r.Name.Name, w.providerKey(at, r.Provider.LocalName, r.Provider.Alias), repetition(r.Repeat.Count), repetition(r.Repeat.ForEach),
			})
			continue
		}
		out.Resources = append(out.Resources, w.resource(at, r))
	}
	slices.SortFunc(out.Actions, func(a, b *action) int { return strings.Compare(a.Address, b.Address) })
	slices.SortStableFunc(out.Resources, func(a, b *resource) int {
		if c := slices.Index(modes, a.Mode) - slices.Index(modes, b.Mode); c != 0 {
			return c
		}
		return strings.Compare(a.Address, b.Address)
	})
	for _, o := range p.Outputs {
		out.Outputs[o.Name] = &output{o.Sensitive, o.Ephemeral, o.Deprecated, convert(o.Expr), dependsOn(o.DependsOn), o.Description}
	}
	for _, v := range p.Variables {
		converted, err := convertVariable(v)
		if err != nil {
			return nil, err
		}
		out.Variables[v.Name] = converted
	}
	for _, c := range p.Calls {
		converted, err := w.call(at, c)
		if err != nil {
			return nil, err
		}
		out.Calls[c.Name] = converted
	}
	return out, nil
}

var modes = []string{addr.Managed.String(), addr.Data.String(), addr.Ephemeral.String()}

func convertVariable(v *program.Variable) (*variable, error) {
	out := &variable{Description: v.Description, Required: v.Required(), Sensitive: v.Sensitive, Ephemeral: v.Ephemeral, Deprecated: v.Deprecated}
	var err error
	if v.Type != cty.NilType && v.Type != cty.DynamicPseudoType {
		if out.Type, err = ctyjson.MarshalType(v.Type); err != nil {
			return nil, err
		}
	}
	if !v.Required() {
		bare, _ := v.Default.UnmarkDeep()
		out.Default, err = ctyjson.Marshal(bare, bare.Type())
	}
	return out, err
}

func (w *writer) call(at *place, c *program.Call) (*call, error) {
	out := &call{
		Count: repetition(c.Repeat.Count), ForEach: repetition(c.Repeat.ForEach),
		Expressions: map[string]any{}, DependsOn: dependsOn(c.DependsOn),
		Source: constantText(c.Source), Constraint: constantText(c.Version),
	}
	for _, in := range c.Inputs {
		out.Expressions[in.Name] = convert(in.Expr)
	}
	child := at.tree.Children[c.Call]
	if child == nil || child.Program == nil {
		return out, nil
	}
	if child.Source != "" {
		out.Source, out.Constraint = child.Source, child.Version
	}
	path := c.Call.String()
	if at.path != "" {
		path = at.path + "." + path
	}
	inner := &place{child, path, at}
	w.passed(inner, c)
	var err error
	out.Module, err = w.module(inner)
	return out, err
}

func (w *writer) resource(at *place, r *program.Resource) *resource {
	out := &resource{
		Address: r.Name.String(), Mode: r.Name.Mode.String(), Type: r.Name.Type, Name: r.Name.Name,
		ProviderKey: w.providerKey(at, r.Provider.LocalName, r.Provider.Alias),
		Count:       repetition(r.Repeat.Count), ForEach: repetition(r.Repeat.ForEach),
		DependsOn: dependsOn(r.DependsOn),
	}
	var block *schema.Block
	if all := w.schemas[r.Provider.Provider]; all != nil {
		if s := all.Resource(r.Name.Mode, r.Name.Type); s != nil {
			block, out.SchemaVersion = s.Block, &s.Version
		}
	}
	out.Expressions = body(r.Config, block)
	for _, p := range r.Provisioners {
		out.Provisioners = append(out.Provisioners, provisioner{p.Type, body(p.Config, nil)})
	}
	return out
}
