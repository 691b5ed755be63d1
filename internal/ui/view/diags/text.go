package diags

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/sanitize"
)

// Options say how diagnostics are set for people.
type Options struct {
	Pen ansi.Pen
	// Plain leaves out the box, for programs that read the text: OpenTofu and Terraform do so
	// whenever colours are off.
	Plain bool
	// Width is where prose is wrapped; 0 means no wrapping.
	Width int
	// CompactWarnings shows warnings in two lines each, without detail, where
	// there is no error beside them.
	CompactWarnings bool
	// ConsolidateWarnings shows one of several warnings with the same summary, and a count
	// of the others. ConsolidateErrors does so for errors that also have the same detail:
	// different reasons are shown, up to mostReasons.
	ConsolidateWarnings, ConsolidateErrors bool
}

// Text sets a list for people, one box after another.
func Text(l diag.List, sources map[string][]byte, o Options) string {
	groups := consolidate(l, o)
	var b strings.Builder
	if o.CompactWarnings && len(l) > 0 && !l.HasErrors() {
		compact(&b, groups, o)
		return b.String()
	}
	for _, g := range groups {
		box(&b, g, sources, o)
	}
	return b.String()
}

// A group is a diagnostic that stands for others with the same summary.
type group struct {
	diag.Diagnostic
	others int
}

// mostReasons is how many different errors with the same summary are shown.
const mostReasons = 10

func consolidate(l diag.List, o Options) []group {
	type key struct {
		severity diag.Severity
		summary  string
		detail   string // of an error
		source   string // of a deprecation: different ones say different things
	}
	var groups []group
	first, reasons := map[key]int{}, map[string]int{}
	for _, d := range l {
		k := key{severity: d.Severity, summary: d.Summary}
		if d.Severity == diag.Error && reasons[d.Summary] < mostReasons {
			k.detail = d.Detail
		}
		if d.Deprecation != nil {
			k.source = d.Deprecation.Source
		}
		if d.Follows {
			continue
		}
		merge := d.Severity == diag.Warning && (o.ConsolidateWarnings || o.CompactWarnings) ||
			d.Severity == diag.Error && o.ConsolidateErrors
		// One without a place says something of its own.
		if at, ok := first[k]; ok && merge && d.Subject != nil {
			groups[at].others++
			continue
		}
		if d.Subject != nil {
			first[k] = len(groups)
			if d.Severity == diag.Error {
				reasons[d.Summary]++
			}
		}
		groups = append(groups, group{d, 0})
	}
	return groups
}

func compact(b *strings.Builder, groups []group, o Options) {
	b.WriteString(o.Pen.Paint("Warnings:", ansi.Bold, ansi.Yellow) + "\n\n")
	for _, g := range groups {
		fmt.Fprintf(b, "- %s\n", sanitize.Line(g.Summary))
		if g.Subject == nil {
			continue
		}
		fmt.Fprintf(b, "  on %s line %d", sanitize.Line(g.Subject.Filename), g.Subject.Start.Line)
		if g.others > 0 {
			fmt.Fprintf(b, " (and %d more)", g.others)
		}
		b.WriteByte('\n')
	}
	b.WriteString("\nTo see the full warning notes, run weir without -compact-warnings.\n")
}

// box writes one diagnostic with a rule at its left, so that it stands apart
// from what is around it.
func box(b *strings.Builder, g group, sources map[string][]byte, o Options) {
	colour, title := ansi.Red, "Error: "
	if g.Severity == diag.Warning {
		colour, title = ansi.Yellow, "Warning: "
	}
	var body strings.Builder
	body.WriteString(o.Pen.Paint(title, ansi.Bold, colour) + o.Pen.Paint(sanitize.Line(g.Summary), ansi.Bold) + "\n\n")
	place(&body, JSON(g.Diagnostic, sources), g.Compared, o.Pen)
	detail := sanitize.Text(g.Detail)
	if g.others > 0 {
		detail = strings.TrimRight(detail, "\n") + "\n\n" + others(g)
	}
	if detail = strings.Trim(detail, "\n"); detail != "" {
		width := 0
		if o.Width > 0 {
			width = max(o.Width-3, 20)
			if o.Plain { // texts that programs match on break here in all engines
				width = o.Width - 1
			}
		}
		body.WriteString(ansi.Wrap(detail, width) + "\n")
	}

	if g.Code != "" && g.Code != provider.Reported.Name && !o.Plain { // which programs compare with other programs' texts
		body.WriteString("\n" + o.Pen.Paint("More about this: weir explain "+g.Code, ansi.Gray) + "\n")
	}
	if o.Plain {
		b.WriteString("\n" + strings.TrimRight(body.String(), "\n") + "\n")
		return
	}
	b.WriteString(o.Pen.Paint("╷", colour) + "\n")
	for line := range strings.Lines(strings.TrimRight(body.String(), "\n")) {
		line = strings.TrimRight(line, "\n")
		b.WriteString(o.Pen.Paint("│", colour))
		if 0 < o.Width && o.Width < ansi.Narrow {
			line = ansi.Fold(line, o.Width-2, "    ")
		}
		if line != "" {
			b.WriteString(" " + strings.ReplaceAll(line, "\n", "\n"+o.Pen.Paint("│", colour)+" "))
		}
		b.WriteByte('\n')
	}
	b.WriteString(o.Pen.Paint("╵", colour) + "\n")
}

