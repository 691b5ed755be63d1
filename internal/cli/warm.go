package cli

import (
	"maps"
	"path/filepath"
	"slices"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/provider/builtin"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/provider/plugin"
)

// A supply is where the providers of a run come from: a catalog of all that
// are locked, installed and as they should be.
type supply struct {
	external  map[addr.Provider]bool
	locks     *lockfile.Locks
	verified  *install.Verified
	installed map[addr.Provider]string
	catalog   *plugin.Catalog
	diags     diag.List
}

// supplied prepares a supply, and says how to complete it. The rest hashes
// packages, and can be done beside other work; it prints nothing.
func (e *env) supplied() (s *supply, complete func()) {
	s = &supply{}
	config, _, diags := e.settings()
	sources, more := e.providerSources(config)
	diags.Append(more)
	diags.Append(overrideWarning(sources))
	s.diags, s.external = diags, sources.external
	command := e.pluginCommand()
	dir, noted := e.dir().Providers(), filepath.Join(e.dataDir(), "verified.json")
	return s, func() {
		var more diag.List
		s.locks, more = lockfile.Read(lockfile.Name)
		s.diags.Append(more)
		if s.diags.HasErrors() {
			return
		}
		all := install.Requirements{}
		for _, lock := range s.locks.All() {
			all[lock.Provider] = nil
		}
		s.verified = install.ReadVerified(noted)
		// Problems count when it is known what is needed.
		s.installed, _ = install.Locate(dir, s.locks, all, s.external, s.verified)
		s.catalog = plugin.NewCatalog(plugin.Sources{
			Builtins:  map[addr.Provider]plugin.Builtin{builtin.Address: e.builtin},
			Reattach:  sources.reattach,
			Overrides: sources.overrides,
			Installed: s.installed,
		}, command)
	}
}

// warm starts the providers that are locked while the configuration is loaded,
// since they are those that the configuration needed when it was initialized.
func (e *env) warm(c *lateCatalog) {
	s, complete := e.supplied()
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		complete()
		if s.catalog == nil {
			return
		}
		s.catalog.Warm(slices.SortedFunc(maps.Keys(s.installed), addr.Provider.Compare))
	}()
	c.early = func() *supply {
		<-ready
		return s
	}
	e.onClose(func() {
		if catalog := c.early().catalog; catalog != nil {
			catalog.Close()
		}
	})
}

// provide fills the catalog with the providers that are required, and ends
// others that were started ahead. Without a lock file only built-in providers
// can be used.
func (e *env) provide(c *lateCatalog, reqs install.Requirements) diag.List {
	var s *supply
	if c.early != nil {
		s = c.early()
	} else {
		var complete func()
		s, complete = e.supplied()
		complete()
		if s.catalog != nil {
			e.onClose(func() { s.catalog.Close() })
		}
	}
	diags := s.diags
	if s.catalog == nil {
		return diags
	}
	_, more := install.Locate(e.dir().Providers(), s.locks, reqs, s.external, s.verified)
	s.verified.Save()
	diags.Append(more)
	s.catalog.Release(func(p addr.Provider) bool {
		_, needed := reqs[p]
		return needed
	})
	c.mu.Lock()
	c.inner = s.catalog
	c.mu.Unlock()
	return diags
}
