package analysis

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/symbols"
)

// load compiles files by name into an outline.
func load(t *testing.T, files map[string]string) []*symbols.Declaration {
	t.Helper()
	sources := module.Memory{}
	for name, text := range files {
		sources[name] = []byte(text)
	}
	local := &module.Installer{Files: sources, Manifest: module.Manifest{}}
	config, diags := engine.Load(t.Context(), engine.LoadOptions{Dir: ".", Files: sources, Resolve: local.Install})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return symbols.Of(config.Tree)
}

var files = map[string]string{
	"main.tf": `variable "zones" { default = ["a"] }
locals { n = length(var.zones) }
provider "sim" { alias = "west" }
resource "sim_object" "base" {
  provider = sim.west
  size     = local.n
}
module "net" {
  source    = "./net"
  for_each  = toset(var.zones)
  of        = sim_object.base.id
  providers = { sim = sim.west }
}
data "sim_lookup" "top" {
  count      = local.n
  keys       = [for m in module.net : m.id]
  depends_on = [sim_object.base]
}
check "c" {
  assert {
    condition     = data.sim_lookup.top[0].ok
    error_message = "no"
  }
}
output "all" { value = data.sim_lookup.top[*].id }
`,
	"net/main.tf": `variable "of" {}
resource "sim_object" "in" { of = var.of }
output "id" { value = sim_object.in.id }
`,
}

const text = `var.zones (main.tf:1,1)
  is referred to by local.n
  is referred to by module.net

local.n (main.tf:2,10)
  refers in value to var.zones (main.tf:2,21)
  is referred to by data.sim_lookup.top
  is referred to by sim_object.base

output.all (main.tf:25,1)
  refers in value to data.sim_lookup.top (main.tf:25,24)

sim_object.base (main.tf:4,1)
  is served by provider["registry.opentofu.org/hashicorp/sim"].west (main.tf:5,14)
  refers in config to local.n (main.tf:6,14)
  is referred to by data.sim_lookup.top
  is referred to by module.net.var.of

data.sim_lookup.top (main.tf:14,1), repeated by count
  is served by provider["registry.opentofu.org/hashicorp/sim"]
  refers in count to local.n (main.tf:15,16)
  refers in config to module.net.output.id (main.tf:16,26)
  refers in depends_on to sim_object.base (main.tf:17,17)
  is referred to by check.c
  is referred to by output.all
  depends on module.net.sim_object.in
  depends on sim_object.base

provider["registry.opentofu.org/hashicorp/sim"].west (main.tf:3,1)

check.c (main.tf:19,1)
  refers in assert to data.sim_lookup.top (main.tf:21,21)

module.net (main.tf:8,1), repeated by for_each
  refers in for_each to var.zones (main.tf:10,21)

module.net.var.of (net/main.tf:1,1)
  refers in input to sim_object.base (main.tf:11,15)
  is referred to by module.net.sim_object.in

module.net.output.id (net/main.tf:3,1)
  refers in value to module.net.sim_object.in (net/main.tf:3,23)
  is referred to by data.sim_lookup.top

module.net.sim_object.in (net/main.tf:2,1)
  is served by provider["registry.opentofu.org/hashicorp/sim"].west (main.tf:12,17)
  refers in config to module.net.var.of (net/main.tf:2,35)
  is referred to by module.net.output.id
  depends on sim_object.base
`

func TestText(t *testing.T) {
	all := load(t, files)
	var b bytes.Buffer
	if err := Text(&b, all, all); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != text {
		t.Errorf("got\n%s", got)
	}
}

// TestChosen: instance keys don't matter, and a module means what is in it.
func TestChosen(t *testing.T) {
	all := load(t, files)
	for _, c := range []struct{ addresses, want, missing string }{
		{"data.sim_lookup.top[0]", "data.sim_lookup.top", ""},
		{`module.net["a"].sim_object.in`, "module.net.sim_object.in", ""},
		{`module.net["a"]`, "module.net module.net.var.of module.net.output.id module.net.sim_object.in", ""},
		{"local.n sim_object.none", "local.n", "sim_object.none"},
	} {
		list, missing := symbols.Chosen(all, strings.Fields(c.addresses))
		var names []string
		for _, d := range list {
			names = append(names, d.Address())
		}
		if got := strings.Join(names, " "); got != c.want || strings.Join(missing, " ") != c.missing {
			t.Errorf("%s: %s, missing %s", c.addresses, got, missing)
		}
	}
}

func TestJSON(t *testing.T) {
	all := load(t, files)
	list, _ := symbols.Chosen(all, []string{"module.net.sim_object.in"})
	data, err := JSON(list, all)
	if err != nil {
		t.Fatal(err)
	}
	var doc document
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	d := doc.Declarations[0]
	if len(doc.Declarations) != 1 || d.Provider.Range.Start.Line != 12 || d.References[0].To != "module.net.var.of" || d.References[0].Range.Filename != "net/main.tf" || d.ReferredBy[0] != "module.net.output.id" || d.DependsOn[0] != "sim_object.base" {
		t.Errorf("%s", data)
	}
}

func TestImpact(t *testing.T) {
	all := load(t, files)
	for _, c := range []struct{ of, want string }{
		{"data.sim_lookup.top[0]", "data.sim_lookup.top\n├── check.c  by assert (main.tf:21,21)\n└── output.all  by value (main.tf:25,24)\n\nReached: 2.\n"},
		{"output.all", "Nothing in the configuration refers to that.\n"},
	} {
		list, _ := symbols.Chosen(all, []string{c.of})
		var b bytes.Buffer
		if err := ImpactText(&b, list, all); err != nil || b.String() != c.want {
			t.Errorf("%s: %v\n%s", c.of, err, &b)
		}
	}
	list, _ := symbols.Chosen(all, []string{"local.n"})
	var b bytes.Buffer
	if err := ImpactText(&b, list, all); err != nil || !strings.Contains(b.String(), "module.net.sim_object.in  by config (net/main.tf:2,35)\n") || !strings.HasPrefix(b.String(), "local.n\n├── ") && !strings.HasPrefix(b.String(), "local.n\n└── ") {
		t.Errorf("%v\n%s", err, &b)
	}
	data, err := ImpactJSON(list, all)
	if err != nil {
		t.Fatal(err)
	}
	var doc impacts
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	first := doc.Reached[0]
	if doc.Of[0] != "local.n" || first.Address != "sim_object.base" || first.Kind != "resource" || len(first.Way) != 1 || first.Way[0].Argument != "config" || first.Way[0].Range.Start.Line != 6 {
		t.Errorf("%s", data)
	}
}