func others(g group) string {
	flag := "-consolidate-warnings=false"
	if g.Severity == diag.Error {
		flag = "-consolidate-errors=false"
	}
	if g.others == 1 {
		return fmt.Sprintf("(and one more similar %s elsewhere; use %s to show it)", g.Severity, flag)
	}
	return fmt.Sprintf("(and %d more similar %ss elsewhere; use %s to show them)", g.others, g.Severity, flag)
}

// place writes where the problem is: the object, the file, the source lines
// and what the references in them were.
func place(b *strings.Builder, d *Diagnostic, compared *diag.Comparison, pen ansi.Pen) {
	if d.Address != "" {
		fmt.Fprintf(b, "  with %s,\n", sanitize.Line(d.Address))
	}
	switch {
	case d.Range == nil && d.Address == "":
		return
	case d.Range == nil:
	case d.Snippet == nil:
		why := "source code not available"
		if d.private {
			why = "not shown, because secrets may stand there"
		}
		fmt.Fprintf(b, "  on %s line %d:\n  (%s)\n", sanitize.Line(d.Range.Filename), d.Range.Start.Line, why)
	default:
		fmt.Fprintf(b, "  on %s line %d", sanitize.Line(d.Range.Filename), d.Range.Start.Line)
		if d.Snippet.Context != nil {
			fmt.Fprintf(b, ", in %s", sanitize.Line(*d.Snippet.Context))
		}
		b.WriteString(":\n")
		code(b, d.Snippet, pen)
		values(b, d.Snippet, pen)
		sides(b, compared, pen)
	}
	b.WriteByte('\n')
}

// code writes the numbered source lines. The highlight is underlined line by
// line, so that neither numbers nor indentation are.
func code(b *strings.Builder, s *Snippet, pen ansi.Pen) {
	at := 0
	for i, line := range strings.Split(s.Code, "\n") {
		from := min(max(s.HighlightStartOffset-at, 0), len(line))
		to := min(max(s.HighlightEndOffset-at, from), len(line))
		if i > 0 {
			from = min(max(from, len(line)-len(strings.TrimLeft(line, " \t"))), to)
		}
		at += len(line) + 1
		before, marked, after := window(line, from, to)
		fmt.Fprintf(b, "%4d: %s%s%s\n", s.StartLine+i,
			sanitize.Text(before), pen.Paint(sanitize.Text(marked), ansi.Underline), sanitize.Text(after))
	}
}

// window cuts a line that is too long to be shown down to what is around the
// start of its marked part.
func window(line string, from, to int) (before, marked, after string) {
	const longest, ahead = 500, 80
	if len(line) <= longest {
		return line[:from], line[from:to], line[to:]
	}
	start := max(from-ahead, 0)
	for start > 0 && !utf8.RuneStart(line[start]) {
		start--
	}
	end := min(start+longest, len(line))
	for end < len(line) && !utf8.RuneStart(line[end]) {
		end--
	}
	to = min(to, end)
	before, marked, after = line[start:from], line[from:to], line[to:end]
	if start > 0 {
		before = "…" + before
	}
	if end < len(line) {
		after += "…"
	}
	return before, marked, after
}

func values(b *strings.Builder, s *Snippet, pen ansi.Pen) {
	if len(s.Values) == 0 && s.FunctionCall == nil {
		return
	}
	b.WriteString("    " + pen.Paint("├────────────────", ansi.Gray) + "\n")
	bar := "    " + pen.Paint("│", ansi.Gray) + " "
	if s.FunctionCall != nil {
		b.WriteString(bar + "while calling " + pen.Paint(sanitize.Line(s.FunctionCall.CalledAs), ansi.Bold) + "(" + sanitize.Line(s.FunctionCall.parameters()) + ")\n")
	}
	for _, v := range s.Values {
		b.WriteString(bar + pen.Paint(sanitize.Line(v.Traversal), ansi.Bold) + " " + spoken(sanitize.Text(v.Statement)) + "\n")
	}
}

// parameters are the names of what the function takes, nothing where that
// isn't known.
func (c *FunctionCall) parameters() string {
	if c.Signature == nil {
		return ""
	}
	var names []string
	for _, p := range c.Signature.Params {
		names = append(names, p.Name)
	}
	if p := c.Signature.Variadic; p != nil {
		names = append(names, p.Name+"...")
	}
	return strings.Join(names, ", ")
}

// spoken is a statement about a value with the right article. Programs get those that they
// know from other programs.
func spoken(statement string) string {
	if rest, is := strings.CutPrefix(statement, "is a object"); is {
		return "is an object" + rest
	}
	return statement
}
