// Package jsonschema writes and reads provider schemas as JSON, the form of `providers schema -json`.
//
// It owns that format. It doesn't fetch schemas.
package jsonschema

import (
	"encoding/json"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
)

// FormatVersion is the version of the format.
const FormatVersion = "1.0"

type document struct {
	FormatVersion string               `json:"format_version"`
	Schemas       map[string]*declared `json:"provider_schemas,omitempty"`
}

type declared struct {
	Provider    *versioned            `json:"provider,omitempty"`
	Resources   map[string]*versioned `json:"resource_schemas,omitempty"`
	DataSources map[string]*versioned `json:"data_source_schemas,omitempty"`
	Ephemerals  map[string]*versioned `json:"ephemeral_resource_schemas,omitempty"`
	Functions   map[string]*function  `json:"functions,omitempty"`
	Identities  map[string]*identity  `json:"resource_identity_schemas,omitempty"`
	Lists       map[string]*versioned `json:"list_resource_schemas,omitempty"`
	Actions     map[string]*versioned `json:"action_schemas,omitempty"`
	StateStores map[string]*versioned `json:"state_store_schemas,omitempty"`
}

type versioned struct {
	Version int64  `json:"version"`
	Block   *block `json:"block,omitempty"`
}

type block struct {
	Attributes         map[string]*attribute `json:"attributes,omitempty"`
	Blocks             map[string]*blockType `json:"block_types,omitempty"`
	Description        string                `json:"description,omitempty"`
	DescriptionKind    string                `json:"description_kind,omitempty"`
	Deprecated         bool                  `json:"deprecated,omitempty"`
	DeprecationMessage string                `json:"deprecation_message,omitempty"`
}

type blockType struct {
	Nesting string `json:"nesting_mode,omitempty"`
	Block   *block `json:"block,omitempty"`
	Min     int    `json:"min_items,omitempty"`
	Max     int    `json:"max_items,omitempty"`
}

type attribute struct {
	Type               json.RawMessage `json:"type,omitempty"`
	Nested             *nestedType     `json:"nested_type,omitempty"`
	Description        string          `json:"description,omitempty"`
	DescriptionKind    string          `json:"description_kind,omitempty"`
	Deprecated         bool            `json:"deprecated,omitempty"`
	DeprecationMessage string          `json:"deprecation_message,omitempty"`
	Required           bool            `json:"required,omitempty"`
	Optional           bool            `json:"optional,omitempty"`
	Computed           bool            `json:"computed,omitempty"`
	Sensitive          bool            `json:"sensitive,omitempty"`
	WriteOnly          bool            `json:"write_only,omitempty"`
}

type nestedType struct {
	Attributes map[string]*attribute `json:"attributes,omitempty"`
	Nesting    string                `json:"nesting_mode,omitempty"`
}

type identity struct {
	Version    int64                         `json:"version"`
	Attributes map[string]*identityAttribute `json:"attributes,omitempty"`
}

type identityAttribute struct {
	Type              json.RawMessage `json:"type,omitempty"`
	Description       string          `json:"description,omitempty"`
	RequiredForImport bool            `json:"required_for_import,omitempty"`
	OptionalForImport bool            `json:"optional_for_import,omitempty"`
}

type function struct {
	Description        string          `json:"description"`
	Summary            string          `json:"summary"`
	DeprecationMessage string          `json:"deprecation_message,omitempty"`
	Return             json.RawMessage `json:"return_type"`
	Parameters         []*parameter    `json:"parameters,omitempty"`
	Variadic           *parameter      `json:"variadic_parameter,omitempty"`
}

type parameter struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Type        json.RawMessage `json:"type"`
	Nullable    bool            `json:"is_nullable,omitempty"`
}

// Marshal writes the schemas of providers, keyed by their full addresses.
func Marshal(all map[addr.Provider]*provider.Schemas) ([]byte, error) {
	doc := document{FormatVersion, map[string]*declared{}}
	for p, s := range all {
		if s != nil {
			doc.Schemas[p.String()] = declare(s)
		}
	}
	return json.Marshal(doc)
}

