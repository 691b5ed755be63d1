package providersource

import (
	"context"
	"path/filepath"
	"slices"
	"sync"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin"
	"weir.dev/weir/internal/provider/providerpool"
)

// mostIdle is how many processes of a provider wait for the next directory.
const mostIdle = 16

// A Pool shares providers between operations in several directories: schemas for equal packages, and
// processes for equal configurations. A process reads relative paths from its working
// directory, so operations in different directories share only those of the given providers.
type Pool struct {
	command  plugin.Command
	anywhere map[addr.Provider]bool

	mu       sync.Mutex
	packages map[string]*plugin.Catalog
	keepers  map[string]*providerpool.Keeper
	end      []func()
}

// Pool is a pool that starts processes as in this directory. The caller closes it. Processes of the
// providers that are anywhere at home serve all directories.
func (d *Supplier) Pool(anywhere map[addr.Provider]bool) *Pool {
	return &Pool{command: d.pluginCommand(), anywhere: anywhere, packages: map[string]*plugin.Catalog{}, keepers: map[string]*providerpool.Keeper{}}
}

// Close ends the processes.
func (p *Pool) Close() {
	for _, end := range slices.Backward(p.end) {
		end()
	}
}

// pooled is a catalog of which the packages are in a pool.
type pooled struct {
	provider.Catalog // of the rest
	pool             *Pool
	of               *Supplier
	supply           *supply
}

// at is what a package is, "" for providers that aren't in packages.
func (c pooled) at(p addr.Provider) string {
	path := c.supply.installed[p]
	if path == "" || c.supply.external[p] {
		return ""
	}
	hash, err := c.supply.verified.Hash(filepath.Dir(path))
	if err != nil {
		return ""
	}
	return p.String() + " " + hash
}

// catalog is that of a package. Its processes start where the pool is.
func (c pooled) catalog(p addr.Provider, key string) *plugin.Catalog {
	k := c.pool.packages[key]
	if k == nil {
		k = plugin.NewCatalog(plugin.Sources{Installed: map[addr.Provider]string{p: c.supply.installed[p]}}, c.pool.command)
		k.Remember(c.of.schemaMemory(c.supply))
		c.pool.packages[key] = k
		c.pool.end = append(c.pool.end, func() { k.Close() })
	}
	return k
}

// keeper has the processes of a package for a directory.
func (c pooled) keeper(p addr.Provider, key string) *providerpool.Keeper {
	from, most := c.catalog(p, key), mostIdle
	if !c.pool.anywhere[p] {
		key, most = key+" "+c.of.place.Dir, 0
	}
	k := c.pool.keepers[key]
	if k == nil {
		if !c.pool.anywhere[p] {
			from = from.In(c.of.place.ProcessDir())
			c.pool.end = append(c.pool.end, func() { from.Close() })
		}
		k = providerpool.NewSpare(from, most)
		c.pool.keepers[key] = k
		c.pool.end = append(c.pool.end, k.Close)
	}
	return k
}

// Schemas implements provider.Catalog.
func (c pooled) Schemas(ctx context.Context, p addr.Provider) (*provider.Schemas, diag.List) {
	key := c.at(p)
	if key == "" {
		return c.Catalog.Schemas(ctx, p)
	}
	c.pool.mu.Lock()
	k := c.catalog(p, key)
	c.pool.mu.Unlock()
	return k.Schemas(ctx, p)
}

// Start implements provider.Catalog.
func (c pooled) Start(ctx context.Context, p addr.Provider) (provider.Provider, diag.List) {
	key := c.at(p)
	if key == "" {
		return c.Catalog.Start(ctx, p)
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	return c.keeper(p, key).Lend(p), nil
}
