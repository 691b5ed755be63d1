package coveragereport

import (
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"slices"
	"strings"

	"weir.dev/weir/internal/moduletest/coverage"
)

//go:embed page.css
var css string

// HTML is the report as one page that needs nothing else.
func HTML(r *coverage.Report) []byte {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Test coverage</title>\n<style>\n" + css + "</style>\n</head>\n<body>\n<h1>Test coverage</h1>\n")
	table(&b, r)
	b.WriteString("<p class=\"legend\"><mark class=\"yes\">covered</mark> <mark class=\"part\">a condition that never fails</mark> <mark class=\"no\">never evaluated, taken or made</mark></p>\n")
	for i, f := range r.Files {
		fmt.Fprintf(&b, "<details open id=\"f%d\">\n<summary>%s</summary>\n", i, html.EscapeString(f.Name))
		source(&b, f)
		b.WriteString("</details>\n")
	}
	b.WriteString("</body>\n</html>\n")
	return []byte(b.String())
}

func table(b *strings.Builder, r *coverage.Report) {
	b.WriteString("<div class=\"wide\"><table>\n<thead><tr><th>file</th>")
	for _, k := range coverage.Kinds {
		b.WriteString("<th>" + headings()[k] + "</th>")
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	row := func(name string, files []coverage.File) {
		b.WriteString("<tr><td>" + name + "</td>")
		for _, k := range coverage.Kinds {
			covered, all := coverage.Count(files, k)
			class := "full"
			if covered < all {
				class = "gap"
			}
			fmt.Fprintf(b, "<td class=\"%s\">%s</td>", class, fraction(files, k))
		}
		b.WriteString("</tr>\n")
	}
	for i, f := range r.Files {
		row(fmt.Sprintf("<a href=\"#f%d\">%s</a>", i, html.EscapeString(f.Name)), []coverage.File{f})
	}
	b.WriteString("</tbody>\n<tfoot>")
	row("total", r.Files)
	b.WriteString("</tfoot>\n</table></div>\n")
}

// A span is a part of a source with one mark.
type span struct {
	from, to    int
	class, note string
}

// spans marks the points of a file. Where one is within another the inner one
// counts.
func spans(f coverage.File) []span {
	var list []span
	for _, p := range f.Points {
		s := span{p.Range.Start.Byte, p.Range.End.Byte, "yes", p.Name}
		if !p.Covered {
			s.class, s.note = "no", missing(p)
			if p.Kind == coverage.Failure {
				s.class = "part"
			}
		}
		if n := len(list); n > 0 && list[n-1].from == s.from && list[n-1].to == s.to {
			if worse(s.class, list[n-1].class) {
				list[n-1] = s
			}
			continue
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	return list
}

func worse(a, b string) bool {
	rank := []string{"yes", "part", "no"}
	return slices.Index(rank, a) > slices.Index(rank, b)
}

// source sets the text line by line.
func source(b *strings.Builder, f coverage.File) {
	marks := spans(f)
	// of is the innermost mark of each byte.
	of := make([]int, len(f.Source))
	for i := range of {
		of[i] = -1
	}
	for i, s := range marks {
		for n := s.from; n < min(s.to, len(of)); n++ {
			of[n] = i
		}
	}
	b.WriteString("<pre>")
	at := 0
	for n, line := range strings.SplitAfter(string(f.Source), "\n") {
		if line == "" {
			break
		}
		class := ""
		for i := range len(line) {
			if m := of[at+i]; m >= 0 && (class == "" || worse(marks[m].class, class)) {
				class = marks[m].class
			}
		}
		fmt.Fprintf(b, "<span class=\"l %s\"><span class=\"n\">%d</span>", class, n+1)
		text := strings.TrimRight(line, "\r\n")
		for start := 0; start < len(text); {
			end := start + 1
			for end < len(text) && of[at+end] == of[at+start] {
				end++
			}
			part := html.EscapeString(text[start:end])
			if m := of[at+start]; m >= 0 {
				part = fmt.Sprintf("<mark class=\"%s\" title=\"%s\">%s</mark>", marks[m].class, html.EscapeString(marks[m].note), part)
			}
			b.WriteString(part)
			start = end
		}
		b.WriteString("</span>\n")
		at += len(line)
	}
	b.WriteString("</pre>\n")
}
