package jsonschema

import (
	"encoding/json"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
)

// TestRead writes schemas, reads them, and writes the same again.
func TestRead(t *testing.T) {
	block := &schema.Block{
		Attributes: map[string]*schema.Attribute{
			"a": {Type: cty.Map(cty.Number), Optional: true, Computed: true, Sensitive: true},
			"b": {Nested: &schema.Object{Nesting: schema.Set, Attributes: map[string]*schema.Attribute{"c": {Type: cty.DynamicPseudoType, Required: true, WriteOnly: true}}}, Optional: true},
		},
		Blocks: map[string]*schema.NestedBlock{"d": {Nesting: schema.List, Min: 1, Max: 2, Block: &schema.Block{Attributes: map[string]*schema.Attribute{"e": {Type: cty.String, Required: true}}}}},
	}
	types := provider.AllKnown(map[string]*schema.Schema{"t": {Version: 3, Block: block}})
	one := addr.Provider{Host: "h.example.com", Namespace: "n", Type: "t"}
	write := func(all map[addr.Provider]*provider.Schemas) (whole string, schemas json.RawMessage) {
		text, err := Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Schemas json.RawMessage `json:"provider_schemas"`
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		return string(text), doc.Schemas
	}
	first, raw := write(map[addr.Provider]*provider.Schemas{one: {Resources: types, DataSources: types}})
	read, err := Read(raw)
	if err != nil {
		t.Fatal(err)
	}
	if second, _ := write(read); second != first {
		t.Errorf("was\n%s\nand is\n%s", first, second)
	}
	if none, err := Read(nil); len(none) > 0 || err != nil {
		t.Error(none, err)
	}
	for _, text := range []string{
		"[]", `{"a/b/c/d":{}}`, `{"a/b/c":{"resource_schemas":{"t":{"block":{"attributes":{"a":{"type":"guess"}}}}}}}`,
		`{"a/b/c":{"data_source_schemas":{"t":{"block":{"block_types":{"a":{"nesting_mode":"guess"}}}}}}}`,
		`{"a/b/c":{"resource_schemas":{"t":{"block":{"attributes":{"a":{"nested_type":{"nesting_mode":"guess"}}}}}}}}`,
	} {
		if _, err := Read([]byte(text)); err == nil {
			t.Errorf("read %s", text)
		}
	}
}
