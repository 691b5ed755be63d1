package workspace

import (
	"context"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/configgen"
	"weir.dev/weir/internal/sys/durable"
)

// Query asks the list blocks of the directory's query files which objects exist. With a
// name of a new file configuration to import these by is written to it. Beside errors
// there may be listings.
func (d *Directory) Query(ctx context.Context, l Loading, path string) ([]*plan.Listing, diag.List) {
	if path != "" {
		if diags := d.checkNew(path); diags.HasErrors() {
			return nil, diags
		}
	}
	l.Queries = true
	config, state, diags := d.Look(ctx, d.Configuration(), Opening{Loading: l, Operation: "query"})
	if config == nil {
		return nil, diags
	}
	listings, more := engine.Query(ctx, config, state.Prior(), path != "")
	diags.Append(more)
	if path == "" || more.HasErrors() {
		return listings, diags
	}
	var blocks []configgen.Block
	for _, l := range listings {
		for _, found := range l.Found {
			blocks = append(blocks, configgen.Block{Text: found.Resource + "\n\n" + found.Import})
		}
	}
	if len(blocks) == 0 {
		return listings, diags
	}
	if err := durable.New(d.Place.Path(path), configgen.File(blocks)); err != nil {
		diags.Add(diag.Unwritable.As("Failed to write generated configuration").New(diag.Error, "Writing %s: %s.", path, diag.Cause(err)))
	}
	return listings, diags
}
