package validate

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider/provisioner"
)

// provisioners checks the provisioners of a resource and their connections, those
// for destruction too: it is late for that when the object is to go.
func provisioners(t *promise.Task, i *eval.Instance, self cty.Value) {
	ctx := i.Context(t, self)
	outer := i.Resource.Connection
	outerHost := false
	if outer != nil && len(i.Resource.Provisioners) > 0 {
		var diags diag.List
		outerHost, diags = connection(outer, ctx)
		t.Report(diags...)
	}
	for _, p := range i.Resource.Provisioners {
		kind := provisioner.Find(p.Type)
		if kind == nil {
			t.Report(diag.UnknownProvisioner.Error(p.Range, "There is no provisioner named %q.%s", p.Type, eval.Suggestion(p.Type, provisioner.Types())))
			continue
		}
		v, hd := kind.Schema().Decode(p.Config.Body, ctx)
		t.Report(eval.Diagnostics(hd)...)
		if err := provisioner.Check(kind, v); err != nil && !hd.HasErrors() {
			t.Report(diag.BadProvisioner.As("Invalid "+p.Type+" provisioner configuration").Error(p.Range, "%s.", err))
		}
		host, at := outerHost, outer
		if p.Connection != nil {
			own, diags := connection(p.Connection, ctx)
			t.Report(diags...)
			host, at = host || own, p.Connection
		}
		if at != nil && !host {
			t.Report(diag.Missing.Error(at.Range, "The argument \"host\" is required, but no definition was found."))
		}
	}
}

// connection checks a connection block and reports whether it names a host.
func connection(b *program.Body, ctx *hcl.EvalContext) (host bool, diags diag.List) {
	_, hd := provisioner.Connection().Decode(b.Body, ctx)
	content, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "host"}}})
	return content.Attributes["host"] != nil, eval.Diagnostics(hd)
}
