package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/front/flags"
	"weir.dev/weir/internal/front/view/dot"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/word/diag"
	"weir.dev/weir/internal/word/dialect"
)

var graphCommand = &command{
	Name:     "graph",
	Synopsis: "Generate a Graphviz graph of the steps in an operation",
	Long:     "Prints in the DOT language what the declarations of the configuration refer to, or, of a saved plan, the steps that apply will take. In Terraform mode the default is Terraform's summary, which has the resources alone.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var vars flags.Vars
		vars.Register(fs)
		kind := fs.String("type", "", "The `KIND` of graph: plan, plan-refresh-only, plan-destroy or apply. By default apply with -plan and plan without.")
		path := fs.String("plan", "", "Show the steps of the saved plan at `PATH`.")
		fs.Bool("draw-cycles", false, "")
		fs.Int("module-depth", -1, "")
		return func(ctx context.Context, _ []string) int { return e.graph(ctx, *kind, *path, vars) }
	},
}

func (e *env) graph(ctx context.Context, kind, path string, vars flags.Vars) int {
	switch kind {
	case "", "plan", "plan-refresh-only", "plan-destroy", "apply":
	case "eval", "validate":
		return e.Fail(diag.BadOption.As("Graph type no longer available"), "The graph type %q is no longer available. Use -type=plan instead to get a similar result.", kind)
	default:
		return e.Fail(diag.BadOption.As("Unsupported graph type"), `The -type=... argument must be either "plan", "plan-refresh-only", "plan-destroy", or "apply".`)
	}
	if path != "" {
		content, diags := e.directory.ReadPlan(path)
		if diags.HasErrors() {
			return e.Diags(diags)
		}
		if content.Plan.Graph == nil {
			return e.Fail(diag.Unwritable.As("Failed generating the graph representation"), "The plan failed when it was made, so there are no steps.")
		}
		return e.Written(dot.Execution(e.Out, content.Plan.Graph))
	}
	config, diags := e.directory.Configuration().Load(ctx, operation.Loading{Vars: vars})
	e.JSON = true // warnings must not mix with the graph
	if e.Diags(diags) != 0 {
		return 1
	}
	if kind == "" && e.Dialect == dialect.Terraform {
		return e.Written(dot.Resources(e.Out, config.Tree))
	}
	return e.Written(dot.Configuration(e.Out, config.Tree))
}
