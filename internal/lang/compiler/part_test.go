package compiler

import (
	"slices"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// A part of an object comes from the part of its configuration, and from nothing
// else that is configured.
func TestBodyAt(t *testing.T) {
	prog, diags := compileText(map[string]string{"main.tf": `resource "x_thing" "a" {
  name  = local.name
  plain = { value = local.plain }
  part {
    value = local.first
  }
  part {
    value = local.second
  }
  dynamic "made" {
    for_each = local.each
    content {
      value = local.content
    }
  }
}
locals {
  name    = 1
  plain   = 1
  first   = 1
  second  = 1
  each    = []
  content = 1
}`})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	for path, want := range map[string][]string{
		"name":        {"name"},
		"plain.value": {"plain"},
		"part":        {"first", "second"},
		"made":        {"content", "each"},
		"id":          nil, // the provider's
	} {
		steps, hd := hclsyntax.ParseTraversalAbs([]byte("x."+path), "", hcl.InitialPos)
		if hd.HasErrors() {
			t.Fatal(hd)
		}
		var got []string
		for _, ref := range prog.Resources[0].Config.At(steps[1:]) {
			got = append(got, ref.Local.Name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s comes from %q, want %q", path, got, want)
		}
	}
}

// All that is declared can be installed where something is removed that is still declared.
func TestRemovedUse(t *testing.T) {
	_, diags := compileText(map[string]string{"main.tf": `resource "x_thing" "a" {}
removed {
  from = x_thing.a
  lifecycle { destroy = false }
}`})
	if len(diags) != 1 || diags[0].Code != StillDeclared.Name || diags.WithoutUses() != nil {
		t.Error(diags, diags.WithoutUses())
	}
}
