package main

import (
	"context"
	"log"
	"maps"
	"os"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin"
	"weir.dev/weir/internal/resource/contract"
)

// kept are the declarations of a provider in a file.
type kept string

// Load implements plugin.Memory.
func (k kept) Load(addr.Provider) ([]byte, bool) {
	data, err := os.ReadFile(string(k))
	return data, err == nil
}

// Store implements plugin.Memory.
func (k kept) Store(_ addr.Provider, data []byte) {
	if err := os.WriteFile(string(k), data, 0o600); err != nil {
		log.Fatal(err)
	}
}

// role reads a policy document and plans a role with it.
func role(path, schemaFile string) {
	ctx := context.Background()
	aws := addr.Provider{Host: string(addr.Terraform), Namespace: "hashicorp", Type: "aws"}
	catalog := plugin.NewCatalog(plugin.Sources{Installed: map[addr.Provider]string{aws: path}}, plugin.Command{})
	defer catalog.Close()
	catalog.Remember(kept(schemaFile))
	catalog.Warm(ctx, []addr.Provider{aws})
	schemas, diags := catalog.Schemas(ctx, aws)
	check(diags)
	p, diags := catalog.Start(ctx, aws)
	check(diags)
	config := with(schemas.Provider.Block, map[string]cty.Value{
		"region": cty.StringVal("us-east-1"), "skip_credentials_validation": cty.True, "skip_requesting_account_id": cty.True, "skip_metadata_api_check": cty.StringVal("true"),
	})
	check(p.ValidateConfig(ctx, config))
	check(p.Configure(ctx, config))

	const document, typ = "aws_iam_policy_document", "aws_iam_role"
	config = with(schemas.Resource(addr.Data, document).Block, nil)
	check(p.ValidateResource(ctx, addr.Data, document, config))
	check(p.ReadData(ctx, provider.ReadDataRequest{Type: document, Config: config}).Diags)
	block := schemas.Resource(addr.Managed, typ).Block
	config = with(block, map[string]cty.Value{"name": cty.StringVal("r"), "assume_role_policy": cty.StringVal(`{"Version":"2012-10-17"}`)})
	prior := cty.NullVal(block.ImpliedType())
	check(p.ValidateResource(ctx, addr.Managed, typ, config))
	check(p.Plan(ctx, provider.PlanRequest{Type: typ, Prior: prior, ProposedNew: contract.ProposedNew(block, prior, config), Config: config}).Diags)
}

// with is an object without anything but some attributes.
func with(b *schema.Block, attributes map[string]cty.Value) cty.Value {
	values := b.EmptyValue().AsValueMap()
	maps.Copy(values, attributes)
	return cty.ObjectVal(values)
}
