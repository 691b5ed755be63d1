package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/weirtest"
)

const config = `
terraform {
  required_providers { sim = { source = "example/sim" } }
}
variable "zones" { type = set(string) }
resource "sim_network" "main" { name = terraform.workspace }
resource "sim_server" "web" {
  for_each = var.zones
  name     = "${terraform.workspace}-${each.key}"
  network  = sim_network.main.id
}
output "servers" { value = { for k, s in sim_server.web : k => s.name } }
`

// TestTwenty applies twenty workspaces of one directory at once. All of them are in
// the middle of their apply at the same time.
func TestTwenty(t *testing.T) {
	const n = 20
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	var here sync.WaitGroup
	here.Add(n)
	s := &Service{Open: func(j Job, o weir.Options) (*weir.Workspace, error) {
		cloud := weirtest.NewCloud().Type("sim_network", "name string required").Type("sim_server", "name string required", "network string")
		cloud.Before(func(_ context.Context, c weirtest.Call) error {
			if c.Method == "Create" && c.Type == "sim_network" {
				here.Done()
				here.Wait()
			}
			return nil
		})
		o.Store, o.Providers = Folder(filepath.Join(dir, "states")), []weir.ProviderSource{cloud.Source("example/sim")}
		return weir.Open(dir, o)
	}}
	var jobs []Job
	for i := range n {
		jobs = append(jobs, Job{Workspace: fmt.Sprintf("w%d", i), Variables: map[string]any{"zones": []string{"a", "b", fmt.Sprint("z", i)}}})
	}
	for i, r := range s.Run(t.Context(), jobs) {
		if r.Err != nil {
			t.Errorf("%s: %v", r.Job.Workspace, r.Err)
			continue
		}
		var servers map[string]string
		if err := r.Outputs["servers"].Decode(&servers); err != nil {
			t.Fatal(err)
		}
		last := fmt.Sprint("z", i)
		if r.Summary.Add != 4 || r.Resources != 4 || servers[last] != fmt.Sprintf("w%d-%s", i, last) {
			t.Errorf("%s: %+v, %v", r.Job.Workspace, r.Summary, servers)
		}
		for _, e := range r.Events {
			if strings.Contains(e.Address, `"z`) && !strings.Contains(e.Address, fmt.Sprintf("%q", last)) {
				t.Errorf("%s was told of %s", r.Job.Workspace, e.Address)
			}
		}
	}
}

// TestLimit: a job that would destroy too much is rejected, and what exists stays.
func TestLimit(t *testing.T) {
	dir, none := t.TempDir(), 0
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	cloud := weirtest.NewCloud().Type("sim_network", "name string required").Type("sim_server", "name string required", "network string")
	s := &Service{Limit: &none, Open: func(_ Job, o weir.Options) (*weir.Workspace, error) {
		o.Store, o.Providers = Folder(filepath.Join(dir, "states")), []weir.ProviderSource{cloud.Source("example/sim")}
		return weir.Open(dir, o)
	}}
	zones := func(list ...string) []Job {
		return []Job{{Workspace: "default", Variables: map[string]any{"zones": list}}}
	}
	if r := s.Run(t.Context(), zones("a", "b"))[0]; r.Err != nil {
		t.Fatal(r.Err)
	}
	if r := s.Run(t.Context(), zones("a"))[0]; r.Err == nil || len(cloud.Objects()) != 3 {
		t.Errorf("%v, %d objects", r.Err, len(cloud.Objects()))
	}
}
