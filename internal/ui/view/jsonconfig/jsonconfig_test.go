package jsonconfig

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider"
)

var sim = addr.Provider{Host: "example.com", Namespace: "acme", Type: "sim"}

// The targets of references in tests.
var (
	object1 = &program.Resource{Name: addr.Name{Type: "sim_object", Name: "a"}}
	call1   = &program.Call{Call: addr.Mod("m")}
)

// parse reads a body and resolves the few references that tests use, by
// putting nodes in place of whole expressions and template parts.
func parse(t *testing.T, src string) *program.Body {
	t.Helper()
	file, diags := hclsyntax.ParseConfig([]byte(src), "main.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	body := file.Body.(*hclsyntax.Body)
	resolveBody(t, body)
	return &program.Body{Body: body}
}

func resolveBody(t *testing.T, body *hclsyntax.Body) {
	for _, a := range body.Attributes {
		a.Expr = resolve(t, a.Expr)
	}
	for _, b := range body.Blocks {
		resolveBody(t, b.Body)
	}
}

func resolve(t *testing.T, e hclsyntax.Expression) hclsyntax.Expression {
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return program.NewRefExpr(reference(t, e.Traversal, nil))
	case *hclsyntax.IndexExpr:
		base := reference(t, e.Collection.(*hclsyntax.ScopeTraversalExpr).Traversal, nil)
		base.Key = resolve(t, e.Key)
		return program.NewRefExpr(base)
	case *hclsyntax.TemplateExpr:
		for i, part := range e.Parts {
			e.Parts[i] = resolve(t, part)
		}
	case *hclsyntax.FunctionCallExpr:
		for i, arg := range e.Args {
			e.Args[i] = resolve(t, arg)
		}
	}
	return e
}

func reference(t *testing.T, tr hcl.Traversal, key hcl.Expression) *program.Ref {
	name := func(i int) string { return tr[i].(hcl.TraverseAttr).Name }
	ref := &program.Ref{Key: key}
	rest := 2
	switch root := tr.RootName(); root {
	case "var":
		ref.Kind, ref.Variable = program.RefVariable, &program.Variable{Name: name(1)}
	case "module":
		ref.Kind, ref.Call = program.RefCall, &program.Call{Call: addr.Mod(name(1))}
		if len(tr) > 2 {
			ref.Attr, rest = name(2), 3
		}
	case "each":
		ref.Kind, ref.Attr = program.RefEach, name(1)
	case "count":
		ref.Kind, ref.Attr = program.RefCount, name(1)
	default:
		ref.Kind, ref.Resource = program.RefResource, &program.Resource{Name: addr.Name{Type: root, Name: name(1)}}
	}
	ref.Rest = tr[rest:]
	return ref
}

func expr(t *testing.T, src string) *program.Expr {
	t.Helper()
	e, diags := hclsyntax.ParseExpression([]byte(src), "main.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return &program.Expr{Expression: resolve(t, e)}
}

func TestExpressions(t *testing.T) {
	for src, want := range map[string]string{
		`"x"`:                             `{"constant_value":"x"}`,
		`[1, null, { a = true }]`:         `{"constant_value":[1,null,{"a":true}]}`,
		`null`:                            `{"constant_value":null}`,
		`upper("x")`:                      `{}`,
		`"${var.v}${var.v}"`:              `{"references":["var.v","var.v"]}`,
		`var.v`:                           `{"references":["var.v"]}`,
		`var.v.a["b"][0]`:                 `{"references":["var.v.a[\"b\"][0]","var.v.a[\"b\"]","var.v.a","var.v"]}`,
		`sim_object.a.id`:                 `{"references":["sim_object.a.id","sim_object.a"]}`,
		`"${sim_object.a.id}-${var.v}-x"`: `{"references":["sim_object.a.id","sim_object.a","var.v"]}`,
		`module.m.out.x`:                  `{"references":["module.m.out.x","module.m.out","module.m"]}`,
		`sim_object.a[count.index]`:       `{"references":["sim_object.a","count.index"]}`,
		`upper(each.value.name)`:          `{"references":["each.value.name","each.value"]}`,
	} {
		got, err := json.Marshal(convert(expr(t, src)))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, want %s (%v)", src, got, want, err)
		}
	}
}

