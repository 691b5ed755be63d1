package operation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/system/durable"
	"weir.dev/weir/internal/word/addr"
	"weir.dev/weir/internal/word/diag"
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
	if err := writeNew(w.dir.Path(path), file); err != nil {
		return nil, diag.Unwritable.As("Failed to write generated configuration").List("Writing %s: %s.", path, diag.Cause(err))
	}
	l := w.opening.Loading
	l.Record, l.Workspace = false, w.Workspace()
	if filepath.Dir(filepath.Clean(path)) != "." || !isSource(path) {
		l.extra = string(file)
	}
	config, diags := w.dir.Load(ctx, l)
	if config == nil || diags.HasErrors() {
		return nil, diags
	}
	diags = w.dir.ProvideFor(config, w.Prior())
	w.Config = config
	return texts, diags.Only(diag.Error)
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
	if err == nil {
		durable.SyncFolder(filepath.Dir(path))
	}
	if err == nil || errors.Is(err, os.ErrExist) {
		return err
	}
	return durable.Rename(file.Name(), path) // where files have one name only
}
