// Package builtin implements the built-in provider, terraform.io/builtin/terraform: the
// resource terraform_data, the data source terraform_remote_state and functions for variable
// files.
//
// It owns what these do. It rejects processes and wire formats: it runs where it is called.
package builtin

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state/storage"
)

// Address is the provider's address.
var Address = addr.Builtin("terraform")

// Options are what the provider needs from outside.
type Options struct {
	// Backends are the types that terraform_remote_state can read from, in
	// the given environment.
	Backends storage.Registry
	Env      storage.Env
	// Decrypt decrypts a state that the terraform_remote_state at an address
	// has read; nil where states aren't encrypted.
	Decrypt func(at addr.Instance, state []byte) ([]byte, error)
	// NewID makes the ids of terraform_data; nil for random UUIDs.
	NewID func() string
	// Store: a terraform_data can have a store, as with Terraform.
	Store bool
}

// data is the block of terraform_data.
func (o Options) data() *schema.Block {
	if o.Store {
		return storing()
	}
	return dataBlock()
}

// New makes the provider. It is ready without Configure.
func New(o Options) provider.Provider {
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	return &builtin{options: o}
}

// Schemas is what the provider declares.
func Schemas(o Options) *provider.Schemas {
	return &provider.Schemas{
		Provider:    &schema.Schema{Block: &schema.Block{}},
		Resources:   provider.Types{dataType: provider.Known(&schema.Schema{Block: o.data()})},
		DataSources: provider.Types{remoteType: provider.Known(&schema.Schema{Block: RemoteStateBlock()})},
		Functions:   functions(),
		MoveState:   true,
	}
}

type builtin struct {
	provider.Partial
	options Options
}

// unsupported is for calls that the declared schemas don't allow.
func unsupported(what, name string) diag.List {
	var diags diag.List
	diags.Add(provider.Lacking.As("Unsupported "+what).New(diag.Error, "The built-in provider has no %s %q.", what, name))
	return diags
}

func (b *builtin) ValidateResource(_ context.Context, mode addr.Mode, typ string, config cty.Value) diag.List {
	switch {
	case mode == addr.Managed && typ == dataType:
		return validateData(config)
	case mode == addr.Data && typ == remoteType:
		return b.validateRemote(config)
	}
	return unsupported("resource type", typ)
}

func (b *builtin) UpgradeState(_ context.Context, r provider.UpgradeRequest) (cty.Value, diag.List) {
	if r.Type != dataType {
		return cty.NilVal, unsupported("resource type", r.Type)
	}
	return b.upgradeData(r)
}

func (*builtin) Read(_ context.Context, r provider.ReadRequest) provider.ReadResponse {
	return provider.ReadResponse{New: r.Current, Private: r.Private}
}

func (*builtin) Plan(_ context.Context, r provider.PlanRequest) provider.PlanResponse {
	if r.Type != dataType {
		return provider.PlanResponse{Diags: unsupported("resource type", r.Type)}
	}
	return planData(r)
}

func (b *builtin) Apply(_ context.Context, r provider.ApplyRequest) provider.ApplyResponse {
	if r.Type != dataType {
		return provider.ApplyResponse{Diags: unsupported("resource type", r.Type)}
	}
	return b.applyData(r)
}

func (b *builtin) Import(_ context.Context, r provider.ImportRequest) provider.ImportResponse {
	if r.Type != dataType {
		return provider.ImportResponse{Diags: unsupported("resource type", r.Type)}
	}
	return b.importData(r)
}

func (b *builtin) Move(_ context.Context, r provider.MoveRequest) provider.MoveResponse {
	return b.moveToData(r)
}

// AnswersByInstance implements provider.ByInstance: states of other configurations may be
// decrypted by the address of who reads them.
func (*builtin) AnswersByInstance() {}

func (b *builtin) ReadData(ctx context.Context, r provider.ReadDataRequest) provider.ReadDataResponse {
	if r.Type != remoteType {
		return provider.ReadDataResponse{Diags: unsupported("data source", r.Type)}
	}
	v, diags := b.readRemote(ctx, r.Addr, r.Config)
	return provider.ReadDataResponse{New: v, Diags: diags}
}

func (*builtin) CallFunction(_ context.Context, name string, args []cty.Value) (cty.Value, int, error) {
	f, ok := implementations[name]
	if !ok {
		return cty.DynamicVal, -1, fmt.Errorf("the built-in provider has no function %q", name)
	}
	v, err := f(args[0])
	return v, -1, err
}
