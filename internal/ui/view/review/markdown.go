// Package review formats plans for reviewers as Markdown that fits a comment on a pull
// request.
//
// It owns what is said within a given size, and in which order. Anything that is alike is
// brief's to say, and how one change is written that of diff.
package review

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/masking"
	"weir.dev/weir/internal/ui/view/sanitize"
	"weir.dev/weir/internal/ui/view/stream"
	"weir.dev/weir/internal/ui/view/summary"
)

// Limit is how long a comment may be on the hosts that people use, in characters.
const Limit = 65536

// reserve is what is kept for the last lines.
const reserve = 600

// Markdown writes a plan in at most limit characters: the result of it, a table with a row for
// all changes that are alike, the most dangerous first, and then as many of these changes in
// full, folded, as there is room for. Anything that is left out is counted.
func Markdown(w io.Writer, p *plan.Plan, limit int) error {
	p, hidden := masking.Plan(p, masking.Secrets(p, nil))
	rows := summary.Rows(p)
	d := &document{limit: limit - reserve, change: view.Change}
	d.head(p, rows)
	d.table(rows)
	d.details(p, rows)
	d.outputs(p)
	if text := view.Repeated(hidden); text != "" {
		d.add("\n" + text + "\n")
	}
	_, err := io.WriteString(w, d.text.String()+d.end)
	return err
}

// Drift writes the objects that a plan found changed outside, as Markdown writes changes. Earlier is
// how many aren't among them because they had changed before.
func Drift(w io.Writer, p *plan.Plan, earlier, limit int) error {
	p, hidden := masking.Plan(p, masking.Secrets(p, nil))
	outside := &plan.Plan{Changes: p.Drift, Schemas: p.Schemas}
	rows := summary.Rows(outside)
	d := &document{limit: limit - reserve, change: view.DriftedObject}
	d.add("### " + view.Drifted(p, earlier) + "\n\n")
	d.table(rows)
	d.details(outside, rows)
	if text := view.Repeated(hidden); text != "" {
		d.add("\n" + text + "\n")
	}
	_, err := io.WriteString(w, d.text.String()+d.end)
	return err
}

type document struct {
	text  strings.Builder
	size  int // characters so far
	limit int
	end   string // what was left out
	// change writes one change in full.
	change func(io.Writer, *plan.Plan, *plan.Change, view.Options) error
}

// add appends text as a whole, unless there is no room for it.
func (d *document) add(text string) bool {
	n := len([]rune(text))
	if d.size+n > d.limit {
		return false
	}
	d.size += n
	d.text.WriteString(text)
	return true
}

// head says what the plan results in.
func (d *document) head(p *plan.Plan, rows []*summary.Row) {
	switch {
	case p.Errored:
		d.add("### Planning failed\n\nThe incomplete plan can't be applied.\n\n")
	case len(rows) == 0 && !p.HasChanges():
		d.add("### No changes\n\n")
	default:
		d.add("### " + stream.PlanText(p.Counts()) + "\n\n")
	}
	for _, line := range view.Heading(p) {
		d.add(Escape(line) + "\n\n")
	}
	if risk := view.Risk(rows); risk != "" {
		d.add("> **" + risk + "**\n\n")
	}
	if n := len(p.Deferred); n > 0 {
		d.add(fmt.Sprintf("%s deferred to a later plan.\n\n", number(n, "change")))
	}
}

// table writes the rows. Where there is no room for all of them it leaves some for
// changes in full, and says what is missing.
func (d *document) table(rows []*summary.Row) {
	if len(rows) == 0 {
		return
	}
	lines, size := make([]string, len(rows)), 0
	for i, r := range rows {
		lines[i] = line(r)
		size += utf8.RuneCountInString(lines[i])
	}
	d.add("| | objects | | |\n|---|---|--:|---|\n")
	room := d.limit
	if d.size+size > room {
		room = d.size + (d.limit-d.size)*2/3
	}
	for i, text := range lines {
		if d.size+utf8.RuneCountInString(text) > room || !d.add(text) {
			d.add(fmt.Sprintf("\nThere is no room for the other %s: %s.\n", number(len(rows)-i, "row"), actions(rows[i:])))
			return
		}
	}
}

