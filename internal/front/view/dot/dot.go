// Package dot writes graphs in the DOT language: what a configuration refers
// to, and the steps of an execution graph.
//
// It owns the form. An edge leads from what needs to what it needs.
package dot

import (
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weir.dev/weir/internal/lang/outline"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/word/addr"
)

// A graph is nodes and edges by name.
type graph struct {
	nodes map[string]string // attributes by name
	edges map[[2]string]bool
	// resources are the nodes that a summary shows; nil when none is made.
	resources map[string]resource
}

func newGraph() *graph { return &graph{nodes: map[string]string{}, edges: map[[2]string]bool{}} }

func (g *graph) node(name, label, shape string) {
	attributes := "label = " + quote(label)
	if shape != "" {
		attributes += ", shape = " + quote(shape)
	}
	g.nodes[name] = attributes
}

func (g *graph) edge(from, to string) {
	if from != to {
		g.edges[[2]string{from, to}] = true
	}
}

// write prints nodes and edges in order of their names. Names stand below a
// root, as readers of such graphs expect.
func (g *graph) write(w io.Writer) error {
	var b strings.Builder
	b.WriteString("digraph {\n\tcompound = \"true\"\n\tnewrank = \"true\"\n\tsubgraph \"root\" {\n")
	name := func(s string) string { return quote("[root] " + s) }
	for _, n := range slices.Sorted(maps.Keys(g.nodes)) {
		b.WriteString("\t\t" + name(n) + " [" + g.nodes[n] + "]\n")
	}
	for _, e := range slices.SortedFunc(maps.Keys(g.edges), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		b.WriteString("\t\t" + name(e[0]) + " -> " + name(e[1]) + "\n")
	}
	b.WriteString("\t}\n}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// Execution writes the steps of an execution graph.
func Execution(w io.Writer, steps *execgraph.Graph) error {
	g := newGraph()
	name := func(id execgraph.ID) string {
		s := &steps.Steps[id]
		if s.Kind == execgraph.Gate {
			return s.Label() + " #" + strconv.Itoa(int(id))
		}
		return s.Label()
	}
	for i := range steps.Steps {
		id := execgraph.ID(i)
		g.node(name(id), name(id), shapeOf(steps.Steps[i].Kind))
		for _, after := range steps.Steps[i].After {
			g.edge(name(id), name(after))
		}
	}
	return g.write(w)
}

func shapeOf(k execgraph.Kind) string {
	switch k {
	case execgraph.OpenProvider, execgraph.CloseProvider:
		return "diamond"
	case execgraph.Gate:
		return "point"
	case execgraph.Output, execgraph.Condition:
		return "note"
	}
	return "box"
}

// Configuration writes what the declarations of a module tree refer to.
func Configuration(w io.Writer, tree *program.Tree) error {
	return configuration(outline.Of(tree)).write(w)
}

func configuration(all []*outline.Declaration) *graph {
	g := newGraph()
	g.resources = map[string]resource{}
	for _, d := range all {
		name := nodeOf(d)
		g.node(name, d.Address(), shape(d.Kind))
		for _, r := range d.Refers {
			g.edge(name, nodeOf(r.To))
		}
		isResource := d.ResourceName() != addr.Name{}
		if isResource {
			g.resources[name] = resource{d.Module, d.ResourceName()}
			provider := d.Provider.String()
			if g.nodes[provider] == "" {
				g.node(provider, provider, shape(outline.Provider))
			}
			g.edge(name, provider)
		}
		// What is called waits for the call.
		if parent, step, ok := d.Module.Parent(); ok && (isResource || d.Kind == outline.Call) {
			g.edge(name, parent.Child(step.Call, addr.NoKey).String()+" (expand)")
		}
	}
	return g
}

// shape is what a declaration is drawn as.
func shape(kind outline.Kind) string {
	switch kind {
	case outline.Resource, outline.Data, outline.Temporal:
		return "box"
	case outline.Provider:
		return "diamond"
	case outline.Call:
		return ""
	}
	return "note"
}

// nodeOf marks what stands for all instances. Providers' configurations don't, nor do
// variables and outputs of the root module.
func nodeOf(d *outline.Declaration) string {
	single := d.Module.IsRoot() && (d.Kind == outline.Variable || d.Kind == outline.Output)
	if single || d.Kind == outline.Provider {
		return d.Address()
	}
	return d.Address() + " (expand)"
}
