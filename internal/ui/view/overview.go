package view

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/diff"
	"weir.dev/weir/internal/ui/view/jsonplan"
	"weir.dev/weir/internal/ui/view/masking"
	"weir.dev/weir/internal/ui/view/sanitize"
	"weir.dev/weir/internal/ui/view/summary"
)

// mostParts is how many places and attributes a row names where the screen is too short
// for all of them.
const mostParts = 3

// question is how many lines what follows a plan takes: the question for approval, or
// how to apply a saved plan.
const question = 9

// Overview writes a plan for who decides about it, the most dangerous changes first. All
// of each change is shown where the screen is high enough. Else changes with equal values
// have one row with all of these values; and where that is too long, too, changes of the
// same places have one row that names a few. A plan without changes is written as by Plan.
func Overview(w io.Writer, pl *plan.Plan, o Options) error {
	pl, hidden := masking.Plan(pl, masking.Secrets(pl, nil))
	shown := summary.Changes(pl)
	if len(shown) == 0 || pl.Mode == plan.RefreshOnly {
		return Plan(w, pl, o)
	}
	outputs := outputChanges(pl.Outputs, o)
	var forms []func(*planPrinter)
	if len(shown) <= o.Height { // each takes a line at least
		forms = append(forms, (*planPrinter).everything)
	}
	if o.Height > 0 {
		if rows := summary.Equal(pl); len(rows) <= o.Height {
			forms = append(forms, func(p *planPrinter) { p.folded(rows, math.MaxInt) })
		}
	}
	for _, write := range forms {
		p := &planPrinter{printer: printer{o: o}, plan: pl, hidden: hidden, shown: shown, outputs: outputs}
		if write(p); p.fits() {
			return p.flush(w)
		}
	}
	p := &planPrinter{printer: printer{o: o}, plan: pl, hidden: hidden, shown: shown, outputs: outputs}
	p.folded(summary.Rows(pl), mostParts)
	return p.flush(w)
}

// fits reports whether the screen has room for what was written and for what follows it.
func (p *planPrinter) fits() bool {
	lines := question
	for line := range strings.Lines(p.String()) {
		lines += 1 + max(ansi.Width(line)-2, 0)/p.o.width()
	}
	return lines <= p.o.Height
}

// everything writes all of each change.
func (p *planPrinter) everything() {
	p.o.Detail = "" // there is no more
	p.begins()
	for _, c := range p.shown {
		p.WriteString("\n" + p.change(c) + "\n")
	}
	p.asked()
	p.repeated()
	p.deferrals()
	p.ends()
}

// folded writes rows with at most so many of their places and attributes.
func (p *planPrinter) folded(rows []*summary.Row, most int) {
	p.begins()
	p.WriteByte('\n')
	p.rows(rows, most)
	p.invokedRows()
	p.repeated()
	p.deferredRows()
	p.ends()
}

// begins writes what stands before the changes.
func (p *planPrinter) begins() {
	p.heading()
	if p.plan.Errored {
		p.whole(Engine + " planned the following actions, but then encountered a problem:")
	} else {
		p.whole(p.o.product() + " will perform the following actions:")
	}
	p.symbols()
}

// ends writes what stands behind the changes.
func (p *planPrinter) ends() {
	p.whole(Summary(p.plan.Counts(), p.o.Pen))
	p.weight()
	if p.outputs != "" {
		p.WriteString("\nChanges to Outputs:\n" + p.outputs)
	}
}

