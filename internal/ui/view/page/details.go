package page

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/symbols"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/edges"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/graphview"
	"weir.dev/weir/internal/ui/view/sanitize"
	"weir.dev/weir/internal/ui/view/summary"
)

// data is what the page shows when rows are opened, by their numbers.
type data struct {
	Rows []detail `json:"rows"`
	// Blocks are those that changes may come to, each with the places of those that
	// depend on it.
	Blocks []*block `json:"blocks"`
}

// A detail is what an opened row shows.
type detail struct {
	Changes []change `json:"changes"`
	// Left is how many further changes there was no room for.
	Left int      `json:"left,omitempty"`
	Why  []string `json:"why"`
	// Waits are the steps that those of the first change wait for, with the reasons.
	Waits []string `json:"waits,omitempty"`
	Block int      `json:"block"` // -1 without
}

type change struct {
	Address string `json:"address"`
	Text    string `json:"text"`
}

type block struct {
	Address string `json:"address"`
	Count   int    `json:"count"`
	Class   string `json:"class"`
	Word    string `json:"word"`
	By      []int  `json:"by,omitempty"`
	worst   plan.Action
}

// details collects what rows show: the first change of each before further ones.
func details(p *plan.Plan, rows []*summary.Row, beside Beside) data {
	d := data{Rows: make([]detail, len(rows)), Blocks: []*block{}}
	left := room
	write := func(out *detail, c *plan.Change) {
		var text bytes.Buffer
		if left <= 0 || view.Change(&text, p, c, folded) != nil {
			out.Left++
			return
		}
		left -= text.Len()
		out.Changes = append(out.Changes, change{sanitize.Line(c.Addr.String()), text.String()})
	}
	reasons, places := newReasons(p, beside.Tree), d.blocks(p, rows)
	for i, r := range rows {
		out := &d.Rows[i]
		out.Why, out.Block = reasons.of(r), -1
		if at, known := places[r.Changes[0].Addr.Resource.Erase()]; known {
			out.Block = at
		}
		write(out, r.Changes[0])
	}
	if beside.Edges != nil {
		d.waits(p, rows, beside.Edges)
	}
	for i, r := range rows {
		for _, c := range r.Changes[1:] {
			write(&d.Rows[i], c)
		}
	}
	return d
}

// mostWaits is how many steps are named that a change waits for.
const mostWaits = 8

// waits names what the steps of each row's first change wait for, and why.
func (d *data) waits(p *plan.Plan, rows []*summary.Row, why *edges.Of) {
	if p.Graph == nil {
		return
	}
	of := map[addr.Object]*detail{}
	for i, r := range rows {
		of[r.Changes[0].Addr] = &d.Rows[i]
	}
	for id := range p.Graph.Steps {
		s := &p.Graph.Steps[id]
		if s.Change == 0 {
			continue
		}
		out := of[p.Changes[s.Change-1].Addr]
		if out == nil {
			continue
		}
		for _, after := range s.After {
			other := &p.Graph.Steps[why.Leaf(after)]
			if len(out.Waits) < mostWaits && other.Object != nil && other.Change != s.Change {
				text := sanitize.Line(other.Label() + ": " + why.Edge(execgraph.ID(id), after).Text())
				if !slices.Contains(out.Waits, text) {
					out.Waits = append(out.Waits, text)
				}
			}
		}
	}
}

// blocks are those of rows, and what depends on them, however indirectly.
func (d *data) blocks(p *plan.Plan, rows []*summary.Row) map[addr.Resource]int {
	users := map[addr.Resource][]addr.Resource{}
	for from, all := range graphview.Dependencies(p) {
		for _, to := range all {
			users[to] = append(users[to], from)
		}
	}
	places := map[addr.Resource]int{}
	var todo []addr.Resource
	place := func(r addr.Resource) int {
		at, known := places[r]
		if !known {
			at = len(d.Blocks)
			places[r] = at
			d.Blocks = append(d.Blocks, &block{Address: sanitize.Line(r.String()), worst: plan.NoOp, Class: "none", Word: "stays"})
			todo = append(todo, r)
		}
		return at
	}
	for _, r := range rows {
		place(r.Changes[0].Addr.Resource.Erase())
	}
	for len(todo) > 0 {
		r := todo[0]
		todo = todo[1:]
		by := users[r]
		slices.SortFunc(by, addr.Resource.Compare)
		var list []int
		for _, user := range by {
			list = append(list, place(user))
		}
		d.Blocks[places[r]].By = list
	}
	for _, c := range p.Changes {
		at, known := places[c.Addr.Resource.Erase()]
		if !known {
			continue
		}
		b := d.Blocks[at]
		b.Count++
		if c.Action != plan.NoOp && summary.Danger(c.Action) < summary.Danger(b.worst) {
			b.worst, b.Class, b.Word = c.Action, graphview.Class(c.Action), word(c.Action)
		}
	}
	return places
}

