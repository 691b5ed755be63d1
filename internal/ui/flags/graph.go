package flags

import (
	"flag"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/ui/view/graphview"
)

// A Graph has the flags of graph.
type Graph struct {
	Vars Vars
	// Kind is the operation whose graph is shown, "" for the usual one.
	Kind string
	Plan string // the path of a saved plan
	// Format is how the graph is written; "" is the default format.
	Format string
	// Full: nothing is grouped.
	Full bool
}

// Register registers all of them.
func (g *Graph) Register(fs *flag.FlagSet) {
	g.Vars.Register(fs)
	fs.StringVar(&g.Kind, "type", "", "Set the `KIND`: plan, plan-refresh-only, plan-destroy, or apply (with -plan).")
	fs.StringVar(&g.Plan, "plan", "", "Show the steps of the saved plan at `PATH`.")
	fs.StringVar(&g.Format, "format", graphview.Formats[0].Name, "Write `FORMAT`: "+graphview.FormatNames(false)+" as text, "+graphview.FormatNames(true)+" grouped.")
	fs.BoolVar(&g.Full, "detail", false, "Don't group: show every declaration (or, with -plan, every step).")
	fs.Bool("draw-cycles", false, "") // of graphs of other programs, as the next two
	fs.Bool("verbose", false, "")
	fs.Int("module-depth", -1, "")
}

// Check rejects unknown kinds and formats.
func (g *Graph) Check() diag.List {
	switch g.Kind {
	case "", "plan", "plan-refresh-only", "plan-destroy", "apply":
	case "eval", "validate":
		return diag.BadOption.As("Graph type no longer available").List("The graph type %q is no longer available. Use -type=plan instead to get a similar result.", g.Kind)
	default:
		return diag.BadOption.As("Unsupported graph type").List(`The -type=... argument must be either "plan", "plan-refresh-only", "plan-destroy", or "apply".`)
	}
	if _, ok := graphview.FormatNamed(g.Format); !ok {
		return diag.BadOption.As("Unsupported graph format").List("weir doesn't know the graph format %q. Use %s as text, or %s grouped.", g.Format, graphview.FormatNames(false), graphview.FormatNames(true))
	}
	return nil
}
