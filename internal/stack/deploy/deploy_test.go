package deploy

import (
	"strings"
	"testing"

	"weir.dev/weir/internal/lang/module"
)

func TestLoad(t *testing.T) {
	list, _, diags := Load(module.Memory{"a.tfdeploy.hcl": []byte(`locals {
  regions = ["eu", "us"]
}
deployment "two" {
  inputs = {
    regions = local.regions
    n       = length(local.regions)
  }
}
deployment "one" {
  inputs  = { regions = slice(local.regions, 0, 1) }
  destroy = true
}
`)}, ".")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if len(list) != 2 || list[0].Name != "one" || !list[0].Destroy || list[1].Destroy {
		t.Fatalf("got %+v", list)
	}
	if v := list[1].Inputs["n"].Value.AsBigFloat().String(); v != "2" {
		t.Errorf("n is %s", v)
	}
	if n := list[0].Inputs["regions"].Value.LengthInt(); n != 1 {
		t.Errorf("one region is wanted, not %d", n)
	}
}

func TestWithoutFiles(t *testing.T) {
	list, _, diags := Load(module.Memory{"main.tf": nil}, ".")
	if len(diags) > 0 || len(list) != 1 || list[0].Name != Default {
		t.Errorf("got %v, %v", list, diags)
	}
}

func TestBadFiles(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`deployment "a" {`, ""},
		{`deployment "a" {}`, "Missing required argument"},
		{`deployment "" { inputs = {} }`, "Invalid deployment name"},
		{`deployment "a" { inputs = [] }`, "Invalid inputs"},
		{`deployment "a" { inputs = { x = local.nope } }`, "Reference to undeclared local value"},
		{`deployment "a" { inputs = { x = timestamp() } }`, "Invalid input"},
		{`locals { a = 1 }`, "No deployments"},
		{`store "varset" "x" {}`, "Unsupported block type"},
		{"deployment \"a\" {\n  inputs  = {}\n  destroy = 5\n}", "Invalid destroy argument"},
	} {
		_, _, diags := Load(module.Memory{"a.tfdeploy.hcl": []byte(test.text)}, ".")
		var got []string
		for _, d := range diags {
			got = append(got, d.Summary)
		}
		if !diags.HasErrors() || !strings.Contains(strings.Join(got, "; "), test.want) {
			t.Errorf("%s: got %q, want %q", test.text, got, test.want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("deployment \"a\" {\n  inputs = { x = local.y }\n}\nlocals { y = 1 }\n")
	f.Fuzz(func(_ *testing.T, text string) {
		Load(module.Memory{"a.tfdeploy.hcl": []byte(text)}, ".")
	})
}
