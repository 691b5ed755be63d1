package operation

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/module/fetch"
	"weir.dev/weir/internal/word/diag"
)

// CopyModule fills the directory, which has to be empty, with a copy of
// the module at a source address. Modules that it calls are installed
// afterwards, as for every configuration.
func (d *Directory) CopyModule(ctx context.Context, from string) diag.List {
	source := from
	if module.IsLocal(source) {
		// A copy is wanted, and not a place in the same package.
		absolute, err := filepath.Abs(d.Path(source))
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
	staged := filepath.Join(d.DataDir(), "init-from-module")
	defer os.RemoveAll(staged)
	dir, _, err := fetcher.Fetch(ctx, module.Canonical(source, d.Dialect.Registry()), "", filepath.Join(staged, "root"))
	var problem *module.Problem
	switch {
	case errors.As(err, &problem):
		return module.NotFetched.As(problem.Summary).List("%s", problem.Detail)
	case err != nil:
		return diag.List{module.NotFetched.New(diag.Error, "Could not download module %q: %s.", from, err)}
	}
	if err := fetch.Copy(dir, d.Dir); err != nil {
		return diag.Unreadable.As("Failed to copy root module").List("Error copying root module %q: %s.", from, err)
	}
	return nil
}

// CheckEmpty refuses a directory with files that a copy could get mixed up with.
func (d *Directory) CheckEmpty() diag.List {
	entries, err := os.ReadDir(d.Dir)
	if err != nil {
		return diag.Unreadable.As("Failed to read target directory").List("%s.", err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == ".terraform" || name == d.DataName() })
	switch {
	case !module.IsEmpty(names, d.Dialect):
		return There.As("The working directory already contains files").List("The -from-module option requires an empty directory into which a copy of the referenced module will be placed.\n\nTo initialize the configuration already in this working directory, omit the -from-module option.")
	case len(names) > 0:
		return There.As("Can't populate non-empty directory").List("The working directory has files, such as %s, so it cannot be initialized with the -from-module option.", names[0])
	}
	return nil
}
