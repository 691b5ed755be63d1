package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/module/fetch"
)

// CopyModule fills the directory, which has to be empty, with a copy of
// the module at a source address. Modules that it calls are installed
// afterwards, as for every configuration.
func (d *Directory) CopyModule(ctx context.Context, from string) diag.List {
	source := from
	if module.IsLocal(source) {
		// A copy is wanted, and not a place in the same package.
		absolute, err := filepath.Abs(d.Place.Path(source))
		if err != nil {
			return diag.BadSource.List("%s.", err)
		}
		source = absolute
	}
	d.hide(source)
	fetcher, diags := d.Fetcher(nil)
	if diags.HasErrors() {
		return diags
	}
	staged := filepath.Join(d.Place.DataDir(), "init-from-module")
	defer os.RemoveAll(staged)
	dir, _, err := fetcher.Fetch(ctx, module.Canonical(source, d.Place.Dialect.Registry()), "", filepath.Join(staged, "root"))
	var problem *module.Problem
	switch {
	case errors.As(err, &problem):
		return module.NotFetched.As(problem.Summary).List("%s", problem.Detail)
	case err != nil:
		return diag.List{module.NotFetched.New(diag.Error, "Could not download module %q: %s.", from, err)}
	}
	if err := fetch.Copy(dir, d.Place.Dir); err != nil {
		return diag.Unreadable.As("Failed to copy root module").List("Error copying root module %q: %s.", from, err)
	}
	return nil
}
