package configgen

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
)

func TestResource(t *testing.T) {
	text := func(flags ...string) *schema.Attribute {
		a := &schema.Attribute{Type: cty.String}
		for _, f := range flags {
			switch f {
			case "required":
				a.Required = true
			case "optional":
				a.Optional = true
			case "computed":
				a.Computed = true
			case "sensitive":
				a.Sensitive = true
			case "deprecated":
				a.Deprecated = true
			case "writeonly":
				a.WriteOnly = true
			}
		}
		return a
	}
	inner := &schema.Block{Attributes: map[string]*schema.Attribute{"x": text("optional"), "only": text("computed")}}
	b := &schema.Block{
		Attributes: map[string]*schema.Attribute{
			"id": text("optional", "computed"), "arn": text("computed"), "name": text("required"), "policy": text("optional"),
			"old": text("optional", "deprecated"), "unset": text("optional"), "secret": text("optional", "sensitive"),
			"needed": text("required"), "password": text("required", "sensitive"), "odd": text("optional"),
			"tags": {Type: cty.Map(cty.String), Optional: true},
			"wo":   text("optional", "writeonly"), "token": text("required", "sensitive", "writeonly"),
			"vault":   {Nested: &schema.Object{Attributes: map[string]*schema.Attribute{"a": text("optional")}, Nesting: schema.Single}, Optional: true, Sensitive: true},
			"secrets": {Nested: &schema.Object{Attributes: map[string]*schema.Attribute{"a": text("optional")}, Nesting: schema.Set}, Optional: true, Sensitive: true},
			"single":  {Nested: &schema.Object{Attributes: map[string]*schema.Attribute{"a": text("optional")}, Nesting: schema.Single}, Optional: true},
			"rules":   {Nested: &schema.Object{Attributes: map[string]*schema.Attribute{"a": text("optional"), "c": text("computed"), "s": text("required", "sensitive")}, Nesting: schema.List}, Optional: true},
		},
		Blocks: map[string]*schema.NestedBlock{
			"one":   {Block: inner, Nesting: schema.Single},
			"group": {Block: inner, Nesting: schema.Group},
			"many":  {Block: inner, Nesting: schema.List},
			"named": {Block: inner, Nesting: schema.Map},
		},
	}
	in := func(x string) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"x": cty.StringVal(x), "only": cty.StringVal("computed")})
	}
	null := cty.NullVal(cty.String)
	object := cty.ObjectVal(map[string]cty.Value{
		"id": cty.StringVal("i-1"), "arn": cty.StringVal("arn"), "name": cty.StringVal("${n}"), "policy": cty.StringVal(`{"a":[1,"b"]}`),
		"old": cty.StringVal("old"), "unset": null, "secret": cty.StringVal("hush"), "needed": null, "password": cty.StringVal("hush"),
		"odd": cty.StringVal(`{"a": 1}`),
		"wo":  null, "token": null,
		"vault":   cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("hush")}),
		"secrets": cty.SetVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("hush")})}),
		"single":  cty.NullVal(cty.Object(map[string]cty.Type{"a": cty.String})),
		"tags":    cty.MapVal(map[string]cty.Value{"k": cty.StringVal("v"), "with space": cty.StringVal("w")}),
		"rules": cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{
			"a": cty.StringVal("A"), "c": cty.StringVal("C"), "s": cty.StringVal("hush"),
		})}),
		"one": in("1"), "group": cty.ObjectVal(map[string]cty.Value{"x": null, "only": null}),
		"many":  cty.ListVal([]cty.Value{in("2"), in("3")}),
		"named": cty.MapVal(map[string]cty.Value{"n": in("4")}),
	})
	got := Resource(addr.Name{Mode: addr.Managed, Type: "sim_thing", Name: "t"}, "sim.other", b, object, Settable)
	want := `resource "sim_thing" "t" {
  provider = sim.other
  name     = "$${n}"
  needed   = null
  odd      = "{\"a\": 1}"
  password = null # sensitive
  policy = jsonencode({
    a = [1, "b"]
  })
  rules = [
    {
      a = "A"
      s = null # sensitive
    },
  ]
  secret  = null # sensitive
  secrets = []   # sensitive
  single  = null
  tags = {
    k            = "v"
    "with space" = "w"
  }
  token = null # sensitive write-only
  unset = null
  vault = {}   # sensitive
  wo    = null # write-only
  many {
    x = "2"
  }
  many {
    x = "3"
  }
  named "n" {
    x = "4"
  }
  one {
    x = "1"
  }
}`
	if got != want {
		t.Errorf("got\n%s", got)
	}
	if _, diags := hclsyntax.ParseConfig([]byte(got+"\n"), "", hcl.InitialPos); diags.HasErrors() {
		t.Error(diags)
	}
}

// TestFile: blocks stand below comments by which tools know them, imports say an object by
// what of its identity there is.
func TestFile(t *testing.T) {
	to := addr.Name{Mode: addr.Managed, Type: "sim_object", Name: "a"}
	got := Import(to, "sim.other", cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("i-1"), "region": cty.NullVal(cty.String)}))
	want := "import {\n  to       = sim_object.a\n  provider = sim.other\n  identity = {\n    id = \"i-1\"\n  }\n}"
	if got != want {
		t.Errorf("got:\n%s", got)
	}
	file := string(File([]Block{{Text: got}, {Text: "other", From: "i \"2\""}}))
	want = "# __generated__ by weir\n# Please review these resources and move them into your main configuration files.\n\n# __generated__ by weir\n" + want + "\n\n# __generated__ by weir from \"i \\\"2\\\"\"\nother\n"
	if file != want {
		t.Errorf("got:\n%s", file)
	}
}

// A provider may set what weir would leave out.
func TestGiven(t *testing.T) {
	b := &schema.Block{Attributes: map[string]*schema.Attribute{
		"id":  {Type: cty.String, Optional: true, Computed: true},
		"old": {Type: cty.String, Optional: true, Deprecated: true},
		"arn": {Type: cty.String, Computed: true},
		"set": {Type: cty.String, Optional: true},
	}}
	config := cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("i"), "old": cty.NullVal(cty.String), "arn": cty.NullVal(cty.String), "set": cty.NullVal(cty.String)})
	got := Resource(addr.Name{Mode: addr.Managed, Type: "sim_thing", Name: "t"}, "", b, config, Given)
	want := `resource "sim_thing" "t" {
  id  = "i"
  set = null
}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
