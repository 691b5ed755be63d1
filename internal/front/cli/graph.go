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
	Synopsis: "Generate a graph of the steps in an operation",
	Long:     "Prints in the DOT language or as a Mermaid flowchart what the declarations of the configuration refer to, or, of a saved plan, the steps that apply will take. In Terraform mode the default is Terraform's summary, which has the resources alone.",
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
	if f.Plan != "" {
		content, diags := e.directory.ReadPlan(f.Plan)
		if diags.HasErrors() {
			return e.Diags(diags)
		}
		if content.Plan.Graph == nil {
			return e.Fail(diag.Unwritable.As("Failed generating the graph representation"), "The plan failed when it was made, so there are no steps.")
		}
		return e.Written(dot.Execution(e.Out, f.Form, content.Plan.Graph))
	}
	config, diags := e.directory.Configuration().Load(ctx, operation.Loading{Vars: f.Vars})
	e.JSON = true // warnings must not mix with the graph
	if e.Diags(diags) != 0 {
		return 1
	}
	if f.Kind == "" && e.Dialect == dialect.Terraform {
		return e.Written(dot.Resources(e.Out, f.Form, config.Tree))
	}
	return e.Written(dot.Configuration(e.Out, f.Form, config.Tree))
}
