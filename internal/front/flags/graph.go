package flags

import (
	"flag"

	"weir.dev/weir/internal/front/view/chart"
	"weir.dev/weir/internal/word/diag"
)

// A Graph has the flags of graph.
type Graph struct {
	Vars Vars
	// Kind is the operation whose graph is shown, "" for the usual one.
	Kind string
	Plan string // the path of a saved plan
	Form chart.Form
	// Full: nothing is folded.
	Full bool
}

// Register registers all of them.
func (g *Graph) Register(fs *flag.FlagSet) {
	g.Vars.Register(fs)
	fs.StringVar(&g.Kind, "type", "", "The `KIND` of graph: plan, plan-refresh-only, plan-destroy or apply. By default apply with -plan and plan without.")
	fs.StringVar(&g.Plan, "plan", "", "Show the steps of the saved plan at `PATH`.")
	fs.StringVar((*string)(&g.Form), "format", string(chart.DOT), "The `LANGUAGE` that the graph is written in: dot, mermaid, json, svg or html, which is a page that needs nothing else.")
	fs.BoolVar(&g.Full, "detail", false, "Show each declaration, or of a saved plan each step, as dot and mermaid do.")
	fs.Bool("draw-cycles", false, "") // of graphs of other engines, as the next two
	fs.Bool("verbose", false, "")
	fs.Int("module-depth", -1, "")
}

// Check refuses kinds and languages that there aren't.
func (g *Graph) Check() diag.List {
	switch g.Kind {
	case "", "plan", "plan-refresh-only", "plan-destroy", "apply":
	case "eval", "validate":
		return diag.BadOption.As("Graph type no longer available").List("The graph type %q is no longer available. Use -type=plan instead to get a similar result.", g.Kind)
	default:
		return diag.BadOption.As("Unsupported graph type").List(`The -type=... argument must be either "plan", "plan-refresh-only", "plan-destroy", or "apply".`)
	}
	if !g.Form.Known() {
		return diag.BadOption.As("Unsupported graph format").List("A graph can be written as dot, mermaid, json, svg or html, and -format says %q.", string(g.Form))
	}
	return nil
}
