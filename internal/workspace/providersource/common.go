package providersource

import (
	"slices"
	"sync"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/provider/providerpool"
)

// A Common supply is for several operations in the same directory at once: they share
// the schemas of providers, and the processes of those that they configure alike.
type Common struct {
	base  *Supplier
	limit int

	mu     sync.Mutex
	supply *supply
	keeper *providerpool.Keeper
}

// Common is a supply for several operations, with at most as many processes of
// providers as the limit says, but for those that one operation needs by itself. The
// directory closes it.
func (d *Supplier) Common(limit int) *Common { return &Common{base: d, limit: limit} }

// Join has the operations of a directory take their providers from there.
func (d *Supplier) Join(c *Common) { d.common = c }

// fill is Supplier.fill for one of the operations.
func (c *Common) fill(d *Supplier, late *Late, reqs install.Requirements) (*supply, diag.List) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.supply == nil {
		s, complete := c.base.supplied()
		complete()
		c.supply = s
		if s.catalog != nil {
			c.keeper = providerpool.New(s.catalog, c.limit)
			c.base.place.OnClose(func() {
				c.keeper.Close()
				s.catalog.Close()
			})
		}
	}
	if c.keeper == nil {
		return c.supply, c.supply.diags
	}
	diags := slices.Clone(c.supply.diags)
	_, more := install.Locate(d.place.Memory().Providers(), c.supply.locks, reqs, c.supply.external, c.supply.verified)
	c.supply.verified.Save()
	diags.Append(more)
	if d.guest == nil {
		inside := d.inside()
		d.guest = c.keeper.Enter(func(p addr.Provider) bool { return inside[p] != nil })
		d.place.OnClose(d.guest.Leave)
	}
	late.set(d.guest)
	return c.supply, diags
}
