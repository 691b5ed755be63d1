package module

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
)

// A Fetcher brings modules that aren't local directories. It is the seam to
// registries, version control and the web.
type Fetcher interface {
	// Fetch puts the package behind a source address into a directory of the
	// disk, replacing what is there. It returns the directory of the module
	// within it, and the version for sources that have versions.
	Fetch(ctx context.Context, source, constraint, dir string) (moduleDir, version string, err error)
}

// An Installer finds or fetches the modules behind calls and notes them in a manifest. A
// caller that uses it asks call by call, parents first, because a call's source may be an
// expression.
type Installer struct {
	Files    Files
	DataDir  string
	Fetcher  Fetcher  // nil for local modules only
	Manifest Manifest // what is installed; Install adds to it
	// Upgrade: fetch again what is installed already.
	Upgrade bool
	Dialect dialect.Dialect

	fetched map[string]bool // by key, since the installer was made
}

// directory is a key as the name of a directory: an instance key in it may
// have any characters.
func directory(key string) string {
	if !strings.Contains(key, "[") {
		return key
	}
	return url.PathEscape(key)
}

// A Request is one call whose module is needed.
type Request struct {
	Key        string // of the called module
	ParentDir  string
	Source     string
	Constraint string    // version constraint, or empty
	Ancestors  []string  // the directories from the root's to ParentDir
	Range      hcl.Range // of the source argument
}

// Install returns the directory of the module that a call needs, after having
// fetched it where that is necessary.
func (in *Installer) Install(ctx context.Context, r Request) (string, diag.List) {
	if IsLocal(r.Source) {
		return in.local(r)
	}
	var diags diag.List
	if installed, found := in.Manifest[r.Key]; found && !in.Upgrade && installed.Source == in.canonical(r.Source) && fits(installed.Version, r.Constraint) {
		if names, err := in.Files.List(installed.Dir); err == nil && !nothing(names, in.Dialect) {
			return installed.Dir, nil
		}
	}
	if kindOf(r.Source) == kindUnknown {
		return "", diag.List{unresolved(r.Source, r.Range)}
	}
	if in.Fetcher == nil {
		diags.Add(diag.BadSource.As("Module source not supported").Error(r.Range, "The module %q isn't a local directory, and there is no way here to fetch it.", r.Source))
		return "", diags
	}
	if strings.HasSuffix(r.Key, "]") {
		// Another instance of the call may have fetched it just now.
		if same, ok := in.Manifest.sibling(r.Key, in.canonical(r.Source), r.Constraint); ok && in.fetched[same.Key] {
			same.Key = r.Key
			in.Manifest[r.Key] = same
			return same.Dir, nil
		}
	}
	in.forget(r.Key)
	dir, version, err := in.Fetcher.Fetch(ctx, in.canonical(r.Source), r.Constraint, filepath.Join(in.DataDir, "modules", directory(r.Key)))
	var problem *Problem
	switch {
	case errors.As(err, &problem):
		diags.Add(NotFetched.As(problem.Summary).Error(r.Range, "%s", problem.Detail))
		return "", diags
	case err != nil:
		diags.Add(NotFetched.Error(r.Range, "Could not download module %q: %s.", r.Source, err))
		return "", diags
	}
	if names, err := in.Files.List(dir); err != nil || nothing(names, in.Dialect) {
		diags.Add(Unreadable.Error(r.Range, "The package of %q has no configuration files in %s.", r.Source, dir))
		return "", diags
	}
	in.Manifest[r.Key] = Record{Key: r.Key, Source: in.canonical(r.Source), Version: version, Dir: dir}
	if in.fetched == nil {
		in.fetched = map[string]bool{}
	}
	in.fetched[r.Key] = true
	return dir, nil
}

// unresolved is everything to say of a source of no known kind.
func unresolved(source string, at hcl.Range) diag.Diagnostic {
	if source == "" {
		return diag.BadSource.Error(at, "The address is empty. It is a directory such as \"./network\", the address of a module in a registry, or that of a package, such as \"git::https://example.com/network.git\".")
	}
	return diag.BadSource.As("Module not found").Error(at, "The module address %q could not be resolved.\n\nIf you intended this as a path relative to the current module, use \"./%s\" instead. The \"./\" indicates that the address is a relative filesystem path.", source, source)
}

func (in *Installer) canonical(source string) string {
	return Canonical(source, in.Dialect.Registry())
}

// forget drops a module that is replaced, with all that it called.
func (in *Installer) forget(key string) {
	for other := range in.Manifest {
		if other == key || strings.HasPrefix(other, key+".") {
			delete(in.Manifest, other)
		}
	}
}

// packageOf is the name of the directory that the package actions a directory
// was fetched to, or empty for what wasn't fetched.
func (in *Installer) packageOf(dir string) string {
	rest, ok := strings.CutPrefix(filepath.Clean(dir), filepath.Join(in.DataDir, "modules")+string(filepath.Separator))
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, string(filepath.Separator))
	return name
}

func (in *Installer) local(r Request) (string, diag.List) {
	var diags diag.List
	dir := filepath.Join(r.ParentDir, filepath.FromSlash(r.Source))
	if pkg := in.packageOf(r.ParentDir); pkg != "" && in.packageOf(dir) != pkg {
		diags.Add(diag.BadSource.As("Local module path escapes module package").Error(r.Range, "The source %q would be outside of the package that the calling module was fetched with. Local source addresses starting with \"../\" must stay within it: give the other module's full address instead.", r.Source))
		return "", diags
	}
	if slices.ContainsFunc(r.Ancestors, func(a string) bool { return filepath.Clean(a) == dir }) {
		diags.Add(Circle.Error(r.Range, "The directory %s is that of this module or of one that calls it, so there would be no end of modules. Move what both need into a directory of its own.", dir))
		return "", diags
	}
	names, err := in.Files.List(dir)
	if err != nil {
		diags.Add(Unreadable.Error(r.Range, "Unable to read the module directory %s: it does not exist or cannot be opened.", dir))
		return "", diags
	}
	if nothing(names, in.Dialect) {
		diags.Add(Unreadable.Error(r.Range, "The directory %s of this module has no configuration files.", dir))
		return "", diags
	}
	in.Manifest[r.Key] = Record{Key: r.Key, Source: in.canonical(r.Source), Dir: dir}
	return dir, nil
}
