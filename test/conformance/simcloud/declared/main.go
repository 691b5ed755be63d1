// Command declared is a provider plugin that has the schemas of a file and does nothing else.
// It stands for providers that tests can't install where only their schemas matter.
//
// The file has the name of the program with .json after it, and is one provider's part of
// what `providers schema -json` prints.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5/tf5server"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

type schemas struct {
	Provider  schema            `json:"provider"`
	Resources map[string]schema `json:"resource_schemas"`
	Data      map[string]schema `json:"data_source_schemas"`
}

type schema struct {
	Version int64 `json:"version"`
	Block   block `json:"block"`
}

type block struct {
	Attributes map[string]attribute `json:"attributes"`
	Blocks     map[string]nested    `json:"block_types"`
}

type attribute struct {
	Type        json.RawMessage `json:"type"`
	Description string          `json:"description"`
	Required    bool            `json:"required"`
	Optional    bool            `json:"optional"`
	Computed    bool            `json:"computed"`
	Sensitive   bool            `json:"sensitive"`
}

type nested struct {
	Mode  string `json:"nesting_mode"`
	Block block  `json:"block"`
	Min   int64  `json:"min_items"`
	Max   int64  `json:"max_items"`
}

func main() {
	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	data, err := os.ReadFile(self + ".json")
	if err != nil {
		log.Fatal(err)
	}
	var s schemas
	if err := json.Unmarshal(data, &s); err != nil {
		log.Fatal(err)
	}
	err = tf5server.Serve("registry.opentofu.org/weir/declared", func() tfprotov5.ProviderServer { return &server{s: s} })
	if err != nil {
		log.Fatal(err)
	}
}

var modes = map[string]tfprotov5.SchemaNestedBlockNestingMode{
	"single": tfprotov5.SchemaNestedBlockNestingModeSingle,
	"list":   tfprotov5.SchemaNestedBlockNestingModeList,
	"set":    tfprotov5.SchemaNestedBlockNestingModeSet,
	"map":    tfprotov5.SchemaNestedBlockNestingModeMap,
	"group":  tfprotov5.SchemaNestedBlockNestingModeGroup,
}

func (s schema) answer() *tfprotov5.Schema {
	return &tfprotov5.Schema{Version: s.Version, Block: s.Block.answer()}
}

func (b block) answer() *tfprotov5.SchemaBlock {
	out := &tfprotov5.SchemaBlock{}
	for name, a := range b.Attributes {
		ty, err := tftypes.ParseJSONType(a.Type) //nolint:staticcheck // nothing else reads a type's JSON
		if err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		out.Attributes = append(out.Attributes, &tfprotov5.SchemaAttribute{Name: name, Type: ty, Description: a.Description,
			Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive})
	}
	for name, n := range b.Blocks {
		out.BlockTypes = append(out.BlockTypes, &tfprotov5.SchemaNestedBlock{TypeName: name, Block: n.Block.answer(), Nesting: modes[n.Mode], MinItems: n.Min, MaxItems: n.Max})
	}
	return out
}

func all(m map[string]schema) map[string]*tfprotov5.Schema {
	out := make(map[string]*tfprotov5.Schema, len(m))
	for name, s := range m {
		out[name] = s.answer()
	}
	return out
}

// server accepts every configuration. Other methods are those of the nil interface, and nobody calls them.
type server struct {
	tfprotov5.ProviderServer
	s schemas
}

func (s *server) GetMetadata(context.Context, *tfprotov5.GetMetadataRequest) (*tfprotov5.GetMetadataResponse, error) {
	return &tfprotov5.GetMetadataResponse{}, nil
}

func (s *server) GetProviderSchema(context.Context, *tfprotov5.GetProviderSchemaRequest) (*tfprotov5.GetProviderSchemaResponse, error) {
	return &tfprotov5.GetProviderSchemaResponse{Provider: s.s.Provider.answer(), ResourceSchemas: all(s.s.Resources), DataSourceSchemas: all(s.s.Data)}, nil
}

func (s *server) GetResourceIdentitySchemas(context.Context, *tfprotov5.GetResourceIdentitySchemasRequest) (*tfprotov5.GetResourceIdentitySchemasResponse, error) {
	return &tfprotov5.GetResourceIdentitySchemasResponse{}, nil
}

func (s *server) GetFunctions(context.Context, *tfprotov5.GetFunctionsRequest) (*tfprotov5.GetFunctionsResponse, error) {
	return &tfprotov5.GetFunctionsResponse{}, nil
}

func (s *server) PrepareProviderConfig(_ context.Context, r *tfprotov5.PrepareProviderConfigRequest) (*tfprotov5.PrepareProviderConfigResponse, error) {
	return &tfprotov5.PrepareProviderConfigResponse{PreparedConfig: r.Config}, nil
}

func (s *server) ValidateResourceTypeConfig(context.Context, *tfprotov5.ValidateResourceTypeConfigRequest) (*tfprotov5.ValidateResourceTypeConfigResponse, error) {
	return &tfprotov5.ValidateResourceTypeConfigResponse{}, nil
}

func (s *server) ValidateDataSourceConfig(context.Context, *tfprotov5.ValidateDataSourceConfigRequest) (*tfprotov5.ValidateDataSourceConfigResponse, error) {
	return &tfprotov5.ValidateDataSourceConfigResponse{}, nil
}

func (s *server) StopProvider(context.Context, *tfprotov5.StopProviderRequest) (*tfprotov5.StopProviderResponse, error) {
	return &tfprotov5.StopProviderResponse{}, nil
}
