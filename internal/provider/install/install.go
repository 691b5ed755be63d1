// Package install installs provider packages. It chooses versions, fetches packages from
// mirrors and registries, checks them against the lock file, and reports to later commands
// what is installed.
//
// It doesn't run providers, to read configurations or write the lock file, which the caller
// does with the locks that it gets back. It prints nothing: progress is reported as events, in
// the order of the providers.
package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/net/ociregistry"
	"weir.dev/weir/internal/net/sameorigin"
	contract "weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/provider/version"
)

// Platform is OS_ARCH of the running program.
const Platform = runtime.GOOS + "_" + runtime.GOARCH

// Requirements has the providers that a configuration and its state need,
// with all constraints on each; a provider may have none.
type Requirements map[addr.Provider][]Requirement

// A Requirement is one version constraint as it is written. Range is nil
// when it isn't from a file.
type Requirement struct {
	Constraint string
	Range      *hcl.Range
}

// Tokens gives the bearer token for a host, or an empty one.
type Tokens interface {
	Token(ctx context.Context, host string) (string, error)
}

// Options say what to install, from where, and where to.
type Options struct {
	// Dir is the directory with the packages in use: .terraform/providers.
	Dir          string
	Locks        *lockfile.Locks
	Requirements Requirements
	// Verified saves hashing packages that didn't change; nil hashes all.
	Verified *Verified

	Config *cliconfig.Config
	Tokens Tokens // nil for none
	// Login finds who asks a registry of the OCI; nil for anybody.
	Login func(ctx context.Context, from ociregistry.Repository) (ociregistry.Login, error)
	// Netrc finds who asks the host of a package and of its checksums; nil for anybody.
	Netrc func(host string) (user, password string, ok bool)
	// PluginDirs, when set, are the only places to look at.
	PluginDirs []string
	// Implied are mirrors that count where the configuration names no
	// installation methods.
	Implied []string
	// Registry is where addresses without a host are.
	Registry addr.Registry

	Upgrade bool
	// Builtin providers are part of the engine; External ones are run by
	// somebody else or are under development, and aren't installed.
	Builtin  map[addr.Provider]bool
	External map[addr.Provider]bool

	// HTTP is nil for the default client. Platform is empty for the own one.
	HTTP     *http.Client
	Platform string
	// Silence is for how long a server of packages may do nothing; 0 is no limit.
	Silence time.Duration
	// Events gets the progress, one at a time; nil for nobody.
	Events func(Event)
}

// An installer is one run of Install.
type installer struct {
	Options
	places      []place
	constraints map[addr.Provider]version.Constraints
	locks       *lockfile.Locks
}

// A result is what became of one provider.
type result struct {
	version    version.Version
	lock       lockfile.Lock
	inPlace    bool // the package is installed and fits the lock
	incomplete bool // the lock has hashes for this platform only
	diags      diag.List
}

// Install makes all required packages available and returns the locks that
// describe them: those for Options.Requirements, and no others. Locks of
// external providers are kept. With errors, the locks aren't to be saved.
func Install(ctx context.Context, o Options) (*lockfile.Locks, diag.List) {
	in, diags := prepare(o)
	if diags.HasErrors() {
		return o.Locks, diags
	}
	in.send(Event{Kind: Initializing})
	providers := in.toInstall(&diags)
	results := in.work(ctx, providers)
	if cancelled := interrupted(ctx); cancelled != nil {
		return o.Locks, cancelled
	}
	in.finish(providers, results, &diags)
	return in.locks, diags
}

// prepare makes an installer that knows the constraints and where to look.
func prepare(o Options) (*installer, diag.List) {
	in := &installer{Options: o, locks: o.Locks.Clone(), constraints: make(map[addr.Provider]version.Constraints)}
	if in.Platform == "" {
		in.Platform = Platform
	}
	if in.HTTP == nil {
		in.HTTP = http.DefaultClient
	}
	in.HTTP = sameorigin.Follow(in.HTTP)
	if in.Config == nil {
		in.Config = &cliconfig.Config{}
	}
	diags := in.readRequirements()
	places, err := in.findPlaces()
	if err != nil {
		diags.Add(BadInstallation.New(diag.Error, "%s.", err))
	}
	in.places = places
	return in, diags
}

