package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// A writer writes markup. It is by hand, as template packages call methods by name and
// so keep every method of every package in the program: 8 MB of file, and 4 MiB of each
// start.
type writer struct {
	strings.Builder
	failed error
}

// put writes markup with texts and numbers in its places. Texts are escaped for elements
// and quoted attributes.
func (w *writer) put(markup string, places ...any) {
	for i, p := range places {
		if text, is := p.(string); is {
			places[i] = escape(text)
		}
	}
	fmt.Fprintf(&w.Builder, markup, places...)
}

// raw writes markup as it is.
func (w *writer) raw(markup ...string) {
	for _, m := range markup {
		w.WriteString(m)
	}
}

// all puts markup of lists.
func all[T any](w *writer, list []T, put func(T)) {
	for _, item := range list {
		put(item)
	}
}

func escape(text string) string {
	return strings.ReplaceAll(html.EscapeString(strings.ToValidUTF8(text, "\uFFFD")), "\x00", "\uFFFD")
}

// when is the text if something holds.
func when(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

func (w *writer) page(m *model) {
	w.put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	w.put(`<meta name="viewport" content="width=device-width, initial-scale=1">` + "\n")
	w.put(`<meta http-equiv="Content-Security-Policy" content="%s">`+"\n<title>%s</title>\n", m.Policy, m.Title)
	w.raw("<style>", m.CSS, "</style>\n")
	w.raw("</head>\n<body", when(m.Framed, ` class="framed"`), ">\n")
	w.put(`<a class="skip" href="#changes">To the changes</a>` + "\n")
	w.head(m)
	if len(m.Rows) > 0 {
		w.jump(m)
		w.put(`<div class="split">` + "\n")
		w.side(m)
	}
	w.put("<main>\n")
	if len(m.Rows) > 0 {
		w.changes(m.Rows)
	}
	w.outputs(m.Outputs)
	w.invoked(m.Invoked)
	if m.Graph != "" {
		w.graph(m)
	}
	w.times(m.Times)
	w.put("</main>\n")
	if len(m.Rows) > 0 {
		w.put("</div>\n")
		w.script(m)
	}
	w.put("</body>\n</html>\n")
}

func (w *writer) head(m *model) {
	w.raw("<header>\n<h1", when(m.Failed, ` class="failed"`), ">")
	w.put("%s</h1>\n", m.Heading)
	if len(m.Kinds) > 0 {
		w.put(`<ul class="sum" aria-label="Changes by action">`)
		all(w, m.Kinds, func(k kind) { w.put(`<li class="chip %s"><b>%d</b> %s</li>`, k.Class, k.Count, k.Word) })
		w.put("</ul>\n")
	}
	if len(m.Rows) > 0 {
		w.put(`<p class="risk">`)
		switch {
		case m.Risk != "":
			w.put("<strong>%s.</strong>", m.Risk)
		case !m.Failed:
			w.put("Nothing is destroyed.")
		}
		if m.Steps > 0 {
			w.put(" %d steps, critical path %d.", m.Steps, m.Chain)
		}
		w.put("</p>\n")
	}
	all(w, m.Notes, func(text string) { w.put(`<p class="note">%s</p>`+"\n", text) })
	w.put("</header>\n")
}

// jump leads to the parts that there are.
func (w *writer) jump(m *model) {
	w.raw(`<nav class="jump" aria-label="Parts of the page"><a href="#changes">Changes</a>`,
		when(len(m.Outputs) > 0, ` <a href="#outputs">Outputs</a>`),
		when(len(m.Invoked) > 0, ` <a href="#actions">Actions</a>`),
		when(m.Graph != "", ` <a href="#graph-part">Graph</a>`),
		when(len(m.Times.Bars) > 0, ` <a href="#times">`+m.Times.title()+`</a>`), "</nav>\n")
}

// side is what one chooses changes by.
func (w *writer) side(m *model) {
	w.put(`<form class="side" role="search" aria-label="Choose changes">` + "\n" +
		`<label class="search">Filter <input type="search" id="filter" placeholder="address or text" autocomplete="off"></label>` + "\n" +
		"<fieldset><legend>Actions</legend>")
	all(w, m.Kinds, func(k kind) {
		w.put(`<label><input type="checkbox" name="kind" value="%s" checked> <span class="dot %s" aria-hidden="true"></span> %s <small>%d</small></label>`,
			k.Class, k.Class, k.Word, k.Count)
	})
	w.put("</fieldset>\n")
	if len(m.Modules) > 0 {
		w.put(`<fieldset class="tree"><legend>Modules</legend><ul>`)
		all(w, m.Modules, w.branch)
		w.put("</ul></fieldset>\n")
	}
	w.put("</form>\n")
}

func (w *writer) branch(b *branch) {
	w.put(`<li><label><input type="radio" name="module" value="%s"`, b.Address)
	w.raw(when(b.Address == "", " checked"))
	w.put(`> <span class="dot %s" aria-hidden="true"></span> <code>%s</code> <small>%d</small></label>`,
		b.Class, b.Name, b.Count)
	if len(b.Below) > 0 {
		w.put("<ul>")
		all(w, b.Below, w.branch)
		w.put("</ul>")
	}
	w.put("</li>")
}

func (w *writer) changes(rows []row) {
	w.put(`<section id="changes" aria-labelledby="changes-head">` + "\n" +
		`<h2 id="changes-head">Changes <small id="shown" role="status"></small></h2>` + "\n")
	// The text of a row stands beside its address.
	longest := 0
	for _, r := range rows {
		longest = max(longest, utf8.RuneCountInString(r.Address))
	}
	// In pixels of the address's font, which isn't the one of the row.
	w.put(`<ol class="rows" style="--address: calc(%dpx + 1.5rem)">`+"\n", 8*min(longest, 46))
	all(w, rows, w.row)
	w.put("</ol>\n" + `<p id="none" hidden>No change is like that.</p>` + "\n</section>\n")
}

func (w *writer) row(r row) {
	w.put(`<li class="row" data-kind="%s" data-module="%s"><details data-row="%d"><summary>`, r.Class, r.Module, r.ID)
	w.put(`<span class="sym %s" aria-hidden="true">%s</span><span class="address">%s</span><span class="count">`, r.Class, r.Symbol, r.Address)
	if r.Count > 0 {
		w.put("×%d", r.Count)
	}
	w.put(`</span><span class="said"><span class="word %s">%s</span>`, r.Class, r.Word)
	all(w, r.Said, func(text string) { w.put(" <span>%s</span>", text) })
	w.put("</span></summary></details></li>\n")
}

func (w *writer) outputs(lines []line) {
	if len(lines) == 0 {
		return
	}
	w.put(`<section id="outputs"><h2>Outputs</h2><pre class="diff">`)
	all(w, lines, func(l line) {
		if l.Class == "" {
			w.put("<span>%s</span>", l.Text)
			return
		}
		w.put(`<span class="%s">%s</span>`, l.Class, l.Text)
	})
	w.put("</pre></section>\n")
}

func (w *writer) invoked(labels []string) {
	if len(labels) == 0 {
		return
	}
	w.put(`<section id="actions"><h2>Actions to be invoked</h2><ul class="plain">`)
	all(w, labels, func(label string) { w.put("<li><code>%s</code></li>", label) })
	w.put("</ul></section>\n")
}

func (w *writer) graph(m *model) {
	w.put(`<section id="graph-part"><h2>Graph</h2>` + "\n" +
		`<p class="quiet">Each box is a block or module that changes, right of what it needs. A click shows what it needs and what needs it.</p>` + "\n")
	w.raw(m.GraphTools)
	w.put(`<div class="canvas" id="graph" data-fits tabindex="0" role="group" aria-label="Graph. The arrow keys move it, plus and minus scale it.">`)
	w.raw(m.Graph)
	w.put("</div></section>\n")
}

// title is the heading of what is reported about times.
func (t times) title() string {
	if t.Lived {
		return "Timeline"
	}
	return "Order"
}

func notBegun(n int) string {
	if n == 1 {
		return "1 step that wasn't started"
	}
	return fmt.Sprintf("%d steps that weren't started", n)
}

func (w *writer) times(t times) {
	if len(t.Bars) == 0 {
		return
	}
	w.put(`<section id="times"><h2>%s</h2>`+"\n"+`<p class="quiet">`, t.title())
	column := "Usual time"
	switch {
	case t.Lived:
		column = "From beginning to end"
		w.put("The apply that began at %s took %s. The critical path is what the step that ended last waited for.", t.At.UTC().Format("2006-01-02 15:04:05 MST"), t.Length)
		if t.NotBegun > 0 {
			w.put(" Without a row: %s.", notBegun(t.NotBegun))
		}
	case t.Length != "":
		w.put("About %s for the chain that everything else waits for, at the speed of earlier applies, if nothing has to wait for its turn.", t.Length)
		w.raw(when(t.Guessed > 0, " Steps that haven't run here before count as a second."))
	default:
		w.put("No apply here has recorded how long such steps take, so each counts the same.")
	}
	w.put("</p>\n"+`<div class="wide"><table class="times"><thead><tr><th scope="col">Step</th><th scope="col">Number</th>`+
		`<th scope="col">%s</th><th scope="col">When</th></tr></thead><tbody>`+"\n", column)
	all(w, t.Bars, w.bar)
	w.put("</tbody></table></div>")
	if t.Left > 0 {
		w.put(`<p class="quiet">%d further rows, none of them on the critical path, aren't shown.</p>`, t.Left)
	}
	w.put("</section>\n")
}

func (w *writer) bar(b *bar) {
	w.raw("<tr", when(b.Critical, ` class="critical"`), ">")
	w.put(`<th scope="row"><code>%s</code>`, b.What)
	w.raw(when(b.Critical, " <small>on the critical path</small>"))
	if b.Failed > 0 {
		w.put(` <small class="delete">%d failed</small>`, b.Failed)
	}
	w.put(`</th><td>%d</td><td>%s</td><td class="lane"><span class="bar %s" style="margin-left:%.2f%%;width:%.2f%%"></span></td></tr>`+"\n",
		b.Count, cmp.Or(b.Usual, "–"), b.Class, b.From, b.Width)
}

// script puts what the page works with. JSON as Go writes it has no "<" that could end
// its element.
func (w *writer) script(m *model) {
	list, err := json.Marshal(m.Data)
	if err != nil {
		w.failed = err
		return
	}
	w.raw(`<script type="application/json" id="data">`, string(list), "</script>\n<script>", m.Script, "</script>\n")
}
