// Package dot writes graphs in the DOT language and as Mermaid flowcharts: references of a
// configuration, and steps of an execution graph.
//
// It owns these languages. An edge leads from what needs to what it needs.
package dot

import (
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/symbols"
	"weir.dev/weir/internal/plan/edges"
	"weir.dev/weir/internal/plan/execgraph"
)

// A Language writes graphs as text. It has a form for each kind of graph, so that none is
// written in another language.
type Language interface {
	graph(g *graph) string     // every declaration or step
	summary(s *summary) string // resources only, by module
}

// The languages.
var (
	DOT     Language = dot{}
	Mermaid Language = mermaid{}
)

type (
	dot     struct{}
	mermaid struct{}
)

// A graph is nodes and edges by name.
type graph struct {
	nodes map[string]node
	edges map[[2]string]string // with a label, or empty
	// resources are the nodes that a summary shows; nil when none is made.
	resources map[string]resource
}

type node struct{ label, shape string }

func newGraph() *graph { return &graph{nodes: map[string]node{}, edges: map[[2]string]string{}} }

func (g *graph) node(name, label, shape string) { g.nodes[name] = node{label, shape} }

func (g *graph) edge(from, to, label string) {
	if from != to {
		g.edges[[2]string{from, to}] = label
	}
}

func (g *graph) sortedEdges() [][2]string {
	return slices.SortedFunc(maps.Keys(g.edges), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
}

// graph has the names below a root, as readers of such graphs expect.
func (dot) graph(g *graph) string {
	var b strings.Builder
	b.WriteString("digraph {\n\tcompound = \"true\"\n\tnewrank = \"true\"\n\tsubgraph \"root\" {\n")
	name := func(s string) string { return quote("[root] " + s) }
	for _, n := range slices.Sorted(maps.Keys(g.nodes)) {
		attributes := "label = " + quote(g.nodes[n].label)
		if shape := g.nodes[n].shape; shape != "" {
			attributes += ", shape = " + quote(shape)
		}
		b.WriteString("\t\t" + name(n) + " [" + attributes + "]\n")
	}
	for _, e := range g.sortedEdges() {
		b.WriteString("\t\t" + name(e[0]) + " -> " + name(e[1]))
		if label := g.edges[e]; label != "" {
			b.WriteString(" [label = " + quote(label) + "]")
		}
		b.WriteByte('\n')
	}
	b.WriteString("\t}\n}\n")
	return b.String()
}

// graph numbers the nodes, because names there can't have all signs.
func (mermaid) graph(g *graph) string {
	var b strings.Builder
	b.WriteString(flowchart)
	names, number := slices.Sorted(maps.Keys(g.nodes)), map[string]string{}
	for i, n := range names {
		number[n] = "n" + strconv.Itoa(i)
	}
	for _, e := range g.sortedEdges() { // what is only referred to
		for _, n := range e {
			if number[n] == "" {
				number[n] = "n" + strconv.Itoa(len(number))
				names = append(names, n)
			}
		}
	}
	for _, n := range names {
		label := g.nodes[n].label
		if label == "" {
			label = n
		}
		open, shut := "[", "]"
		switch g.nodes[n].shape {
		case "diamond":
			open, shut = "{", "}"
		case "point":
			open, shut = "((", "))"
		case "note":
			open, shut = ">", "]"
		case "":
			open, shut = "(", ")"
		}
		b.WriteString("  " + number[n] + open + labelled(label) + shut + "\n")
	}
	for _, e := range g.sortedEdges() {
		arrow := " --> "
		if label := g.edges[e]; label != "" {
			arrow = " -->|" + labelled(label) + "| "
		}
		b.WriteString("  " + number[e[0]] + arrow + number[e[1]] + "\n")
	}
	return b.String()
}

// flowchart begins a graph that is read from the left.
const flowchart = "flowchart LR\n"

// labelled is a text as Mermaid reads it.
func labelled(s string) string {
	return `"` + entities.Replace(s) + `"`
}

func quote(s string) string { return `"` + escapes.Replace(s) + `"` }

// A graph has as many texts as edges, and a replacer makes a table when it is first used.
var (
	entities = strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "\n", " ")
	escapes  = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
)

// Names writes nodes, and the nodes that each needs by their places in the list.
func Names(w io.Writer, l Language, names []string, needs [][]int) error {
	g := newGraph()
	for i, name := range names {
		g.node(name, name, "box")
		for _, n := range needs[i] {
			g.edge(name, names[n], "")
		}
	}
	_, err := io.WriteString(w, l.graph(g))
	return err
}

// Execution writes the steps of an execution graph, and why each waits for others.
func Execution(w io.Writer, l Language, steps *execgraph.Graph, reasons *edges.Of) error {
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
			g.edge(name(id), name(after), reasons.Edge(id, after).Text())
		}
	}
	_, err := io.WriteString(w, l.graph(g))
	return err
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
func Configuration(w io.Writer, l Language, tree *program.Tree) error {
	_, err := io.WriteString(w, l.graph(configuration(symbols.Of(tree))))
	return err
}

func configuration(all []*symbols.Declaration) *graph {
	g := newGraph()
	g.resources = map[string]resource{}
	for _, d := range all {
		name := nodeOf(d)
		g.node(name, d.Address(), shape(d.Kind))
		for _, r := range d.Refers {
			g.edge(name, nodeOf(r.To), "")
		}
		isResource := d.ResourceName() != addr.Name{}
		if isResource {
			g.resources[name] = resource{d.Module, d.ResourceName()}
			provider := d.Provider.String()
			if _, ok := g.nodes[provider]; !ok {
				g.node(provider, provider, shape(symbols.Provider))
			}
			g.edge(name, provider, "")
		}
		// Anything that is called waits for the call.
		if parent, step, ok := d.Module.Parent(); ok && (isResource || d.Kind == symbols.Call) {
			g.edge(name, parent.Child(step.Call, addr.NoKey).String()+" (expand)", "")
		}
	}
	return g
}

// shape is what a declaration is drawn as.
func shape(kind symbols.Kind) string {
	switch kind {
	case symbols.Resource, symbols.Data, symbols.Temporal:
		return "box"
	case symbols.Provider:
		return "diamond"
	case symbols.Call:
		return ""
	}
	return "note"
}

// nodeOf marks what stands for all instances. Providers' configurations don't, nor do
// variables and outputs of the root module.
func nodeOf(d *symbols.Declaration) string {
	single := d.Module.IsRoot() && (d.Kind == symbols.Variable || d.Kind == symbols.Output)
	if single || d.Kind == symbols.Provider {
		return d.Address()
	}
	return d.Address() + " (expand)"
}
