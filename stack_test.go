package weir_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/weirtest"
)

// TestStack applies the deployments of a stack, each with its own inputs and state.
func TestStack(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"shop.tfcomponent.hcl": `
			required_providers {
			  sim = { source = "example/sim" }
			}
			provider "sim" "main" {}
			variable "n" { type = number }
			component "servers" {
			  source    = "./servers"
			  inputs    = { n = var.n }
			  providers = { sim = provider.sim.main }
			}
			output "ids" {
			  type  = list(string)
			  value = component.servers.ids
			}`,
		"shop.tfdeploy.hcl": `
			deployment "small" { inputs = { n = 1 } }
			deployment "large" { inputs = { n = 2 } }`,
		"servers/main.tf": `
			terraform {
			  required_providers { sim = { source = "example/sim" } }
			}
			variable "n" { type = number }
			resource "sim_server" "web" {
			  count = var.n
			  name  = "web"
			}
			output "ids" { value = sim_server.web[*].id }`,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cloud := weirtest.NewCloud().Type("sim_server", "name string required")
	s, err := weir.OpenStack(dir, weir.Options{Providers: []weir.ProviderSource{cloud.Source("example/sim")}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Init(t.Context(), weir.InitOptions{}); err != nil {
		t.Fatal(err)
	}
	if names, err := s.Deployments(t.Context()); err != nil || !slices.Equal(names, []string{"large", "small"}) {
		t.Errorf("%q %v", names, err)
	}
	for name, want := range map[string]int{"small": 1, "large": 2} {
		d, err := s.Deployment(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		p, err := d.Plan(t.Context(), weir.PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Summary(); got != (weir.Summary{Add: want}) {
			t.Errorf("%s: %+v", name, got)
		}
		if _, err := d.Apply(t.Context(), p, weir.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		state, err := d.State(t.Context())
		if err != nil || len(state.Resources) != want {
			t.Errorf("%s: %+v %v", name, state, err)
		}
		var ids []string
		if err := state.Outputs["ids"].Decode(&ids); err != nil || len(ids) != want {
			t.Errorf("%s: %q %v", name, ids, err)
		}
		if p, err = d.Plan(t.Context(), weir.PlanOptions{}); err != nil || p.HasChanges() {
			t.Errorf("%s: %+v %v", name, p, err)
		}
	}
	if len(cloud.Objects()) != 3 {
		t.Errorf("%v", cloud.Objects())
	}
	var e *weir.Error
	if _, err := s.Deployment(t.Context(), "medium"); !errors.As(err, &e) {
		t.Errorf("%v", err)
	}
}
