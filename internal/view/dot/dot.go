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

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/execgraph"
	"weir.dev/weir/internal/program"
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
	g := newGraph()
	(&walker{graph: g}).module(&place{tree: tree, path: addr.Root})
	return g.write(w)
}

// A place is a module in the tree.
type place struct {
	tree   *program.Tree
	path   addr.Module // without keys
	call   *program.Call
	parent *place
}

func (at *place) name(what string) string {
	if at.path.IsRoot() {
		return what
	}
	return at.path.String() + "." + what
}

// expand marks a name that stands for all instances.
func (at *place) expand(what string) string { return at.name(what) + " (expand)" }

type walker struct{ *graph }

func (w *walker) module(at *place) {
	p := at.tree.Program
	for _, v := range p.Variables {
		name := at.variable(v.Name)
		w.node(name, at.name("var."+v.Name), "note")
		for _, c := range v.Validations {
			w.condition(at, name, c)
		}
		if at.call != nil {
			if in := at.call.Input(v.Name); in != nil {
				w.expr(at.parent, name, in.Expr)
			}
		}
	}
	for _, l := range p.Locals {
		name := at.expand("local." + l.Name)
		w.node(name, at.name("local."+l.Name), "note")
		w.expr(at, name, l.Expr)
	}
	for _, o := range p.Outputs {
		name := at.output(o.Name)
		w.node(name, at.name("output."+o.Name), "note")
		w.expr(at, name, o.Expr)
		w.refs(at, name, o.DependsOn)
		for _, c := range o.Preconditions {
			w.condition(at, name, c)
		}
	}
	for _, r := range p.Resources {
		w.resource(at, r)
	}
	for _, c := range p.Providers {
		name := at.provider(c.Provider, c.Alias)
		w.node(name, name, "diamond")
		w.expr(at, name, c.ForEach)
		w.body(at, name, c.Config)
	}
	for _, c := range p.Checks {
		name := at.expand("check." + c.Name)
		w.node(name, at.name("check."+c.Name), "note")
		if c.Data != nil {
			w.edge(name, at.expand(c.Data.Name.String()))
		}
		for _, a := range c.Asserts {
			w.condition(at, name, a)
		}
	}
	for _, c := range p.Calls {
		w.call(at, c)
	}
}

func (w *walker) call(at *place, c *program.Call) {
	name := at.expand(c.String())
	w.node(name, at.name(c.String()), "")
	w.expr(at, name, c.Repeat.Expr())
	w.refs(at, name, c.DependsOn)
	if at.call != nil {
		w.edge(name, at.parent.expand(at.call.String()))
	}
	child := at.tree.Children[c.Call]
	if child == nil || child.Program == nil {
		return
	}
	inner := &place{child, at.path.Child(c.Call, addr.NoKey), c, at}
	w.module(inner)
	for _, r := range child.Program.Resources {
		w.edge(inner.expand(r.Name.String()), name)
	}
}

func (w *walker) resource(at *place, r *program.Resource) {
	name := at.expand(r.Name.String())
	w.node(name, at.name(r.Name.String()), "box")
	if w.resources != nil {
		w.resources[name] = resource{at.path, r.Name}
	}
	w.expr(at, name, r.Repeat.Expr())
	w.body(at, name, r.Config)
	w.refs(at, name, r.DependsOn)
	w.refs(at, name, r.ReplaceTriggeredBy)
	for _, c := range slices.Concat(r.Preconditions, r.Postconditions) {
		w.condition(at, name, c)
	}
	w.body(at, name, r.Connection)
	for _, p := range r.Provisioners {
		w.body(at, name, p.Config)
		w.body(at, name, p.Connection)
	}
	provider := at.providerOf(r.Provider)
	if w.nodes[provider] == "" {
		w.node(provider, provider, "diamond")
	}
	w.edge(name, provider)
}

func (w *walker) expr(at *place, from string, e *program.Expr) {
	if e != nil {
		w.refs(at, from, e.Refs)
	}
}

func (w *walker) body(at *place, from string, b *program.Body) {
	if b != nil {
		w.refs(at, from, b.Refs)
	}
}

func (w *walker) condition(at *place, from string, c *program.Condition) {
	w.expr(at, from, c.Condition)
	w.expr(at, from, c.ErrorMessage)
}

func (w *walker) refs(at *place, from string, refs []*program.Ref) {
	for _, r := range refs {
		switch r.Kind {
		case program.RefVariable:
			w.edge(from, at.variable(r.Variable.Name))
		case program.RefLocal:
			w.edge(from, at.expand("local."+r.Local.Name))
		case program.RefResource:
			w.edge(from, at.expand(r.Resource.Name.String()))
		case program.RefCall:
			w.callRef(at, from, r)
		}
	}
}

// callRef leads to one output of a call, or to all when the whole call is
// meant.
func (w *walker) callRef(at *place, from string, r *program.Ref) {
	child := at.tree.Children[r.Call.Call]
	if child == nil || child.Program == nil {
		w.edge(from, at.expand(r.Call.String()))
		return
	}
	inner := &place{child, at.path.Child(r.Call.Call, addr.NoKey), r.Call, at}
	for _, o := range child.Program.Outputs {
		if r.Attr == "" || r.Attr == o.Name {
			w.edge(from, inner.output(o.Name))
		}
	}
}

// variable and output are single values in the root module.
func (at *place) variable(name string) string {
	if at.path.IsRoot() {
		return "var." + name
	}
	return at.expand("var." + name)
}

func (at *place) output(name string) string {
	if at.path.IsRoot() {
		return "output." + name
	}
	return at.expand("output." + name)
}

func (at *place) provider(p addr.Provider, alias string) string {
	return addr.ProviderConfig{Module: at.path, Provider: p, Alias: alias}.String()
}

// providerOf follows a provider configuration to the module it comes from.
func (at *place) providerOf(use program.ProviderUse) string {
	name, alias := use.LocalName, use.Alias
	for at.parent != nil && !at.declares(use.Provider, alias) {
		passed := slices.IndexFunc(at.call.Providers, func(p *program.PassedProvider) bool { return p.LocalName == name && p.Alias == alias })
		if passed < 0 && alias != "" {
			break
		}
		if passed >= 0 {
			outer := at.call.Providers[passed].Outer
			name, alias = outer.LocalName, outer.Alias
		}
		at = at.parent
	}
	return at.provider(use.Provider, alias)
}

func (at *place) declares(p addr.Provider, alias string) bool {
	return slices.ContainsFunc(at.tree.Program.Providers, func(c *program.Provider) bool { return c.Provider == p && c.Alias == alias })
}
