package cli

import (
	"context"
	"flag"
	"os"
	"strconv"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/encryption"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/operation/supply"
	"weir.dev/weir/internal/planfile"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/statefile"
	"weir.dev/weir/internal/view"
	"weir.dev/weir/internal/view/jsonconfig"
	"weir.dev/weir/internal/view/jsonplan"
	"weir.dev/weir/internal/view/jsonstate"
)

var showCommand = &command{
	Name: "show", Args: "[PATH]", Max: 1,
	Synopsis: "Show the current state or a saved plan",
	Long:     "Without a path the current state is shown. The file at PATH is a saved plan or a state.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var o showOptions
		var vars varFlags
		vars.register(fs)
		fs.BoolVar(&o.json, "json", false, "Print a JSON object. Sensitive values are not hidden.")
		e.sensitiveFlag(fs)
		fs.BoolVar(&o.state, "state", false, "Show the current state, as without a path.")
		fs.StringVar(&o.plan, "plan", "", "Show the saved plan at `PATH`.")
		fs.BoolFunc("steps", "Show, after a saved plan, every step of its apply with what it waits for. This is the default; -steps=false leaves them out.", o.setSteps)
		fs.BoolVar(&o.config, "config", false, "Show the configuration. Requires -json.")
		return func(ctx context.Context, args []string) int {
			if len(args) > 0 {
				o.path = args[0]
			}
			o.vars, e.directory.SettingsVars = vars, vars
			return e.show(ctx, o)
		}
	},
}

type showOptions struct {
	json, state, config bool
	steps               *bool // nil unless the option is given
	path, plan          string
	vars                varFlags
}

func (o *showOptions) setSteps(text string) error {
	steps, err := strconv.ParseBool(text)
	o.steps = &steps
	return err
}

// wantsSteps reports whether the steps were asked for by name.
func (o showOptions) wantsSteps() bool { return o.steps != nil && *o.steps }

func (e *env) show(ctx context.Context, o showOptions) int {
	chosen := 0
	for _, given := range []bool{o.state, o.config, o.plan != "", o.path != ""} {
		if given {
			chosen++
		}
	}
	switch {
	case chosen > 1:
		return e.Fail("Conflicting object types to show", "The -state, -plan=PATH and -config options and a path are mutually-exclusive, to specify which kind of object to show.")
	case o.config && !o.json:
		return e.Fail("JSON output required for configuration", "The -config option can be used only with -json.")
	case o.config:
		return e.showConfig(ctx, o)
	case o.plan != "":
		return e.showPlanFile(ctx, o.plan, o)
	case o.path == "" && o.wantsSteps():
		return e.Fail("Saved plan required", "The -steps option shows the steps of a saved plan, so it needs the path of one.")
	case o.path == "":
		s := e.inState(ctx, stateFlags{}, "")
		if s == nil {
			return 1
		}
		return e.showState(ctx, s.Prior(), o.json)
	}
	data, err := os.ReadFile(o.path)
	if err != nil {
		return e.Fail("Failed to read the given file as a state or plan file", "%s: %s.", o.path, diag.Cause(err))
	}
	if len(data) == 0 {
		return e.Fail("Failed to read the given file as a state or plan file", "%s is empty, as a crash or a full disk leaves it. Make the plan again, or take an intact copy of the state.", o.path)
	}
	if planfile.Is(data) || encryption.Recognize(data) == encryption.SealedPlan {
		return e.showPlanFile(ctx, o.path, o)
	}
	if o.wantsSteps() {
		return e.Fail("Saved plan required", "The -steps option shows the steps of a saved plan, and %s isn't one.", o.path)
	}
	data, diags := e.directory.OpenSealed(data)
	if e.Diags(diags) != 0 {
		return 1
	}
	snapshot, diags := statefile.Read(data, o.path)
	if e.Diags(diags) != 0 {
		return 1
	}
	return e.showState(ctx, snapshot, o.json)
}

// showPlanFile starts no provider: the schemas are in the file.
func (e *env) showPlanFile(ctx context.Context, path string, o showOptions) int {
	if o.json && o.wantsSteps() {
		return e.Fail("Incompatible options", "The JSON form of a plan has no steps. Use -steps without -json, or graph -plan=PATH for a form that programs can read.")
	}
	content, diags := e.directory.ReadPlan(path)
	if e.Diags(diags) != 0 {
		return 1
	}
	if !o.json {
		code := e.Written(view.Plan(e.Out, content.Plan, e.Viewing()))
		g := content.Plan.Graph
		if code == 0 && (o.wantsSteps() || o.steps == nil && g != nil && len(g.Steps) > 0) {
			code = e.Written(view.Steps(e.Out, content.Plan, e.Viewing()))
		}
		return code
	}
	config, diags := e.directory.LoadSaved(ctx, content)
	var tree *program.Tree
	if config != nil {
		tree = config.Tree
	}
	if tree == nil {
		return e.Diags(diags)
	}
	text, err := jsonplan.Marshal(content.Plan, tree, e.Dialect.Version())
	return e.Document(text, err, "plan")
}

func (e *env) showState(ctx context.Context, s *state.Snapshot, asJSON bool) int {
	if s == nil {
		s = state.Empty()
	}
	var schemas map[addr.Provider]*provider.Schemas
	if !s.IsEmpty() {
		var diags diag.List
		schemas, diags = e.directory.StateSchemas(ctx, s)
		if asJSON && diags.HasErrors() {
			return e.Diags(diags)
		}
	}
	if !asJSON {
		if s.IsEmpty() {
			e.Say("No state.\n")
			return 0
		}
		return e.Written(view.State(e.Out, s, schemas, e.Viewing()))
	}
	text, err := jsonstate.Marshal(s, schemas)
	return e.Document(text, err, "state")
}

func (e *env) showConfig(ctx context.Context, o showOptions) int {
	config, diags := e.directory.Load(ctx, operation.Loading{Vars: o.vars})
	if e.Diags(diags) != 0 {
		return 1
	}
	diags = e.directory.ProvideFor(config, nil)
	schemas, more := supply.Schemas(ctx, config.World.Catalog, supply.Providers(config.Tree))
	diags.Append(more)
	if e.Diags(diags) != 0 {
		return 1
	}
	text, err := jsonconfig.Marshal(config.Tree, schemas)
	return e.Document(text, err, "configuration")
}
