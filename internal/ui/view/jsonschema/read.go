package jsonschema

import (
	"encoding/json"
	"fmt"

	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
)

// Read reads the schemas of resources and data sources: the member provider_schemas of a document.
func Read(raw json.RawMessage) (map[addr.Provider]*provider.Schemas, error) {
	var all map[string]*declared
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &all); err != nil {
			return nil, err
		}
	}
	out := map[addr.Provider]*provider.Schemas{}
	for source, d := range all {
		p, err := addr.Registry("").ParseProvider(source)
		if err != nil {
			return nil, err
		}
		s := &provider.Schemas{}
		if s.Resources, err = readTypes(d.Resources); err != nil {
			return nil, err
		}
		if s.DataSources, err = readTypes(d.DataSources); err != nil {
			return nil, err
		}
		out[p] = s
	}
	return out, nil
}

func readTypes(all map[string]*versioned) (provider.Types, error) {
	types := provider.Types{}
	for name, v := range all {
		b, err := v.Block.read()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		types[name] = provider.Known(&schema.Schema{Version: v.Version, Block: b})
	}
	return types, nil
}

func (b *block) read() (*schema.Block, error) {
	if b == nil {
		return &schema.Block{}, nil
	}
	attributes, err := readAttributes(b.Attributes)
	if err != nil {
		return nil, err
	}
	out := &schema.Block{Attributes: attributes, Blocks: map[string]*schema.NestedBlock{}}
	for name, t := range b.Blocks {
		n := &schema.NestedBlock{Min: t.Min, Max: t.Max}
		if n.Block, err = t.Block.read(); err == nil {
			n.Nesting, err = readNesting(t.Nesting)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out.Blocks[name] = n
	}
	return out, nil
}

func readAttributes(all map[string]*attribute) (map[string]*schema.Attribute, error) {
	out := map[string]*schema.Attribute{}
	for name, a := range all {
		s := &schema.Attribute{Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, WriteOnly: a.WriteOnly}
		var err error
		if a.Nested == nil {
			s.Type, err = ctyjson.UnmarshalType(a.Type)
		} else {
			s.Nested = &schema.Object{}
			if s.Nested.Attributes, err = readAttributes(a.Nested.Attributes); err == nil {
				s.Nested.Nesting, err = readNesting(a.Nested.Nesting)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = s
	}
	return out, nil
}

func readNesting(text string) (schema.Nesting, error) {
	for n := schema.Single; n <= schema.Map; n++ {
		if nesting(n) == text {
			return n, nil
		}
	}
	return 0, fmt.Errorf("the nesting mode %q is unknown", text)
}
