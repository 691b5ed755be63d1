package providerclient

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/resource/contract"
	"weir.dev/weir/internal/resource/lifecycle"
)

// Configuration is the configuration of an object as its provider writes it. Given is false for
// a provider that writes none.
func (c *Conn) Configuration(ctx context.Context, typ string, b *schema.Block, object cty.Value) (config cty.Value, given bool, diags diag.List) {
	if !c.Schemas.GenerateConfig {
		return cty.NilVal, false, nil
	}
	object, _ = object.UnmarkDeep()
	config, diags = c.GenerateConfig(ctx, typ, object)
	if diags.HasErrors() {
		return cty.NilVal, true, diags
	}
	if config == cty.NilVal || config.IsNull() || !config.IsWhollyKnown() || len(contract.Conforms(config, b.ImpliedType())) > 0 {
		diags.Add(lifecycle.InvalidObject.New(diag.Error, "Provider %q generated an invalid configuration for a %s.\n\nThis is a bug in the provider, which should be reported in the provider's own issue tracker.", c.Addr.Provider, typ))
	}
	return config, true, diags
}
