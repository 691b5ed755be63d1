package providerclient

import (
	"context"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/contract"
	"weir.dev/weir/internal/resource/lifecycle"
)

// A Lease is an open ephemeral resource instance. It renews itself until it
// is closed.
type Lease struct {
	conn    *Conn
	addr    addr.Instance
	private []byte

	stop chan struct{}
	wg   sync.WaitGroup
	mu   sync.Mutex
	errs diag.List
}

// OpenEphemeral opens an instance with a wholly known configuration without
// marks. The value has the schema's implied type, the marks of its sensitive parts, and the
// one of ephemeral values.
func (p *Pool) OpenEphemeral(a addr.Instance, conn *Conn, sch *schema.Schema, config cty.Value) (cty.Value, *Lease, diag.List) {
	var resp provider.OpenResponse
	conn.Ask(p.ctx, Once, a.Name, func() diag.List {
		resp = conn.OpenEphemeral(p.ctx, a.Name.Type, config)
		return resp.Diags
	})
	diags := resp.Diags
	if diags.HasErrors() {
		return cty.DynamicVal, nil, diags
	}
	lease := &Lease{conn: conn, addr: a, private: resp.Private, stop: make(chan struct{})}
	if errs := contract.Conforms(resp.Result, sch.Block.ImpliedType()); resp.Result == cty.NilVal || len(errs) > 0 || !resp.Result.IsWhollyKnown() || resp.Result.IsNull() {
		diags.Add(lifecycle.InvalidObject.New(diag.Error, "Provider %q produced an invalid value for %s.\n\nThis is a bug in the provider, which should be reported in the provider's own issue tracker.", conn.Addr.Provider, a))
		diags.Append(lease.Close())
		return cty.DynamicVal, nil, diags
	}
	if !resp.RenewAt.IsZero() {
		lease.wg.Add(1)
		go lease.renew(p.ctx, resp.RenewAt)
	}
	return sch.Block.MarkSensitive(resp.Result).Mark(value.Ephemeral), lease, diags
}

// renew asks for more time whenever the provider said it has to.
func (l *Lease) renew(ctx context.Context, at time.Time) {
	defer l.wg.Done()
	for !at.IsZero() {
		timer := time.NewTimer(time.Until(at))
		select {
		case <-l.stop:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		resp := l.conn.RenewEphemeral(ctx, l.addr.Name.Type, l.private)
		l.mu.Lock()
		l.errs.Append(resp.Diags.InAddress(l.addr.String()))
		if resp.Private != nil {
			l.private = resp.Private
		}
		l.mu.Unlock()
		if resp.Diags.HasErrors() {
			return
		}
		at = resp.RenewAt
	}
}

// closeTimeout is how long closing may take when the run was cancelled.
const closeTimeout = 10 * time.Second

// Close ends the lease. It works after the run was cancelled too, so that
// nothing stays open.
func (l *Lease) Close() diag.List {
	close(l.stop)
	l.wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return append(l.errs, l.conn.CloseEphemeral(ctx, l.addr.Name.Type, l.private).InAddress(l.addr.String())...)
}
