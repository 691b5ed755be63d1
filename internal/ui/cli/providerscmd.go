package cli

import (
	"context"
	"flag"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/jsonschema"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/providersource"
	"weir.dev/weir/internal/workspace/statemgr"
)

var providersCommands = []*command{
	{
		Name:     "providers",
		Synopsis: "Show the providers required for this configuration",
		Setup: func(e *env, fs *flag.FlagSet) runner {
			var vars flags.Vars
			vars.Register(fs)
			fs.String("test-directory", "tests", "")
			return func(ctx context.Context, _ []string) int { return e.providers(ctx, vars) }
		},
	},
	providersLockCommand, providersMirrorCommand,
	{
		Name:     "providers schema",
		Synopsis: "Show schemas for the providers used in the configuration",
		Setup: func(e *env, fs *flag.FlagSet) runner {
			var vars flags.Vars
			vars.Register(fs)
			asJSON := fs.Bool("json", false, "Print a JSON object; required.")
			return func(ctx context.Context, _ []string) int {
				if !*asJSON {
					return e.Fail(diag.BadOption.As("The `providers schema` command requires the `-json` flag"), "There is no other form of the output yet.")
				}
				return e.providerSchemas(ctx, vars)
			}
		},
	},
}

func (e *env) providers(ctx context.Context, vars flags.Vars) int {
	config, diags := e.directory.Load(ctx, workspace.Loading{Vars: vars})
	if e.Diags(diags) != 0 {
		return 1
	}
	e.Say("\nProviders required by configuration:\n")
	if code := e.Written(view.WriteProviders(e.Out, config.Tree)); code != 0 {
		return code
	}
	b, diags := e.directory.Settings.InitializedBackend(config.Tree.Program, config.Inputs)
	if diags.HasErrors() {
		return e.Diags(diags)
	}
	s, diags := e.directory.States.PresentSelected(ctx, b, statemgr.Options{})
	if e.Diags(diags) != 0 {
		return 1
	}
	if s.Prior() != nil && len(s.Prior().Objects) > 0 {
		e.Say("Providers required by state:\n\n")
		for _, p := range s.Prior().Providers() {
			e.Say("    provider[%s]\n\n", p)
		}
	}
	return 0
}

func (e *env) providerSchemas(ctx context.Context, vars flags.Vars) int {
	config, diags := e.directory.Load(ctx, workspace.Loading{Vars: vars})
	if e.Diags(diags) != 0 {
		return 1
	}
	reqs := providersource.Requirements(config.Tree, nil)
	// Providers of objects in the state count too, where there is one.
	if b, more := e.directory.Settings.InitializedBackend(config.Tree.Program, config.Inputs); !more.HasErrors() {
		if s, _ := e.directory.States.PresentSelected(ctx, b, statemgr.Options{}); s != nil {
			reqs = providersource.Requirements(config.Tree, s.Prior())
		}
	}
	diags = e.directory.Provide(config, reqs)
	if diags.HasErrors() {
		return e.Diags(diags)
	}
	var list []addr.Provider
	for p := range reqs {
		list = append(list, p)
	}
	slices.SortFunc(list, addr.Provider.Compare)
	schemas, more := providersource.Schemas(ctx, config.World.Catalog, list)
	diags.Append(more)
	e.JSON = true // warnings must not mix with the document
	if e.Diags(diags) != 0 {
		return 1
	}
	text, err := jsonschema.Marshal(schemas)
	return e.Document(text, err, "provider schemas")
}
