package calls

import (
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
)

func TestCheck(t *testing.T) {
	tests := []struct {
		name, parent, child string
		want                []string // summaries with the line, in order
	}{
		{"fits", `module "m" {
  source = "./m"
  a = 1
}
output "o" { value = [module.m.o, try(module.m.nope, 1)] }`, `variable "a" {}
variable "b" { default = 1 }
output "o" { value = 1 }`, nil},
		{"inputs and outputs", `module "m" {
  source = "./m"
  c = 1
}
output "o" { value = module.m.p }`, `variable "a" {}
output "o" { value = 1 }`, []string{"3 Unsupported argument", "1 Missing required argument", "5 Unsupported attribute"}},
		{"backend of a child", `module "m" { source = "./m" }`, `
terraform {
  backend "local" {}
}`, []string{"3 Backend configuration ignored"}},
		{"own provider repeated", `module "m" {
  source = "./m"
  count  = 2
}`, `provider "x" { region = 1 }`, []string{"3 Module is incompatible with count, for_each, enabled and depends_on"}},
		{"proxy provider repeated", `module "m" {
  source = "./m"
  count  = 2
}`, `provider "x" {}`, []string{"1 Redundant empty provider block"}},
		{"proxy providers", `module "m" {
  source = "./m"
  providers = { x.a = x, x.b = x }
}`, `provider "x" {
  alias = "a"
}
provider "x" {
  alias = "b"
}`, []string{"1 Redundant empty provider block"}},
		{"missing alias", `module "m" { source = "./m" }`, `terraform {
  required_providers {
    x = { source = "a/x", configuration_aliases = [x.y] }
  }
}`, []string{"1 Missing required provider configuration"}},
		{"unknown alias and other type", `module "m" {
  source = "./m"
  providers = {
    x.z = x
    x   = y
  }
}`, `terraform {
  required_providers {
    x = { source = "a/x" }
  }
}`, []string{"4 Reference to undefined provider", "5 Provider type mismatch"}},
		{"override of own", `module "m" {
  source    = "./m"
  providers = { x = x }
}`, `provider "x" { region = 1 }`, []string{"3 Cannot override provider configuration"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			parent, diags := compile(tt.parent)
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			child, diags := compile(tt.child)
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			var got []string
			all := CheckInputs(parent.Calls[0], []Variant{{Program: child}})
			all.Append(Check(parent.Calls[0], child))
			all.Append(CheckReads(parent.Calls[0], []*program.Program{child}))
			for _, d := range all {
				got = append(got, strings.TrimPrefix(strings.SplitN(d.Subject.String(), ",", 2)[0], "main.tf:")+" "+d.Summary)
			}
			if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// compile makes the program of one file.
func compile(text string) (*program.Program, diag.List) {
	source, diags := module.Load(module.Memory{"main.tf": []byte(text)}, ".", dialect.OpenTofu)
	p, more := compiler.Compile(source)
	return p, append(diags, more...)
}

// TestEntry: what is to be written in place of empty provider blocks can be pasted.
func TestEntry(t *testing.T) {
	k := &callChecker{child: &program.Program{
		Registry:     addr.OpenTofu,
		Requirements: map[string]*program.Requirement{"x": {Provider: addr.Provider{Host: "registry.opentofu.org", Namespace: "hashicorp", Type: "x"}}},
		Providers:    []*program.Provider{{LocalName: "x"}, {LocalName: "x", Alias: "a"}, {LocalName: "y", Alias: "b"}},
	}}
	want := "    x = {\n      source = \"hashicorp/x\"\n      configuration_aliases = [x.a]\n    }"
	if got := k.entry("x"); got != want {
		t.Errorf("%s", got)
	}
}
