package instance

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/ratelimit"
	"weir.dev/weir/internal/resource/resourceconfig"
)

// An Opened object is one with the provider that serves it. Planning and applying begin with it.
type Opened struct {
	Addr     addr.Object
	Instance *eval.Instance // nil without configuration
	Conn     *providerclient.Conn
	Subject  lifecycle.Subject
}

// Open finds the schema of an instance.
func Open(t *promise.Task, i *eval.Instance, conn *providerclient.Conn) (o Opened, ok bool) {
	sch := conn.Schemas.Resource(i.Addr.Name.Mode, i.Addr.Name.Type)
	if sch == nil {
		return o, t.Report(resourceconfig.Unsupported(i.Resource.TypeRange, conn.Addr.Provider, i.Addr.Name, conn.Schemas)...)
	}
	o = Opened{Addr: addr.Object{Instance: i.Addr}, Instance: i, Conn: conn}
	o.Subject, ok = Subject(t, i.Addr, conn, sch, i.Frame)
	return o, ok
}

// Locate puts a provider's problems where the configuration of the object is.
func (o *Opened) Locate(diags diag.List) diag.List {
	switch {
	case len(diags) == 0:
		return nil // without the cost of an address
	case o.Instance == nil:
		return diags.InAddress(o.Addr.String())
	}
	return providerclient.Locate(diags, o.Instance.Resource.Config, o.Addr.Instance.String())
}

// Propose asks the provider what it would do to get from the prior object to the configuration.
// The call waits for its turn as long as waiting allows. force asks for a replacement. earlier is the
// private data of an earlier plan of the same change, nil for none.
func (o *Opened) Propose(t *promise.Task, waiting, ctx context.Context, prior lifecycle.Object, config cty.Value, force bool, earlier []byte) (p lifecycle.Planned, ok bool) {
	var diags diag.List
	res := o.Instance.Resource
	o.Conn.AskOf(t, waiting, ratelimit.Plan, o.Subject, func(s lifecycle.Subject) diag.List {
		p, diags = s.Plan(ctx, lifecycle.PlanInput{
			Prior: prior, Config: config, Ignore: program.Paths(res.IgnoreChanges), IgnoreAll: res.IgnoreAll, Force: force, Earlier: earlier,
		})
		return diags
	})
	return p, t.Report(o.Locate(diags)...)
}
