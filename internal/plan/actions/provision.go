package actions

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider/provisioner"
)

// CannotRun rejects a provisioner before anything is done that it belongs to, by what is
// written down about it.
func CannotRun(p *program.Provisioner) diag.List {
	var diags diag.List
	if provisioner.Find(p.Type) == nil {
		diags.Add(diag.UnknownProvisioner.Error(p.Range, "There is no provisioner named %q.%s", p.Type, eval.Suggestion(p.Type, provisioner.Types())))
		return diags
	}
	if !provisioner.Connects(p.Type) {
		return nil
	}
	if len(p.Connections()) == 0 {
		diags.Add(diag.BadProvisioner.As("Missing connection configuration").Error(p.Range, "The provisioner %q works on another machine, and nothing says how to get there: it needs a connection block of its own or of its resource.", p.Type))
		return diags
	}
	var typ *hcl.Attribute
	for _, b := range p.Connections() {
		content, _, _ := b.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "type"}}})
		if own := content.Attributes["type"]; own != nil {
			typ = own
		}
	}
	if typ == nil {
		return nil
	}
	// Where it refers to something it is inspected when the connection is made.
	if v, problems := typ.Expr.Value(nil); !problems.HasErrors() && v.Type() == cty.String && v.IsKnown() && !v.IsNull() && v.AsString() != "" && v.AsString() != "ssh" {
		diags.Add(diag.BadProvisioner.As("Unsupported connection type").Error(typ.Expr.Range(), "Connections are over SSH, and this one wants %q, so nothing is done to the object. Windows has OpenSSH as well: install it when the machine is made, and use type = \"ssh\" with target_platform = \"windows\".", v.AsString()))
	}
	return diags
}

// Provisioners evaluates what creation-time provisioners refer to, which has
// to be there before the object is made. self is what it is going to be.
func Provisioners(t *promise.Task, i *eval.Instance, c *plan.Change, self cty.Value) (ok bool) {
	before := t.Failures()
	makes := c.Action == plan.Create || c.Action.IsReplace()
	for _, p := range i.Resource.Provisioners {
		kind := provisioner.Find(p.Type)
		if kind == nil || makes {
			if problems := CannotRun(p); len(problems) > 0 {
				t.Report(problems...)
				continue
			}
		}
		if p.OnDestroy {
			continue
		}
		ctx := i.Context(t, self)
		v, hd := kind.Schema().Decode(p.Config.Body, ctx)
		t.Report(eval.Diagnostics(hd)...)
		if err := provisioner.Check(kind, v); err != nil && !hd.HasErrors() {
			t.Report(diag.BadProvisioner.As("Invalid "+p.Type+" provisioner configuration").Error(p.Range, "%s.", err))
		}
		eval.Complete(t, p.Config.Refs, ctx)
		if !provisioner.Connects(p.Type) {
			continue
		}
		for _, b := range p.Connections() {
			_, hd := provisioner.Connection().Decode(b.Body, ctx)
			t.Report(eval.Diagnostics(hd)...)
			eval.Complete(t, b.Refs, ctx)
		}
	}
	return t.Failures() == before
}
