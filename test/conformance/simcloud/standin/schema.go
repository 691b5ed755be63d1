package main

import (
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

type attributes map[string]string

func (a attributes) schema() *tfprotov6.Schema {
	block := &tfprotov6.SchemaBlock{}
	for name, text := range a {
		words := strings.Fields(text)
		has := func(word string) bool { return slices.Contains(words, word) }
		block.Attributes = append(block.Attributes, &tfprotov6.SchemaAttribute{
			Name: name, Type: types[words[0]],
			Optional: has("optional"), Computed: has("computed"), Required: has("required"),
			Sensitive: has("sensitive"), WriteOnly: has("write-only"),
		})
	}
	return &tfprotov6.Schema{Block: block}
}

func (a attributes) has(name, word string) bool {
	return slices.Contains(strings.Fields(a[name]), word)
}

func schemas(all map[string]attributes) map[string]*tfprotov6.Schema {
	list := map[string]*tfprotov6.Schema{}
	for name, a := range all {
		list[name] = a.schema()
	}
	return list
}

func (d description) answer() *tfprotov6.GetProviderSchemaResponse {
	a := &tfprotov6.GetProviderSchemaResponse{
		Provider:                 d.Provider.schema(),
		ResourceSchemas:          schemas(d.Resources),
		DataSourceSchemas:        schemas(d.Data),
		EphemeralResourceSchemas: schemas(d.Ephemerals),
		ActionSchemas:            map[string]*tfprotov6.ActionSchema{},
		Functions:                map[string]*tfprotov6.Function{},
		ServerCapabilities:       &tfprotov6.ServerCapabilities{MoveResourceState: true, PlanDestroy: false},
	}
	for name, attrs := range d.Actions {
		a.ActionSchemas[name] = &tfprotov6.ActionSchema{Schema: attrs.schema()}
	}
	for _, name := range d.Functions {
		a.Functions[name] = &tfprotov6.Function{
			Parameters: []*tfprotov6.FunctionParameter{{Name: "value", Type: tftypes.DynamicPseudoType}},
			Return:     &tfprotov6.FunctionReturn{Type: tftypes.DynamicPseudoType},
		}
	}
	return a
}

func (d description) identities() *tfprotov6.GetResourceIdentitySchemasResponse {
	a := &tfprotov6.GetResourceIdentitySchemasResponse{IdentitySchemas: map[string]*tfprotov6.ResourceIdentitySchema{}}
	for _, name := range d.Identities {
		a.IdentitySchemas[name] = &tfprotov6.ResourceIdentitySchema{IdentityAttributes: []*tfprotov6.ResourceIdentitySchemaAttribute{
			{Name: "id", Type: tftypes.String, RequiredForImport: true},
		}}
	}
	return a
}