func TestKeysAreSplitOff(t *testing.T) {
	key := func(v cty.Value) hcl.Expression { return hcl.StaticExpr(v, hcl.Range{}) }
	rest := hcl.Traversal{hcl.TraverseAttr{Name: "id"}}
	for _, test := range []struct {
		ref  program.Ref
		want []string
	}{
		{program.Ref{Kind: program.RefResource, Resource: object1, Key: key(cty.NumberIntVal(0)), Rest: rest}, []string{"sim_object.a[0].id", "sim_object.a[0]", "sim_object.a"}},
		{program.Ref{Kind: program.RefCall, Call: call1, Attr: "o", Key: key(cty.StringVal("k"))}, []string{`module.m["k"].o`, `module.m["k"]`}},
		{program.Ref{Kind: program.RefCall, Call: call1, Key: key(cty.StringVal("k"))}, []string{`module.m["k"]`, "module.m"}},
		{program.Ref{Kind: program.RefTerraform, Attr: "workspace", Text: "tofu.workspace"}, []string{"tofu.workspace"}},
	} {
		if got := references(program.NewRefExpr(&test.ref)); !reflect.DeepEqual(got, test.want) {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// written is what is read back of a configuration.
type written struct {
	RootModule      writtenModule `json:"root_module"`
	ProviderConfigs map[string]struct {
		Alias             string
		VersionConstraint string `json:"version_constraint"`
		Expressions       readExpressions
	} `json:"provider_config"`
}

type writtenModule struct {
	Resources []struct {
		Address, Mode, Name string
		ProviderConfigKey   string          `json:"provider_config_key"`
		SchemaVersion       int             `json:"schema_version"`
		DependsOn           []string        `json:"depends_on"`
		ForEachExpression   *readExpression `json:"for_each_expression"`
		Expressions         readExpressions
		Provisioners        []struct{ Expressions readExpressions }
	}
	ModuleCalls map[string]struct {
		Source          string
		CountExpression readExpression `json:"count_expression"`
		Expressions     readExpressions
		Module          writtenModule
	} `json:"module_calls"`
	Variables map[string]struct {
		Default     any
		Description string
		Sensitive   bool
	}
}

type readExpression struct {
	ConstantValue any `json:"constant_value"`
	References    []string
}

// readExpressions are those of a body; nested blocks are lists of others.
type readExpressions map[string]json.RawMessage

func (es readExpressions) one(t *testing.T, name string) (e readExpression) {
	t.Helper()
	if err := json.Unmarshal(es[name], &e); err != nil {
		t.Fatalf("%s: %v in %s", name, err, es[name])
	}
	return e
}

func (es readExpressions) blocks(t *testing.T, name string) (list []readExpressions) {
	t.Helper()
	if err := json.Unmarshal(es[name], &list); err != nil {
		t.Fatalf("%s: %v in %s", name, err, es[name])
	}
	return list
}

func TestMarshalIsReadable(t *testing.T) {
	rule := &schema.Block{Attributes: map[string]*schema.Attribute{"port": {Type: cty.Number}}}
	block := &schema.Block{
		Attributes: map[string]*schema.Attribute{
			"name":  {Type: cty.String},
			"items": {Type: cty.List(cty.Object(map[string]cty.Type{"x": cty.String})), Optional: true},
		},
		Blocks: map[string]*schema.NestedBlock{
			"rule": {Block: rule, Nesting: schema.List},
			"one":  {Block: rule, Nesting: schema.Single},
			"by":   {Block: rule, Nesting: schema.Map},
		},
	}
	schemas := map[addr.Provider]*provider.Schemas{sim: {
		Provider:  &schema.Schema{Block: &schema.Block{Attributes: map[string]*schema.Attribute{"region": {Type: cty.String}}}},
		Resources: provider.AllKnown(map[string]*schema.Schema{"sim_object": {Version: 2, Block: block}}),
	}}
	use := func(alias string) program.ProviderUse {
		return program.ProviderUse{LocalName: "sim", Alias: alias, Provider: sim}
	}
	object := func(name, alias string) *program.Resource {
		return &program.Resource{Name: addr.Name{Type: "sim_object", Name: name}, Provider: use(alias), Config: parse(t, `name = var.v`)}
	}
	needs := func(constraint string) map[string]*program.Requirement {
		return map[string]*program.Requirement{"sim": {LocalName: "sim", Provider: sim, Constraints: constraint}}
	}
	full := object("a", "")
	full.Config = parse(t, `
name = "n"
items {
  x = var.v
}
rule {
  port = 1
}
rule {
  port = each.value.port
}
one {
  port = 2
}
by "key" {
  port = 3
}
`)
	full.Repeat.ForEach = expr(t, "var.v")
	full.DependsOn = []*program.Ref{{Kind: program.RefResource, Resource: object1, Rest: hcl.Traversal{hcl.TraverseAttr{Name: "id"}}}}
	full.Provisioners = []*program.Provisioner{{Type: "local-exec", Config: parse(t, `command = "echo"`)}}
	data := &program.Resource{Name: addr.Name{Mode: addr.Data, Type: "other_thing", Name: "d"}, Provider: program.ProviderUse{LocalName: "other", Provider: addr.OpenTofu.Provider("other")}, Config: parse(t, `x = var.v`)}

	inner := &program.Tree{Program: &program.Program{Resources: []*program.Resource{object("deep", "")}, Requirements: needs("")}}
	child := &program.Tree{Source: "./m", Program: &program.Program{
		Requirements: map[string]*program.Requirement{"sim": {LocalName: "sim", Provider: sim, Aliases: []string{"other"}}},
		Resources:    []*program.Resource{object("in", ""), object("aliased", "other")},
		Calls:        []*program.Call{{Call: addr.Mod("deep")}},
	}, Children: map[addr.Call]*program.Tree{addr.Mod("deep"): inner}}
	root := &program.Tree{Program: &program.Program{
		Variables:    []*program.Variable{{Name: "v", Type: cty.List(cty.String), Sensitive: true}, {Name: "d", Type: cty.DynamicPseudoType, Default: cty.StringVal("x"), Description: "text"}},
		Outputs:      []*program.Output{{Name: "o", Expr: expr(t, "module.m.x"), Sensitive: true}},
		Resources:    []*program.Resource{data, full},
		Requirements: map[string]*program.Requirement{"sim": {LocalName: "sim", Provider: sim, Constraints: "~> 1.0"}, "other": {LocalName: "other", Provider: addr.OpenTofu.Provider("other"), Implied: true}},
		Providers:    []*program.Provider{{LocalName: "sim", Provider: sim, Config: parse(t, `region = "x"`)}, {LocalName: "sim", Alias: "west", Provider: sim, Config: parse(t, `region = var.v`)}},
		Calls: []*program.Call{{
			Call: addr.Mod("m"), Inputs: []*program.Input{{Name: "x", Expr: expr(t, "var.d")}}, Repeat: program.Repeat{Count: expr(t, "2")}, Passes: true,
			Providers: []*program.PassedProvider{{LocalName: "sim", Outer: use("west")}, {LocalName: "sim", Alias: "other", Outer: use("")}},
		}},
	}, Children: map[addr.Call]*program.Tree{addr.Mod("m"): child}}

	text, err := Marshal(root, schemas)
	if err != nil {
		t.Fatal(err)
	}
	var read written
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	a := read.RootModule.Resources[0]
	if a.Address != "sim_object.a" || a.ProviderConfigKey != "sim" || a.SchemaVersion != 2 || a.DependsOn[0] != "sim_object.a" || a.ForEachExpression == nil ||
		a.Provisioners[0].Expressions.one(t, "command").ConstantValue != "echo" {
		t.Errorf("resource: %+v", a)
	}
	rules := a.Expressions.blocks(t, "rule")
	if len(rules) != 2 || rules[1].one(t, "port").References[0] != "each.value.port" || a.Expressions.one(t, "items").References[0] != "var.v" {
		t.Errorf("nested blocks: %s", text)
	}
	if d := read.RootModule.Resources[1]; d.Mode != "data" || d.Expressions.one(t, "x").References[0] != "var.v" || d.ProviderConfigKey != "other" {
		t.Errorf("data: %+v", d)
	}
	m := read.RootModule.ModuleCalls["m"]
	if m.Source != "./m" || m.CountExpression.ConstantValue != 2.0 || m.Expressions.one(t, "x").References[0] != "var.d" {
		t.Errorf("call: %+v", m)
	}
	keys := map[string]string{}
	for _, r := range append(m.Module.Resources, m.Module.ModuleCalls["deep"].Module.Resources...) {
		keys[r.Name] = r.ProviderConfigKey
	}
	if want := map[string]string{"in": "sim.west", "aliased": "sim", "deep": "sim.west"}; !reflect.DeepEqual(keys, want) {
		t.Errorf("keys of providers in modules: %v, want %v", keys, want)
	}
	var names []string
	for key, p := range read.ProviderConfigs {
		names = append(names, key)
		if key == "sim.west" && (p.Alias != "west" || p.VersionConstraint != "~> 1.0" || p.Expressions.one(t, "region").References[0] != "var.v") {
			t.Errorf("provider: %+v", p)
		}
	}
	if len(names) != 3 || !strings.Contains(string(text), `"other":{"name":"other","full_name":"registry.opentofu.org/hashicorp/other"}`) {
		t.Errorf("providers %q:\n%s", names, text)
	}
	if v := read.RootModule.Variables["d"]; v.Default != "x" || v.Description != "text" || !read.RootModule.Variables["v"].Sensitive {
		t.Errorf("variables: %s", text)
	}
	again, err := Marshal(root, schemas)
	if err != nil || string(again) != string(text) {
		t.Errorf("a second run differs: %v", err)
	}
}
