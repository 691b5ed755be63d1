package providersource

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/workspace/statebackend"
	"weir.dev/weir/internal/workspace/statestore"
	"weir.dev/weir/internal/workspace/workdir"
)

// StateStore finds a type of state store of an installed provider. A backend of the type has a
// process of its own, which ends with the operations of the directory.
func (d *Supplier) StateStore(source, typ string) (*statebackend.StoreType, diag.List) {
	p, err := d.place.Dialect.Registry().ParseProvider(source)
	if err != nil {
		return nil, diag.BadBackend.List("The provider %q of the state store has no valid address: %s.", source, err)
	}
	catalog, of, diags := d.storeCatalog(p)
	if diags.HasErrors() {
		return nil, diags
	}
	schemas, more := catalog.Schemas(context.Background(), p)
	if diags.Append(more); diags.HasErrors() {
		return nil, diags
	}
	s := schemas.StateStores.Schema(typ)
	if s == nil {
		names := slices.Sorted(maps.Keys(schemas.StateStores))
		if len(names) == 0 {
			return nil, append(diags, diag.UnknownBackend.As("Unsupported state store type").List("The provider %s has no state stores.", p)...)
		}
		return nil, append(diags, diag.UnknownBackend.As("Unsupported state store type").List("The provider %s has no state store %q. It has %s.", p, typ, strings.Join(names, ", "))...)
	}
	shape := statebackend.WithProvider(s.Block, schemas.Provider.Block)
	open := func(config cty.Value, _ storage.Env) (storage.Backend, diag.List) {
		running, diags := openStore(catalog, p, typ, config)
		if diags.HasErrors() {
			return nil, diags
		}
		d.place.OnClose(func() { running.Close() })
		at := p.String() + " " + typ + " " + address(shape, config)
		return statestore.New(running.(provider.StateStorer), typ, at), diags
	}
	return &statebackend.StoreType{Type: storage.Type{Schema: func() *schema.Block { return shape }, New: open}, Provider: of}, diags
}

// storeCatalog is a catalog with a provider, and how it comes.
func (d *Supplier) storeCatalog(p addr.Provider) (provider.Catalog, workdir.StateStore, diag.List) {
	of := workdir.StateStore{Source: p.String(), Supply: "reattached"}
	if d.place.Catalog != nil {
		return d.place.Catalog, of, nil
	}
	if d.stores == nil {
		s, complete := d.supplied()
		complete()
		if s.catalog == nil {
			return nil, of, s.diags
		}
		d.place.OnClose(func() { s.catalog.Close() })
		d.stores = s
	}
	s := d.stores
	_, diags := install.Locate(d.place.Memory().Providers(), s.locks, install.Requirements{p: nil}, s.external, s.verified)
	switch lock, locked := s.locks.Get(p); {
	case p.IsBuiltin():
		of.Supply = "built_in"
	case s.overrides[p] != "":
		of.Supply = "dev_override"
	case !s.external[p] && locked:
		of.Supply, of.Version = "managed_by_terraform", lock.Version.String()
	}
	return s.catalog, of, diags
}

// openStore starts a provider and configures it and its state store.
func openStore(c provider.Catalog, p addr.Provider, typ string, config cty.Value) (provider.Provider, diag.List) {
	ctx := context.Background()
	running, diags := c.Start(ctx, p)
	if diags.HasErrors() {
		return nil, diags
	}
	storer, ok := running.(provider.StateStorer)
	if !ok {
		diags.Append(diag.UnknownBackend.As("Unsupported state store type").List("The provider %s has no state stores.", p))
	}
	store, of := statebackend.SplitProvider(config)
	for _, step := range []func() diag.List{
		func() diag.List { return running.ValidateConfig(ctx, of) },
		func() diag.List { return running.Configure(ctx, of) },
		func() diag.List { return storer.ValidateStateStore(ctx, typ, store) },
		func() diag.List { return storer.ConfigureStateStore(ctx, typ, store) },
	} {
		if diags.HasErrors() {
			running.Close()
			return nil, diags
		}
		diags.Append(step())
	}
	if diags.HasErrors() {
		running.Close()
		return nil, diags
	}
	return running, diags
}

// address differs for stores with different states: it is the configuration without secrets.
func address(s *schema.Block, config cty.Value) string {
	plain, err := cty.Transform(config, func(path cty.Path, v cty.Value) (cty.Value, error) {
		if a := attributeAt(s, path); a != nil && a.Sensitive {
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		return ""
	}
	text, err := ctyjson.Marshal(plain, plain.Type())
	if err != nil {
		return ""
	}
	var set map[string]any
	if json.Unmarshal(text, &set) != nil {
		return ""
	}
	maps.DeleteFunc(set, func(_ string, v any) bool { return v == nil })
	text, err = json.Marshal(set)
	if err != nil {
		return fmt.Sprint(set)
	}
	return string(text)
}

// attributeAt is the attribute at a path, nil for anything else.
func attributeAt(s *schema.Block, path cty.Path) *schema.Attribute {
	for i, step := range path {
		name, ok := step.(cty.GetAttrStep)
		if !ok {
			continue
		}
		if a := s.Attributes[name.Name]; a != nil {
			if i == len(path)-1 {
				return a
			}
			return nil
		}
		nested := s.Blocks[name.Name]
		if nested == nil {
			return nil
		}
		s = nested.Block
	}
	return nil
}
