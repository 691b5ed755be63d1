package commands

import (
	"fmt"
	"strings"
)

// Markdown is a page as a part of the reference, with a heading of the second order; for
// the program itself, of the first.
func (p Page) Markdown() string {
	var b strings.Builder
	title, level := p.title(), "##"
	if p.Name == "" {
		level = "#"
	}
	fmt.Fprintf(&b, "%s %s\n\n%s.\n\n    %s %s\n", level, title, p.Synopsis, p.Program, p.Usage)
	if len(p.Aliases) > 0 {
		fmt.Fprintf(&b, "\nAlso: `%s`.\n", strings.Join(p.Aliases, "`, `"))
	}
	if p.Long != "" && p.Name != "" {
		b.WriteString("\n" + plain(p.Long) + "\n")
	}
	for _, g := range p.Subcommands {
		fmt.Fprintf(&b, "\n%s# %s\n\n| command | |\n|---|---|\n", level, g.Title)
		for _, e := range g.Entries {
			name := strings.TrimSpace(p.Name + " " + e.Head)
			file, _, _ := strings.Cut(name, " ")
			fmt.Fprintf(&b, "| [%s](%s.md#%s) | %s |\n", name, file, strings.ReplaceAll(p.Program+" "+name, " ", "-"), cell(e.Text))
		}
	}
	for _, g := range p.Options {
		fmt.Fprintf(&b, "\n%s# %s\n\n| | |\n|---|---|\n", level, g.Title)
		for _, e := range g.Entries {
			fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(e.Head, "|", `\|`), cell(e.Text))
		}
	}
	if len(p.Examples) > 0 {
		fmt.Fprintf(&b, "\n%s# Examples\n\n```sh\n", level)
		for _, e := range p.Examples {
			fmt.Fprintf(&b, "# %s\n%s %s\n", e.Text, p.Program, e.Line)
		}
		b.WriteString("```\n")
	}
	return b.String()
}

func (p Page) title() string { return strings.TrimSpace(p.Program + " " + p.Name) }

// plain is a text that Markdown shows as it is.
func plain(text string) string {
	return strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;", "[", `\[`).Replace(text)
}

func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(plain(text), "|", `\|`), "\n", " ")
}

// Man is a page of the manual, in the macros of man, and the name of its file. The
// version stands at its foot.
func (p Page) Man(version string) (file, text string) {
	var b strings.Builder
	name := strings.ReplaceAll(p.title(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"weir %s\" \"weir\"\n", roff(strings.ToUpper(name)), roff(version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(p.Synopsis))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n%s\n", roff(p.Program), line(p.Usage))
	if p.Long != "" {
		b.WriteString(".SH DESCRIPTION\n" + paragraphs(p.Long))
	}
	for _, g := range append(append([]Group(nil), p.Subcommands...), p.Options...) {
		fmt.Fprintf(&b, ".SH %s\n", line(strings.ToUpper(g.Title)))
		for _, e := range g.Entries {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s", line(e.Head), paragraphs(e.Text))
		}
	}
	if len(p.Examples) > 0 {
		b.WriteString(".SH EXAMPLES\n")
		for _, e := range p.Examples {
			fmt.Fprintf(&b, "%s.PP\n.nf\n.RS 4\n%s %s\n.RE\n.fi\n.PP\n", paragraphs(e.Text+":"), line(p.Program), roff(e.Line))
		}
	}
	if p.Name != "" {
		parts := strings.Fields(p.title())
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(strings.Join(parts[:len(parts)-1], "-")))
	}
	return name + ".1", b.String()
}

// roff is a text that means itself within a line of roff.
func roff(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, `"`, `\(dq`, "~", `\(ti`, "^", `\(ha`).Replace(text)
}

// line is roff for a text that may be the beginning of a line: there a dot begins a
// macro.
func line(text string) string {
	if strings.HasPrefix(text, ".") {
		return `\&` + roff(text)
	}
	return roff(text)
}

func paragraphs(text string) string {
	var b strings.Builder
	for part := range strings.Lines(text) {
		if part = strings.TrimSpace(part); part == "" {
			b.WriteString(".PP\n")
		} else {
			b.WriteString(line(part) + "\n")
		}
	}
	return b.String()
}
