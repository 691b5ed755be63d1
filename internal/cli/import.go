package cli

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/module"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/planner"
)

var importCommand = &command{
	name: "import", args: "ADDRESS ID", min: 2, max: 2,
	synopsis: "Associate existing infrastructure with a resource",
	long:     "Brings an existing object into the state as the resource instance at ADDRESS, which the configuration has to have. ID is what the provider knows the object by. Nothing is changed; the next plan shows what differs from the configuration. An import block does the same as part of a plan.",
	setup: func(e *env, fs *flag.FlagSet) runner {
		var i importing
		i.state.register(fs)
		i.vars.register(fs)
		e.inputFlag(fs)
		remoteVersion(fs)
		registerParallelism(fs, &i.parallelism)
		fs.String("config", "", "")
		fs.Bool("allow-missing-config", false, "")
		return func(ctx context.Context, args []string) int { return i.run(ctx, e, args[0], args[1]) }
	},
}

type importing struct {
	state       stateFlags
	vars        varFlags
	parallelism int
}

// run plans with an import block for the address and nothing else in view, and
// keeps of the plan the imported object as it is now. What it needs is taken as it
// was last seen. What the configuration
// says of it doesn't matter yet: people write that with the object before them.
func (i *importing) run(ctx context.Context, e *env, address, id string) int {
	if code := e.startStream(); code != 0 {
		return code
	}
	target, err := addr.ParseTarget(address)
	switch {
	case err != nil:
		return e.fail("Invalid address", "%s.", err)
	case target.IsModule() || target.Name.Mode != addr.Managed:
		return e.fail("A managed resource address is required", "The import command needs the address of an instance of a managed resource, such as aws_instance.example or module.a.aws_instance.example[0].")
	}
	block := fmt.Sprintf("import {\n  to = %s\n  id = %s\n}\n", target, addr.Quote(id))
	w := e.begin(ctx, loading{vars: i.vars, parallelism: i.parallelism, sink: e.progress.Event, extra: block}, i.state, "import")
	if w == nil {
		return 1
	}
	defer w.Unlock()
	object := addr.Object{Instance: target.Instance()}
	if _, ok := w.Snapshot().Objects[object]; ok {
		return e.fail("Resource already managed by weir", "weir is already managing a remote object for %s. To import to this address you must first remove the existing object from the state.", object)
	}
	tree := w.config.Tree.At(target.Module)
	switch {
	case tree == nil:
		return e.fail("Import to non-existent module", "%s is not defined in the configuration. Please add configuration for this module before importing into it.", target.Module)
	case tree.Program.ResourceByName[target.Name] == nil:
		where := "the root module"
		if !target.Module.IsRoot() {
			where = "the module " + target.Module.String()
		}
		return e.fail(fmt.Sprintf("Resource address %q does not exist in the configuration", target),
			"Before importing this resource, please create its configuration in %s. For example:\n\nresource %q %q {\n  # (resource arguments)\n}", where, target.Name.Type, target.Name.Name)
	}
	e.say("%s: Importing from ID %q...\n", object, id)
	p, diags := engine.Plan(ctx, w.config, w.Snapshot(), engine.PlanOptions{Mode: plan.RefreshOnly, SkipRefresh: true, Targets: []addr.Target{target}})
	diags = diags.Without(planner.Targeting)
	if p == nil || p.Refreshed == nil || p.Refreshed.Objects[object] == nil {
		if !diags.HasErrors() {
			diags.Errorf("Configuration for import target does not exist", "The configuration for the given import %s does not exist. All target instances must have an associated configuration to be imported.", object)
		}
		return e.diags(diags)
	}
	if e.diags(diags) != 0 {
		return 1
	}
	next := w.Snapshot().Clone()
	next.Objects[object] = p.Refreshed.Objects[object]
	e.say("%s: Import prepared!\n  Prepared %s for import\n", object, object.Name.Type)
	if code := e.commit(e.interrupts.saving, w.Session, next); code != 0 {
		return code
	}
	e.say("\nImport successful!\n\nThe resources that were imported are shown above. These resources are now in\nyour state and will henceforth be managed by weir.\n\n")
	return 0
}

// filesWith is the disk with one more configuration file in the root module.
type filesWith struct {
	module.Disk
	name string
	data []byte
}

func (f filesWith) List(dir string) ([]string, error) {
	names, err := f.Disk.List(dir)
	if filepath.Clean(dir) == "." {
		names = append(names, f.name)
	}
	return names, err
}

func (f filesWith) ReadFile(path string) ([]byte, error) {
	if filepath.Clean(path) == f.name {
		return f.data, nil
	}
	return f.Disk.ReadFile(path)
}
