package deploy

import (
	"slices"
	"testing"
)

// Inputs lead to what they read of other stacks, and published outputs to their deployments, also through
// locals that refer to each other in a circle.
func TestLinks(t *testing.T) {
	s, diags := load(t, map[string]string{"a.tfdeploy.hcl": `
upstream_input "net" {
  type   = "stack"
  source = "../net"
}
locals {
  first  = [upstream_input.net.id, local.second]
  second = local.first
}
deployment "a" {
  inputs = { x = local.first, y = upstream_input.net["id"] }
}
deployment "b" {
  inputs = { x = upstream_input.net }
}
deployment "c" {
}
publish_output "one" {
  value = [deployment.c.id, deployment["a"].id]
}
`})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var got []string
	for _, d := range s.Deployments {
		for _, r := range s.Reads(d) {
			got = append(got, d.Name+" "+r.Name+"."+r.Output)
		}
	}
	if want := []string{"a net.id", "b net."}; !slices.Equal(got, want) {
		t.Errorf("reads are %v, want %v", got, want)
	}
	for output, want := range map[string][]string{"one": {"a", "c"}, "": {"a", "c"}, "none": {}} {
		if got := Names(s.Publishers(output)); !slices.Equal(got, want) {
			t.Errorf("%q is published by %v, want %v", output, got, want)
		}
	}
}
