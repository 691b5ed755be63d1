package providersource

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin"
	"weir.dev/weir/internal/provider/providerpool"
)

// mostKept is how many processes of providers go on between operations.
const mostKept = 16

// Decoded are schemas that several directories share.
type Decoded = plugin.Decoded

// Kept has schemas of providers and their processes, configured as they are, for
// operations in one directory that follow one another. An operation gets the same results as without sharing: other packages, another lock file, directory or environment
// have the processes end and others start. The zero value is empty.
type Kept struct {
	// Decoded shares schemas with other directories; nil doesn't.
	Decoded *Decoded

	mu      sync.Mutex
	made    string // from what the rest was made
	keeper  *providerpool.Keeper
	catalog *plugin.Catalog
}

// Close ends the processes.
func (k *Kept) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.close()
}

// Shrink ends processes until there are no more than that, as far as nobody has them, and returns
// how many are left.
func (k *Kept) Shrink(most int) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keeper == nil {
		return 0
	}
	return k.keeper.Shrink(most)
}

func (k *Kept) close() {
	if k.keeper != nil {
		k.keeper.Close()
		k.catalog.Close()
	}
	k.keeper, k.catalog, k.made = nil, nil, ""
}

// lends reports whether the providers of a supply may be those that are kept: not where
// they can be others from one moment to the next, or log to somewhere of this run.
func (k *Kept) lends(d *Supplier, s *supply, c *Late) bool {
	return k != nil && s.catalog != nil && c.guard == nil && len(s.reattach)+len(s.overrides) == 0 &&
		d.place.Environ["TF_LOG"]+d.place.Environ["TF_LOG_PROVIDER"] == ""
}

// lend is the catalog of an operation: what is kept, if it was made from the same.
func (k *Kept) lend(d *Supplier, s *supply) provider.Catalog {
	k.mu.Lock()
	defer k.mu.Unlock()
	made, err := d.made(s)
	if err != nil {
		return s.catalog
	}
	if k.made != made {
		k.close()
		k.catalog = plugin.NewCatalog(plugin.Sources{Installed: s.installed}, d.pluginCommand())
		k.catalog.Remember(d.schemaMemory(s))
		k.catalog.Share(k.Decoded)
		k.keeper, k.made = providerpool.New(k.catalog, mostKept), made
	}
	if d.guest == nil {
		d.guest = k.keeper.Enter(func(addr.Provider) bool { return false })
		d.place.OnClose(d.guest.Leave)
	}
	return partly{own: s.catalog, kept: d.guest, installed: s.installed}
}

// made is everything that processes of providers are made from.
func (d *Supplier) made(s *supply) (string, error) {
	dir, err := filepath.Abs(d.place.Path("."))
	if err != nil {
		return "", err
	}
	all := []string{dir, d.place.Dialect.String()}
	for p, path := range s.installed {
		hash, err := s.verified.Hash(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		all = append(all, p.String()+" "+path+" "+hash)
	}
	slices.Sort(all)
	for _, variable := range d.place.Environment() { // in order
		if name, _, _ := strings.Cut(variable, "="); name != "_" && name != "SHLVL" && name != "OLDPWD" {
			all = append(all, variable)
		}
	}
	return strings.Join(all, "\x00"), nil
}

// partly is a catalog of which the packages are kept, and the rest is of one operation.
type partly struct {
	own       provider.Catalog
	kept      *providerpool.Guest
	installed map[addr.Provider]string
}

func (c partly) of(p addr.Provider) provider.Catalog {
	if c.installed[p] != "" {
		return c.kept
	}
	return c.own
}

// Schemas implements provider.Catalog.
func (c partly) Schemas(ctx context.Context, p addr.Provider) (*provider.Schemas, diag.List) {
	return c.of(p).Schemas(ctx, p)
}

// Start implements provider.Catalog.
func (c partly) Start(ctx context.Context, p addr.Provider) (provider.Provider, diag.List) {
	return c.of(p).Start(ctx, p)
}