// line is a row of the table.
func line(r *summary.Row) string {
	count := ""
	if len(r.Changes) > 1 {
		count = fmt.Sprintf("×%d", len(r.Changes))
	}
	var said []string
	for _, note := range view.Brief(r) {
		said = append(said, Escape(note.String()))
	}
	if why := view.Causes(r, nil); why != "" {
		said = append(said, Escape(why))
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", action(r.Action), code(r.Addresses()), count, strings.Join(said, "<br>"))
}

// actions say how many changes of which kind there are in rows.
func actions(rows []*summary.Row) string {
	var kinds []string
	counts := map[string]int{}
	for _, r := range rows {
		kind := action(r.Action)
		if counts[kind] == 0 {
			kinds = append(kinds, kind)
		}
		counts[kind] += len(r.Changes)
	}
	for i, kind := range kinds {
		if kinds[i] = fmt.Sprintf("%s ×%d", kind, counts[kind]); kind == "" {
			kinds[i] = fmt.Sprintf("moved or imported ×%d", counts[kind])
		}
	}
	return strings.Join(kinds, ", ")
}

// details writes the first change of each row in full.
func (d *document) details(p *plan.Plan, rows []*summary.Row) {
	left, room := 0, true
	for _, r := range rows {
		if room = room && d.add(d.detail(p, r.Changes[0])); !room {
			left++
		}
		left += len(r.Changes) - 1
	}
	if left > 0 {
		d.end = fmt.Sprintf("\nNot shown in full: %s that are like those above, or for which there is no room.\n", number(left, "change"))
	}
}

// folded is how a difference is written: there is no room for what stays.
var folded = view.Options{Fold: true}

// detail is one change, folded.
func (d *document) detail(p *plan.Plan, c *plan.Change) string {
	var text bytes.Buffer
	if err := d.change(&text, p, c, folded); err != nil {
		return ""
	}
	fence := "```"
	for strings.Contains(text.String(), fence) {
		fence += "`"
	}
	return fmt.Sprintf("\n<details><summary><code>%s %s</code></summary>\n\n%sdiff\n%s%s\n\n</details>\n",
		strings.Trim(action(c.Action), "`"), html(sanitize.Line(c.Addr.String())), fence, marked(text.String()), fence)
}

// outputs writes how root outputs change.
func (d *document) outputs(p *plan.Plan) {
	var text bytes.Buffer
	if view.OutputChanges(&text, p, folded) != nil || text.Len() == 0 {
		return
	}
	if !d.add("\n<details><summary>Changes to outputs</summary>\n\n```diff\n" + marked(text.String()) + "```\n\n</details>\n") {
		d.end += "\nChanges to outputs aren't shown: there is no room.\n"
	}
}

// marked puts the symbols of a plan at the beginning of its lines, where the
// language of diffs has them: what is changed in place has an exclamation mark.
func marked(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimLeft(line, " ")
		symbol := " "
		switch {
		case strings.HasPrefix(body, "-/+ "), strings.HasPrefix(body, "+/- "), strings.HasPrefix(body, "~ "):
			symbol = "!"
		case strings.HasPrefix(body, "+ "):
			symbol = "+"
		case strings.HasPrefix(body, "- "):
			symbol = "-"
		}
		b.WriteString(symbol + line)
	}
	return b.String()
}

// action is the symbol of an action as code.
func action(a plan.Action) string {
	switch {
	case a == plan.Create:
		return "`+`"
	case a == plan.Update:
		return "`~`"
	case a == plan.Delete:
		return "`-`"
	case a == plan.CreateThenDelete:
		return "`+/-`"
	case a.IsReplace():
		return "`-/+`"
	case a == plan.Forget:
		return "`.`"
	case a == plan.Read:
		return "`<=`"
	}
	return ""
}

// code sets text as code within a table.
func code(text string) string {
	text = strings.ReplaceAll(sanitize.Line(text), "|", "\\|")
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return "`" + text + "`"
}

// Escape keeps text from being read as Markdown or HTML, within a table.
func Escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch r {
		case '\\', '`', '*', '_', '{', '}', '[', ']', '#', '|', '~', '@', '!':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '<', '>', '&':
			b.WriteString(html(string(r)))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func html(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
