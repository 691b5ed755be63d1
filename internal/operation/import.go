package operation

import (
	"context"
	"fmt"
	"path/filepath"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/module"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/planner"
	"weir.dev/weir/internal/state"
)

// An Import brings one existing object into the state.
type Import struct {
	*Work
	Object addr.Object
	target addr.Target
	next   *state.Snapshot
}

// OpenImport opens the configuration with an import block for an address and
// nothing else in view.
func (d *Directory) OpenImport(ctx context.Context, o Opening, target addr.Target, id string) (*Import, diag.List) {
	o.extra = fmt.Sprintf("import {\n  to = %s\n  id = %s\n}\n", target, addr.Quote(id))
	w, diags := d.Open(ctx, d.Configuration(), o)
	if w == nil {
		return nil, diags
	}
	i := &Import{Work: w, Object: addr.Object{Instance: target.Instance()}, target: target}
	diags.Append(i.possible())
	if diags.HasErrors() {
		w.Unlock()
		return nil, diags
	}
	return i, diags
}

// possible looks whether there is a place for the object.
func (i *Import) possible() diag.List {
	if _, ok := i.Snapshot().Objects[i.Object]; ok {
		return diag.OneError("Resource already managed by weir", "weir is already managing a remote object for %s. To import to this address you must first remove the existing object from the state.", i.Object)
	}
	tree := i.Config.Tree.At(i.target.Module)
	switch {
	case tree == nil:
		return diag.OneError("Import to non-existent module", "%s is not defined in the configuration. Please add configuration for this module before importing into it.", i.target.Module)
	case tree.Program.ResourceByName[i.target.Name] == nil:
		where := "the root module"
		if !i.target.Module.IsRoot() {
			where = "the module " + i.target.Module.String()
		}
		return diag.OneError(fmt.Sprintf("Resource address %q does not exist in the configuration", i.target),
			"Before importing this resource, please create its configuration in %s. For example:\n\nresource %q %q {\n  # (resource arguments)\n}", where, i.target.Name.Type, i.target.Name.Name)
	}
	return nil
}

// Prepare plans, and keeps of the plan the imported object as it is now. What the
// configuration says of it doesn't matter yet: people write that with the object
// before them. What it needs is taken as it was last seen.
func (i *Import) Prepare(ctx context.Context) diag.List {
	p, diags := engine.Plan(ctx, i.Config, i.Snapshot(), engine.PlanOptions{Mode: plan.RefreshOnly, SkipRefresh: true, Targets: []addr.Target{i.target}})
	diags = diags.Without(planner.Targeting)
	if p == nil || p.Refreshed == nil || p.Refreshed.Objects[i.Object] == nil {
		if !diags.HasErrors() {
			diags.Errorf("Configuration for import target does not exist", "The configuration for the given import %s does not exist. All target instances must have an associated configuration to be imported.", i.Object)
		}
		return diags
	}
	i.next = i.Snapshot().Clone()
	i.next.Objects[i.Object] = p.Refreshed.Objects[i.Object]
	return diags
}

// Save saves the state with the object.
func (i *Import) Save(ctx context.Context) diag.List { return i.dir.Commit(ctx, i.Session, i.next) }

// filesWith are files with one more configuration file in the root module.
type filesWith struct {
	module.Files
	name string
	data []byte
}

func (f filesWith) List(dir string) ([]string, error) {
	names, err := f.Files.List(dir)
	if filepath.Clean(dir) == "." {
		names = append(names, f.name)
	}
	return names, err
}

func (f filesWith) ReadFile(path string) ([]byte, error) {
	if filepath.Clean(path) == f.name {
		return f.data, nil
	}
	return f.Files.ReadFile(path)
}
