package view

import (
	"fmt"
	"io"
	"strings"

	"weir.dev/weir/internal/front/view/brief"
	"weir.dev/weir/internal/front/view/clean"
	"weir.dev/weir/internal/front/view/diff"
	"weir.dev/weir/internal/front/view/jsonplan"
	"weir.dev/weir/internal/front/view/style"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
)

// mostDifferences is how many places a row names.
const mostDifferences = 3

// Overview writes a plan as one row for all changes that are alike, the most
// dangerous first, in place of all that Plan writes of each. A plan without
// changes is written as by Plan.
func Overview(w io.Writer, pl *plan.Plan, o Options) error {
	p := &planPrinter{printer: printer{o: o}, plan: pl}
	rows := brief.Rows(pl)
	p.outputs = outputChanges(pl.Outputs, o)
	if len(rows) == 0 || pl.Mode == plan.RefreshOnly {
		return Plan(w, pl, o)
	}
	p.heading()
	if pl.Errored {
		p.whole(Engine + " planned the following actions, but then encountered a problem:")
	} else {
		p.whole(o.product() + " will perform the following actions:")
	}
	p.WriteByte('\n')
	p.rows(rows)
	p.invokedRows()
	p.deferredRows()
	p.whole(Summary(pl.Counts(), o.Pen))
	p.weight(rows)
	if p.outputs != "" {
		p.WriteString("\nChanges to Outputs:\n" + p.outputs)
	}
	return p.flush(w)
}

// whole writes a line that programs know as it is, but where a terminal would break it.
func (p *planPrinter) whole(line string) {
	if width := p.o.width(); style.Width(line) > width {
		line = style.Wrap(line, width)
	}
	p.WriteString("\n" + line + "\n")
}

// rows writes the rows in columns: symbol, address, number, what is said.
func (p *planPrinter) rows(rows []*brief.Row) {
	addresses, counts := make([]string, len(rows)), make([]string, len(rows))
	widest, number := 0, 0
	limit := max(p.o.width()*2/5, 20)
	for i, r := range rows {
		addresses[i] = clean.Line(r.Addresses())
		if n := style.Width(addresses[i]); n <= limit {
			widest = max(widest, n)
		}
		if n := len(r.Changes); n > 1 {
			counts[i] = fmt.Sprintf("×%d", n)
		}
		number = max(number, style.Width(counts[i]))
	}
	for i, r := range rows {
		said := Said(r)
		if text := Causes(r, p.o.causes()); text != "" {
			said = append(said, text)
		}
		line := diff.Symbol(r.Action, p.o.Pen) + " " + p.o.Pen.Paint(addresses[i], style.Bold)
		used := 4 + style.Width(addresses[i])
		column := 4 + widest + 2
		if number > 0 {
			line += strings.Repeat(" ", max(column-used, 2)) + counts[i]
			used = max(column, used+2) + style.Width(counts[i])
			column += number + 2
		}
		if p.o.width() < style.Narrow || used+2 > column {
			// What is said begins on a line of its own.
			column = 8
			line = strings.TrimRight(line, " ") + "\n"
			used = 0
		}
		if len(said) == 0 {
			p.WriteString(strings.TrimRight(line, " \n") + "\n")
			continue
		}
		p.WriteString(line)
		for j, text := range said {
			for k, part := range strings.Split(style.Wrap(text, max(p.o.width()-column, 20)), "\n") {
				if j+k > 0 {
					used = 0
				}
				p.WriteString(strings.Repeat(" ", max(column-used, 0)) + strings.TrimRight(part, " ") + "\n")
			}
		}
	}
}

// Said is what a row tells beside its address, one line each.
func Said(r *brief.Row) []string {
	first := r.Changes[0]
	var list []string
	note := func(text string) { list = append(list, text) }
	switch r.Outside {
	case brief.Deleted:
		note("deleted outside of " + Engine)
	case brief.Changed:
		note("changed outside of " + Engine)
	}
	if r.Moved {
		note("moved from " + clean.Line(first.Previous().String()) + others(r))
	}
	if r.Imported {
		note("imported")
	}
	for i, d := range r.Differences {
		if i == mostDifferences && len(r.Differences) > mostDifferences+1 {
			note(fmt.Sprintf("and %d more", len(r.Differences)-i))
			break
		}
		text := clean.Line(d.Path) + " " + d.Before + " → " + d.After
		if d.Before == d.After {
			text = clean.Line(d.Path) + " " + d.After
		}
		if d.Various {
			text += ", …"
		}
		if d.Forces {
			text += "  forces replacement"
		}
		note(text)
	}
	if why := cause(r); why != "" {
		note(why)
	}
	return list
}

func others(r *brief.Row) string {
	if len(r.Changes) > 1 {
		return ", …"
	}
	return ""
}

// cause says why an action was chosen, as far as that is the same for all changes
// of a row.
func cause(r *brief.Row) string {
	switch r.Reason {
	case plan.ReplaceTainted:
		return "tainted"
	case plan.ReplaceRequested:
		return "replaced as requested"
	case plan.ReplaceTriggered:
		return "because of replace_triggered_by"
	}
	if len(r.Changes) == 1 {
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

// invokedRows lists the actions that are invoked, one line each.
func (p *planPrinter) invokedRows() {
	counts := map[string]int{}
	var order []string
	for _, i := range p.plan.Invocations {
		text := clean.Line(i.Addr.Resource.String()) + " " + i.Event.String()
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
	for _, r := range reasons {
		p.prose(fmt.Sprintf("Deferred to a later plan: %d, %s.", counts[r], deferral(r)))
	}
}

// weight says what a plan risks, and what its apply has to wait for.
func (p *planPrinter) weight(rows []*brief.Row) {
	text := ""
	if n := len(jsonplan.Shown(jsonplan.Drift(p.plan))); n > 0 {
		text = Count(n, "object") + " changed or deleted outside of " + Engine + ". "
	}
	if risk := Risk(rows); risk != "" {
		text += "Riskiest: " + risk + "."
	} else {
		text += "Nothing is destroyed."
	}
	if steps, longest := Chain(p.plan.Graph); steps > 0 {
		text += fmt.Sprintf(" %s, longest chain %d.", Count(steps, "step"), longest)
	}
	if !p.o.Automation {
		text += " All of each change: -detail."
	}
	p.prose(p.o.Pen.Paint(text, style.Gray))
}

// Risk says how many objects are lost; empty where none is.
func Risk(rows []*brief.Row) string {
	replaced, destroyed := 0, 0
	for _, r := range rows {
		switch {
		case r.Action.IsReplace():
			replaced += len(r.Changes)
		case r.Action == plan.Delete:
			destroyed += len(r.Changes)
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
