package statebackend

import (
	"maps"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/workspace/workdir"
)

// A StoreType is a type of state store, which a provider has. The schema has the configuration of
// the provider as the block "provider".
type StoreType struct {
	storage.Type
	Provider workdir.StateStore
}

// find is a type of backend, or of state store where a provider is given.
func (o Opener) find(typ string, of *workdir.StateStore) (storage.Type, diag.List) {
	if of != nil {
		store, diags := o.Stores(of.Source, typ)
		if diags.HasErrors() {
			return storage.Type{}, diags
		}
		return store.Type, diags
	}
	t, err := o.Types.Find(typ)
	if err != nil {
		return t, diag.UnknownBackend.List("%s", err)
	}
	return t, nil
}

// findBlock is the type that a block names, and for a state store its provider.
func (o Opener) findBlock(block *program.Backend) (storage.Type, *workdir.StateStore, diag.List) {
	if block.Store == nil {
		t, err := o.Types.Find(block.Type)
		if err != nil {
			var diags diag.List
			diags.Add(diag.UnknownBackend.Error(block.Range, "%s", err))
			return t, nil, diags
		}
		return t, nil, nil
	}
	store, diags := o.Stores(block.Store.Provider.String(), block.Type)
	for i := range diags {
		if diags[i].Subject == nil {
			diags[i].Subject = block.Range.Ptr()
		}
	}
	if diags.HasErrors() {
		return storage.Type{}, nil, diags
	}
	of := store.Provider
	of.Name = block.Store.Name
	return store.Type, &of, diags
}

// evaluate is the configuration that a block has.
func evaluate(block *program.Backend, s *schema.Block, settings Settings) (cty.Value, diag.List) {
	if block.Store == nil {
		return settings(block.Config, optional(s))
	}
	own := &schema.Block{Attributes: s.Attributes, Blocks: maps.Clone(s.Blocks)}
	delete(own.Blocks, providerBlock)
	v, diags := settings(block.Config, optional(own))
	of, more := settings(block.Store.Config, s.Blocks[providerBlock].Block)
	if diags.Append(more); diags.HasErrors() {
		return v, diags
	}
	values := v.AsValueMap()
	if values == nil {
		values = map[string]cty.Value{}
	}
	values[providerBlock] = of
	return cty.ObjectVal(values), diags
}

// providerBlock has the configuration of a state store's provider.
const providerBlock = "provider"

// WithProvider is the schema of a state store with the configuration of its provider.
func WithProvider(store, provider *schema.Block) *schema.Block {
	blocks := map[string]*schema.NestedBlock{}
	maps.Copy(blocks, store.Blocks)
	blocks[providerBlock] = &schema.NestedBlock{Block: provider, Nesting: schema.Single}
	return &schema.Block{Attributes: store.Attributes, Blocks: blocks, Description: store.Description, Markdown: store.Markdown}
}

// SplitProvider takes the configuration of the provider out of that of a state store.
func SplitProvider(config cty.Value) (store, provider cty.Value) {
	values := config.AsValueMap()
	provider = values[providerBlock]
	delete(values, providerBlock)
	return cty.ObjectVal(values), provider
}

// hash is the number by which changes of a block are noticed.
func hash(typ string, of *workdir.StateStore, config cty.Value) uint64 {
	if of != nil {
		return workdir.HashStore(typ, config, *of)
	}
	return workdir.Hash(typ, config)
}
