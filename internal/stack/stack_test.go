package stack

import (
	"bytes"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
)

func compiled(t *testing.T, text string) (string, []string) {
	t.Helper()
	_, p, diags := Language{}.Compile(module.Memory{"s.tfcomponent.hcl": []byte(text)}, ".", nil)
	var b bytes.Buffer
	if p != nil {
		if err := p.Print(&b); err != nil {
			t.Fatal(err)
		}
	}
	var list []string
	for _, d := range diags {
		list = append(list, d.Summary)
	}
	return b.String(), list
}

func TestProgram(t *testing.T) {
	got, problems := compiled(t, `required_providers {
  sim = { source = "weir/sim" }
}
provider "sim" "by" {
  for_each = var.regions
  config {
    region = each.key
    alias  = component.net["eu"].id
  }
}
variable "regions" { type = set(string) }
locals { prefix = "x" }
component "net" {
  for_each  = var.regions
  source    = "./m"
  inputs    = { name = "${local.prefix}-${each.key}" }
  providers = { sim = provider.sim.by[each.key] }
}
stack "child" {
  source     = "./child"
  inputs     = { ids = [for n in component.net : n.id] }
  depends_on = [component.net]
}
removed {
  from   = component.gone["k"]
  source = "./m"
}
output "out" {
  type  = string
  value = stack.child.out
}
`)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	const want = `requires sim: registry.opentofu.org/weir/sim
provider sim.by: registry.opentofu.org/weir/sim
    for_each <- var.regions
    config <- each .key, component.net [key] .id
var.regions set(string)
local.prefix
component.net
    for_each <- var.regions
    source
    name <- local.prefix, each .key
    passes sim.by as sim
    key <- each .key
stack.child
    source
    ids <- component.net
    depends_on <- component.net
output.out string <- stack.child .out
removed component.gone["k"] destroy=true
    for_each
    source
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRefused(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`resource "x" "y" {}`, "Unsupported block type"},
		{`language = other`, "Unsupported language edition"},
		{`provider "x" {}`, "Missing name for provider"},
		{"provider \"x\" \"y\" {\n  config {}\n}", "Undeclared provider"},
		{"required_providers {\n  a = { source = \"x/y\" }\n  b = { source = \"x/y\" }\n}", "Duplicate provider requirement"},
		{`variable "v" { type = any }`, "Invalid type specification"},
		{`output "v" { value = 1 }`, "Missing required argument"},
		{`locals { a = path.module }`, "Reference to unknown symbol"},
		{`locals { a = component.x.id }`, "Reference to undeclared component"},
		{`locals { a = stack.x.id }`, "Reference to undeclared stack"},
		{"component \"c\" {\n  source = \"./m\"\n  inputs = 5\n}", "Invalid inputs"},
		{"component \"c\" {\n  source = \"./m\"\n  inputs = { a = 1, a = 2 }\n}", "Duplicate input"},
		{"component \"c\" {\n  source = \"./m\"\n  providers = { a = a.b }\n}", "Invalid provider configuration reference"},
		{"removed {\n  from = stack.s[each.key].component.c\n  source = \"./m\"\n}", "Invalid from argument"},
		{"removed {\n  from = component.s.component.c\n  source = \"./m\"\n}", "Invalid from argument"},
		{"removed {\n  from = stack.s.component\n  source = \"./m\"\n}", "Invalid from argument"},
		{"removed {\n  for_each = toset([])\n  from = stack.s.component.c\n  source = \"./m\"\n}", "Invalid from argument"},
	} {
		_, problems := compiled(t, test.text)
		if !strings.Contains(strings.Join(problems, "; "), test.want) {
			t.Errorf("%s: got %q, want %q", test.text, problems, test.want)
		}
	}
}

func FuzzCompile(f *testing.F) {
	f.Add("component \"c\" {\n  source = \"./m\"\n  inputs = { a = component.d[each.key].x }\n}\nremoved {\n  from = component.x[\"a\"]\n  source = \"./m\"\n}\n")
	f.Fuzz(func(_ *testing.T, text string) {
		for _, name := range []string{"s.tfcomponent.hcl", "s.tfcomponent.json"} {
			Language{}.Compile(module.Memory{name: []byte(text)}, ".", nil)
		}
	})
}

// Anything that is gone has only its providers, and its references to the rest are no
// mistakes.
func TestGone(t *testing.T) {
	files := module.Memory{"m/s.tfcomponent.hcl": []byte(`required_providers {
  sim = { source = "weir/sim" }
}
provider "sim" "own" {
  config { region = component.net.region }
}
component "net" { source = "./net" }
stack "in" {
  source = "./in"
  inputs = { id = component.net.id }
}
output "o" {
  type  = string
  value = component.none.id
}
`)}
	gone := &program.Call{Call: addr.Call{Kind: addr.Stack, Name: "s"}, Gone: true, Nth: 1}
	_, p, diags := Language{}.Compile(files, "m", gone)
	if len(diags) > 0 || len(p.Providers) != 1 || len(p.Calls) != 1 || !p.Calls[0].Gone || len(p.Outputs) != 0 {
		t.Errorf("got %+v, %v", p, diags)
	}
	if _, _, diags := (Language{}).Compile(files, "m", &program.Call{Call: gone.Call}); !diags.HasErrors() {
		t.Error("where it isn't gone, references to what isn't there were accepted")
	}
}
