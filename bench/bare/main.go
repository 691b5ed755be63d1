// Command bare does what is left of a run when all of the engine is taken away. Either
// it makes the calls of a provider that a plan of n null_resource objects takes:
//
//	bare -provider .cache/mirror/.../terraform-provider-null_v2.1.2 -n 5000 -plan noop
//
// or it parses the files of a directory and decodes and encodes a state with its
// objects, and says how many seconds of CPU each of that takes:
//
//	bare -files DIR -state terraform.tfstate
//
// where with -layout it lays the files out instead,
//
// or it makes the calls of hashicorp/aws that a plan of one role and one policy document
// takes, with what the provider declares kept in a file:
//
//	bare -provider .../terraform-provider-aws_v5.100.0_x5 -aws -schemas FILE
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin"
)

const typ = "null_resource"

func main() {
	log.SetFlags(0)
	path := flag.String("provider", "", "the provider's executable")
	n := flag.Int("n", 1000, "how many objects")
	kind := flag.String("plan", "noop", "noop or create")
	parallel := flag.Int("parallelism", 10, "calls at once")
	dir := flag.String("files", "", "a directory with configuration, instead of a provider")
	statefile := flag.String("state", "", "a state of objects of terraform_data, beside -files")
	layout := flag.Bool("layout", false, "lay out the files of -files")
	aws := flag.Bool("aws", false, "the provider is hashicorp/aws: plan a role")
	schemaFile := flag.String("schemas", "", "where the declarations of hashicorp/aws are kept")
	flag.Parse()
	switch {
	case *dir != "":
		files(*dir, *statefile, *layout)
		return
	case *aws:
		role(*path, *schemaFile)
		return
	}

	ctx := context.Background()
	p, schemas, diags := plugin.Start(ctx, plugin.Command{Path: *path})
	check(diags)
	defer p.Close()
	ty := schemas.Resource(addr.Managed, typ).Block.ImpliedType()
	check(p.Configure(ctx, cty.EmptyObjectVal))

	var wait sync.WaitGroup
	next := make(chan int)
	for range *parallel {
		wait.Go(func() {
			for i := range next {
				one(ctx, p, ty, i, *kind == "create")
			}
		})
	}
	for i := range *n {
		next <- i
	}
	close(next)
	wait.Wait()
}

// one makes the calls about one object.
func one(ctx context.Context, p provider.Provider, ty cty.Type, i int, create bool) {
	triggers := cty.MapVal(map[string]cty.Value{"v": cty.StringVal(fmt.Sprintf("value %d", i))})
	config := cty.ObjectVal(map[string]cty.Value{"id": cty.NullVal(cty.String), "triggers": triggers})
	prior, proposed := cty.NullVal(ty), cty.ObjectVal(map[string]cty.Value{"id": cty.UnknownVal(cty.String), "triggers": triggers})
	if !create {
		stored := fmt.Appendf(nil, `{"id":"%08d","triggers":{"v":"value %d"}}`, i, i)
		v, diags := p.UpgradeState(ctx, provider.UpgradeRequest{Type: typ, JSON: stored})
		check(diags)
		r := p.Read(ctx, provider.ReadRequest{Type: typ, Current: v})
		check(r.Diags)
		prior, proposed = r.New, r.New
	}
	check(p.ValidateResource(ctx, addr.Managed, typ, config))
	check(p.Plan(ctx, provider.PlanRequest{Type: typ, Prior: prior, ProposedNew: proposed, Config: config}).Diags)
}

func check(diags diag.List) {
	if diags.HasErrors() {
		log.Fatal(diags)
	}
}