// symbols explains the symbols that are on the screen, in as few lines as they need.
func (p *planPrinter) symbols() {
	used := map[string]bool{}
	for _, c := range p.shown {
		used[strings.TrimSpace(rowSymbol(c, ansi.Pen{}))] = true
	}
	line := " "
	for _, s := range []struct{ symbol, means string }{
		{"-", "destroy"}, {"-/+", "replace, destroy first"}, {"+/-", "replace, create first"}, {"./+", "replace, keep the old object"},
		{".", "forget, keep the object"}, {"~", "update in place"}, {"+", "create"}, {"<=", "read"}, {"&", "import"}, {">", "move"},
	} {
		if !used[s.symbol] {
			continue
		}
		part := " " + s.symbol + " " + s.means
		if len(line) > 1 && len(line)+1+len(part) > p.o.width() {
			p.WriteString(p.o.Pen.Paint(line, ansi.Gray) + "\n")
			line = " "
		}
		if len(line) > 1 {
			line += " "
		}
		line += part
	}
	p.WriteString(p.o.Pen.Paint(line, ansi.Gray) + "\n")
}

// rowSymbol is the symbol of a change, also where nothing but its address or its owner
// changes.
func rowSymbol(c *plan.Change, pen ansi.Pen) string {
	switch {
	case c.Action != plan.NoOp:
		return diff.Symbol(c.Action, pen)
	case c.Importing != nil:
		return "  " + pen.Paint("&", ansi.Cyan)
	}
	return "  " + pen.Paint(">", ansi.Cyan)
}

// loses reports whether an object is destroyed by a change.
func loses(a plan.Action) bool {
	return a == plan.Delete || a == plan.DeleteThenCreate || a == plan.CreateThenDelete
}

// painted is an address, in red where the object is lost.
func (p *planPrinter) painted(address string, a plan.Action) string {
	if loses(a) {
		return p.o.Pen.Paint(address, ansi.Bold, ansi.Red)
	}
	return p.o.Pen.Paint(address, ansi.Bold)
}

// whole writes a line that programs know as it is, but where a terminal would break it.
func (p *planPrinter) whole(line string) {
	if width := p.o.width(); ansi.Width(line) > width {
		line = ansi.Wrap(line, width)
	}
	p.WriteString("\n" + line + "\n")
}

// rows writes the rows in columns: symbol, address, number, what is said.
func (p *planPrinter) rows(rows []*summary.Row, most int) {
	addresses, counts := make([]string, len(rows)), make([]string, len(rows))
	widest, number := 0, 0
	limit := max(p.o.width()*2/5, 20)
	for i, r := range rows {
		addresses[i] = sanitize.Line(r.Addresses())
		if n := ansi.Width(addresses[i]); n <= limit {
			widest = max(widest, n)
		}
		if n := len(r.Changes); n > 1 {
			counts[i] = fmt.Sprintf("×%d", n)
		}
		number = max(number, ansi.Width(counts[i]))
	}
	for i, r := range rows {
		said := Said(r, most)
		if text := Causes(r, p.o.causes()); text != "" {
			said = append(said, Note{Text: text})
		} else if isRemoved(r.Action, r.Reason) {
			said = append(said, Note{Text: "because of its removed block"})
		}
		line := rowSymbol(r.Changes[0], p.o.Pen) + " " + p.painted(addresses[i], r.Action)
		used := 4 + ansi.Width(addresses[i])
		column := 4 + widest + 2
		if number > 0 {
			line += strings.Repeat(" ", max(column-used, 2)) + counts[i]
			used = max(column, used+2) + ansi.Width(counts[i])
			column += number + 2
		}
		if p.o.width() < ansi.Narrow || used+2 > column {
			// Anything that is said begins on a line of its own.
			column = 8
			line = strings.TrimRight(line, " ") + "\n"
			used = 0
		}
		if len(said) == 0 {
			p.WriteString(strings.TrimRight(line, " \n") + "\n")
			continue
		}
		p.WriteString(line)
		for j, note := range said {
			text := note.Text
			if note.Forces {
				// Each word by itself, because a line may end between them.
				text += "  " + p.o.Pen.Paint("forces", ansi.Red) + " " + p.o.Pen.Paint("replacement", ansi.Red)
			}
			for k, part := range strings.Split(ansi.Wrap(text, max(p.o.width()-column, 20)), "\n") {
				if j+k > 0 {
					used = 0
				}
				p.WriteString(strings.Repeat(" ", max(column-used, 0)) + strings.TrimRight(part, " ") + "\n")
			}
		}
	}
}

