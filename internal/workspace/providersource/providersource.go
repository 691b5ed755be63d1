// Package providersource finds the providers of an operation: locked, installed, overridden or already
// running. Its catalog exists before the needed providers are known.
//
// It owns that choice. It doesn't use any provider.
package providersource

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/provider/plugin"
	"weir.dev/weir/internal/provider/providerpool"
	"weir.dev/weir/internal/provider/schemacache"
	"weir.dev/weir/internal/workspace/backendinit"
	"weir.dev/weir/internal/workspace/environment"
)

// A Supplier finds the providers of a directory.
type Supplier struct {
	place    *environment.Place
	settings *backendinit.Reader
	common   *Common
	guest    *providerpool.Guest
	stores   *supply // of state stores; nil before one is opened
	// Kept has what operations that follow one another leave to the next; nil for nothing.
	Kept *Kept
	// Shared has what operations in several directories share; nil for nothing.
	Shared *Pool
}

// New has the providers of a directory with these settings.
func New(r *backendinit.Reader) *Supplier { return &Supplier{place: r.Place, settings: r} }

// A supply is where the providers of a run come from: a catalog of all that
// are locked, installed and as they should be.
type supply struct {
	external  map[addr.Provider]bool
	locks     *lockfile.Locks
	verified  *install.Verified
	installed map[addr.Provider]string
	catalog   *plugin.Catalog
	filled    bool // with what is required: the run has come as far as that
	diags     diag.List
	reattach  map[addr.Provider]plugin.Reattach
	overrides map[addr.Provider]string
}

// External are the providers that aren't released ones, as far as the settings can be read.
func (d *Supplier) External() map[addr.Provider]bool {
	config, _, _ := d.place.UserSettings()
	sources, _ := d.ProviderSources(config) // who uses them reports what is wrong
	return sources.External
}

// supplied prepares a supply, and says how to complete it. The rest hashes
// packages, and can be done beside other work; it prints nothing.
func (d *Supplier) supplied() (s *supply, complete func()) {
	s = &supply{}
	config, _, diags := d.place.UserSettings()
	sources, more := d.ProviderSources(config)
	diags.Append(more)
	s.diags, s.external, s.reattach, s.overrides = diags, sources.External, sources.reattach, sources.overrides
	command := d.pluginCommand()
	dir, noted := d.place.Memory().Providers(), filepath.Join(d.place.DataDir(), "verified.json")
	return s, func() {
		var more diag.List
		s.locks, more = d.place.Locks()
		s.diags.Append(more)
		if s.diags.HasErrors() {
			return
		}
		all := install.Requirements{}
		for _, lock := range s.locks.All() {
			all[lock.Provider] = []install.Requirement{{Constraint: lock.Version.String()}} // others leave out prereleases
		}
		s.verified = install.ReadVerified(noted)
		// Problems count when it is known what is needed.
		s.installed, _ = install.Locate(dir, s.locks, all, s.external, s.verified)
		s.catalog = plugin.NewCatalog(plugin.Sources{
			Builtins:  d.inside(),
			Reattach:  sources.reattach,
			Overrides: sources.overrides,
			Installed: s.installed,
		}, command)
		s.catalog.Remember(d.schemaMemory(s))
	}
}

// Warm starts providers while the configuration is loaded: those that are locked and
// that the last run had something to do for. The others are started when they are asked
// for something; what they declare is mostly known without that.
func (d *Supplier) Warm(ctx context.Context, c *Late) {
	s, complete := d.supplied()
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		complete()
		if s.catalog == nil || d.Shared != nil || d.Kept.lends(d, s, c) {
			return
		}
		s.catalog.Warm(ctx, d.expected(s.installed))
	}()
	c.early = func() *supply {
		<-ready
		return s
	}
	d.place.OnClose(func() {
		s := c.early()
		if s.catalog == nil {
			return
		}
		s.catalog.Close()
		if s.filled && len(s.installed) > 0 {
			d.expect(s.catalog.Asked())
		}
	})
}

// Fill fills the catalog with the providers that are required, and ends
// others that were started ahead. Without a lock file only built-in providers
// can be used.
func (d *Supplier) Fill(c *Late, reqs install.Requirements) diag.List {
	_, diags := d.fill(c, reqs)
	return diags
}

