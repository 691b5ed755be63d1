package jsonplan

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
)

// TestRead writes a plan, reads it, and writes the same again.
func TestRead(t *testing.T) {
	at := func(text string) addr.Instance {
		i, err := addr.ParseInstance(text)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	provider := &addr.ProviderConfig{Provider: addr.Provider{Host: "h.example.com", Namespace: "n", Type: "p"}}
	before := cty.ObjectVal(map[string]cty.Value{
		"a": cty.StringVal("x"), "b": cty.TupleVal([]cty.Value{cty.NumberIntVal(1), cty.True}), "c": cty.NullVal(cty.DynamicPseudoType), "d": cty.StringVal("secret").Mark(value.Sensitive),
	})
	after := cty.ObjectVal(map[string]cty.Value{
		"a": cty.DynamicVal, "b": cty.TupleVal([]cty.Value{cty.NumberIntVal(2), cty.DynamicVal}), "c": cty.EmptyObjectVal, "d": cty.StringVal("other").Mark(value.Sensitive),
	})
	from := at("p_a.old")
	p := &plan.Plan{
		Changes: []*plan.Change{
			{Addr: addr.Object{Instance: at(`module.m["k"].p_a.b[1]`)}, Provider: provider, Action: plan.CreateThenDelete, Reason: plan.ReplaceRequested, Before: before, After: after, ReplacePaths: []cty.Path{cty.GetAttrPath("b").IndexInt(0)}},
			{Addr: addr.Object{Instance: at("p_a.c"), Deposed: "12345678"}, Provider: provider, Action: plan.Delete, Before: before, After: cty.NullVal(before.Type())},
			{Addr: addr.Object{Instance: at("p_a.d")}, From: &from, Provider: provider, Action: plan.Create, Before: cty.NullVal(after.Type()), After: after, Importing: &plan.Importing{ID: "i"}, GeneratedConfig: "x {}"},
			{Addr: addr.Object{Instance: at("p_a.e")}, Provider: provider, Action: plan.NoOp, Before: before, After: before, Importing: &plan.Importing{Identity: cty.ObjectVal(map[string]cty.Value{"n": cty.StringVal("y")})}},
		},
		Drift:    []*plan.Change{{Addr: addr.Object{Instance: at("p_a.e")}, Provider: provider, Action: plan.Update, Before: before, After: before}},
		Relevant: []plan.Attribute{{Resource: at("p_a.e"), Path: cty.GetAttrPath("a")}},
		Outputs:  []*plan.OutputChange{{Name: "o", Action: plan.Update, Before: cty.StringVal("x"), After: cty.StringVal("y"), Sensitive: false}},
	}
	first, err := Marshal(p, nil, nil, dialect.OpenTofu)
	if err != nil {
		t.Fatal(err)
	}
	read, err := Read(first)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Marshal(read, nil, nil, dialect.OpenTofu)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"resource_changes", "output_changes", "resource_drift", "relevant_attributes"} {
		var was, is map[string]json.RawMessage
		if json.Unmarshal(first, &was) != nil || json.Unmarshal(second, &is) != nil || len(was[part]) == 0 || !bytes.Equal(was[part], is[part]) {
			t.Errorf("%s was\n%s\nand is\n%s", part, was[part], is[part])
		}
	}
	// With schemas, values have the types of these, where all fit.
	const schemas = `,"provider_schemas":{"h.example.com/n/p":{"resource_schemas":{"p_a":{"block":{"attributes":{"a":{"type":"string"},"b":{"type":["list","string"]},"c":{"type":["map","string"]},"d":{"type":"string"}}}}}}}}`
	for fits, kind := range map[bool]string{true: `["map","string"]`, false: `"number"`} {
		with, err := Read([]byte(strings.TrimSuffix(strings.TrimSpace(string(first)), "}") + strings.Replace(schemas, `["map","string"]`, kind, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if got := with.Changes[2].After.Type().AttributeType("b").IsListType(); got != fits {
			t.Errorf("%s: %#v", kind, with.Changes[2].After)
		}
	}
	if path := typedPath(cty.GetAttrPath("m").GetAttr("k"), cty.Object(map[string]cty.Type{"m": cty.Map(cty.String)})); value.PathString(path) != `.m["k"]` {
		t.Error(value.PathString(path))
	}
	for _, text := range []string{
		"no", `{"resource_changes":[{"address":"a.b"}]}`, `{"resource_changes":[{"address":"?","change":{"actions":["create"]}}]}`,
		`{"resource_changes":[{"address":"a.b","provider_name":"x","change":{"actions":["guess"]}}]}`, `{"output_changes":{"o":{"actions":["guess"]}}}`,
		`{"resource_changes":[{"address":"a.b","provider_name":"x","change":{"actions":["create"],"replace_paths":[[{}]]}}]}`,
	} {
		if _, err := Read([]byte(text)); err == nil {
			t.Errorf("read %s", text)
		}
	}
	if _, err := Read([]byte(strings.ReplaceAll(string(first), `"create","delete"`, `"create","forget"`))); err != nil {
		t.Error(err)
	}
}
