package weir_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"weir.dev/weir"
	"weir.dev/weir/weirtest"
)

// A configuration that is embedded in the program, with a provider that is part of
// the program too.
func Example() {
	files := fstest.MapFS{"main.tf": {Data: []byte(`
		terraform {
		  required_providers { sim = { source = "example/sim" } }
		}
		variable "zone" {}
		resource "sim_server" "web" {
		  name = "web in ${var.zone}"
		}
		output "id" { value = sim_server.web.id }
	`)}}
	cloud := weirtest.NewCloud().Type("sim_server", "name string required")
	ws, err := weir.OpenFS(files, weir.Options{
		Variables: map[string]any{"zone": "north"},
		Store:     weirtest.NewStore(),
		Providers: []weir.ProviderSource{cloud.Source("example/sim")},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer ws.Close()

	ctx := context.Background()
	plan, err := ws.Plan(ctx, weir.PlanOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range plan.Changes() {
		fmt.Println(c.Action, c.Address)
	}
	result, err := ws.Apply(ctx, plan, weir.ApplyOptions{})
	if err != nil {
		log.Fatal(err)
	}
	var id string
	if err := result.State.Outputs["id"].Decode(&id); err != nil {
		log.Fatal(err)
	}
	fmt.Println(id)
	// Output:
	// create sim_server.web
	// sim_server-1
}
