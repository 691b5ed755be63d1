package weir_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"testing/fstest"

	"weir.dev/weir"
	"weir.dev/weir/weirtest"
)

// A provider that is part of the program: a type of objects with nested blocks and a default of
// its own, and a function.
func ExampleProvider() {
	pages := map[string]weir.Object{} // what the provider manages
	page := weir.ResourceType{
		Attributes: map[string]weir.Attribute{
			"path":  {Type: "string", Required: true, Replace: true},
			"title": {Type: "string", Optional: true, Computed: true},
			"url":   {Type: "string", Computed: true},
		},
		Blocks: map[string]weir.Block{
			"link": {Attributes: map[string]weir.Attribute{"to": {Type: "string", Required: true}}},
		},
		Plan: func(_ context.Context, p *weir.Planning) error {
			if p.Config["title"] == nil {
				p.Planned["title"] = p.Planned["path"]
			}
			return nil
		},
		Create: func(_ context.Context, desired weir.Object) (weir.Object, error) {
			desired["url"] = "https://example.com" + desired["path"].(string)
			pages[desired["path"].(string)] = desired
			return desired, nil
		},
		Read: func(_ context.Context, current weir.Object) (weir.Object, error) {
			return pages[current["path"].(string)], nil
		},
	}
	site := &weir.Provider{
		Resources: map[string]weir.ResourceType{"site_page": page},
		Functions: map[string]weir.Function{"slug": {
			Parameters: []weir.Parameter{{Name: "text", Type: "string"}},
			Returns:    "string",
			Call: func(_ context.Context, args []any) (any, error) {
				return "/" + strings.ReplaceAll(strings.ToLower(args[0].(string)), " ", "-"), nil
			},
		}},
	}
	files := fstest.MapFS{"main.tf": {Data: []byte(`
		terraform {
		  required_providers { site = { source = "example/site" } }
		}
		resource "site_page" "home" { path = "/" }
		resource "site_page" "news" {
		  path = provider::site::slug("Latest news")
		  link { to = site_page.home.url }
		}
		output "link" { value = one(site_page.news.link).to }
	`)}}
	ws, err := weir.OpenFS(files, weir.Options{
		Store:     weirtest.NewStore(),
		Providers: []weir.ProviderSource{weir.InProcess("example/site", site)},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer ws.Close()
	result, err := ws.PlanAndApply(context.Background(), weir.PlanOptions{}, weir.ApplyOptions{})
	if err != nil {
		log.Fatal(err)
	}
	var link string
	if err := result.State.Outputs["link"].Decode(&link); err != nil {
		log.Fatal(err)
	}
	fmt.Println(pages["/latest-news"]["title"], link)
	// Output:
	// /latest-news https://example.com/
}

// Steps of a plan have edges with reasons.
func ExamplePlan_Edges() {
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
	steps := plan.Steps()
	for _, e := range plan.Edges() {
		if e.Value != "" {
			fmt.Printf("%s waits for %s in line %d: %s\n", steps[e.Step].Address, steps[e.After].Address, e.Line, e.Value)
		}
	}
	// Output:
	// sim_server.watch waits for sim_server.web[0] in line 13: sim_server.web[0].id
	// output.watch waits for sim_server.watch in line 16: sim_server.watch.id
}