// work chooses all versions, and then puts the packages in place.
func (in *installer) work(ctx context.Context, providers []addr.Provider) []result {
	results := make([]result, len(providers))
	in.inOrder(providers, func(i int, p addr.Provider, emit func(Event)) {
		in.choose(ctx, p, &results[i], emit)
	})
	in.inOrder(providers, func(i int, p addr.Provider, emit func(Event)) {
		if !results[i].diags.HasErrors() {
			in.provide(ctx, p, &results[i], emit)
		}
	})
	return results
}

// interrupted reports that the caller gave up.
func interrupted(ctx context.Context) diag.List {
	var cancelled diag.List
	if err := ctx.Err(); err != nil {
		cancelled.Add(diag.Interrupted.As("Provider installation was interrupted").New(diag.Error, "The installation of providers was cancelled before it was complete: %s.", err))
	}
	return cancelled
}

func (in *installer) send(e Event) {
	if in.Events != nil {
		in.Events(e)
	}
}

func (in *installer) readRequirements() diag.List {
	var diags diag.List
	for p, reqs := range in.Requirements {
		all, problems := parseAll(p, reqs)
		in.constraints[p] = all
		diags.Append(problems)
	}
	slices.SortStableFunc(diags, func(a, b diag.Diagnostic) int { return strings.Compare(a.String(), b.String()) })
	return diags
}

func parseAll(p addr.Provider, reqs []Requirement) (version.Constraints, diag.List) {
	var all version.Constraints
	var diags diag.List
	for _, r := range reqs {
		c, err := version.ParseConstraints(r.Constraint)
		if err != nil {
			diags.Add(diag.Diagnostic{Code: diag.BadVersion.Name, Summary: "Invalid provider version constraint",
				Detail: fmt.Sprintf("The constraint on %s is invalid: %s.", p.ForDisplay(), err), Subject: r.Range})
			continue
		}
		all = all.And(c)
	}
	return all, diags
}

// toInstall checks built-in providers and lists the rest that is to be
// installed, in order.
func (in *installer) toInstall(diags *diag.List) []addr.Provider {
	var out []addr.Provider
	for _, p := range slices.SortedFunc(maps.Keys(in.Requirements), addr.Provider.Compare) {
		switch {
		case p.IsBuiltin():
			const summary = "Invalid dependency on built-in provider"
			if !in.Builtin[p] {
				diags.Add(NotFound.As(summary).New(diag.Error, "Cannot use %s: there is no built-in provider named %q.", p, p.Type))
			} else if !in.constraints[p].Empty() {
				diags.Add(NotFound.As(summary).New(diag.Error, "Cannot use %s: built-in providers do not support explicit version constraints.", p))
			} else {
				in.send(Event{Kind: BuiltinAvailable, Provider: p})
			}
		case !in.External[p]:
			out = append(out, p)
		}
	}
	return out
}

