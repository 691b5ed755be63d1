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

// Import adds existing objects to the state, all or none.
type Import struct {
	Dir     *Directory
	Opening Opening
	Objects []planoptions.Import
	// Opened gets the warnings of opening before providers are asked for the objects, and
	// Prepared those of asking before the state is saved. With nil they come with the result.
	Opened, Prepared func(diag.List)
	// Saving is for how long the state is saved, whatever became of the rest; nil stands for
	// without end.
	Saving func() context.Context
}

// Run reads the objects and saves the state with them.
func (i Import) Run(ctx context.Context) diag.List {
	if diags := i.Dir.CheckMode(ctx); diags.HasErrors() {
		return diags
	}
	w, diags := i.Dir.Open(ctx, i.Dir.Configuration(), i.Opening)
	if w == nil {
		return diags
	}
	defer w.Unlock()
	for _, one := range i.Objects {
		w.Config.Tree.Program.Imports = append(w.Config.Tree.Program.Imports, importOf(one))
		diags.Append(possible(w, one))
	}
	if diags = withoutExtra(diags); diags.HasErrors() {
		return diags
	}
	if i.Opened != nil {
		i.Opened(diags)
		diags = nil
	}
	next, more := i.prepare(ctx, w)
	if diags.Append(more); diags.HasErrors() {
		return diags
	}
	if i.Prepared != nil {
		i.Prepared(diags)
		diags = nil
	}
	saving := context.WithoutCancel(ctx)
	if i.Saving != nil {
		saving = i.Saving()
	}
	return append(diags, i.Dir.States.Commit(saving, w.State, next)...)
}

// extraFile is the name of what the command line adds to the configuration.
const extraFile = "command-line.weir.tf"

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
func possible(work *Work, w planoptions.Import) diag.List {
	if _, ok := work.Snapshot().Objects[w.Object()]; ok {
		return Managed.List("weir is already managing a remote object for %s. To import to this address you must first remove the existing object from the state.", w.Object())
	}
	tree := work.Config.Tree.At(w.Target.Module)
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

// prepare plans, and keeps of the plan the imported objects as they are now. Their configuration
// doesn't matter yet: people write that with the object before them. Their dependencies are
// taken from the state.
func (i Import) prepare(ctx context.Context, work *Work) (*state.Snapshot, diag.List) {
	targets := make([]addr.Target, len(i.Objects))
	for n, w := range i.Objects {
		targets[n] = w.Target
	}
	p, diags := engine.Plan(ctx, work.Config, work.Snapshot(), engine.PlanOptions{Mode: plan.RefreshOnly, SkipRefresh: true, Import: true, Targets: targets})
	diags = withoutExtra(diags.Without(planner.Targeting))
	next := work.Snapshot().Clone()
	failed := diags.HasErrors()
	for _, w := range i.Objects {
		switch o := w.Object(); {
		case p != nil && p.Refreshed != nil && p.Refreshed.Objects[o] != nil:
			next.Objects[o] = p.Refreshed.Objects[o]
		case !failed:
			diags.Add(diag.BadImport.As("Configuration for import target does not exist").New(diag.Error, "The configuration for the given import %s does not exist. All target instances must have an associated configuration to be imported. %s", o, resourceconfig.NoPlace(work.Config.Tree, w.Target.Instance())))
		}
	}
	return next, diags
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