// A Note is a line about a row. Forces: it is why objects are replaced.
type Note struct {
	Text   string
	Forces bool
}

// String is the whole line.
func (n Note) String() string {
	if n.Forces {
		return n.Text + "  forces replacement"
	}
	return n.Text
}

// Brief is what a row says beside its address where it stands in a list of rows.
func Brief(r *summary.Row) []Note { return Said(r, mostParts) }

// Said is what a row says beside its address, one line each, with at most so many places
// and attributes.
func Said(r *summary.Row, most int) []Note {
	first := r.Changes[0]
	var list []Note
	note := func(text string) { list = append(list, Note{Text: text}) }
	switch r.Outside {
	case summary.Deleted:
		note("deleted outside of " + Engine)
	case summary.Changed:
		note("changed outside of " + Engine)
	}
	if r.Moved {
		note("moved from " + sanitize.Line(first.Previous().String()) + others(r))
	}
	if r.Imported {
		text := "imported"
		if first.Importing.ID != "" {
			text += " from " + strconv.Quote(sanitize.Line(first.Importing.ID)) + others(r)
		}
		note(text)
	}
	for i, d := range r.Differences {
		if i == most && len(r.Differences) > most+1 {
			note(fmt.Sprintf("and %d more", len(r.Differences)-i))
			break
		}
		text := sanitize.Line(d.Path) + " " + d.Before + " → " + d.After
		if d.Before == d.After {
			text = sanitize.Line(d.Path) + " " + d.After
		}
		if d.Various {
			text += ", …"
		}
		list = append(list, Note{Text: text, Forces: d.Forces})
	}
	if text := attributes(r, most); text != "" {
		note(text)
	}
	if why := cause(r); why != "" {
		note(why)
	}
	return list
}

