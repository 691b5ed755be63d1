package planner

import (
	"context"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/resourceconfig"
)

// calls are the providers of a plan, and how their answers are reported.
type calls struct {
	ctx  context.Context
	pool *providerclient.Pool
	tree *program.Tree
	sink event.Sink // nil for none
}

// tell sends an event.
func (c *calls) tell(e event.Event) {
	if c.sink != nil {
		c.sink(e)
	}
}

// open finds the provider and the schema of an instance.
func (c *calls) open(t *promise.Task, i *eval.Instance) (o instance.Opened, ok bool) {
	pi, ok := i.Provider(t)
	if !ok {
		return o, false
	}
	conn := c.pool.Open(t, pi)
	if conn == nil {
		return o, false
	}
	return instance.Open(t, i, conn)
}

// configure evaluates the configuration of an instance, and has the provider validate it.
func (c *calls) configure(t *promise.Task, o *instance.Opened) (resourceconfig.Config, bool) {
	config, ok := resourceconfig.Configure(t, o.Instance, o.Subject.Schema)
	if !ok {
		return config, false
	}
	var diags diag.List
	o.Conn.Call(o.Addr.Name, func() {
		diags = o.Conn.ValidateResource(c.ctx, o.Addr.Name.Mode, o.Addr.Name.Type, config.Value)
	})
	return config, t.Report(c.locate(o, diags)...)
}

// locate puts a provider's problems where the configuration is: that of the
// instance, or of the resource which has others.
func (c *calls) locate(o *instance.Opened, diags diag.List) diag.List {
	if len(diags) == 0 {
		return nil
	}
	if o.Instance == nil && o.Addr.Deposed == "" {
		if t := c.tree.At(o.Addr.Module); t != nil {
			if res := t.Program.ResourceByName[o.Addr.Name]; res != nil {
				return providerclient.Locate(diags, res.Config, o.Addr.Instance.String())
			}
		}
	}
	return o.Locate(diags)
}

// A leased is an ephemeral resource instance that planning has opened.
type leased struct {
	addr  addr.Object
	lease *providerclient.Lease
}

// close closes what planning has opened, the last first, and returns the problems.
func (c *calls) close(leases []leased) (diags diag.List) {
	for n := len(leases) - 1; n >= 0; n-- {
		l := leases[n]
		c.tell(event.Event{Kind: event.EphemeralStart, Addr: l.addr, Text: "closing"})
		diags.Append(l.lease.Close())
		c.tell(event.Event{Kind: event.EphemeralComplete, Addr: l.addr, Text: "closing"})
	}
	return diags
}
