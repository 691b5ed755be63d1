package layout

import (
	_ "embed"
	"fmt"
	"html"
	"strings"
)

// Style is what colours boxes and lines, in light and dark, within an element of the
// class "layered".
//
//go:embed style.css
var Style string

// SVG is a drawing of the graph as an element of a page, without colours: these are
// in Style. about says what it shows. Boxes carry their place in the list of nodes as
// data-node, and lines both ends as data-from and data-to.
func SVG(g Graph, about string) string {
	return layout(g).svg(about, "")
}

// File is the drawing as a file of its own.
func File(g Graph, about string) string {
	return layout(g).svg(about, "<style>\n"+Style+"</style>\n")
}

func (d *drawing) svg(about, style string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="layered" role="img" aria-label="%s" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">`+"\n", escape(about), d.width, d.height, d.width, d.height)
	b.WriteString(style)
	b.WriteString(`<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z"/></marker></defs>` + "\n")
	fmt.Fprintf(&b, `<rect class="paper" width="%.0f" height="%.0f"/>`+"\n<g class=\"all\">\n", d.width, d.height)
	for _, e := range d.edges {
		from, to := d.boxes[e.From], d.boxes[e.To]
		x1, y1 := from.x, from.y+boxHeight/2
		x2, y2 := to.x+to.width, to.y+boxHeight/2
		bend := max((x1-x2)/2, 24)
		fmt.Fprintf(&b, `<path class="edge" data-from="%d" data-to="%d" marker-end="url(#tip)" d="M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f"`, e.From, e.To, x1, y1, x1-bend, y1, x2+bend, y2, x2, y2)
		if e.Title == "" {
			b.WriteString("/>\n")
		} else {
			b.WriteString("><title>" + escape(e.Title) + "</title></path>\n")
		}
	}
	for i, n := range d.graph.Nodes {
		at := d.boxes[i]
		fmt.Fprintf(&b, `<g class="node %s" data-node="%d" transform="translate(%.1f %.1f)"><title>%s</title><rect width="%.1f" height="%d" rx="5"/><text x="%d" y="17">%s</text></g>`+"\n",
			escape(n.Class), i, at.x, at.y, escape(n.Title), at.width, boxHeight, padding, escape(shortened(n.Label)))
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// escape makes text that XML takes: it has no control characters.
func escape(text string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}
