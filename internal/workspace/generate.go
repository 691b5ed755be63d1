package workspace

import (
	"context"
	"path/filepath"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan/configgen"
	"weir.dev/weir/internal/sys/durable"
)

// generate writes configuration for imports that have none to a new file, and
// loads it with the rest. The file is kept also when planning fails: somebody
// has to correct it then.
func (w *Work) generate(ctx context.Context, path string, o engine.PlanOptions) (map[addr.Instance]string, diag.List) {
	list, diags := engine.Generate(ctx, w.Config, w.Snapshot(), o)
	if diags.HasErrors() || len(list) == 0 {
		return nil, diags.Only(diag.Error)
	}
	texts := map[addr.Instance]string{}
	var blocks []configgen.Block
	for _, g := range list {
		texts[g.Addr] = g.Text
		blocks = append(blocks, configgen.Block{Text: g.Text, From: g.ID})
	}
	file := configgen.File(blocks)
	if err := durable.New(w.dir.Place.Path(path), file); err != nil {
		return nil, diag.Unwritable.As("Failed to write generated configuration").List("Writing %s: %s.", path, diag.Cause(err))
	}
	l := w.opening.Loading
	l.Record, l.Workspace = false, w.State.Workspace()
	if filepath.Dir(filepath.Clean(path)) != "." || !slices.Contains([]string{".tf", ".tofu"}, filepath.Ext(path)) {
		l.extra = string(file)
	}
	config, diags := w.dir.Load(ctx, l)
	if config == nil || diags.HasErrors() {
		return nil, diags
	}
	diags = w.dir.ProvideFor(config, w.State.Prior())
	w.Config = config
	return texts, diags.Only(diag.Error)
}
