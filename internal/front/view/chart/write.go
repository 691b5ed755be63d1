package chart

import (
	_ "embed"
	"html"
	"io"
	"strings"

	"weir.dev/weir/internal/front/view/dot"
	"weir.dev/weir/internal/front/view/layered"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
)

// A Form is how a graph is written.
type Form string

// The forms; "" is DOT.
const (
	DOT     = Form(dot.DOT)
	Mermaid = Form(dot.Mermaid)
	JSON    = Form("json")
	SVG     = Form("svg")
	HTML    = Form("html")
)

// Known reports whether there is such a form.
func (f Form) Known() bool {
	switch f {
	case "", DOT, Mermaid, JSON, SVG, HTML:
		return true
	}
	return false
}

// folds reports whether graphs of the form are for people, who want them folded.
func (f Form) folds() bool { return f == JSON || f == SVG || f == HTML }

// Plan writes the graph of a plan that has steps: as DOT and Mermaid, and with full,
// each of them.
func Plan(w io.Writer, form Form, p *plan.Plan, full bool) error {
	switch {
	case !form.folds():
		return dot.Execution(w, dot.Form(form), p.Graph)
	case full:
		return OfSteps(p).Write(w, form)
	}
	return OfPlan(p).Write(w, form)
}

// Configuration writes the graph of a configuration: as DOT and Mermaid, and with full,
// each declaration; with resources, these alone as Terraform's users know it.
func Configuration(w io.Writer, form Form, tree *program.Tree, full, resources bool) error {
	switch {
	case form.folds():
		return OfTree(tree, full).Write(w, form)
	case resources && !full:
		return dot.Resources(w, dot.Form(form), tree)
	}
	return dot.Configuration(w, dot.Form(form), tree)
}

// Write writes the chart as JSON, SVG or HTML.
func (c *Chart) Write(w io.Writer, form Form) error {
	text := ""
	switch form {
	case JSON:
		doc, err := c.JSON()
		if err != nil {
			return err
		}
		text = string(doc) + "\n"
	case SVG:
		text = layered.File(c.drawn(), c.about)
	default:
		text = c.page()
	}
	_, err := io.WriteString(w, text)
	return err
}

// What moves, scales and searches a drawing in a page.
//
//go:embed pan.js
var Script string

//go:embed page.css
var css string

// page is the drawing as a page that needs nothing else.
func (c *Chart) page() string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>Graph</title>\n<style>\n" + layered.Style + css + "</style>\n</head>\n<body>\n")
	b.WriteString("<p>" + html.EscapeString(c.about) + "</p>\n" + Tools + "<div class=\"canvas\" id=\"graph\" tabindex=\"0\" aria-label=\"Graph. The arrow keys move it, plus and minus scale it.\">\n")
	b.WriteString(c.SVG())
	b.WriteString("</div>\n<script>\n" + Script + "</script>\n</body>\n</html>\n")
	return b.String()
}

// Tools are the fields and buttons above a drawing in a page with Script.
const Tools = `<div class="tools"><label>Find <input type="search" id="find" placeholder="part of an address"></label>
<button type="button" data-zoom="1.25" aria-label="Larger">+</button> <button type="button" data-zoom="0.8" aria-label="Smaller">−</button> <button type="button" data-zoom="fit">Fit</button> <span id="found" role="status"></span></div>
`
