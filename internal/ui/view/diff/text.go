package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/sanitize"
)

// text is a string, nil for null. One that holds JSON is shown as the value it
// holds, and one of several lines line by line.
type text struct{ before, after *string }

func isMultiline(s string) bool { return strings.Contains(s, "\n") }

func (t *text) text(n *Node, indent int, o Options) string {
	before, after := t.before, t.after
	switch n.Action {
	case plan.Create:
		before = nil
	case plan.Delete:
		after = nil
	case plan.NoOp:
		if before == nil {
			before = after
		}
		after = before
	}
	if s, ok := asJSON(n, before, after, indent, o); ok {
		return s
	}
	if s, ok := asYAML(n, before, after, indent, o); ok {
		return s
	}
	if before != nil && isMultiline(*before) || after != nil && isMultiline(*after) {
		return heredoc(n, before, after, indent, o)
	}
	switch n.Action {
	case plan.Create:
		return quoted(after, o) + o.replacement(n.replace)
	case plan.Delete:
		if before == nil {
			return quoted(nil, o) + o.replacement(n.replace)
		}
		return quoted(before, o) + o.null(n) + o.replacement(n.replace)
	case plan.NoOp:
		return quoted(before, o) + o.replacement(n.replace)
	}
	return quoted(before, o) + " " + o.arrow() + " " + quoted(after, o) + o.replacement(n.replace)
}

func quoted(s *string, o Options) string {
	if s == nil {
		return o.null0("null")
	}
	return strconv.Quote(*s)
}

// heredoc sets strings of several lines. A null beside one is reported in the first line.
func heredoc(n *Node, before, after *string, indent int, o Options) string {
	var b strings.Builder
	if n.Action == plan.Update && (before == nil || after == nil) {
		b.WriteString(quoted(nil, o) + " " + o.arrow() + " ")
	}
	b.WriteString("<<-EOT" + o.replacement(n.replace) + "\n")
	write := func(a plan.Action, line string) {
		b.WriteString(strings.TrimRight(o.start(indent+1, a)+sanitize.Text(line), " ") + "\n")
	}
	switch {
	case n.Action != plan.Update || before == nil || after == nil:
		s := before
		if s == nil {
			s = after
		}
		lines := linesOf(*s)
		hidden := len(lines) - beside
		if !o.begins || hidden < beside {
			hidden = 0
		}
		for _, line := range lines[:len(lines)-hidden] {
			write(plan.NoOp, line)
		}
		if hidden > 0 {
			note := fmt.Sprintf("# (%d lines hidden)", hidden)
			b.WriteString(o.start(indent+1, plan.NoOp) + o.Pen.Paint(note, ansi.Gray) + "\n")
		}
	default:
		for _, l := range o.folded(changedLines(*before, *after)) {
			if l.hidden > 0 {
				b.WriteString(o.start(indent+1, plan.NoOp) + o.unchanged(l.hidden, "line") + "\n")
				continue
			}
			write(l.action, l.text)
		}
	}
	b.WriteString(o.start(indent, plan.NoOp) + "EOT" + o.null(n))
	return b.String()
}

// A changedLine is a line that stays, comes or goes, or stands for so many that stay.
type changedLine struct {
	action plan.Action
	text   string
	hidden int
}

func changedLines(before, after string) []changedLine {
	from, to := linesOf(before), linesOf(after)
	if slices.Equal(from, to) {
		// They differ in how they end.
		from, to = strings.Split(before, "\n"), strings.Split(after, "\n")
	}
	var all []changedLine
	align(from, to, func(int, int) bool { return false }, func(i, j int) {
		switch {
		case j < 0:
			all = append(all, changedLine{action: plan.Delete, text: from[i]})
		case i < 0:
			all = append(all, changedLine{action: plan.Create, text: to[j]})
		default:
			all = append(all, changedLine{action: plan.NoOp, text: from[i]})
		}
	})
	return all
}

// beside is how many lines that stay are shown before and after one that doesn't.
const beside = 3

// folded hides lines that stay and are far from those that don't, where that makes the
// text shorter.
func (o Options) folded(lines []changedLine) []changedLine {
	if !o.Fold || o.ShowUnchanged {
		return lines
	}
	var out []changedLine
	for i := 0; i < len(lines); {
		end := i
		for end < len(lines) && lines[end].action == plan.NoOp {
			end++
		}
		from, to := i+beside, end-beside
		if i == 0 {
			from = 0
		}
		if end == len(lines) {
			to = end
		}
		if hidden := to - from; hidden > 1 {
			out = append(append(append(out, lines[i:from]...), changedLine{hidden: hidden}), lines[to:end]...)
		} else {
			out = append(out, lines[i:end]...)
		}
		for i = end; i < len(lines) && lines[i].action != plan.NoOp; i++ {
			out = append(out, lines[i])
		}
	}
	return out
}

func linesOf(s string) []string {
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(s, "\r\n", "\n"), "\n"), "\n")
}

// asJSON sets strings that hold JSON objects or arrays. It answers false when
// one of them doesn't.
func asJSON(n *Node, before, after *string, indent int, o Options) (string, bool) {
	from, okBefore := decodeJSON(before)
	to, okAfter := from, okBefore
	if before == nil || after == nil || *before != *after {
		to, okAfter = decodeJSON(after)
	}
	if n.Action == plan.Update && (okBefore && from != cty.NilVal) != (okAfter && to != cty.NilVal) {
		// One of them holds JSON: each has its own form.
		change := &typeChange{&Node{Action: plan.Delete, body: &text{before: before}}, &Node{Action: plan.Create, body: &text{after: after}}}
		return change.text(n, indent, o), true
	}
	if !okBefore || !okAfter || from == cty.NilVal && to == cty.NilVal {
		return "", false
	}
	return structure("jsonencode", Of(from, to), n, indent, o), true
}

// structure sets what a text holds as an argument of the function that makes such a text.
func structure(function string, inner, n *Node, indent int, o Options) string {
	part := o.inner()
	part.NoNull = true
	action, note, forces := n.Action, "", o.replacement(n.replace)
	if n.Action == plan.Update && inner.Action == plan.NoOp {
		// Without this it would look as if nothing changed.
		note, action, part.ShowUnchanged = " # whitespace changes", plan.NoOp, true
		if forces != "" {
			note, forces = " # whitespace changes force replacement", ""
		}
	}
	if n.Action == plan.Create || n.Action == plan.Delete {
		action = plan.NoOp
	}
	body := inner.Text(indent+1, part)
	if !strings.Contains(body, "\n") {
		return function + "(" + body + ")" + note + forces + o.null(n)
	}
	return function + "(" + note + "\n" + o.start(indent+1, action) + body + forces + "\n" +
		o.start(indent, plan.NoOp) + ")" + o.null(n)
}

// decodeJSON reads a string that holds a JSON object or array. Null gives
// NilVal.
func decodeJSON(s *string) (cty.Value, bool) {
	if s == nil {
		return cty.NilVal, true
	}
	if !strings.HasPrefix(*s, "{") && !strings.HasPrefix(*s, "[") {
		return cty.NilVal, false
	}
	raw := []byte(*s)
	ty, err := ctyjson.ImpliedType(raw)
	if err != nil {
		return cty.NilVal, false
	}
	v, err := ctyjson.Unmarshal(raw, ty)
	return v, err == nil
}
