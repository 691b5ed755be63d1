package install

import (
	"context"
	"maps"
	"slices"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/sys/durable"
)

// A Change says what Lock found out for one provider and platform.
type Change struct {
	Provider addr.Provider
	Platform string
	// New: the provider had no lock before.
	New bool
	// Hashes: there are some that the lock didn't have.
	Hashes bool
}

var platformForm = lazyregexp.New(`^[a-z0-9]+_[a-z0-9]+$`)

// CheckPlatforms reports names of platforms that can't be any.
func CheckPlatforms(platforms []string) diag.List {
	var diags diag.List
	for _, p := range platforms {
		if !platformForm.Get().MatchString(p) {
			diags.Add(BadInstallation.As("Invalid target platform").New(diag.Error, "The string %q given in the -platform option is not a valid target platform: it must be an operating system and an architecture, as in linux_amd64.", p))
		}
	}
	return diags
}

// Lock finds the hashes of the packages for several platforms and returns all
// locks, with those of Options.Requirements completed. Versions that are locked
// stay. Nothing is installed, and Options.Dir isn't used.
//
// The installation methods of the configuration don't count: packages come from
// the registries, or from the one place that is given.
func Lock(ctx context.Context, o Options, from *cliconfig.Method, platforms []string) (*lockfile.Locks, []Change, diag.List) {
	if from == nil {
		from = &cliconfig.Method{Kind: cliconfig.Direct, DownloadRetries: -1}
	}
	o.Config = only(o.Config, *from)
	o.PluginDirs, o.Implied, o.Verified = nil, nil, nil
	locks := o.Locks.Clone()
	var changes []Change
	for _, platform := range platforms {
		found, diags := lockPlatform(ctx, o, locks, platform)
		if diags.HasErrors() {
			return o.Locks, nil, diags
		}
		for _, lock := range found {
			old, had := o.Locks.Get(lock.Provider)
			fresh := slices.ContainsFunc(lock.Hashes, func(hash string) bool { return !slices.Contains(old.Hashes, hash) })
			changes = append(changes, Change{Provider: lock.Provider, Platform: platform, New: !had, Hashes: fresh})
			known, _ := locks.Get(lock.Provider)
			lock.Hashes = slices.Concat(known.Hashes, lock.Hashes)
			locks.Set(lock)
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return a.Provider.Compare(b.Provider) })
	return locks, changes, nil
}

// only is a configuration with one installation method and without a cache.
func only(config *cliconfig.Config, m cliconfig.Method) *cliconfig.Config {
	out := cliconfig.Config{}
	if config != nil {
		out = *config
	}
	out.PluginCacheDir = ""
	out.Installation = &cliconfig.Installation{Methods: []cliconfig.Method{m}}
	return &out
}

// lockPlatform gives the locks as they are for one platform. Hashes that are known don't count
// against packages of a platform whose hashes nobody knows: what the source itself reports
// them does.
func lockPlatform(ctx context.Context, o Options, locks *lockfile.Locks, platform string) ([]lockfile.Lock, diag.List) {
	staging, err := durable.NewScratch("", "weir-providers-lock")
	if err != nil {
		var diags diag.List
		diags.Add(diag.Unwritable.As("Could not create temporary directory").New(diag.Error, "Failed to create a temporary directory for staging the requested provider packages: %s.", err))
		return nil, diags
	}
	defer staging.Remove()
	o.Dir, o.Platform, o.Locks = staging.Path, platform, &lockfile.Locks{}
	for _, lock := range locks.All() {
		lock.Hashes = nil
		o.Locks.Set(lock)
	}
	if tell := o.Events; tell != nil {
		o.Events = func(e Event) {
			e.Platform = platform
			tell(e)
		}
	}
	in, diags := prepare(o)
	if diags.HasErrors() {
		return nil, diags
	}
	providers := slices.DeleteFunc(slices.SortedFunc(maps.Keys(o.Requirements), addr.Provider.Compare), addr.Provider.IsBuiltin)
	results := in.work(ctx, providers)
	if cancelled := interrupted(ctx); cancelled != nil {
		return nil, cancelled
	}
	var out []lockfile.Lock
	for _, r := range results {
		for _, d := range r.diags {
			if d.Severity == diag.Error {
				diags.Add(NotInstalled.As("Could not retrieve providers for locking").New(diag.Error, "The requested providers for %s can't be fetched to calculate their checksums: %s", platform, d.Detail))
			} else {
				diags.Add(d)
			}
		}
		out = append(out, r.lock)
	}
	return out, diags
}
