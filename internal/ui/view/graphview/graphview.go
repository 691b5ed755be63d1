// Package graphview draws graphs of plans and configurations, folded by block or by module, and
// colored by action.
//
// It owns what is one node, and the JSON form. Where boxes go is layered's to say, and
// how every step or reference is written in other languages that of dot.
package graphview

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/symbols"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/edges"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/diff"
	"weir.dev/weir/internal/ui/view/jsonplan"
	"weir.dev/weir/internal/ui/view/layout"
	"weir.dev/weir/internal/ui/view/sanitize"
	"weir.dev/weir/internal/ui/view/summary"
)

// FormatVersion is that of the JSON document.
const FormatVersion = "1.0"

// most is how many nodes a folded graph has at most, where folding modules helps.
const most = 80

// A Node stands for everything of one block, or of one module.
type Node struct {
	// Address is without instance keys where the node stands for several instances.
	Address string `json:"address"`
	// Kind is that of the declaration, such as resource or data, or module, or of a
	// step what it does.
	Kind   string `json:"kind"`
	Module string `json:"module,omitempty"`
	// Action is the most dangerous one of a plan, and Actions has how often each is
	// planned where there are several.
	Action  string         `json:"action,omitempty"`
	Actions map[string]int `json:"actions,omitempty"`
	// Count is how many objects or declarations the node stands for.
	Count int `json:"count"`

	worst plan.Action
}

// An Edge leads from a node to one that it needs, by their addresses.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Reasons are why steps of the one node wait for steps of the other, at most
	// mostReasons of Count different ones.
	Reasons []because `json:"reasons,omitempty"`
	Count   int       `json:"reasons_count,omitempty"`
}

// mostReasons is how many reasons an edge of a chart has at most.
const mostReasons = 8

// because is why a step waits for another one.
type because struct {
	Reason edges.Reason `json:"reason"`
	Value  string       `json:"value,omitempty"`
	jsonplan.References
	text string
}

// reasons are those between two nodes.
type reasons struct {
	list  []because
	count int
}

// add takes in an edge between steps.
func (r *reasons) add(e edges.Edge) {
	b := because{e.Reason, e.Value, jsonplan.ReferencesOf(e), e.Text()}
	if slices.ContainsFunc(r.list, func(other because) bool { return other.text == b.text }) {
		return
	}
	if r.count++; len(r.list) < mostReasons {
		r.list = append(r.list, b)
	}
}