// choose finds the version to install.
func (in *installer) choose(ctx context.Context, p addr.Provider, r *result, emit func(Event)) {
	constraints := in.constraints[p]
	allowed := constraints.Allowed()
	lock, locked := in.locks.Get(p)
	locked = locked && !in.Upgrade
	switch {
	case locked:
		r.version = lock.Version
		emit(Event{Kind: Reusing, Provider: p, Version: lock.Version.String(), Constraints: constraints.String()})
		if !allowed.Has(lock.Version) {
			r.diags.Add(NotFound.As("Failed to resolve provider packages").New(diag.Error, "Could not resolve provider %s: locked provider %s %s does not match configured version constraint %s; must use %s to allow selection of new versions",
				in.Registry.Display(p), p, lock.Version, constraints, diag.Run("init", "-upgrade")))
			return
		}
		// Anything that is there and fits the lock needs nobody to be asked.
		r.inPlace = in.fits(in.target(p, lock.Version), lock)
		if r.inPlace || in.cached(p, lock) {
			return
		}
		allowed = versions.Only(lock.Version)
	case constraints.Empty():
		emit(Event{Kind: FindingLatest, Provider: p})
	default:
		emit(Event{Kind: FindingMatching, Provider: p, Constraints: constraints.String()})
	}
	available, warnings, err := in.versions(ctx, p)
	if len(warnings) > 0 {
		r.diags.Add(diag.Diagnostic{Severity: diag.Warning, Code: contract.Reported.Name, Summary: "Additional provider information from registry",
			Detail: fmt.Sprintf("The remote registry returned warnings for %s:\n- %s", p, strings.Join(warnings, "\n- "))})
	}
	if err != nil {
		r.diags.Append(in.queryFailed(p, err))
		return
	}
	newest, ok := version.Newest(available, allowed)
	switch {
	case ok:
		r.version = newest
	case locked:
		r.diags.Add(NotFound.As("Failed to resolve provider packages").New(diag.Error, "Could not resolve provider %s: the previously-selected version %s is no longer available. Run %s to select another.", in.Registry.Display(p), lock.Version, diag.Run("init", "-upgrade")))
	default:
		r.diags.Add(NotFound.As("Failed to resolve provider packages").New(diag.Error, "Could not resolve provider %s: no available releases match the given constraints %s.%s %s shows which modules ask for what.", in.Registry.Display(p), constraints, offered(available), diag.Run("providers", "")))
	}
}

// mostOffered is how many versions are listed.
const mostOffered = 5

// offered is a sentence about the versions that can be had, the newest first.
func offered(available []version.Version) string {
	if len(available) == 0 {
		return ""
	}
	list := slices.Clone(available)
	slices.SortFunc(list, func(a, b version.Version) int {
		switch {
		case b.LessThan(a):
			return -1
		case a.LessThan(b):
			return 1
		}
		return 0
	})
	var names []string
	for _, v := range list[:min(len(list), mostOffered)] {
		names = append(names, v.String())
	}
	if n := len(list) - len(names); n > 0 {
		names = append(names, fmt.Sprintf("and %d older ones", n))
	}
	return " The available versions are " + strings.Join(names, ", ") + "."
}

// notFound: none of the places knows the provider.
type notFound struct {
	provider addr.Provider
	places   []string
}

func (e notFound) Error() string {
	if len(e.places) == 0 {
		return fmt.Sprintf("provider %s can't come from any of the configured installation methods: see their include and exclude arguments", e.provider)
	}
	return fmt.Sprintf("provider %s was not found in any of the search locations\n\n  - %s", e.provider, strings.Join(e.places, "\n  - "))
}

// notForPlatform: the places that know the provider have it for others.
type notForPlatform struct {
	provider addr.Provider
	platform string
	places   []string
}

func (e notForPlatform) Error() string {
	return fmt.Sprintf("provider %s is there for other platforms, but not for %s\n\n  - %s", e.provider, e.platform, strings.Join(e.places, "\n  - "))
}

// noRegistry: the host of a provider has no registry of providers.
type noRegistry struct{ host string }

func (e noRegistry) Error() string { return "host " + e.host + " offers no provider registry" }

func (in *installer) queryFailed(p addr.Provider, err error) diag.List {
	var diags diag.List
	var unknown notFound
	var host noRegistry
	switch {
	case errors.As(err, &unknown):
		advice := diag.Say("Check the source in required_providers. To see which modules need the provider, run:\n    %s", diag.Run("providers", ""))
		if alternative := in.alternative(p); alternative != p {
			advice = diag.Say("Did you intend to use %s? If so, name it as the source in required_providers of each module that needs it.", in.Registry.Display(alternative))
		}
		diags.Add(NotFound.New(diag.Error, "Could not retrieve the list of available versions for provider %s: %s\n\n%s", in.Registry.Display(p), err, advice))
	case errors.As(err, &host):
		diags.Add(BadInstallation.As("Invalid provider registry host").New(diag.Error, "The host %q given in provider source address %q does not offer a provider registry.", host.host, p))
	default:
		diags.Add(NotFound.New(diag.Error, "Could not retrieve the list of available versions for provider %s: %s", in.Registry.Display(p), err))
	}
	return diags
}

