package cli

import (
	"context"
	"flag"
	"io"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan/planfile"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/roots"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/encryption"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/jsonconfig"
	"weir.dev/weir/internal/ui/view/jsonplan"
	"weir.dev/weir/internal/ui/view/jsonstate"
	"weir.dev/weir/internal/ui/view/masking"
	"weir.dev/weir/internal/ui/view/page"
	"weir.dev/weir/internal/ui/view/review"
	"weir.dev/weir/internal/ui/view/steptimes"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/planoptions"
	"weir.dev/weir/internal/workspace/providersource"
	"weir.dev/weir/internal/workspace/remoterun"
)

var showCommand = &command{
	Name: "show", Args: "[PATH [ADDRESS...]]", Max: -1,
	Synopsis: "Show the current state or a saved plan",
	Long:     "Without a path it prints the current state. The file at PATH is a saved plan or a state, or a folder with the saved plans of roots. With addresses it prints every attribute of these changes in a saved plan. JSON includes sensitive values.",
	JSON:     output.Document,
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var o showOptions
		o.vars.Register(fs)
		fs.StringVar(&o.Format, "format", "text", "Print a saved plan as `FORM`: text, markdown for comments, or an html page.")
		flags.Sensitive(fs, e.Screen)
		flags.Detail(fs, e.Screen)
		fs.BoolVar(&o.State, "state", false, "Show the current state (default without a path).")
		fs.StringVar(&o.Plan, "plan", "", "Show the saved plan at `PATH`.")
		fs.BoolFunc("steps", "Show the steps of a saved plan with their prerequisites (default: true).", o.SetSteps)
		fs.StringVar(&o.Module, "module", "", "Show the declarations of the module in `DIR`; requires -json.")
		fs.BoolVar(&o.Config, "config", false, "Show the configuration; requires -json.")
		return func(ctx context.Context, args []string) int {
			if len(args) > 0 {
				o.Path, o.Addresses = args[0], args[1:]
			}
			e.directory.Place.SettingsVars = o.vars
			return e.show(ctx, o)
		}
	},
}

type showOptions struct {
	planoptions.Show
	vars flags.Vars
}

func (e *env) show(ctx context.Context, o showOptions) int {
	o.JSON = e.Documented()
	if diags := o.Check(); diags != nil {
		return e.Diags(diags)
	}
	switch {
	case o.Config:
		return e.showConfig(ctx, o)
	case o.Module != "":
		p, diags := e.directory.Module(o.Module)
		if p == nil {
			return e.Diags(diags)
		}
		return e.Result("module", func() ([]byte, error) { return jsonconfig.MarshalModule(p) }, func() int { return 0 })
	case o.Plan != "":
		if b, ok := e.directory.RemotePlan(o.Plan); ok {
			return e.showBookmark(ctx, b, o)
		}
		content, diags := e.directory.ReadPlan(o.Plan)
		return e.showPlanFile(ctx, content, diags, o)
	case o.Path == "":
		s := e.inState(ctx, flags.State{})
		if s == nil {
			return 1
		}
		return e.showState(ctx, s.Prior())
	}
	if roots.IsSaved(e.directory, o.Path) {
		return e.showSaved(ctx, o)
	}
	data, err := e.directory.Place.Input(o.Path)
	switch unread := diag.Unreadable.As("Failed to read the given file as a state or plan file"); {
	case err != nil:
		return e.Fail(unread, "%s: %s.", o.Path, diag.Cause(err))
	case len(data) == 0:
		return e.Fail(unread, "%s is empty, as a crash or a full disk leaves it. Make the plan again, or take an intact copy of the state.", o.Path)
	}
	if planfile.Is(data) || encryption.Recognize(data) == encryption.SealedPlan {
		content, diags := e.directory.OpenPlan(o.Path, data)
		return e.showPlanFile(ctx, content, diags, o)
	}
	if b, ok := remoterun.ReadBookmark(data); ok {
		return e.showBookmark(ctx, b, o)
	}
	if o.NeedsPlan() {
		return e.Fail(diag.BadOption.As("Saved plan required"), "Addresses and the options -steps and -format choose what is shown of a saved plan, and %s isn't one.", o.Path)
	}
	data, diags := e.directory.Settings.OpenSealed(data)
	if e.Diags(diags) != 0 {
		return 1
	}
	snapshot, diags := statefile.Read(data, o.Path)
	if e.Diags(diags) != 0 {
		return 1
	}
	return e.showState(ctx, snapshot)
}

