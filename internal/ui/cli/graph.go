package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/view/graphview"
	"weir.dev/weir/internal/workspace"
)

var graphCommand = &command{
	Name:     "graph",
	Synopsis: "Generate a graph of the steps in an operation",
	Long:     "Prints the references between declarations of the configuration. With -plan it prints the steps of a saved plan. Text formats list every declaration or step. Grouped formats have one box per block, or per module in large configurations. For a saved plan they have only changes, colored by action; -detail shows everything. In Terraform mode, text formats have only resources by default, as in Terraform's summary.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var f flags.Graph
		f.Register(fs)
		return func(ctx context.Context, _ []string) int { return e.graph(ctx, f) }
	},
}

func (e *env) graph(ctx context.Context, f flags.Graph) int {
	if diags := f.Check(); diags != nil {
		return e.Diags(diags)
	}
	format, _ := graphview.FormatNamed(f.Format) // checked above
	if f.Plan != "" {
		content, diags := e.directory.ReadPlan(f.Plan)
		if diags.HasErrors() {
			return e.Diags(diags)
		}
		if content.Plan.Graph == nil {
			return e.Fail(diag.Unwritable.As("Failed generating the graph representation"), "The plan failed when it was made, so there are no steps.")
		}
		config, _ := e.directory.LoadSaved(ctx, content) // without it reasons have no references
		return e.Written(graphview.Plan(e.Out, format, content.Plan, engine.Edges(config, content.Plan), f.Full))
	}
	config, diags := e.directory.Configuration().Load(ctx, workspace.Loading{Vars: f.Vars})
	e.JSON = true // warnings must not mix with the graph
	if e.Diags(diags) != 0 {
		return 1
	}
	return e.Written(graphview.Configuration(e.Out, format, config.Tree, f.Full, f.Kind == "" && e.Dialect == dialect.Terraform))
}
