package workspace

import (
	"context"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/planner"
	"weir.dev/weir/internal/resource/resourceconfig"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/workspace/planoptions"
)

// An Import brings existing objects into the state, all or none.
type Import struct {
	*Work
	wanted []planoptions.Import
	next   *state.Snapshot
}

// extraFile is the name of what the command line adds to the configuration.
const extraFile = "command-line.weir.tf"

// OpenImport opens the configuration with an import for each object and nothing
// else in view.
func (d *Directory) OpenImport(ctx context.Context, o Opening, wanted []planoptions.Import) (*Import, diag.List) {
	if diags := d.CheckMode(ctx); diags.HasErrors() {
		return nil, diags
	}
	w, diags := d.Open(ctx, d.Configuration(), o)
	if w == nil {
		return nil, diags
	}
	i := &Import{Work: w, wanted: wanted}
	for _, one := range wanted {
		w.Config.Tree.Program.Imports = append(w.Config.Tree.Program.Imports, importOf(one))
		diags.Append(i.possible(one))
	}
	if diags.HasErrors() {
		w.Unlock()
		return nil, withoutExtra(diags)
	}
	return i, diags
}

// importOf is what a block in the root module would say, in any language.
func importOf(w planoptions.Import) *program.Import {
	at := hcl.Range{Filename: extraFile}
	constant := func(v cty.Value) *program.Expr {
		return &program.Expr{Expression: &hclsyntax.LiteralValueExpr{Val: v, SrcRange: at}}
	}
	i := w.Target.Instance()
	im := &program.Import{To: i.Resource, ID: constant(cty.StringVal(w.ID)), Range: at}
	if n, ok := i.Key.Int(); ok {
		im.ToKey = constant(cty.NumberIntVal(int64(n)))
	} else if text, ok := i.Key.Str(); ok {
		im.ToKey = constant(cty.StringVal(text))
	}
	return im
}

// possible looks whether there is a place for the object.
func (i *Import) possible(w planoptions.Import) diag.List {
	if _, ok := i.Snapshot().Objects[w.Object()]; ok {
		return Managed.List("weir is already managing a remote object for %s. To import to this address you must first remove the existing object from the state.", w.Object())
	}
	tree := i.Config.Tree.At(w.Target.Module)
	switch {
	case tree == nil:
		return diag.BadImport.As("Import to non-existent module").List("%s is not defined in the configuration. Please add configuration for this module before importing into it.", w.Target.Module)
	case tree.Program.ResourceByName[w.Target.Name] == nil:
		where := "the root module"
		if !w.Target.Module.IsRoot() {
			where = "the module " + w.Target.Module.String()
		}
		return diag.BadImport.As(fmt.Sprintf("resource address %q does not exist in the configuration.", w.Target)).List("Before importing this resource, please create its configuration in %s. For example:\n\nresource %q %q {\n  # (resource arguments)\n}", where, w.Target.Name.Type, w.Target.Name.Name)
	}
	return nil
}

// Prepare plans, and keeps of the plan the imported objects as they are now. Their configuration doesn't matter yet: people write that with the object
// before them. Their dependencies are taken from the state.
func (i *Import) Prepare(ctx context.Context) diag.List {
	targets := make([]addr.Target, len(i.wanted))
	for n, w := range i.wanted {
		targets[n] = w.Target
	}
	p, diags := engine.Plan(ctx, i.Config, i.Snapshot(), engine.PlanOptions{Mode: plan.RefreshOnly, SkipRefresh: true, Import: true, Targets: targets})
	diags = withoutExtra(diags.Without(planner.Targeting))
	i.next = i.Snapshot().Clone()
	failed := diags.HasErrors()
	for _, w := range i.wanted {
		switch o := w.Object(); {
		case p != nil && p.Refreshed != nil && p.Refreshed.Objects[o] != nil:
			i.next.Objects[o] = p.Refreshed.Objects[o]
		case !failed:
			diags.Add(diag.BadImport.As("Configuration for import target does not exist").New(diag.Error, "The configuration for the given import %s does not exist. All target instances must have an associated configuration to be imported. %s", o, resourceconfig.NoPlace(i.Config.Tree, w.Target.Instance())))
		}
	}
	return diags
}

// Save saves the state with the objects.
func (i *Import) Save(ctx context.Context) diag.List {
	return i.dir.States.Commit(ctx, i.Claimed, i.next)
}

// withoutExtra takes away the places that nobody has written.
func withoutExtra(diags diag.List) diag.List {
	for n := range diags {
		if at := diags[n].Subject; at != nil && at.Filename == extraFile {
			diags[n].Subject, diags[n].Context = nil, nil
		}
	}
	return diags
}
