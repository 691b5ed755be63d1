package workspace

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/state/storage/remote"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/remoterun"
)

// RemoteRuns returns the runs of the workspace at the service of its backend. It is nil where plans
// and applies are made here.
func (d *Directory) RemoteRuns(ctx context.Context, vars []environment.Var) (*remote.Runs, diag.List) {
	if d.About != nil {
		return nil, nil
	}
	return d.Settings.Runs(ctx, vars)
}

// RemoteRun prepares a run: the directory is uploaded, and values of variables that aren't in it
// go with the run.
func (d *Directory) RemoteRun(runs *remote.Runs, vars []environment.Var, o remote.Options) (*remoterun.Command, diag.List) {
	dir, err := filepath.Abs(d.Place.Path("."))
	if err != nil {
		return nil, diag.Unreadable.As("Failed to read directory").List("%s.", err)
	}
	names, err := d.Place.Files().List(".")
	if err != nil {
		return nil, diag.Unreadable.As("Failed to read directory").List("%s.", err)
	}
	if module.IsEmpty(names, d.Place.Dialect) {
		return &remoterun.Command{Runs: runs, Options: o}, nil
	}
	prog, diags := d.Settings.RootSettings()
	inputs, more := d.Place.Inputs(vars)
	if diags.Append(more); diags.HasErrors() {
		return nil, diags
	}
	var files []string
	for _, v := range vars {
		if v.File {
			files = append(files, v.Value)
		}
	}
	for name, in := range inputs {
		// The others are in files that the service reads by itself.
		if in.From == "file" && !slices.Contains(files, in.Range.Filename) {
			delete(inputs, name)
		}
	}
	values, more := engine.InputValues(prog, inputs)
	if diags.Append(more); diags.HasErrors() {
		return nil, diags
	}
	o.Variables = map[string]string{}
	for name, v := range values {
		o.Variables[name] = string(hclwrite.TokensForValue(v).Bytes())
	}
	return &remoterun.Command{Runs: runs, Options: o, Dir: dir}, diags
}

// RemotePlan reads the file of a plan that a service keeps; ok is false for other files. It doesn't
// open a pipe, which can be read only once.
func (d *Directory) RemotePlan(path string) (b remoterun.Bookmark, ok bool) {
	const long = 64 << 10 // longer than any
	if info, err := os.Stat(d.Place.Path(path)); err != nil || !info.Mode().IsRegular() || info.Size() > long {
		return b, false
	}
	data, err := d.Place.Input(path)
	if err != nil {
		return b, false
	}
	return remoterun.ReadBookmark(data)
}