// mostReasons is how many causes a row names.
const mostReasons = 8

// reasons finds in the configuration what may have decided a change.
type reasons struct {
	plan     *plan.Plan
	declared map[string]*symbols.Declaration
	changed  map[string]plan.Action // by address of the block
}

func newReasons(p *plan.Plan, tree *program.Tree) *reasons {
	r := &reasons{p, map[string]*symbols.Declaration{}, map[string]plan.Action{}}
	if tree != nil {
		for _, d := range symbols.Of(tree) {
			r.declared[d.Address()] = d
		}
	}
	for _, c := range p.Changes {
		if c.Action != plan.NoOp {
			r.changed[c.Addr.Resource.Erase().String()] = c.Action
		}
	}
	return r
}

// of names what a row's block refers to and that changes in this plan or was given for
// it, with the way there.
func (rs *reasons) of(r *summary.Row) []string {
	d := rs.declared[r.Changes[0].Addr.Resource.Erase().String()]
	if d == nil {
		return nil
	}
	var list, byDefault []string
	made := r.Action == plan.Create || r.Action == plan.Delete || r.Action == plan.Forget
	seen := map[*symbols.Declaration]bool{d: true}
	type hop struct {
		to  *symbols.Declaration
		way string
	}
	var todo []hop
	refer := func(from *symbols.Declaration, way string) {
		for _, ref := range from.Refers {
			// How many instances there are says nothing about what changes in one.
			if repeats := from == d && ref.Argument == d.Repeat && d.Repeat != ""; !seen[ref.To] && (made || !repeats) {
				seen[ref.To] = true
				next := way
				if next == "" {
					next = argument(ref)
				} else {
					next += ", through " + sanitize.Line(from.Address())
				}
				todo = append(todo, hop{ref.To, next})
			}
		}
	}
	refer(d, "")
	for len(todo) > 0 && len(list) < mostReasons {
		h := todo[0]
		todo = todo[1:]
		end, usual := rs.end(h.to)
		switch {
		case end == "":
			refer(h.to, h.way)
		case usual:
			byDefault = append(byDefault, end+h.way)
		default:
			list = append(list, end+h.way)
		}
	}
	if len(list) == 0 {
		list = byDefault[:min(len(byDefault), mostReasons)]
	}
	if len(list) == 0 && d.Range.Filename != "" {
		list = append(list, fmt.Sprintf("Nothing else that changes decides it: it is written in %s:%d.", sanitize.Line(d.Range.Filename), d.Range.Start.Line))
	}
	return list
}

// end says what a declaration is if a cause ends there; empty if it leads on. usual: it
// has its default, so it is a cause only if nothing else is.
func (rs *reasons) end(d *symbols.Declaration) (text string, usual bool) {
	address := sanitize.Line(d.Address())
	if action, changes := rs.changed[d.Address()]; changes {
		return address + " (" + word(action) + ")", false
	}
	if d.Kind == program.KindVariable && d.Module.IsRoot() {
		if v := rs.plan.Variables[strings.TrimPrefix(d.Name, "var.")]; v != nil && v.Given {
			return address + " (given)", false
		}
		return address + " (by default)", true
	}
	return "", false
}

// argument is where a reference stands.
func argument(r symbols.Reference) string {
	text := ", referred to"
	if r.Argument != "config" {
		text += " in " + sanitize.Line(r.Argument)
	}
	if r.Range.Filename != "" {
		text += fmt.Sprintf(" at %s:%d", sanitize.Line(r.Range.Filename), r.Range.Start.Line)
	}
	return text
}
