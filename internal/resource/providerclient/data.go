package providerclient

import (
	"context"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/lifecycle"
)

// data is what was read of data sources, by provider instance, type, and the hash of the
// arguments.
type data struct {
	mu   sync.Mutex
	read map[question][]*reading
}

type question struct {
	provider addr.ProviderConfig
	typ      string
	hash     int
}

// A reading is one call. The result is there when done is closed.
type reading struct {
	config, meta cty.Value
	done         chan struct{}
	result       cty.Value
	diags        diag.List
}

// ReadOnce reads a data source with a wholly known configuration, and gives those of the
// same type with equal arguments, and with an equal provider_meta, the same answer, as long as
// the pool is there: data sources change nothing, so that nothing is different a moment
// later. Providers that answer by the instance are asked for each.
func (c *Conn) ReadOnce(ctx context.Context, s lifecycle.Subject, config cty.Value) (cty.Value, diag.List) {
	r := &reading{config: config, meta: s.Meta, done: make(chan struct{})}
	if _, each := c.Provider.(provider.ByInstance); !each {
		if other := c.pool.data.join(question{c.Addr, s.Addr.Name.Type, config.Hash()}, r); other != r {
			metrics.Shared.Add(1)
			c.pool.away(func() { <-other.done })
			return other.result, slices.Clone(other.diags)
		}
	}
	defer close(r.done) // also after a panic
	c.Ask(ctx, Read, s.Addr.Name, func() diag.List {
		r.result, _, r.diags = s.ReadData(ctx, config)
		return r.diags
	})
	return r.result, slices.Clone(r.diags)
}

// join returns the reading that asks the same, which is the given one for the first.
func (d *data) join(q question, r *reading) *reading {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, other := range d.read[q] {
		if other.config.RawEquals(r.config) && sameMeta(other.meta, r.meta) {
			return other
		}
	}
	if d.read == nil {
		d.read = map[question][]*reading{}
	}
	d.read[q] = append(d.read[q], r)
	return r
}

func sameMeta(a, b cty.Value) bool {
	if a == cty.NilVal || b == cty.NilVal {
		return a == b
	}
	return a.RawEquals(b)
}