// alternative is a required provider of the same type in another namespace,
// when the given one may just be what its local name stood for.
func (in *installer) alternative(p addr.Provider) addr.Provider {
	if p != in.Registry.Provider(p.Type) {
		return p
	}
	for _, other := range slices.SortedFunc(maps.Keys(in.Requirements), addr.Provider.Compare) {
		if other.Type == p.Type && other != p && !other.IsBuiltin() {
			return other
		}
	}
	return p
}

// target is where a package in use is.
func (in *installer) target(p addr.Provider, v version.Version) string {
	return packageDir(in.Dir, p, v, in.Platform)
}

func packageDir(base string, p addr.Provider, v version.Version, platform string) string {
	return filepath.Join(base, p.Host, p.Namespace, p.Type, v.String(), platform)
}

// fits reports whether a package is there and has a hash of the lock.
func (in *installer) fits(dir string, lock lockfile.Lock) bool {
	if len(lock.Hashes) == 0 {
		return false
	}
	if _, err := Executable(dir, lock.Provider); err != nil {
		return false
	}
	hash, err := in.Verified.hash(dir)
	return err == nil && slices.Contains(lock.Hashes, hash)
}

// cached reports whether the shared cache has the locked package.
func (in *installer) cached(p addr.Provider, lock lockfile.Lock) bool {
	cache := in.Config.PluginCacheDir
	return cache != "" && in.fits(packageDir(cache, p, lock.Version, in.Platform), lock)
}

// finish makes the locks and reports what changed.
func (in *installer) finish(providers []addr.Provider, results []result, diags *diag.List) {
	var incomplete []string
	for i, p := range providers {
		diags.Append(results[i].diags)
		if results[i].lock.Provider == p {
			in.locks.Set(results[i].lock)
		}
		if results[i].incomplete {
			incomplete = append(incomplete, in.Registry.Display(p))
		}
	}
	for _, lock := range in.locks.All() {
		if _, needed := in.Requirements[lock.Provider]; !needed {
			in.locks.Remove(lock.Provider)
		}
	}
	if diags.HasErrors() || in.locks.SamePackages(in.Options.Locks) {
		return
	}
	if len(incomplete) > 0 {
		diags.Add(Incomplete.New(diag.Warning, "The configured installation methods tell no checksums for other platforms, so those of the following providers were calculated for %s alone:\n  - %s\n\n"+
			"On another platform these providers will fail to install. To add its checksums to %s, run:\n  %s\n(where linux_amd64 is the platform to add)",
			in.Platform, strings.Join(incomplete, "\n  - "), lockfile.Name, diag.Run("providers lock", "-platform=linux_amd64")))
	}
}

// Followed reports the providers whose versions come from the entry that the lock file has for
// the same provider of the other registry.
func Followed(adopted []addr.Provider, locks *lockfile.Locks) diag.List {
	var lines []string
	for _, p := range adopted {
		if _, ok := locks.Get(p); ok {
			from := p
			from.Host = string(addr.Registry(p.Host).Other())
			lines = append(lines, fmt.Sprintf("  - %s => %s", from, p))
		}
	}
	if lines == nil {
		return nil
	}
	return append(diag.List{}, LockChanges.As("Dependency lock file entries automatically updated").New(diag.Warning, "The dependency lock file was written for another registry, and follows to this one:\n%s\n\nThe versions are the same. The checksums are new, because the registries don't have the same packages.", strings.Join(lines, "\n")))
}

// ReadOnly is what -lockfile=readonly has to say about new locks, which the
// caller then doesn't write: it is an error when the providers differ.
func ReadOnly(old, new *lockfile.Locks) diag.List {
	var diags diag.List
	switch {
	case !old.SameProviders(new):
		diags.Add(LockChanges.New(diag.Error, "Changes to the required provider dependencies were detected, but the lock file is read-only. To use and record these requirements, run \"%s\" without the \"-lockfile=readonly\" flag.", diag.Run("init", "")))
	case !old.SamePackages(new):
		diags.Add(LockChanges.As("Provider lock file not updated").New(diag.Warning, "Changes to the provider selections were detected, but not saved in the .terraform.lock.hcl file. To record these selections, run \"%s\" without the \"-lockfile=readonly\" flag.", diag.Run("init", "")))
	}
	return diags
}