// title is the reasons as lines.
func (r *reasons) title() string {
	if r == nil {
		return ""
	}
	lines := make([]string, 0, len(r.list)+1)
	for _, b := range r.list {
		lines = append(lines, sanitize.Line(b.text))
	}
	if more := r.count - len(r.list); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// A Chart is nodes and what each needs, as places in the list of nodes.
type Chart struct {
	Nodes []*Node
	Needs [][]int
	why   map[[2]int]*reasons // by the places of both nodes
	about string
}

// An item is what is folded to nodes.
type item struct {
	name    addr.Resource // without keys
	address string
	kind    string
	action  plan.Action
	count   int  // 0 for what only connects others
	planned bool // it has an action
}

// OfPlan is what a plan changes, with the ways between that lead through what stays, and
// with the reasons of the order, which may be nil.
func OfPlan(p *plan.Plan, why *edges.Of) *Chart {
	var items []item
	places := map[addr.Resource][]int{}
	add := func(c *plan.Change, count int) {
		r := c.Addr.Resource.Erase()
		places[r] = append(places[r], len(items))
		kind := "resource"
		if r.Name.Mode == addr.Data {
			kind = "data"
		}
		items = append(items, item{r, r.String(), kind, c.Action, count, true})
	}
	shown := map[*plan.Change]bool{}
	for _, row := range summary.Rows(p) {
		for _, c := range row.Changes {
			shown[c] = true
			add(c, 1)
		}
	}
	for _, c := range p.Changes {
		if !shown[c] && places[c.Addr.Resource.Erase()] == nil {
			add(c, 0)
		}
	}
	// One of each block has its edges: the nodes are blocks at the least.
	needs := make([][]int, len(items))
	for from, all := range Dependencies(p) {
		own := places[from]
		if own == nil {
			continue
		}
		for _, to := range all {
			if there := places[to]; there != nil {
				needs[own[0]] = append(needs[own[0]], there[0])
			}
		}
	}
	c, own := fold(items, needs, "Changes of the plan. Each box is a block or module, right of what it needs.")
	if why != nil && p.Graph != nil {
		c.explain(p, why, func(r addr.Resource) (int, bool) {
			there := places[r.Erase()]
			if there == nil || items[there[0]].count == 0 {
				return 0, false
			}
			return own[there[0]], true
		})
	}
	return c
}

// explain gathers why steps on objects of one node wait for steps on those of another.
func (c *Chart) explain(p *plan.Plan, why *edges.Of, node func(addr.Resource) (int, bool)) {
	c.why = map[[2]int]*reasons{}
	drawn := map[[2]int]bool{}
	for from, all := range c.Needs {
		for _, to := range all {
			drawn[[2]int{from, to}] = true
		}
	}
	for id := range p.Graph.Steps {
		s := &p.Graph.Steps[id]
		if s.Object == nil {
			continue
		}
		from, ok := node(s.Object.Resource)
		if !ok {
			continue
		}
		for _, after := range s.After {
			other := p.Graph.Steps[why.Leaf(after)].Object
			if other == nil {
				continue
			}
			to, ok := node(other.Resource)
			ends := [2]int{from, to}
			if !drawn[ends] {
				ends = [2]int{to, from} // what is destroyed goes against the arrows
			}
			if !ok || !drawn[ends] {
				continue
			}
			if c.why[ends] == nil {
				c.why[ends] = &reasons{}
			}
			c.why[ends].add(why.Edge(execgraph.ID(id), after))
		}
	}
}

// Dependencies are what blocks of a plan depend on directly, and perhaps through
// others, in order.
func Dependencies(p *plan.Plan) map[addr.Resource][]addr.Resource {
	all := map[addr.Resource]map[addr.Resource]bool{}
	add := func(from, to addr.Resource) {
		from, to = from.Erase(), to.Erase()
		if from == to {
			return
		}
		if all[from] == nil {
			all[from] = map[addr.Resource]bool{}
		}
		all[from][to] = true
	}
	for _, c := range p.Changes {
		for _, r := range p.DependenciesOf(c) {
			add(c.Addr.Resource, r)
		}
		if c.Action != plan.Delete && c.Action != plan.Forget || p.Previous == nil {
			continue
		}
		if o := p.Previous.Objects[c.Addr]; o != nil { // what is gone has them in the state alone
			for _, r := range o.Dependencies {
				add(c.Addr.Resource, r)
			}
		}
	}
	out := make(map[addr.Resource][]addr.Resource, len(all))
	for from, set := range all {
		list := make([]addr.Resource, 0, len(set))
		for to := range set {
			list = append(list, to)
		}
		slices.SortFunc(list, addr.Resource.Compare)
		out[from] = list
	}
	return out
}

// OfTree is what a configuration declares: its resources only, with the ways between them that
// lead through anything else, or all of it.
func OfTree(tree *program.Tree, all bool) *Chart {
	declared := symbols.Of(tree)
	items, place := make([]item, len(declared)), map[*symbols.Declaration]int{}
	for i, d := range declared {
		place[d] = i
		name := d.ResourceName()
		items[i] = item{name: addr.Resource{Module: d.Module, Name: name}, address: d.Address(), kind: string(d.Kind)}
		if name != (addr.Name{}) {
			items[i].count = 1
		}
	}
	needs := make([][]int, len(items))
	for i, d := range declared {
		for _, r := range d.Refers {
			if to, ok := place[r.To]; ok {
				needs[i] = append(needs[i], to)
			}
		}
	}
	if !all {
		c, _ := fold(items, needs, "Resources of the configuration. Each box is a block or module, right of what it needs.")
		return c
	}
	c := &Chart{Needs: needs, about: "All that the configuration declares, right of what it refers to."}
	for _, i := range items {
		c.Nodes = append(c.Nodes, &Node{Address: i.address, Kind: i.kind, Module: i.name.Module.String(), Count: 1})
	}
	return c
}

// OfSteps is each step of an apply, with what it waits for and why.
func OfSteps(p *plan.Plan, why *edges.Of) *Chart {
	c := &Chart{why: map[[2]int]*reasons{}, about: "Each step of the apply, right of what it waits for."}
	for id := range p.Graph.Steps {
		s := &p.Graph.Steps[id]
		n := &Node{Address: s.Label(), Kind: s.Kind.String(), Module: s.Module.String(), Count: 1}
		if s.Kind == execgraph.Gate {
			n.Address += fmt.Sprintf(" #%d", id)
		}
		if s.Object != nil {
			n.Module = s.Object.Module.String()
		}
		if s.Change > 0 {
			n.worst = p.Changes[s.Change-1].Action
			n.Action = n.worst.String()
		}
		var needs []int
		for _, a := range s.After {
			needs = append(needs, int(a))
			r := &reasons{}
			r.add(why.Edge(execgraph.ID(id), a))
			c.why[[2]int{id, int(a)}] = r
		}
		c.Nodes, c.Needs = append(c.Nodes, n), append(c.Needs, needs)
	}
	return c
}

// fold makes nodes of items, and says which one each item belongs to.
func fold(items []item, needs [][]int, about string) (c *Chart, own []int) {
	next := nearest(items, needs)
	key := folding(items)
	c = &Chart{about: about}
	at := map[string]int{}
	own = make([]int, len(items))
	alone := singles(items, key)
	for i, it := range items {
		if it.count == 0 {
			continue
		}
		address, kind, module := key(it)
		if alone[address] != "" {
			address, kind, module = blocks(it) // a pattern that only one block has says less
		}
		n, known := at[address]
		if !known {
			n = len(c.Nodes)
			at[address] = n
			c.Nodes, c.Needs = append(c.Nodes, &Node{Address: address, Kind: kind, Module: module}), append(c.Needs, nil)
		}
		own[i] = n
		c.Nodes[n].take(it)
	}
	for i, all := range next {
		if items[i].count == 0 {
			continue
		}
		for _, to := range all {
			if own[to] != own[i] {
				c.Needs[own[i]] = append(c.Needs[own[i]], own[to])
			}
		}
	}
	for i, n := range c.Nodes {
		slices.Sort(c.Needs[i])
		c.Needs[i] = slices.Compact(c.Needs[i])
		if len(n.Actions) == 1 {
			n.Actions = nil
		}
	}
	return c, own
}

func (n *Node) take(it item) {
	n.Count += it.count
	if !it.planned {
		return
	}
	if n.Actions == nil {
		n.Actions = map[string]int{}
	}
	n.Actions[it.action.String()] += it.count
	if n.Action == "" || summary.Danger(it.action) < summary.Danger(n.worst) {
		n.Action, n.worst = it.action.String(), it.action
	}
}

// A key says which node an item belongs to.
type key func(it item) (address, kind, module string)

func blocks(it item) (address, kind, module string) {
	return it.address, it.kind, it.name.Module.String()
}

// modules has a node for each module of a depth with all that is in it.
func modules(depth int) key {
	return func(it item) (address, kind, module string) {
		steps := it.name.Module.Steps()
		if len(steps) < depth {
			return blocks(it)
		}
		at := addr.FromSteps(steps[:depth])
		above, _, _ := at.Parent()
		return at.String(), "module", above.String()
	}
}

// numbered has a node for blocks whose names, and those of their modules, differ in numbers
// only: terraform_data.web* stands for web1 and web2.
func numbered(it item) (address, kind, module string) {
	name := it.name.Name
	name.Name = numbers(name.Name)
	if module = numbers(it.name.Module.String()); module != "" {
		return module + "." + name.String(), it.kind, module
	}
	return name.String(), it.kind, ""
}

// prefixed has a node for blocks of the root module whose names begin alike, up to the first
// separator or number, and one for modules whose names differ in numbers only.
func prefixed(it item) (address, kind, module string) {
	if !it.name.Module.IsRoot() {
		address, kind, _ = modules(1)(it)
		return numbers(address), kind, ""
	}
	name := it.name.Name
	if end := strings.IndexAny(name.Name, "_-0123456789"); end > 0 {
		name.Name = name.Name[:end] + "*"
	}
	return name.String(), it.kind, ""
}

// types has a node for each type of the root module, beside its modules.
func types(it item) (address, kind, module string) {
	if !it.name.Module.IsRoot() {
		return prefixed(it)
	}
	name := it.name.Name
	name.Name = "*"
	return name.String(), it.kind, ""
}

// numbers replaces each number in a name by an asterisk.
func numbers(name string) string {
	var b strings.Builder
	within := false
	for _, r := range name {
		digit := r >= '0' && r <= '9'
		switch {
		case digit && !within:
			b.WriteByte('*')
		case !digit:
			b.WriteRune(r)
		}
		within = digit
	}
	return b.String()
}

// folding is the way to fold that leaves the most to see and gives few enough nodes: by block,
// by names that differ in numbers, by module, by how names begin, or by type.
func folding(items []item) key {
	ways := []key{blocks, numbered}
	for depth := deepest(items); depth > 0; depth-- {
		ways = append(ways, modules(depth))
	}
	ways = append(ways, prefixed)
	for _, way := range ways {
		if distinct(items, way) <= most {
			return way
		}
	}
	return types
}

// singles are the patterns that only one block has, with its address.
func singles(items []item, of key) map[string]string {
	all := map[string]string{}
	for _, it := range items {
		if it.count == 0 {
			continue
		}
		address, kind, _ := of(it)
		switch first, known := all[address]; {
		case kind == "module": // it stands for more than its blocks
		case !known:
			all[address] = it.address
		case first != it.address:
			all[address] = ""
		}
	}
	return all
}

func distinct(items []item, of key) int {
	seen := map[string]bool{}
	for _, it := range items {
		if it.count > 0 {
			address, _, _ := of(it)
			seen[address] = true
		}
	}
	return len(seen)
}

func deepest(items []item) int {
	n := 0
	for _, it := range items {
		n = max(n, len(it.name.Module.Steps()))
	}
	return n
}

// nearest are the items that others lead to without passing a further one.
func nearest(items []item, needs [][]int) [][]int {
	out := make([][]int, len(items))
	seen := make([]int, len(items))
	stands := shortcuts(items, needs)
	for from := range items {
		if items[from].count == 0 {
			continue
		}
		stack := slices.Clone(needs[from])
		seen[from] = from + 1
		for len(stack) > 0 {
			n := stands[stack[len(stack)-1]]
			stack = stack[:len(stack)-1]
			if n == nowhere || seen[n] == from+1 {
				continue
			}
			seen[n] = from + 1
			if items[n].count > 0 {
				out[from] = append(out[from], n)
			} else {
				stack = append(stack, needs[n]...)
			}
		}
	}
	return out
}

const nowhere = -1

// shortcuts are what items stand for that only connect others: of a chain of them its end,
// and nothing for what leads nowhere. So each is passed once, and not by all that lead to it.
func shortcuts(items []item, needs [][]int) []int {
	stands := make([]int, len(items))
	done := make([]bool, len(items))
	for i := range items {
		stands[i] = i // also of what is in a circle, as long as it is inspected
		done[i] = items[i].count > 0
	}
	var stack []int
	entered := make([]bool, len(items))
	for i := range items {
		stack = append(stack, i)
		for len(stack) > 0 {
			n := stack[len(stack)-1]
			if !entered[n] && !done[n] {
				entered[n] = true
				for _, to := range needs[n] {
					if !entered[to] && !done[to] {
						stack = append(stack, to)
					}
				}
				continue
			}
			stack = stack[:len(stack)-1]
			if done[n] {
				continue
			}
			done[n] = true
			only := nowhere
			for _, to := range needs[n] {
				switch to = stands[to]; only {
				case nowhere, to:
					only = to
				default:
					if to != nowhere {
						only = n
					}
				}
			}
			stands[n] = only
		}
	}
	return stands
}

// JSON is the chart as a document.
func (c *Chart) JSON() ([]byte, error) {
	doc := struct {
		Format string  `json:"format_version"`
		Nodes  []*Node `json:"nodes"`
		Edges  []Edge  `json:"edges"`
	}{FormatVersion, c.Nodes, []Edge{}}
	if doc.Nodes == nil {
		doc.Nodes = []*Node{}
	}
	for from, all := range c.Needs {
		for _, to := range all {
			e := Edge{From: c.Nodes[from].Address, To: c.Nodes[to].Address}
			if r := c.why[[2]int{from, to}]; r != nil {
				e.Reasons, e.Count = r.list, r.count
			}
			doc.Edges = append(doc.Edges, e)
		}
	}
	return json.Marshal(doc)
}

// drawn is the chart for layered.
func (c *Chart) drawn() layout.Graph {
	var g layout.Graph
	for i, n := range c.Nodes {
		g.Nodes = append(g.Nodes, layout.Node{Label: n.label(), Title: n.title(), Class: n.class(), Group: n.Module})
		for _, to := range c.Needs[i] {
			g.Edges = append(g.Edges, layout.Edge{From: i, To: to, Title: c.why[[2]int{i, to}].title()})
		}
	}
	return g
}

// SVG is the drawing as an element of a page that has layout.Style.
func (c *Chart) SVG() string { return layout.SVG(c.drawn(), c.about) }

func (n *Node) label() string {
	text := sanitize.Line(n.Address)
	if s := symbol(n); s != "" {
		text = s + " " + text
	}
	if n.Count > 1 {
		text += fmt.Sprintf(" ×%d", n.Count)
	}
	return text
}

func (n *Node) title() string {
	text := sanitize.Line(n.Address) + "\n" + n.Kind
	if n.Count > 1 {
		text += fmt.Sprintf(", %d of it", n.Count)
	}
	switch {
	case len(n.Actions) > 0:
		names := make([]string, 0, len(n.Actions))
		for name := range n.Actions {
			names = append(names, name)
		}
		slices.SortFunc(names, func(a, b string) int { return cmp.Or(n.Actions[b]-n.Actions[a], strings.Compare(a, b)) })
		for i, name := range names {
			names[i] = fmt.Sprintf("%s %d", name, n.Actions[name])
		}
		text += "\n" + strings.Join(names, ", ")
	case n.Action != "":
		text += "\n" + n.Action
	}
	return text
}

func (n *Node) class() string {
	class := Class(n.worst)
	if n.Action == "" {
		class = "none"
	}
	if len(n.Actions) > 1 {
		class += " several"
	}
	return class
}

// Class is one word for how an action is coloured.
func Class(a plan.Action) string {
	switch {
	case a.IsReplace():
		return "replace"
	case a == plan.NoOp:
		return "none"
	}
	return a.String()
}

func symbol(n *Node) string {
	if n.Action == "" {
		return ""
	}
	return strings.TrimSpace(diff.Symbol(n.worst, ansi.Pen{}))
}
