package jsonschema_test

import (
	"encoding/json"
	"strings"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/ui/view/jsonschema"
)

func TestMarshalIsReadable(t *testing.T) {
	object := &schema.Schema{
		Version: 3,
		Block: &schema.Block{
			Attributes: map[string]*schema.Attribute{
				"id":   {Type: cty.String, Computed: true, Description: "The *id*.", Markdown: true},
				"tags": {Type: cty.Map(cty.String), Optional: true, Sensitive: true},
				"old":  {Type: cty.Bool, Optional: true, Deprecated: true, DeprecationMessage: "Use id."},
				"many": {Nested: &schema.Object{Nesting: schema.List, Attributes: map[string]*schema.Attribute{"x": {Type: cty.Number, Required: true}}}, Optional: true},
			},
			Blocks: map[string]*schema.NestedBlock{"rule": {Block: &schema.Block{}, Nesting: schema.Set, Min: 1, Max: 4}},
		},
		Identity:        &schema.Object{Nesting: schema.Single, Attributes: map[string]*schema.Attribute{"id": {Type: cty.String, Required: true}}},
		IdentityVersion: 1,
	}
	all := map[addr.Provider]*provider.Schemas{
		{Host: "example.com", Namespace: "acme", Type: "sim"}: {
			Provider:    &schema.Schema{Block: &schema.Block{}},
			Resources:   provider.AllKnown(map[string]*schema.Schema{"sim_object": object}),
			DataSources: provider.AllKnown(map[string]*schema.Schema{"sim_object": object}),
			Ephemerals:  provider.AllKnown(map[string]*schema.Schema{"sim_token": object}),
			Functions: map[string]*provider.Function{"join": {
				Summary: "Joins", Return: cty.List(cty.String),
				Parameters: []provider.Parameter{{Name: "by", Type: cty.Object(map[string]cty.Type{"a": cty.Bool}), AllowNull: true}},
				Variadic:   &provider.Parameter{Name: "parts", Type: cty.DynamicPseudoType},
			}},
		},
	}
	text, err := jsonschema.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	var read tfjson.ProviderSchemas
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	s := read.Schemas["example.com/acme/sim"]
	if s == nil || s.ConfigSchema == nil || s.EphemeralResourceSchemas["sim_token"] == nil || s.DataSourceSchemas["sim_object"] == nil {
		t.Fatalf("parts are missing:\n%s", text)
	}
	r := s.ResourceSchemas["sim_object"]
	a := r.Block.Attributes
	if r.Version != 3 || !a["id"].Computed || a["id"].DescriptionKind != tfjson.SchemaDescriptionKindMarkdown ||
		!a["tags"].AttributeType.Equals(cty.Map(cty.String)) || !a["tags"].Sensitive || !a["old"].Deprecated ||
		a["many"].AttributeNestedType.NestingMode != tfjson.SchemaNestingModeList {
		t.Errorf("attributes came out wrong:\n%s", text)
	}
	if rule := r.Block.NestedBlocks["rule"]; rule.NestingMode != tfjson.SchemaNestingModeSet || rule.MinItems != 1 || rule.MaxItems != 4 {
		t.Errorf("blocks came out wrong: %+v", rule)
	}
	if id := s.ResourceIdentitySchemas["sim_object"]; id.Version != 1 || !id.Attributes["id"].RequiredForImport {
		t.Errorf("the identity came out wrong: %+v", id)
	}
	f := s.Functions["join"]
	if !f.ReturnType.Equals(cty.List(cty.String)) || !f.Parameters[0].IsNullable || f.VariadicParameter.Type != cty.DynamicPseudoType {
		t.Errorf("the function came out wrong: %+v", f)
	}
	if !strings.HasPrefix(string(text), `{"format_version":"1.0"`) {
		t.Errorf("the version isn't first: %s", text)
	}
}