// showPlanFile starts no provider: the schemas are in the file.
func (e *env) showPlanFile(ctx context.Context, content planfile.Content, diags diag.List, o showOptions) int {
	if o.JSON && o.WantsSteps() {
		return e.Fail(diag.Incompatible, "The JSON form of a plan has no steps. Use -steps without -json, or graph -plan=PATH for a form that programs can read.")
	}
	if e.Diags(diags) != 0 {
		return 1
	}
	switch {
	case o.Format == "markdown":
		return e.Written(review.Markdown(e.Out, content.Plan, review.Limit))
	case len(o.Addresses) > 0:
		masked, _ := masking.Plan(content.Plan, masking.Secrets(content.Plan, nil)) // by what the others have, too
		some, diags := o.Chosen(masked)
		if some == nil {
			return e.Diags(diags)
		}
		return e.Written(view.Changes(e.Out, some, e.Viewing()))
	}
	var tree *program.Tree
	var loaded *engine.Config
	if e.Documented() || o.Format == "html" {
		config, diags := e.directory.LoadSaved(ctx, content)
		if config != nil && config.Tree != nil {
			tree, loaded = config.Tree, config
		} else if o.Format != "html" { // a page goes without
			return e.Diags(diags)
		}
	}
	if o.Format == "html" {
		return e.Written(page.Plan(e.Out, content.Plan, page.Beside{Tree: tree, Edges: engine.Edges(loaded, content.Plan), Durations: e.directory.Place.Memory().Durations(), Took: steptimes.Read(e.directory.Place.Memory().LastApply(), content.Plan)}))
	}
	return e.ResultTo("plan", func(w io.Writer) error {
		return jsonplan.Write(w, content.Plan, tree, engine.Edges(loaded, content.Plan), e.Dialect)
	}, func() int {
		code := e.Written(e.Plan(content.Plan))
		if g := content.Plan.Graph; code == 0 && (o.WantsSteps() || o.Steps == nil && g != nil && len(g.Steps) > 0) {
			code = e.Written(view.Steps(e.Out, content.Plan, e.Viewing()))
		}
		return code
	})
}

func (e *env) showState(ctx context.Context, s *state.Snapshot) int {
	none := s == nil
	if none {
		s = state.Empty()
	}
	var schemas map[addr.Provider]*provider.Schemas
	if !s.IsEmpty() {
		var diags diag.List
		schemas, diags = e.directory.StateSchemas(ctx, s)
		if e.Documented() && diags.HasErrors() {
			return e.Diags(diags)
		}
	}
	return e.ResultTo("state", func(w io.Writer) error { return jsonstate.Write(w, s, schemas) }, func() int {
		switch {
		case none:
			e.Say("No state.\n")
			return 0
		case s.IsEmpty():
			e.Say("The state file is empty. No resources are represented.\n")
			return 0
		}
		return e.Written(view.State(e.Out, s, schemas, e.Viewing()))
	})
}

func (e *env) showConfig(ctx context.Context, o showOptions) int {
	config, diags := e.directory.Load(ctx, workspace.Loading{Vars: o.vars})
	if e.Diags(diags) != 0 {
		return 1
	}
	diags = e.directory.ProvideFor(config, nil)
	schemas, more := providersource.Schemas(ctx, config.World.Catalog, providersource.Providers(config.Tree))
	diags.Append(more)
	if e.Diags(diags) != 0 {
		return 1
	}
	return e.Result("configuration", func() ([]byte, error) { return jsonconfig.Marshal(config.Tree, schemas) }, func() int { return 0 })
}
