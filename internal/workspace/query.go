package workspace

import (
	"context"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/configgen"
	"weir.dev/weir/internal/sys/durable"
)

// Query lists existing objects with the list blocks of the directory's query files.
type Query struct {
	Dir     *Directory
	Loading Loading
	// Generate is a new file for configuration that imports the objects; empty for none.
	Generate string
}

// Run returns the listings. There may be some beside errors.
func (q Query) Run(ctx context.Context) ([]*plan.Listing, diag.List) {
	if q.Generate != "" {
		if diags := q.Dir.checkNew(q.Generate); diags.HasErrors() {
			return nil, diags
		}
	}
	q.Loading.Queries = true
	config, state, diags := q.Dir.Look(ctx, q.Dir.Configuration(), Opening{Loading: q.Loading, Operation: "query"})
	if config == nil {
		return nil, diags
	}
	listings, more := engine.Query(ctx, config, state.Prior(), q.Generate != "")
	diags.Append(more)
	if q.Generate == "" || more.HasErrors() {
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
	if err := durable.New(q.Dir.Place.Path(q.Generate), configgen.File(blocks)); err != nil {
		diags.Add(diag.Unwritable.As("Failed to write generated configuration").New(diag.Error, "Writing %s: %s.", q.Generate, diag.Cause(err)))
	}
	return listings, diags
}
