package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view/graphview"
	"weir.dev/weir/internal/ui/view/layout"
	"weir.dev/weir/internal/ui/view/sanitize"
	"weir.dev/weir/internal/ui/view/stream"
)

// A Root is one of several plans of a page.
type Root struct {
	Name     string
	Upstream []string
	Plan     *plan.Plan
	Beside   Beside
}

const rootsCSS = `
table.roots { border-collapse: collapse; margin: 1em 0 }
table.roots th, table.roots td { padding: .2em .8em; text-align: right; border-bottom: 1px solid #8884 }
table.roots :first-child { text-align: left }
iframe { width: 100%; height: 50rem; border: 1px solid #8886 }
`

// Roots writes the page of several plans: their totals, how roots read each other, and the page of each
// plan with changes in a frame.
func Roots(w io.Writer, list []Root) error {
	var total plan.Counts
	changing := 0
	names, needs := make([]string, len(list)), make([][]int, len(list))
	at := map[string]int{}
	for i, r := range list {
		n := r.Plan.Counts()
		total.Add, total.Change, total.Destroy = total.Add+n.Add, total.Change+n.Change, total.Destroy+n.Destroy
		total.Import, total.Forget = total.Import+n.Import, total.Forget+n.Forget
		if shows(r.Plan) {
			changing++
		}
		names[i], at[r.Name] = r.Name, i
		for _, up := range r.Upstream {
			if k, ok := at[up]; ok {
				needs[i] = append(needs[i], k)
			}
		}
	}
	heading := "No changes"
	if changing > 0 {
		heading = stream.PlanText(total)
	}
	// Frames have the policy of the page too, so it allows their script.
	sum := sha256.Sum256([]byte("\n" + graphview.Script + script))
	var out writer
	out.put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	out.put(`<meta name="viewport" content="width=device-width, initial-scale=1">` + "\n")
	out.put(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; script-src 'sha256-%s'">`+"\n<title>%s</title>\n", base64.StdEncoding.EncodeToString(sum[:]), heading)
	out.raw("<style>", layout.Style, css, rootsCSS, "</style>\n</head>\n<body>\n")
	out.put("<header>\n<h1>%s</h1>\n<p class=\"risk\">%s, %d with changes.</p>\n</header>\n<main>\n", heading, number(len(list), "root"), changing)
	out.put("<table class=\"roots\">\n<tr><th>root</th><th>add</th><th>change</th><th>destroy</th></tr>\n")
	for i, r := range list {
		n := r.Plan.Counts()
		name := fmt.Sprintf(`<a href="#root-%d">%s</a>`, i, escape(sanitize.Line(r.Name)))
		if !shows(r.Plan) {
			name = escape(sanitize.Line(r.Name))
		}
		out.raw("<tr><td>", name, "</td>")
		out.put("<td>%d</td><td>%d</td><td>%d</td></tr>\n", n.Add, n.Change, n.Destroy)
	}
	out.put("</table>\n")
	if len(list) > 1 {
		out.raw("<section class=\"graph\">\n<h2>Graph</h2>\n", graphview.OfRoots(names, needs).SVG(), "</section>\n")
	}
	for i, r := range list {
		if !shows(r.Plan) {
			continue
		}
		var framed bytes.Buffer
		if err := Plan(&framed, r.Plan, r.Beside); err != nil {
			return err
		}
		head, _ := Heading(r.Plan)
		out.put("<section id=\"root-%d\">\n<h2>%s</h2>\n", i, sanitize.Line(r.Name))
		if len(r.Upstream) > 0 {
			out.put("<p>after %s</p>\n", sanitize.Line(strings.Join(r.Upstream, ", ")))
		}
		out.put("<details open>\n<summary>%s</summary>\n<iframe title=\"Plan of %s\" loading=\"lazy\" srcdoc=\"%s\"></iframe>\n</details>\n</section>\n", head, sanitize.Line(r.Name), framed.String())
	}
	out.put("</main>\n</body>\n</html>\n")
	if out.failed != nil {
		return out.failed
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// shows reports whether a plan has anything to show.
func shows(p *plan.Plan) bool {
	return p.Errored || p.HasChanges() || len(p.Deferred)+len(p.Drift) > 0
}