// attributes is one line for what the objects of a row have.
func attributes(r *summary.Row, most int) string {
	var parts []string
	for i, d := range r.Attributes {
		if i == most && len(r.Attributes) > most+1 {
			parts = append(parts, fmt.Sprintf("and %d more", len(r.Attributes)-i))
			break
		}
		text := sanitize.Line(d.Path) + " " + d.After
		if d.Various {
			text += " …"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func others(r *summary.Row) string {
	if len(r.Changes) > 1 {
		return ", …"
	}
	return ""
}

// cause says why an action was chosen, as far as that is the same for all changes
// of a row.
func cause(r *summary.Row) string {
	switch r.Reason {
	case plan.ReplaceTainted:
		return "tainted"
	case plan.ReplaceRequested:
		return "replaced as requested"
	case plan.ReplaceTriggered:
		return "because of replace_triggered_by"
	}
	if isRemoved(r.Action, r.Reason) {
		return "" // its removed block is
	}
	if len(r.Changes) == 1 {
		if awaits := r.Changes[0].Awaits; awaits != nil {
			return "read during apply: " + sanitize.Line(awaits.String())
		}
		return reason(r.Changes[0])
	}
	switch r.Reason {
	case plan.DeleteCountIndex:
		return "because the indexes are out of range for count"
	case plan.DeleteEachKey:
		return "because the keys are not in for_each map"
	case plan.DeleteNoModule, plan.DeleteNoMoveTarget:
		return reason(r.Changes[0]) + ", …"
	}
	return reason(r.Changes[0])
}

// isRemoved reports whether a removed block has an object forgotten: that it isn't in the
// configuration alone would have it destroyed.
func isRemoved(a plan.Action, r plan.Reason) bool {
	return a == plan.Forget && (r == plan.DeleteNoResourceConfig || r == plan.DeleteNoModule)
}

// invokedRows lists the actions that are invoked, one line each.
func (p *planPrinter) invokedRows() {
	counts := map[string]int{}
	var order []string
	for _, i := range p.plan.Invocations {
		text := sanitize.Line(i.Addr.Resource.String()) + " " + i.Event.String()
		if counts[text]++; counts[text] == 1 {
			order = append(order, text)
		}
	}
	if len(order) > 0 {
		p.WriteString("\n  Actions to be invoked:\n")
	}
	for _, text := range order {
		if n := counts[text]; n > 1 {
			text += fmt.Sprintf("  ×%d", n)
		}
		p.WriteString("    " + text + "\n")
	}
}

// deferredRows lists what waits for a later round, one line each reason.
func (p *planPrinter) deferredRows() {
	counts := map[string]int{}
	var reasons []string
	for _, d := range p.plan.Deferred {
		if counts[d.Reason] == 0 {
			reasons = append(reasons, d.Reason)
		}
		counts[d.Reason]++
	}
	if len(reasons) == 0 {
		return
	}
	p.WriteByte('\n')
	waits := doubted(p.plan)
	for _, r := range reasons {
		if waits(r) {
			p.prose(p.o.Pen.Paint(fmt.Sprintf("In doubt: %s not planned, %s. Resolve it with the command recover.", Count(counts[r], "change"), deferral(r, true)), ansi.Yellow))
			continue
		}
		p.prose(fmt.Sprintf("Deferred to a later plan: %d, %s.", counts[r], deferral(r, false)))
	}
}

// weight says what a plan risks, and what its apply has to wait for.
func (p *planPrinter) weight() {
	if risk := risk(p.shown); risk != "" {
		p.prose(p.o.Pen.Paint("Riskiest: "+risk+".", ansi.Bold, ansi.Red))
	} else {
		p.prose("Nothing is destroyed.")
	}
	var parts []string
	if n := len(jsonplan.Shown(jsonplan.Drift(p.plan))); n > 0 {
		parts = append(parts, Count(n, "object")+" changed or deleted outside of "+Engine+".")
	}
	if steps, longest := Chain(p.plan.Graph); steps > 0 {
		parts = append(parts, fmt.Sprintf("%s, critical path %d.", Count(steps, "step"), longest))
	}
	if p.o.Detail != "" {
		parts = append(parts, "Every attribute: "+p.o.Detail+".")
	}
	if len(parts) > 0 {
		p.prose(p.o.Pen.Paint(strings.Join(parts, " "), ansi.Gray))
	}
}

// Risk says how many objects are lost; empty where none is.
func Risk(rows []*summary.Row) string {
	var all []*plan.Change
	for _, r := range rows {
		all = append(all, r.Changes...)
	}
	return risk(all)
}

func risk(changes []*plan.Change) string {
	replaced, destroyed := 0, 0
	for _, c := range changes {
		switch {
		case c.Action.IsReplace():
			replaced++
		case c.Action == plan.Delete:
			destroyed++
		}
	}
	var parts []string
	if destroyed > 0 {
		parts = append(parts, Count(destroyed, "object")+" destroyed")
	}
	if replaced > 0 {
		parts = append(parts, Count(replaced, "object")+" replaced")
	}
	return strings.Join(parts, ", ")
}

// Either is what would be done where that is only tried, else what was done.
func Either(dry bool, would, did string) string {
	if dry {
		return would
	}
	return did
}

// Count is a number of things in words.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Chain counts the steps of an apply that change something or ask a provider, and
// those of the longest chain of which each waits for the one before.
func Chain(g *execgraph.Graph) (steps, longest int) {
	if g == nil {
		return 0, 0
	}
	// Steps come after those they wait for.
	lengths := make([]int, len(g.Steps))
	for i := range g.Steps {
		s := &g.Steps[i]
		for _, id := range s.After {
			lengths[i] = max(lengths[i], lengths[id])
		}
		if s.Kind != execgraph.Gate {
			steps++
			lengths[i]++
		}
		longest = max(longest, lengths[i])
	}
	return steps, longest
}