func declare(s *provider.Schemas) *declared {
	d := &declared{
		Resources:   versions(s.Resources),
		DataSources: versions(s.DataSources),
		Ephemerals:  versions(s.Ephemerals),
		Functions:   map[string]*function{},
		Identities:  map[string]*identity{},
		Lists:       versions(s.Lists),
		Actions:     versions(s.Actions),
		StateStores: versions(s.StateStores),
	}
	if s.Provider != nil {
		d.Provider = version(s.Provider)
	}
	for name, f := range s.Functions {
		d.Functions[name] = signature(f)
	}
	for name, t := range s.Resources {
		r := t.Schema()
		if r.Identity == nil {
			continue
		}
		id := &identity{r.IdentityVersion, map[string]*identityAttribute{}}
		for name, a := range r.Identity.Attributes {
			id.Attributes[name] = &identityAttribute{typeOf(a.ImpliedType()), a.Description, a.Required, a.Optional}
		}
		d.Identities[name] = id
	}
	return d
}

func versions(all provider.Types) map[string]*versioned {
	out := make(map[string]*versioned, len(all))
	for name, s := range all {
		out[name] = version(s.Schema())
	}
	return out
}

func version(s *schema.Schema) *versioned {
	v := &versioned{Version: s.Version}
	if s.Block != nil {
		v.Block = convertBlock(s.Block)
	}
	return v
}

func convertBlock(b *schema.Block) *block {
	out := &block{
		Attributes:         attributes(b.Attributes),
		Blocks:             make(map[string]*blockType, len(b.Blocks)),
		Description:        b.Description,
		DescriptionKind:    kind(b.Markdown),
		Deprecated:         b.Deprecated,
		DeprecationMessage: b.DeprecationMessage,
	}
	for name, nested := range b.Blocks {
		out.Blocks[name] = &blockType{nesting(nested.Nesting), convertBlock(nested.Block), nested.Min, nested.Max}
	}
	return out
}

func attributes(all map[string]*schema.Attribute) map[string]*attribute {
	out := make(map[string]*attribute, len(all))
	for name, a := range all {
		converted := &attribute{
			Description:        a.Description,
			DescriptionKind:    kind(a.Markdown),
			Deprecated:         a.Deprecated,
			DeprecationMessage: a.DeprecationMessage,
			Required:           a.Required,
			Optional:           a.Optional,
			Computed:           a.Computed,
			Sensitive:          a.Sensitive,
			WriteOnly:          a.WriteOnly,
		}
		if a.Nested != nil {
			converted.Nested = &nestedType{attributes(a.Nested.Attributes), nesting(a.Nested.Nesting)}
		} else {
			converted.Type = typeOf(a.Type)
		}
		out[name] = converted
	}
	return out
}

func signature(f *provider.Function) *function {
	out := &function{Description: f.Description, Summary: f.Summary, DeprecationMessage: f.Deprecated, Return: typeOf(f.Return)}
	for i := range f.Parameters {
		out.Parameters = append(out.Parameters, convertParameter(&f.Parameters[i]))
	}
	if f.Variadic != nil {
		out.Variadic = convertParameter(f.Variadic)
	}
	return out
}

func convertParameter(p *provider.Parameter) *parameter {
	return &parameter{p.Name, p.Description, typeOf(p.Type), p.AllowNull}
}

func typeOf(t cty.Type) json.RawMessage {
	// Types of schemas have no capsules, the only thing that can't be written.
	raw, err := t.MarshalJSON()
	if err != nil {
		return json.RawMessage(`"dynamic"`)
	}
	return raw
}

func kind(markdown bool) string {
	if markdown {
		return "markdown"
	}
	return "plain"
}

func nesting(n schema.Nesting) string {
	switch n {
	case schema.Single:
		return "single"
	case schema.Group:
		return "group"
	case schema.List:
		return "list"
	case schema.Set:
		return "set"
	case schema.Map:
		return "map"
	}
	return "invalid"
}
