package symbols_test

import (
	"regexp"
	"slices"
	"testing"

	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/symbols"
)

// Every label in this text belongs to one declaration.
const labels = `variable "v_one" {
  validation {
    condition     = var.v_one > 0
    error_message = "No."
  }
}
locals {
  l_one = [var.v_one, thing.r_one[0].id, module.m_one.x]
  l_two = { l = local.l_one, again = { for k in local.l_one : k => var.v_one } }
}
terraform {
  required_providers {
    thing = {
      source                = "example/thing"
      configuration_aliases = [thing.a_two]
    }
  }
}
provider "thing" {
  alias = "a_one"
}
resource "thing" "r_one" {
  count      = var.v_one
  provider   = thing.a_one
  value      = "${local.l_one[0]}-${thing.r_two["k"].id}"
  depends_on = [module.m_one, data.thing.d_one]
  lifecycle {
    replace_triggered_by = [thing.r_two]
  }
}
resource "thing" "r_two" {
  for_each = toset(["k"])
  provider = thing.a_two
}
data "thing" "d_one" {
  value = ephemeral.thing.e_one.id
}
ephemeral "thing" "e_one" {}
module "m_one" {
  source    = "./m"
  in        = [for r in thing.r_one : r.id]
  providers = { thing = thing.a_one }
}
moved {
  from = thing.r_old
  to   = thing.r_one[0]
}
removed {
  from = module.m_old
}
import {
  to = thing.r_two["k"]
  id = "k"
}
output "o_one" {
  value = [data.thing.d_one.value, local.l_two]
}
`

// TestOccurrences finds every place where a label is written, the declaration among them.
func TestOccurrences(t *testing.T) {
	src, diags := module.Load(module.Memory{"main.tf": []byte(labels)}, ".", dialect.OpenTofu)
	p, more := compiler.Compile(src)
	if diags.Append(more); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	found, defined := map[int]symbols.Occurrence{}, map[string]bool{}
	for _, o := range symbols.Occurrences(src, p) {
		if len(o.Through) > 0 {
			continue // what a called module declares
		}
		found[o.Range.Start.Byte] = o
		defined[o.Label()] = defined[o.Label()] || o.Definition
		if other := (symbols.Target{Kind: o.Kind, Name: o.Name}); !o.Is(other) || o.Is(symbols.Target{}) {
			t.Errorf("%v isn't the same as %v", o.Target, other)
		}
	}
	for _, at := range regexp.MustCompile(`\b[a-z]_(one|two|old)\b`).FindAllStringIndex(labels, -1) {
		label := labels[at[0]:at[1]]
		o, ok := found[at[0]]
		if !ok || o.Label() != label || o.Range.End.Byte != at[1] {
			t.Errorf("%s at %d isn't found: %v", label, at[0], o)
			continue
		}
		if o.Former != (label[2:] == "old" || o.Name == "thing.r_one" && at[0] > regexp.MustCompile(`moved`).FindStringIndex(labels)[0]) {
			t.Errorf("%s at %d: former %t", label, at[0], o.Former)
		}
		if declares := label[2:] != "old"; label != "a_two" && defined[label] != declares {
			t.Errorf("%s is declared: %t", label, defined[label])
		}
	}
	var names []string
	for _, n := range symbols.Names(p) {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	if want := []string{"data.thing.d_one", "ephemeral.thing.e_one", "local.l_one", "local.l_two", "module.m_one", "thing.r_one", "thing.r_two", "var.v_one"}; !slices.Equal(names, want) {
		t.Errorf("names %q, not %q", names, want)
	}
}
