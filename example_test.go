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

// servers is a configuration of three servers with something that looks at them.
var servers = fstest.MapFS{"main.tf": {Data: []byte(`
	terraform {
	  required_providers { sim = { source = "example/sim" } }
	}
	variable "zone" {}
	resource "sim_server" "web" {
	  count = 3
	  name  = "web"
	  zone  = var.zone
	}
	locals { first = sim_server.web[0].id }
	resource "sim_server" "watch" {
	  name = "watch ${local.first}"
	  zone = "north"
	}
	output "watch" { value = sim_server.watch.id }
`)}}

// Changes that are alike are one group.
func ExamplePlan_Groups() {
	cloud := weirtest.NewCloud().Type("sim_server", "name string required", "zone string")
	options := weir.Options{
		Store:     weirtest.NewStore(),
		Providers: []weir.ProviderSource{cloud.Source("example/sim")},
	}
	ctx := context.Background()
	for _, zone := range []string{"north", "south"} {
		options.Variables = map[string]any{"zone": zone}
		ws, err := weir.OpenFS(servers, options)
		if err != nil {
			log.Fatal(err)
		}
		defer ws.Close()
		plan, err := ws.Plan(ctx, weir.PlanOptions{})
		if err != nil {
			log.Fatal(err)
		}
		for _, g := range plan.Groups() {
			fmt.Println(g.Action, g.Label, len(g.Addresses))
			for _, d := range g.Differences {
				fmt.Printf("  %s: %s to %s\n", d.Path, d.Before, d.After)
			}
		}
		if _, err := ws.Apply(ctx, plan, weir.ApplyOptions{}); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// create sim_server.watch 1
	// create sim_server.web[0…2] 3
	// update sim_server.web[0…2] 3
	//   zone: "north" to "south"
}

// List declarations that a new value of a variable may affect.
func ExamplePlan_Impact() {
	cloud := weirtest.NewCloud().Type("sim_server", "name string required", "zone string")
	ws, err := weir.OpenFS(servers, weir.Options{
		Variables: map[string]any{"zone": "north"},
		Store:     weirtest.NewStore(),
		Providers: []weir.ProviderSource{cloud.Source("example/sim")},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer ws.Close()
	plan, err := ws.Plan(context.Background(), weir.PlanOptions{})
	if err != nil {
		log.Fatal(err)
	}
	list, err := plan.Impact("var.zone")
	if err != nil {
		log.Fatal(err)
	}
	for _, i := range list {
		last := i.Way[len(i.Way)-1]
		fmt.Printf("%s %s by %s of %s in line %d\n", i.Kind, i.Address, last.Argument, last.From, last.Line)
		for _, object := range i.Objects {
			fmt.Println(" ", object)
		}
	}
	// Output:
	// resource sim_server.web by config of var.zone in line 9
	//   sim_server.web[0]
	//   sim_server.web[1]
	//   sim_server.web[2]
	// local local.first by value of sim_server.web in line 11
	// resource sim_server.watch by config of local.first in line 13
	//   sim_server.watch
	// output output.watch by value of sim_server.watch in line 16
}