// FillFound is Fill with those that are installed. It returns the others: asking for
// one of them fails with provider.Absent.
func (d *Supplier) FillFound(c *Late, reqs install.Requirements) ([]addr.Provider, diag.List) {
	s, diags := d.fill(c, reqs)
	if s == nil || s.catalog == nil {
		return nil, diags
	}
	some := found{Catalog: s.catalog, absent: map[addr.Provider]bool{}}
	there, _ := install.Locate(d.place.Memory().Providers(), s.locks, reqs, s.external, s.verified)
	var list []addr.Provider
	for _, p := range slices.SortedFunc(maps.Keys(reqs), addr.Provider.Compare) {
		if there[p] == "" && !p.IsBuiltin() && !s.external[p] {
			some.absent[p] = true
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil, diags
	}
	c.set(some)
	return list, s.diags
}

// CheckLocks compares the lock file with what a configuration allows.
func (d *Supplier) CheckLocks(reqs install.Requirements) diag.List {
	locks, diags := d.place.Locks()
	if diags.HasErrors() {
		return diags
	}
	return append(diags, install.CheckLocks(locks, reqs, d.External())...)
}

// FillDeclared is FillFound for commands that only use schemas: no provider is started to
// check a configuration.
func (d *Supplier) FillDeclared(c *Late, reqs install.Requirements) ([]addr.Provider, diag.List) {
	absent, diags := d.FillFound(c, reqs)
	if inner, none := c.get(); none == nil {
		c.set(provider.Declared{Catalog: inner})
	}
	return absent, diags
}

// found are the providers of a catalog that are there.
type found struct {
	provider.Catalog
	absent map[addr.Provider]bool
}

func (f found) problem(p addr.Provider) diag.List {
	return diag.List{provider.Absent.New(diag.Error, "The provider %s isn't installed.", p)}
}

// Schemas implements provider.Catalog.
func (f found) Schemas(ctx context.Context, p addr.Provider) (*provider.Schemas, diag.List) {
	if f.absent[p] {
		return nil, f.problem(p)
	}
	return f.Catalog.Schemas(ctx, p)
}

// Start implements provider.Catalog.
func (f found) Start(ctx context.Context, p addr.Provider) (provider.Provider, diag.List) {
	if f.absent[p] {
		return nil, f.problem(p)
	}
	return f.Catalog.Start(ctx, p)
}

func (d *Supplier) fill(c *Late, reqs install.Requirements) (*supply, diag.List) {
	if d.place.Catalog != nil {
		c.set(d.place.Catalog)
		return nil, nil
	}
	if d.common != nil {
		return d.common.fill(d, c, reqs)
	}
	var s *supply
	if c.early != nil {
		s = c.early()
	} else {
		var complete func()
		s, complete = d.supplied()
		complete()
		if s.catalog != nil {
			d.place.OnClose(func() { s.catalog.Close() })
		}
	}
	diags := s.diags
	if s.catalog == nil {
		return s, diags
	}
	_, more := install.Locate(d.place.Memory().Providers(), s.locks, reqs, s.external, s.verified)
	s.verified.Save()
	diags.Append(more)
	s.catalog.Release(func(p addr.Provider) bool {
		_, needed := reqs[p]
		return needed
	})
	if d.Shared != nil {
		c.set(pooled{s.catalog, d.Shared, d, s})
		return s, diags
	}
	if d.Kept.lends(d, s, c) {
		c.set(d.Kept.lend(d, s))
		return s, diags
	}
	if c.guard != nil {
		s.catalog.Guard(c.guard)
	}
	c.set(s.catalog)
	s.filled = true
	return s, diags
}

// A schemaMemory has the schemas of installed packages by their hash, and by the
// switches in the environment: some providers declare more where one asks them to.
type schemaMemory struct {
	cache    schemacache.Cache
	supply   *supply
	switches string
}

// schemaMemory is where schemas are kept: in the user's directory of caches, for all
// configurations, or without one with the data of this one.
func (d *Supplier) schemaMemory(s *supply) schemaMemory {
	dir := d.place.Environ["XDG_CACHE_HOME"]
	if home := cmp.Or(d.place.Environ["HOME"], d.place.Home); !filepath.IsAbs(dir) && home != "" {
		dir = filepath.Join(home, ".cache")
	}
	if dir = filepath.Join(dir, "weir"); !filepath.IsAbs(dir) {
		dir = d.place.DataDir()
	}
	return schemaMemory{schemacache.Cache{Dir: filepath.Join(dir, "schemas")}, s, switches(d.place.Environ)}
}

// switches are the variables of an environment that turn something on or off, but
// for those of the shell and those that providers aren't given to read.
func switches(environ map[string]string) string {
	var on []string
	for name, value := range environ {
		if _, err := strconv.ParseBool(value); err == nil && name != "SHLVL" && !strings.HasPrefix(name, "TF_VAR_") {
			on = append(on, name+"="+value)
		}
	}
	slices.Sort(on)
	return strings.Join(on, " ")
}

// key is what reports whether a provider would declare the same again; programs that may
// change from one moment to the next have none.
func (m schemaMemory) key(p addr.Provider) (string, bool) {
	path, ok := m.supply.installed[p]
	if !ok || m.supply.external[p] {
		return "", false
	}
	hash, err := m.supply.verified.Hash(filepath.Dir(path))
	return strings.Join([]string{hash, m.switches}, " "), err == nil
}

// Load implements plugin.Memory.
func (m schemaMemory) Load(p addr.Provider) ([]byte, bool) {
	key, ok := m.key(p)
	if !ok {
		return nil, false
	}
	return m.cache.Load(key)
}

// Store implements plugin.Memory.
func (m schemaMemory) Store(p addr.Provider, data []byte) {
	if key, ok := m.key(p); ok {
		m.cache.Store(key, data)
	}
}
