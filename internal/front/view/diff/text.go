package diff

import (
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/front/view/clean"
	"weir.dev/weir/internal/plan"
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

// heredoc sets strings of several lines. A null beside one is told in the
// first line.
func heredoc(n *Node, before, after *string, indent int, o Options) string {
	var b strings.Builder
	if n.Action == plan.Update && (before == nil || after == nil) {
		b.WriteString(quoted(nil, o) + " " + o.arrow() + " ")
	}
	b.WriteString("<<-EOT" + o.replacement(n.replace) + "\n")
	write := func(a plan.Action, line string) {
		b.WriteString(strings.TrimRight(o.start(indent+1, a)+clean.Text(line), " ") + "\n")
	}
	switch {
	case n.Action != plan.Update || before == nil || after == nil:
		s := before
		if s == nil {
			s = after
		}
		for _, line := range linesOf(*s) {
			write(plan.NoOp, line)
		}
	default:
		from, to := linesOf(*before), linesOf(*after)
		if slices.Equal(from, to) {
			// They differ in how they end.
			from, to = strings.Split(*before, "\n"), strings.Split(*after, "\n")
		}
		align(from, to, func(int, int) bool { return false }, func(i, j int) {
			switch {
			case j < 0:
				write(plan.Delete, from[i])
			case i < 0:
				write(plan.Create, to[j])
			default:
				write(plan.NoOp, from[i])
			}
		})
	}
	b.WriteString(o.start(indent, plan.NoOp) + "EOT" + o.null(n))
	return b.String()
}

func linesOf(s string) []string {
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(s, "\r\n", "\n"), "\n"), "\n")
}

// asJSON sets strings that hold JSON objects or arrays. It answers false when
// one of them doesn't.
func asJSON(n *Node, before, after *string, indent int, o Options) (string, bool) {
	from, okBefore := decodeJSON(before)
	to, okAfter := decodeJSON(after)
	if !okBefore || !okAfter || from == cty.NilVal && to == cty.NilVal {
		return "", false
	}
	inner := Of(from, to)
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
		return "jsonencode(" + body + ")" + note + forces + o.null(n), true
	}
	return "jsonencode(" + note + "\n" + o.start(indent+1, action) + body + forces + "\n" +
		o.start(indent, plan.NoOp) + ")" + o.null(n), true
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
