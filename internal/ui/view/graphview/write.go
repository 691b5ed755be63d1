package graphview

import (
	_ "embed"
	"html"
	"io"
	"slices"
	"strings"

	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/edges"
	"weir.dev/weir/internal/ui/view/dot"
	"weir.dev/weir/internal/ui/view/layout"
)

// A Format is a way to write graphs. Either a language has every declaration or step as
// text, or the format draws a chart, which groups them.
type Format struct {
	Name     string
	language dot.Language
	drawn    func(*Chart) (string, error)
}

// Formats are all formats, the default one first. Options, help and messages list them
// from here.
var Formats = []Format{
	{Name: "dot", language: dot.DOT},
	{Name: "mermaid", language: dot.Mermaid},
	{Name: "json", drawn: (*Chart).document},
	{Name: "svg", drawn: func(c *Chart) (string, error) { return layout.File(c.drawn(), c.about), nil }},
	{Name: "html", drawn: func(c *Chart) (string, error) { return c.page(), nil }},
}

// FormatNamed finds a format. "" is the default one.
func FormatNamed(name string) (f Format, ok bool) {
	if name == "" {
		return Formats[0], true
	}
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return Format{}, false
	}
	return Formats[i], true
}

// FormatNames lists the formats, such as "a, b or c": those that draw charts, or those
// that are languages.
func FormatNames(drawn bool) string {
	var list []string
	for _, f := range Formats {
		if (f.drawn != nil) == drawn {
			list = append(list, f.Name)
		}
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// Plan writes the graph of a plan that has steps, with the reasons of their order. A chart
// has only what changes, or with full each step.
func Plan(w io.Writer, f Format, p *plan.Plan, why *edges.Of, full bool) error {
	switch {
	case f.language != nil:
		return dot.Execution(w, f.language, p.Graph, why)
	case full:
		return OfSteps(p, why).Write(w, f)
	}
	return OfPlan(p, why).Write(w, f)
}

// Configuration writes the graph of a configuration. A chart has resources, or with full
// each declaration; a language has each declaration, or with resources Terraform's summary
// unless full asks for everything.
func Configuration(w io.Writer, f Format, tree *program.Tree, full, resources bool) error {
	switch {
	case f.language == nil:
		return OfTree(tree, full).Write(w, f)
	case resources && !full:
		return dot.Resources(w, f.language, tree)
	}
	return dot.Configuration(w, f.language, tree)
}

// Roots writes the graph of root modules, and which others each needs by their places in the
// list.
func Roots(w io.Writer, f Format, names []string, needs [][]int) error {
	if f.language != nil {
		return dot.Names(w, f.language, names, needs)
	}
	return OfRoots(names, needs).Write(w, f)
}

// OfRoots is the chart of root modules with what they need, by their places.
func OfRoots(names []string, needs [][]int) *Chart {
	c := &Chart{Needs: needs, about: "Root modules, each right of those that it reads."}
	for _, name := range names {
		c.Nodes = append(c.Nodes, &Node{Address: name, Kind: "root", Count: 1})
	}
	return c
}

// Write writes the chart in a format that draws.
func (c *Chart) Write(w io.Writer, f Format) error {
	text, err := f.drawn(c)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

// WritePage writes the chart as a page of HTML.
func (c *Chart) WritePage(w io.Writer) error {
	_, err := io.WriteString(w, c.page())
	return err
}

// document is the chart in JSON, as a file.
func (c *Chart) document() (string, error) {
	doc, err := c.JSON()
	return string(doc) + "\n", err
}

// The script that moves, scales and searches a drawing in a page.
//
//go:embed pan.js
var Script string

//go:embed page.css
var css string

// page is the drawing as a page that needs nothing else.
func (c *Chart) page() string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>Graph</title>\n<style>\n" + layout.Style + css + "</style>\n</head>\n<body>\n")
	b.WriteString("<p>" + html.EscapeString(c.about) + "</p>\n" + Tools + "<div class=\"canvas\" id=\"graph\" tabindex=\"0\" aria-label=\"Graph. The arrow keys move it, plus and minus scale it.\">\n")
	b.WriteString(c.SVG())
	b.WriteString("</div>\n<script>\n" + Script + "</script>\n</body>\n</html>\n")
	return b.String()
}

// Tools are the fields and buttons above a drawing in a page with Script.
const Tools = `<div class="tools"><label>Find <input type="search" id="find" placeholder="part of an address"></label>
<button type="button" data-zoom="1.25" aria-label="Larger">+</button> <button type="button" data-zoom="0.8" aria-label="Smaller">−</button> <button type="button" data-zoom="fit">Fit</button> <span id="found" role="status"></span></div>
`
