// Package page writes a plan as one HTML page for reviewers: totals, rows of similar changes
// with details, a graph and the order in time.
//
// It owns the page. Which changes are alike is brief's to say, how one is written that
// of diff, what a node of the graph is that of chart. No value is set here but by way of
// these, so that what is sensitive stays hidden.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/edges"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/diff"
	"weir.dev/weir/internal/ui/view/graphview"
	"weir.dev/weir/internal/ui/view/layout"
	"weir.dev/weir/internal/ui/view/masking"
	"weir.dev/weir/internal/ui/view/progress"
	"weir.dev/weir/internal/ui/view/sanitize"
	"weir.dev/weir/internal/ui/view/steptimes"
	"weir.dev/weir/internal/ui/view/stream"
	"weir.dev/weir/internal/ui/view/summary"
)

// Beside is what is known beside the plan; all of it may be missing.
type Beside struct {
	// Tree is the configuration that the plan was made of.
	Tree *program.Tree
	// Edges says why steps wait for one another.
	Edges *edges.Of
	// Durations are how long such steps took in earlier runs, as progress writes them.
	Durations []byte
	// Took is when the steps of its apply ran, once it was applied.
	Took *steptimes.Times
	// Framed: another page shows the heading.
	Framed bool
}

// room is how many bytes of changes in full the page has at most: what browsers read
// without anybody waiting.
const room = 4 << 20

//go:embed page.css
var css string

//go:embed page.js
var script string

