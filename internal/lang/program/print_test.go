package program_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
)

// compile makes the program of a file, whose mistakes don't matter.
func compile(t *testing.T, name, text string) *program.Program {
	t.Helper()
	src, diags := module.Load(module.Memory{name: []byte(text)}, ".", dialect.OpenTofu)
	p, more := compiler.Compile(src)
	for _, d := range append(diags, more...) {
		t.Log(d.Summary, d.Detail)
	}
	return p
}

// TestPrint has for each kind of declaration what is printed of it.
func TestPrint(t *testing.T) {
	for what, c := range map[string]struct{ text, want string }{
		"variable": {`variable "a" {
  type      = list(string)
  default   = ["x"]
  sensitive = true
  nullable  = false
  validation {
    condition     = length(var.a) > 0
    error_message = "None."
  }
}`, "var.a list(string) = [\"x\"] sensitive not-null\n    validation <- var.a"},
		"variable without a type":  {`variable "a" {}`, "var.a any untyped"},
		"local":                    {"variable \"a\" {}\nlocals { l = var.a.b[0] }", "var.a any untyped\nlocal.l <- var.a +2"},
		"constant":                 {"locals { l = path.module }", "local.l <- path .module"},
		"output":                   {"output \"o\" {\n  value     = terraform.workspace\n  ephemeral = true\n  type      = string\n}", "output.o string ephemeral <- terraform .workspace"},
		"provider":                 {"provider \"sim\" {\n  alias    = \"x\"\n  for_each = toset([\"p\"])\n  region   = each.value\n}", "requires sim: hashicorp/sim implied\nprovider sim.x: hashicorp/sim\n    for_each\n    config <- each .value"},
		"requirement":              {"terraform {\n  required_version = \">= 1.5\"\n  required_providers {\n    sim = {\n      source  = \"weir/sim\"\n      version = \"~> 1.0\"\n      configuration_aliases = [sim.x]\n    }\n  }\n}", "requires sim: weir/sim ~> 1.0 .x\nrequires terraform >= 1.5"},
		"backend":                  {"terraform {\n  backend \"local\" {}\n}", "backend local"},
		"instance with everything": {resource, printed},
		"data in a check": {`check "c" {
  data "sim_lookup" "d" { key = "k" }
  assert {
    condition     = data.sim_lookup.d.found != ""
    error_message = "No."
  }
}`, "requires sim: hashicorp/sim implied\ndata.sim_lookup.d: hashicorp/sim in check.c\ncheck.c\n    assert <- data.sim_lookup.d +1"},
		"call":   {"module \"m\" {\n  source   = \"./m\"\n  for_each = toset([\"p\"])\n  x        = each.key\n  providers = { sim = sim.x }\n}\nprovider \"sim\" { alias = \"x\" }\noutput \"o\" { value = module.m[\"p\"].y }", "requires sim: hashicorp/sim implied\nprovider sim.x: hashicorp/sim\nmodule.m\n    for_each\n    source\n    x <- each .key\n    passes sim.x as sim\noutput.o <- module.m [key] .y"},
		"moved":  {"moved {\n  for_each = toset([\"p\"])\n  from     = sim_object.a[each.key]\n  to       = module.m.sim_object.b[0]\n}", "moved sim_object.a[*] to module.m.sim_object.b[0]\n    for_each\n    key <- each .key"},
		"gone":   {"removed {\n  from = sim_object.a\n  lifecycle { destroy = false }\n}", "removed sim_object.a destroy=false"},
		"import": {"import {\n  to       = sim_object.a[each.key]\n  for_each = toset([\"p\"])\n  id       = each.value\n}", "requires sim: hashicorp/sim implied\nimport sim_object.a\n    key <- each .key\n    for_each\n    id <- each .value"},
	} {
		t.Run(strings.ReplaceAll(what, " ", "_"), func(t *testing.T) {
			var b strings.Builder
			if err := compile(t, "main.tf", c.text).Print(&b); err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), string(addr.OpenTofu)+"/", ""); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

const resource = `resource "sim_object" "a" {
  count    = var.n
  provider = sim.x
  name     = "n${count.index}"
  depends_on = [sim_object.b]
  lifecycle {
    create_before_destroy = true
    destroy               = false
    prevent_destroy       = var.n > 1
    ignore_changes        = [name]
    replace_triggered_by  = [sim_object.b.id]
    precondition {
      condition     = var.n > 0
      error_message = "None."
    }
    postcondition {
      condition     = self.name != ""
      error_message = "No."
    }
  }
  connection { host = self.name }
  provisioner "local-exec" {
    when       = destroy
    on_failure = continue
    command    = self.name
    connection { host = "h" }
  }
}
resource "sim_object" "b" {
  lifecycle { ignore_changes = all }
}
variable "n" { type = number }
provider "sim" { alias = "x" }`

const printed = `requires sim: hashicorp/sim implied
provider sim.x: hashicorp/sim
var.n number
sim_object.a by sim.x: hashicorp/sim create-before-destroy skip-destroy
    count <- var.n
    config <- count .index
    depends_on <- sim_object.b
    prevent_destroy <- var.n
    ignores 1
    replace_triggered_by <- sim_object.b +1
    precondition <- var.n
    postcondition <- self +1
    connection <- self +1
    provisioner local-exec destroy continue <- self +1 connection
sim_object.b: hashicorp/sim ignore-all`

// TestPart has which references belong to a part of what is configured.
func TestPart(t *testing.T) {
	const native = `resource "sim_object" "a" {
  name = var.name
  disk {
    size = var.first
  }
  disk {
    size = var.second
  }
  tag "x" {
    value = var.x
  }
  tag "y" {
    value = var.y
  }
  dynamic "port" {
    for_each = var.ports
    content {
      number = local.number
    }
  }
}
locals { number = 1 }
`
	const variables = `variable "name" {}
variable "first" {}
variable "second" {}
variable "x" {}
variable "y" {}
variable "ports" {}
`
	for path, want := range map[string]string{
		"name":           "var.name",
		"nothing":        "",
		"disk":           "var.first var.second",
		"disk[1].size":   "var.second",
		"disk[7].size":   "",
		`tag["y"].value`: "var.y",
		"port":           "var.ports local.number",
		"port[3].number": "var.ports local.number",
		"":               "var.name var.first var.second var.x var.y var.ports local.number",
	} {
		p := compile(t, "main.tf", native+variables)
		if got := texts(p.Resources[0].Config.At(traversal(t, path))); !slices.Equal(sorted(got), sorted(want)) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	json := compile(t, "main.tf.json", `{"variable": {"name": {}, "first": {}}, "resource": {"sim_object": {"a": {"name": "${var.name}", "disk": [{"size": "${var.first}"}]}}}}`)
	for path, want := range map[string]string{"name": "var.name", "disk[0].size": "var.first", "": "var.name var.first"} {
		if got := texts(json.Resources[0].Config.At(traversal(t, path))); !slices.Equal(sorted(got), sorted(want)) {
			t.Errorf("JSON %s: %s, want %s", path, got, want)
		}
	}
	if (*program.Body)(nil).At(nil) != nil {
		t.Error("no body has references")
	}
}

func sorted(text string) []string { return slices.Sorted(slices.Values(strings.Fields(text))) }

func texts(refs []*program.Ref) string {
	var list []string
	for _, r := range refs {
		list = append(list, r.Text)
	}
	return strings.Join(list, " ")
}

// traversal is a path below a body.
func traversal(t *testing.T, text string) hcl.Traversal {
	if text == "" {
		return nil
	}
	path, diags := hclsyntax.ParseTraversalAbs([]byte("x."+text), "", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return path[1:]
}

// TestEdit has each expression that an editor is given, and what it is for.
func TestEdit(t *testing.T) {
	const text = `variable "v" {
  validation {
    condition     = var.v > 0
    error_message = "No."
  }
}
locals { l = 1 }
resource "sim_object" "a" {
  count = 1
  name  = "n"
  disk { size = 2 }
  lifecycle {
    precondition {
      condition     = var.v > 1
      error_message = "No."
    }
    postcondition {
      condition     = self.name != ""
      error_message = "No."
    }
  }
}
module "m" {
  source   = "./m"
  for_each = toset([])
  x        = 3
}
check "c" {
  assert {
    condition     = var.v > 2
    error_message = "No."
  }
}
output "o" {
  value = 4
  precondition {
    condition     = var.v > 3
    error_message = "No."
  }
}`
	want := []string{
		"var.v validation", "local.l value", "sim_object.a repetition", "sim_object.a argument name", "sim_object.a argument size",
		"sim_object.a precondition", "sim_object.a postcondition", "module.m repetition", "module.m argument x", "check.c assertion", "output.o value", "output.o precondition",
	}
	if got := edited(compile(t, "main.tf", text)); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	json := compile(t, "main.tf.json", `{"resource": {"sim_object": {"a": {"//": "note", "name": "n${1}", "tags": ["x", {"k": "${2}"}]}}}}`)
	want = []string{"sim_object.a argument name", "sim_object.a argument tags", "sim_object.a argument k"}
	if got := edited(json); !slices.Equal(got, want) {
		t.Errorf("JSON: got\n%s", strings.Join(got, "\n"))
	}
	for role, is := range map[program.Role]bool{program.Validation: true, program.Assertion: true, program.Value: false, program.Argument: false} {
		if role.IsCondition() != is {
			t.Errorf("%s has to be true: %t", role, !is)
		}
	}
}

func edited(p *program.Program) (list []string) {
	p.Edit(func(at program.Place, e hclsyntax.Expression) hclsyntax.Expression {
		list = append(list, strings.TrimSpace(at.Owner+" "+string(at.Role)+" "+at.Argument))
		return e
	})
	return list
}

// TestEditParts replaces every number in expressions of all forms.
func TestEditParts(t *testing.T) {
	p := compile(t, "main.tf", `locals {
  list = [1, 1 + 1, -1, (1)]
  cond = 1 > 0 ? "a${1}" : "${1}"
  each = [for x in [1] : x + 1 if x > 1]
  keys = { for k, v in { a = 1 } : k => v }
  call = max(1, 1)
  part = [1, 2][1]
  star = [{ a = 1 }][*].a
  loop = "%{for x in [1]}${x}%{endfor}"
  key  = sim_object.a[1].name
}
resource "sim_object" "a" { count = 2 }`)
	for _, l := range p.Locals {
		if l.Expr == nil || len(l.Expr.Refs) > 0 {
			continue
		}
		node := l.Expr.Expression.(hclsyntax.Expression)
		changed := program.EditParts(node, func(e hclsyntax.Expression) hclsyntax.Expression {
			if n, ok := e.(*hclsyntax.LiteralValueExpr); ok && n.Val.Type() == cty.Number {
				return &hclsyntax.LiteralValueExpr{Val: cty.Zero, SrcRange: n.SrcRange}
			}
			return e
		})
		left := 0
		hclsyntax.VisitAll(changed, func(n hclsyntax.Node) hcl.Diagnostics {
			if n, ok := n.(*hclsyntax.LiteralValueExpr); ok && n.Val.Type() == cty.Number && n.Val.Equals(cty.NumberIntVal(1)).True() {
				left++
			}
			return nil
		})
		if left > 0 {
			t.Errorf("local.%s: %d numbers are left", l.Name, left)
		}
	}
	ref := p.LocalByName["key"].Expr
	keys := 0
	program.EditParts(ref.Expression.(hclsyntax.Expression), func(e hclsyntax.Expression) hclsyntax.Expression {
		if _, ok := e.(*hclsyntax.LiteralValueExpr); ok {
			keys++
		}
		return e
	})
	if keys != 1 {
		t.Errorf("%d parts of a key were edited", keys)
	}
}

// scope answers every reference with its text.
type scope struct{}

func (scope) Resolve(ref *program.Ref, _ *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if ref.Text == "var.bad" {
		return cty.DynamicVal, hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Bad"}}
	}
	return cty.StringVal(ref.Text), nil
}

// TestEvaluation asks the scope for what is referred to.
func TestEvaluation(t *testing.T) {
	p := compile(t, "main.tf", `variable "a" {}
variable "bad" {}
locals {
  a    = "x ${var.a} ${7} ${1.5}"
  bad  = var.bad
  none = var.none
}`)
	ctx := program.NewContext(scope{}, &hcl.EvalContext{})
	if v, diags := p.LocalByName["a"].Expr.Value(ctx.NewChild()); diags.HasErrors() || v.AsString() != "x var.a 7 1.5" {
		t.Errorf("got %#v %v", v, diags)
	}
	if _, diags := p.LocalByName["bad"].Expr.Value(ctx); len(diags) != 1 || diags[0].Expression == nil {
		t.Errorf("a problem of a reference has no expression: %v", diags)
	}
	if _, diags := p.LocalByName["a"].Expr.Value(nil); !diags.HasErrors() {
		t.Error("references have values where nothing may be referred to")
	}
	if !p.LocalByName["none"].Expr.Broken() || p.LocalByName["a"].Expr.Broken() {
		t.Error("what has a mistake isn't told from what has none")
	}
	if program.ScopeOf(nil) != nil || program.ScopeOf(ctx.NewChild()) == nil {
		t.Error("the scope isn't found")
	}
	seen := cty.NilVal
	probe := program.NewProbeExpr(p.LocalByName["a"].Expr.Expression.(hclsyntax.Expression), func(_ *hcl.EvalContext, v cty.Value) { seen = v })
	if v, _ := probe.Value(ctx); !v.RawEquals(seen) || probe.UnwrapExpression() == nil {
		t.Errorf("seen %#v", seen)
	}
	if got := texts(program.References(p.LocalByName["a"].Expr)); got != "var.a" {
		t.Errorf("references %q", got)
	}
}

// TestDeclarations asks programs and trees for their parts.
func TestDeclarations(t *testing.T) {
	p := compile(t, "main.tf", resource+`
module "m" {
  source    = "./m"
  x         = 1
  providers = { sim.y = sim.x }
}
terraform {
  required_providers {
    other = {
      source = "hashicorp/sim"
    }
  }
}`)
	a, b := p.Resources[0], p.Resources[1]
	if a.Provisions() || a.Repeat.IsSingle() || a.Repeat.Expr() == nil || !b.Repeat.IsSingle() || b.Repeat.Expr() != nil {
		t.Error("repetitions or provisioners are wrong")
	}
	if n := len(a.Provisioners[0].Connections()); n != 2 {
		t.Errorf("%d connections, want that of the block and its own", n)
	}
	if !p.Variables[0].Required() {
		t.Error("a variable without default isn't required")
	}
	m := p.CallByName[addr.Mod("m")]
	if m.Input("x") == nil || m.Input("y") != nil || m.Passed("sim", "y") == nil || m.Passed("sim", "") != nil {
		t.Error("inputs or providers of the call are wrong")
	}
	if len(p.AllCalls()) != 1 || len(p.Named(addr.Mod("m"))) != 1 || len(p.Named(addr.Mod("n"))) != 0 {
		t.Error("calls are wrong")
	}
	if got := p.LocalName(program.ProviderUse{LocalName: "sim", Provider: p.Requirements["other"].Provider}); got != "other" {
		t.Errorf("the local name is %s", got)
	}
	if (*program.Requirement)(nil).HasAlias("x") || !(&program.Requirement{Aliases: []string{"x"}}).HasAlias("x") {
		t.Error("aliases are wrong")
	}
	tree := &program.Tree{Program: p, Children: map[addr.Call]*program.Tree{addr.Mod("m"): {Program: p}}, Gone: []*program.Tree{{}}}
	if len(tree.Calls()) != 2 {
		t.Error("trees below are wrong")
	}
	if got := tree.Checkables(); len(got) != 2 || got[1] != (program.Checkable{Kind: "resource", Address: "module.m.sim_object.a"}) {
		t.Errorf("checkables %v", got)
	}
}
