package operation

import (
	"context"

	"weir.dev/weir/internal/object/connect"
	"weir.dev/weir/internal/operation/cliconfig"
	"weir.dev/weir/internal/operation/place"
	"weir.dev/weir/internal/operation/supply"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/word/addr"
	"weir.dev/weir/internal/word/diag"
)

// Packages are packages of the configuration's providers, for several platforms.
type Packages struct {
	Vars      []place.Var
	Platforms []string // empty for that of this machine
	Only      []string // providers to limit it to; empty for none
}

// wanted is what fetching packages begins with.
func (d *Directory) wanted(ctx context.Context, p *Packages) (install.Options, diag.List) {
	if len(p.Platforms) == 0 {
		p.Platforms = []string{install.Platform}
	}
	diags := install.CheckPlatforms(p.Platforms)
	loaded, more := d.Configuration().Load(ctx, Loading{Vars: p.Vars})
	diags.Append(more)
	if diags.HasErrors() {
		return install.Options{}, diags
	}
	o, more := d.Fetching(supply.Requirements(loaded.Tree, nil))
	diags.Append(more)
	if diags.HasErrors() {
		return o, diags
	}
	o.Locks.Adopt(d.Dialect.Registry())
	diags.Append(restrict(o.Requirements, p.Only, d.Dialect.Registry()))
	return o, diags
}

// LockProviders adds the checksums of packages to the dependency lock file, from a
// mirror or, without one, from the providers' own registries. Same tells that the file
// has them already.
func (d *Directory) LockProviders(ctx context.Context, p Packages, from *cliconfig.Method, told func(install.Event)) (changes []install.Change, same bool, diags diag.List) {
	o, diags := d.wanted(ctx, &p)
	if diags.HasErrors() {
		return nil, false, diags
	}
	// The file as it is counts, not what is taken over from another registry.
	before, _ := d.Locks()
	o.Events = told
	locks, changes, more := install.Lock(ctx, o, from, p.Platforms)
	diags.Append(more)
	if diags.HasErrors() {
		return nil, false, diags
	}
	if err := locks.Write(d.Path(lockfile.Name), d.Dialect.Command()); err != nil {
		diags.Add(diag.Unwritable.As("Failed to write the dependency lock file").New(diag.Error, "%s.", err))
	}
	return changes, before.Equal(locks), diags
}

// MirrorProviders fills a directory with packages, so that it can serve as a mirror.
func (d *Directory) MirrorProviders(ctx context.Context, p Packages, dir string, told func(install.CopyEvent)) diag.List {
	o, diags := d.wanted(ctx, &p)
	if diags.HasErrors() {
		return diags
	}
	return append(diags, install.Copy(ctx, o, d.Path(dir), p.Platforms, told)...)
}

// restrict leaves only the providers that arguments name, if there are any.
func restrict(reqs install.Requirements, names []string, registry addr.Registry) diag.List {
	var diags diag.List
	chosen := map[addr.Provider]bool{}
	for _, name := range names {
		p, err := registry.ParseProvider(name)
		if err != nil {
			diags.Add(connect.BadConfiguration.As("Invalid provider argument").New(diag.Error, "%q isn't the address of a provider: %s.", name, err))
			continue
		}
		if _, ok := reqs[p]; !ok {
			diags.Add(connect.BadConfiguration.As("Invalid provider argument").New(diag.Error, "The provider %s is not required by the current configuration.", p))
		}
		chosen[p] = true
	}
	for p := range reqs {
		if len(names) > 0 && !chosen[p] {
			delete(reqs, p)
		}
	}
	return diags
}
