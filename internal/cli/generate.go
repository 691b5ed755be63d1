package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/engine"
)

// generateConfig writes configuration for imports that have none to the file
// that -generate-config-out names, and loads it with the rest. The file is
// kept also when planning fails: somebody has to correct it then.
func (p *planning) generateConfig(ctx context.Context, e *env, w *workload, o engine.PlanOptions) (map[addr.Instance]string, diag.List) {
	list, diags := engine.Generate(ctx, w.config, w.Snapshot(), o)
	if diags.HasErrors() || len(list) == 0 {
		return nil, only(diags, diag.Error)
	}
	texts := map[addr.Instance]string{}
	// Tools know generated blocks by these comments.
	const by = "# __generated__ by weir"
	file := []byte(by + "\n# Please review these resources and move them into your main configuration files.\n")
	for _, g := range list {
		texts[g.Addr] = g.Text
		from := ""
		if g.ID != "" {
			from = " from " + addr.Quote(g.ID)
		}
		file = fmt.Appendf(file, "\n%s%s\n%s\n", by, from, g.Text)
	}
	if err := writeNew(p.generate, file); err != nil {
		return nil, oneError("Failed to write generated configuration", "Writing %s: %s.", p.generate, cause(err))
	}
	extra := loading{vars: p.vars, parallelism: p.parallelism, sink: e.progress.Event, workspace: w.Workspace()}
	if filepath.Dir(filepath.Clean(p.generate)) != "." || !isSource(p.generate) {
		extra.extra = string(file)
	}
	config, _, diags := e.load(ctx, extra)
	if config == nil || diags.HasErrors() {
		return nil, diags
	}
	diags = e.provideFor(config, w.Prior())
	w.config = config
	return texts, only(diags, diag.Error)
}

// isSource reports whether a file of that name is read with the module that it
// lies in.
func isSource(name string) bool {
	switch filepath.Ext(name) {
	case ".tf", ".tofu":
		return true
	}
	return false
}

// writeNew writes a file that isn't there yet, as a whole or not at all.
func writeNew(path string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".generated-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(data)
	err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close())
	if err != nil {
		return err
	}
	err = os.Link(file.Name(), path)
	if err == nil || errors.Is(err, os.ErrExist) {
		return err
	}
	return os.Rename(file.Name(), path) // where files have one name only
}