// Plan writes the page of a plan.
func Plan(w io.Writer, p *plan.Plan, beside Beside) error {
	p, _ = masking.Plan(p, masking.Secrets(p, beside.Tree))
	rows := summary.Rows(p)
	c := graphview.OfPlan(p, beside.Edges)
	m := &model{
		Framed:  beside.Framed,
		Script:  "\n" + graphview.Script + script,
		CSS:     layout.Style + css,
		Modules: modules(rows), Notes: notes(p, rows),
		Outputs: outputs(p), Times: timeline(p, progress.ReadDurations(beside.Durations)),
		Data: details(p, rows, beside),
	}
	if beside.Took != nil && p.Graph != nil {
		m.Times = lived(p, beside.Took)
	}
	if len(c.Nodes) > 0 {
		m.Graph, m.GraphTools = c.SVG(), graphview.Tools
	}
	m.head(p)
	m.Risk = view.Risk(rows)
	m.Steps, m.Chain = view.Chain(p.Graph)
	for i, r := range rows {
		m.Rows = append(m.Rows, rowOf(i, r))
	}
	m.Kinds = kinds(rows)
	for _, i := range p.Invocations {
		m.Invoked = append(m.Invoked, sanitize.Line(i.Label()))
	}
	sum := sha256.Sum256([]byte(m.Script))
	m.Policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	var out writer
	if out.page(m); out.failed != nil {
		return out.failed
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// A model is what the page says. CSS, Script, Graph and GraphTools are markup, all else
// are texts.
type model struct {
	Title, Heading, Policy string
	CSS, Script            string
	Failed, Framed         bool
	Notes                  []string
	Risk                   string
	Steps, Chain           int
	Modules                []*branch
	Kinds                  []kind
	Rows                   []row
	Outputs                []line
	Invoked                []string
	Graph, GraphTools      string
	Times                  times
	Data                   data
}

// head says what the plan results in.
func (m *model) head(p *plan.Plan) {
	m.Heading, m.Failed = Heading(p)
	m.Title = m.Heading
	if p.Mode == plan.Destroy {
		m.Title = "Destroy: " + m.Title
	}
}

// Heading says what a plan results in, and whether it failed.
func Heading(p *plan.Plan) (text string, failed bool) {
	switch {
	case p.Errored:
		return "Planning failed", true
	case !p.HasChanges() && len(summary.Rows(p)) == 0:
		return "No changes", false
	}
	return stream.PlanText(p.Counts()), false
}

// notes are what one has to know before reading on.
func notes(p *plan.Plan, rows []*summary.Row) (list []string) {
	if p.Errored {
		list = append(list, "The incomplete plan can't be applied.")
	}
	switch p.Mode {
	case plan.Destroy:
		list = append(list, "This plan destroys what the state has.")
	case plan.RefreshOnly:
		list = append(list, "This plan only takes over what was changed outside of "+view.Engine+".")
	}
	for _, text := range view.Named(p) {
		list = append(list, sanitize.Line(text))
	}
	var changed, deleted int
	for _, c := range p.Drift {
		switch c.Action {
		case plan.Update:
			changed++
		case plan.Delete:
			deleted++
		}
	}
	if changed > 0 {
		list = append(list, number(changed, "object")+" changed outside of "+view.Engine+".")
	}
	if deleted > 0 {
		list = append(list, number(deleted, "object")+" deleted outside of "+view.Engine+".")
	}
	if n := len(p.Deferred); n > 0 {
		list = append(list, number(n, "change")+" deferred to a later plan.")
	}
	return list
}

// A kind is an action that occurs, with its number.
type kind struct {
	Class, Word string
	Count       int
}

func kinds(rows []*summary.Row) (list []kind) {
	at := map[string]int{}
	for _, r := range rows {
		class := graphview.Class(r.Action)
		i, known := at[class]
		if !known {
			i = len(list)
			at[class] = i
			list = append(list, kind{Class: class, Word: words()[class]})
		}
		list[i].Count += len(r.Changes)
	}
	return list
}

func words() map[string]string {
	return map[string]string{
		"create": "create", "update": "update in place", "delete": "destroy", "replace": "replace",
		"read": "read", "forget": "forget", "none": "only the state",
	}
}

// A row stands for changes that are alike.
type row struct {
	ID                                   int
	Class, Word, Symbol, Address, Module string
	Count                                int
	Said                                 []string
}

func rowOf(id int, r *summary.Row) row {
	out := row{
		ID: id, Class: graphview.Class(r.Action), Word: word(r.Action), Symbol: strings.TrimSpace(diff.Symbol(r.Action, ansi.Pen{})),
		Address: sanitize.Line(r.Addresses()), Module: sanitize.Line(r.Changes[0].Addr.Module.Erase().String()),
	}
	for _, note := range view.Brief(r) {
		out.Said = append(out.Said, note.String())
	}
	if why := view.Causes(r, nil); why != "" {
		out.Said = append(out.Said, why)
	}
	if n := len(r.Changes); n > 1 {
		out.Count = n
	}
	return out
}

func word(a plan.Action) string {
	switch a {
	case plan.DeleteThenCreate:
		return "replace, destroyed first"
	case plan.CreateThenDelete:
		return "replace, created first"
	case plan.ForgetThenCreate:
		return "replace, the old one stays"
	}
	return words()[graphview.Class(a)]
}

// A branch is a module with what is below it.
type branch struct {
	Address, Name string
	Count         int
	Class         string // of the most dangerous action
	Below         []*branch
	worst         plan.Action
}

// modules is the tree of modules that something changes in.
func modules(rows []*summary.Row) []*branch {
	root := &branch{Name: "root module", worst: plan.NoOp}
	at := map[addr.Module]*branch{addr.Root: root}
	var find func(m addr.Module) *branch
	find = func(m addr.Module) *branch {
		if b := at[m]; b != nil {
			return b
		}
		above, step, _ := m.Parent()
		b := &branch{Address: sanitize.Line(m.String()), Name: sanitize.Line(step.String()), worst: plan.NoOp}
		at[m] = b
		over := find(above)
		over.Below = append(over.Below, b)
		return b
	}
	for _, r := range rows {
		m := r.Changes[0].Addr.Module.Erase()
		for {
			b := find(m)
			b.Count += len(r.Changes)
			if summary.Danger(r.Action) < summary.Danger(b.worst) || b.Class == "" {
				b.worst, b.Class = r.Action, graphview.Class(r.Action)
			}
			if m.IsRoot() {
				break
			}
			m, _, _ = m.Parent()
		}
	}
	if len(root.Below) == 0 {
		return nil
	}
	return []*branch{root}
}

// A line is one of a text in the form of diffs.
type line struct{ Class, Text string }

// folded is how a difference is written: what stays of long texts is left out.
var folded = view.Options{Fold: true}

// outputs is how root outputs change.
func outputs(p *plan.Plan) (list []line) {
	var text bytes.Buffer
	if view.OutputChanges(&text, p, folded) != nil {
		return nil
	}
	for t := range strings.Lines(text.String()) {
		list = append(list, line{mark(t), t})
	}
	return list
}

// mark is the class of a line of a change by its symbol. The script has the same
// for what is opened.
func mark(text string) string {
	body := strings.TrimLeft(text, " ")
	switch {
	case strings.HasPrefix(body, "-/+ "), strings.HasPrefix(body, "+/- "):
		return "replace"
	case strings.HasPrefix(body, "~ "):
		return "update"
	case strings.HasPrefix(body, "+ "):
		return "create"
	case strings.HasPrefix(body, "- "):
		return "delete"
	}
	return ""
}

func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
