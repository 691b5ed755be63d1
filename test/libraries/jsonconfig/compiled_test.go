package jsonconfig_test

import (
	"encoding/json"
	"strings"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/lang/compiler"
	modules "weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/ui/view/jsonconfig"
)

// TestCompiledConfiguration goes from files to JSON, for what trees made by
// hand can't show: how references look after compilation.
func TestCompiledConfiguration(t *testing.T) {
	files := modules.Memory{
		"main.tf": []byte(`
terraform {
  required_providers {
    sim = { source = "example.com/acme/sim" }
  }
}
variable "v" { default = ["a"] }
locals { l = 1 }
resource "sim_object" "many" {
  for_each = toset(var.v)
  a = each.key
}
resource "sim_object" "one" {
  a = sim_object.many["a"].id
  b = [for o in sim_object.many : o.id]
  c = values(sim_object.many)[*].id
  d = "${local.l}-${path.module}"
  e = sim_object.many[var.v[0]].id
  f = "x${1}"
  dynamic "rule" {
    for_each = var.v
    content {
      port = rule.value
    }
  }
  rule {
    port = local.l
  }
  depends_on = [sim_object.many]
}
`),
		"extra.tf.json": []byte(`{"resource": {"sim_object": {"json": {"a": "${var.v[0]}", "b": "plain", "rule": [{"port": 1}, {"port": "${local.l}"}]}}}}`),
	}
	src, diags := modules.Load(files, ".", dialect.OpenTofu)
	prog, more := compiler.Compile(src)
	diags.Append(more)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	attributes := map[string]*schema.Attribute{"id": {Type: cty.String, Computed: true}}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		attributes[name] = &schema.Attribute{Type: cty.DynamicPseudoType, Optional: true}
	}
	rule := &schema.Block{Attributes: map[string]*schema.Attribute{"port": {Type: cty.Number}}}
	sim := addr.Provider{Host: "example.com", Namespace: "acme", Type: "sim"}
	schemas := map[addr.Provider]*provider.Schemas{sim: {Resources: provider.AllKnown(map[string]*schema.Schema{"sim_object": {Block: &schema.Block{
		Attributes: attributes, Blocks: map[string]*schema.NestedBlock{"rule": {Block: rule, Nesting: schema.List}},
	}}})}}
	text, err := jsonconfig.Marshal(&program.Tree{Program: prog}, schemas)
	if err != nil {
		t.Fatal(err)
	}
	var read tfjson.Config
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	got := map[string]string{}
	for _, r := range read.RootModule.Resources {
		for name, e := range r.Expressions {
			if e.NestedBlocks == nil {
				constant, _ := json.Marshal(e.ConstantValue)
				got[r.Name+"."+name] = strings.Join(e.References, " ") + " " + string(constant)
				continue
			}
			for _, block := range e.NestedBlocks {
				constant, _ := json.Marshal(block["port"].ConstantValue)
				got[r.Name+"."+name] += strings.Join(block["port"].References, " ") + " " + string(constant) + ";"
			}
		}
	}
	// The reader has an empty object where there is no constant.
	for name, want := range map[string]string{
		"many.a":    "each.key {}",
		"one.a":     `sim_object.many["a"].id sim_object.many["a"] sim_object.many {}`,
		"one.b":     "sim_object.many {}",
		"one.c":     "sim_object.many {}",
		"one.d":     "local.l path.module {}",
		"one.e":     "sim_object.many var.v[0] var.v {}",
		"one.f":     ` "x1"`,
		"one.rule":  "local.l {};",
		"json.a":    "var.v[0] var.v {}",
		"json.b":    ` "plain"`,
		"json.rule": " 1;local.l {};",
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	if t.Failed() {
		t.Logf("%s", text)
	}
	if one := read.RootModule.Resources[2]; one.DependsOn[0] != "sim_object.many" || one.ProviderConfigKey != "sim" {
		t.Errorf("%+v", one)
	}
}
