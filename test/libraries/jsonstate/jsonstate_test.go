package jsonstate_test

import (
	"encoding/json"
	"strings"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/ui/view/jsonstate"
)

var sim = addr.Provider{Host: "example.com", Namespace: "acme", Type: "sim"}

var schemas = map[addr.Provider]*provider.Schemas{sim: {Resources: provider.AllKnown(map[string]*schema.Schema{"sim_object": {Block: &schema.Block{
	Attributes: map[string]*schema.Attribute{
		"name":   {Type: cty.String, Required: true},
		"secret": {Type: cty.String, Optional: true, Sensitive: true},
		"any":    {Type: cty.DynamicPseudoType, Optional: true},
		"list":   {Type: cty.List(cty.String), Optional: true},
	},
}}})}}

func instance(t *testing.T, text string) addr.Object {
	t.Helper()
	i, err := addr.ParseInstance(text)
	if err != nil {
		t.Fatal(err)
	}
	return addr.Object{Instance: i}
}

func TestMarshalIsReadable(t *testing.T) {
	deposed := instance(t, `module.a["x"].module.b.sim_object.two["k"]`)
	deposed.Deposed = "0123abcd"
	object := func(json string, sensitive ...cty.Path) *state.Object {
		return &state.Object{Provider: addr.ProviderConfig{Provider: sim}, JSON: []byte(json), Sensitive: sensitive}
	}
	one := object(`{"name":"n","secret":null,"any":{"value":[1,"a"],"type":["tuple",["number","string"]]},"list":["a","b"]}`,
		cty.GetAttrPath("list").Index(cty.NumberIntVal(1)))
	one.Tainted = true
	one.Dependencies = []addr.Resource{instance(t, "sim_object.zero").Resource}
	one.IdentityJSON = []byte(`{"id":"x"}`)
	s := state.Empty()
	s.Version = "1.12.0"
	s.Objects = map[addr.Object]*state.Object{
		instance(t, "sim_object.one[0]"): one,
		instance(t, "sim_object.one[1]"): object(`{"name":"of an older schema","secret":"s","gone":true}`, cty.GetAttrPath("gone")),
		deposed:                          object(`{"name":"d","secret":"s","any":null,"list":null}`),
		instance(t, "sim_unknown.x"):     object(`{"a":{"b":1}}`, cty.GetAttrPath("a").GetAttr("b")),
	}
	s.Outputs["o"] = state.Output{Value: cty.ListVal([]cty.Value{cty.StringVal("x")}), Sensitive: true}
	s.Checks = []state.CheckResult{
		{Kind: "resource", Address: "module.a.sim_object.two", Status: "fail", Objects: []state.CheckObject{{Address: `module.a["x"].sim_object.two["k"]`, Status: "fail", Messages: []string{"no"}}}},
		{Kind: "output_value", Address: "output.o", Status: "pass", Objects: []state.CheckObject{{Address: "output.o", Status: "pass"}}},
		{Kind: "input_variable", Address: "module.a.var.v", Status: "unknown"},
	}

	text, err := jsonstate.Marshal(s, schemas)
	if err != nil {
		t.Fatal(err)
	}
	var read tfjson.State
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	root := read.Values.RootModule
	first := root.Resources[0]
	if first.Address != "sim_object.one[0]" || first.Index != 0.0 || !first.Tainted || first.DependsOn[0] != "sim_object.zero" || first.IdentityValues["id"] != "x" {
		t.Errorf("first resource: %+v", first)
	}
	if got := string(first.SensitiveValues); got != `{"any":[false,false],"list":[false,true],"secret":true}` {
		t.Errorf("sensitive: %s", got)
	}
	if got, _ := json.Marshal(first.AttributeValues["any"]); string(got) != `[1,"a"]` {
		t.Errorf("a dynamic value keeps its wrapper: %s", got)
	}
	if second := root.Resources[1]; second.AttributeValues["gone"] != true || string(second.SensitiveValues) != `{"gone":true,"secret":true}` {
		t.Errorf("an object of another schema: %+v, sensitive %s", second, second.SensitiveValues)
	}
	if last := root.Resources[2]; last.Address != "sim_unknown.x" || string(last.SensitiveValues) != `{"a":{"b":true}}` {
		t.Errorf("an object without a schema: %+v, sensitive %s", last, last.SensitiveValues)
	}
	inner := root.ChildModules[0].ChildModules[0]
	if inner.Address != `module.a["x"].module.b` || inner.Resources[0].DeposedKey != "0123abcd" || inner.Resources[0].Index != "k" {
		t.Errorf("inner module: %+v", inner)
	}
	if o := read.Values.Outputs["o"]; !o.Sensitive || !o.Type.Equals(cty.List(cty.String)) {
		t.Errorf("output: %+v", o)
	}
	if len(read.Checks) != 3 || read.Checks[0].Address.ToDisplay != "module.a.sim_object.two" || read.Checks[0].Instances[0].Problems[0].Message != "no" ||
		read.Checks[1].Address.Module != "module.a" || read.Checks[1].Address.Name != "v" || read.Checks[1].Address.Kind != "var" {
		t.Errorf("checks: %s", text)
	}
}

func TestEmptyState(t *testing.T) {
	text, err := jsonstate.Marshal(state.Empty(), nil)
	if err != nil || string(text) != `{"format_version":"1.0"}` {
		t.Errorf("%s, %v", text, err)
	}
}

func TestOutputs(t *testing.T) {
	all := map[string]state.Output{"a": {Value: cty.StringVal("<x>"), Sensitive: true, Deprecated: "no"}}
	text, err := jsonstate.AllOutputs(all)
	if err != nil {
		t.Fatal(err)
	}
	var read map[string]tfjson.StateOutput
	if err := json.Unmarshal(text, &read); err != nil || read["a"].Value != "<x>" || !strings.Contains(string(text), "\n    \"sensitive\": true,\n    \"deprecated\": \"no\"") {
		t.Errorf("%v:\n%s", err, text)
	}
	if one, err := jsonstate.OneOutput(all["a"]); err != nil || string(one) != "\"\\u003cx\\u003e\"" {
		t.Errorf("%s, %v", one, err)
	}
}
