package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/planoptions"
)

var importCommand = &command{
	Name: "import", Args: "ADDRESS ID", Min: 2, Max: 2,
	Synopsis: "Associate existing infrastructure with a resource",
	Long:     "Adds an existing object to the state as the resource instance at ADDRESS, which the configuration must declare. ID is the provider's id of the object. The object doesn't change; the next plan shows its differences from the configuration. An import block does the same as part of a plan.",
	JSON:     output.Messages,
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var i importing
		i.state.Register(fs)
		i.vars.Register(fs)
		flags.Input(fs, &e.input)
		flags.RemoteVersion(fs)
		flags.Parallelism(fs, &i.parallelism)
		flags.UnusedTarget(fs)
		fs.String("config", "", "")
		fs.Bool("allow-missing-config", false, "")
		return func(ctx context.Context, args []string) int { return i.run(ctx, e, [2]string{args[0], args[1]}) }
	},
}

type importing struct {
	state       flags.State
	vars        flags.Vars
	parallelism int
}

// run imports objects, each an address and what the provider knows it by.
func (i *importing) run(ctx context.Context, e *env, objects ...[2]string) int {
	if code := e.Start(); code != 0 {
		return code
	}
	wanted := make([]planoptions.Import, len(objects))
	for n, o := range objects {
		var diags diag.List
		if wanted[n], diags = planoptions.ReadImport(o[0], o[1]); diags.HasErrors() {
			return e.Diags(diags)
		}
	}
	o := workspace.Opening{
		Loading:   workspace.Loading{Vars: i.vars, Parallelism: i.parallelism, Sink: e.Sink(), Ask: e.asker()},
		State:     i.state.Options(),
		Operation: "import",
	}
	diags := workspace.Import{Dir: e.directory, Opening: o, Objects: wanted, Saving: e.interrupts.Saving,
		Opened: func(l diag.List) {
			e.Diags(l)
			for _, o := range wanted {
				e.Say("%s: Importing from ID %q...\n", o.Target, o.ID)
			}
		},
		Prepared: func(l diag.List) {
			e.Diags(l)
			for _, o := range wanted {
				e.Say("%s: Import prepared!\n  Prepared %s for import\n", o.Target, o.Target.Name.Type)
			}
		},
	}.Run(ctx)
	if e.Diags(diags) != 0 {
		return 1
	}
	e.Say("\nImport successful!\n\nThe resources that were imported are shown above. These resources are now in\nyour state and will henceforth be managed by weir.\n\n")
	return 0
}
