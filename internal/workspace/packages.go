package workspace

import (
	"context"
	"path"
	"path/filepath"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/providersource"
)

// Packages are packages of the configuration's providers, for several platforms.
type Packages struct {
	Vars      []environment.Var
	Platforms []string // empty for that of this machine
	Only      []string // providers to limit it to; empty for none
}

// wanted is what fetching packages begins with.
func (d *Directory) wanted(ctx context.Context, p *Packages) (install.Options, diag.List) {
	if len(p.Platforms) == 0 {
		p.Platforms = []string{install.Platform}
	}
	diags := install.CheckPlatforms(p.Platforms)
	if diags.Append(d.CheckMode(ctx)); diags.HasErrors() {
		return install.Options{}, diags
	}
	loaded, more := d.Configuration().Load(ctx, Loading{Vars: p.Vars})
	diags.Append(more)
	if diags.HasErrors() {
		return install.Options{}, diags
	}
	o, more := d.Providers.Fetching(providersource.Requirements(loaded.Tree, nil))
	diags.Append(more)
	if diags.HasErrors() {
		return o, diags
	}
	o.Locks.Adopt(d.Place.Dialect.Registry())
	diags.Append(providersource.Restrict(o.Requirements, p.Only, d.Place.Dialect.Registry()))
	return o, diags
}

// LockProviders adds the checksums of packages to the dependency lock file.
type LockProviders struct {
	Dir      *Directory
	Packages Packages
	From     *cliconfig.Method // a mirror; nil stands for the providers' own registries
	Events   func(install.Event)
}

// Run returns what it added. Same reports that the file had everything already.
func (l LockProviders) Run(ctx context.Context) (changes []install.Change, same bool, diags diag.List) {
	o, diags := l.Dir.wanted(ctx, &l.Packages)
	if diags.HasErrors() {
		return nil, false, diags
	}
	// The file as it is counts, not what is taken over from another registry.
	before, _ := l.Dir.Place.Locks()
	o.Events = l.Events
	locks, changes, more := install.Lock(ctx, o, l.From, l.Packages.Platforms)
	diags.Append(more)
	if diags.HasErrors() {
		return nil, false, diags
	}
	if err := locks.Write(l.Dir.Place.Path(lockfile.Name), l.Dir.Place.Dialect.Command()); err != nil {
		diags.Add(diag.Unwritable.As("Failed to write the dependency lock file").New(diag.Error, "%s.", err))
	}
	return changes, before.Equal(locks), diags
}

// MirrorProviders fills a directory with packages, so that it can serve as a mirror.
type MirrorProviders struct {
	Dir      *Directory
	Packages Packages
	To       string
	Locked   bool // copy the versions in the lock file, where it has some
	Events   func(install.CopyEvent)
}

// Run copies the packages.
func (m MirrorProviders) Run(ctx context.Context) diag.List {
	o, diags := m.Dir.wanted(ctx, &m.Packages)
	if diags.HasErrors() {
		return diags
	}
	if !m.Locked {
		o.Locks = &lockfile.Locks{}
	}
	return append(diags, install.Copy(ctx, o, m.Dir.Place.Path(m.To), m.Packages.Platforms, m.Events)...)
}

// Module reads the module in a directory by itself: neither what it calls nor its
// providers have to be there, and what it refers to needn't either. It is nil after errors.
func (d *Directory) Module(dir string) (*program.Program, diag.List) {
	src, p, diags := engine.Modules(d.Place.Dialect).Compile(d.Place.Files(), path.Clean(filepath.ToSlash(dir)), nil)
	for _, f := range src.Files {
		d.Place.AddSources(map[string][]byte{f.Name: f.Bytes})
	}
	if diags = diags.WithoutUses(); diags.HasErrors() {
		return nil, diags
	}
	return p, diags
}
