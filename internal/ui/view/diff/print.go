package diff

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view/ansi"
)

// Options say how a difference is set.
type Options struct {
	Pen ansi.Pen
	// ShowSensitive shows secrets.
	ShowSensitive bool
	// ShowUnchanged shows what would be counted and hidden.
	ShowUnchanged bool
	// NoSymbols leaves out the symbols and the room for them; BlankSymbols
	// leaves the room.
	NoSymbols, BlankSymbols bool
	// NoNull leaves out the `-> null` behind what goes away.
	NoNull bool
	// Fold is for people who read it: of long texts the lines around those that change, YAML
	// as the values it holds, columns by what characters take on a screen. Without it the text
	// is one that programs and people know from other programs.
	Fold bool

	// forces: the parts say that they force a replacement.
	forces bool
	// begins: the beginning is enough.
	begins bool
}

// Text sets the difference. All lines but the first are indented by the given
// number of steps.
func (n *Node) Text(indent int, o Options) string { return n.body.text(n, indent, o) }

// A body is what is particular to one kind of difference.
type body interface {
	text(n *Node, indent int, o Options) string
}

// A warner has something to say before its node is shown.
type warner interface {
	warning(n *Node, indent int, o Options) string
}

// Symbol is the mark of an action, three characters wide on screen, or more
// for replacements.
func Symbol(a plan.Action, pen ansi.Pen) string {
	minus, plus, dot := pen.Paint("-", ansi.Red), pen.Paint("+", ansi.Green), pen.Paint(".", ansi.Red)
	switch a {
	case plan.Create:
		return "  " + plus
	case plan.Read:
		return " " + pen.Paint("<=", ansi.Cyan)
	case plan.Update:
		return "  " + pen.Paint("~", ansi.Yellow)
	case plan.Delete:
		return "  " + minus
	case plan.DeleteThenCreate:
		return minus + "/" + plus
	case plan.CreateThenDelete:
		return plus + "/" + minus
	case plan.ForgetThenCreate:
		return dot + "/" + plus
	case plan.Forget:
		return "  " + dot
	}
	return "   "
}

func (o Options) symbol(a plan.Action) string {
	if o.NoSymbols {
		return ""
	}
	if o.BlankSymbols {
		a = plan.NoOp
	}
	return Symbol(a, o.Pen) + " "
}

// start is the beginning of a line: indentation and symbol.
func (o Options) start(indent int, a plan.Action) string {
	return strings.Repeat("    ", indent) + o.symbol(a)
}

func (o Options) null(n *Node) string {
	if n.Action == plan.Delete && !o.NoNull {
		return o.Pen.Paint(" -> null", ansi.Gray)
	}
	return ""
}

func (o Options) replacement(forced bool) string {
	if forced || o.forces {
		return o.Pen.Paint(" # forces replacement", ansi.Red)
	}
	return ""
}

func (o Options) arrow() string { return o.Pen.Paint("->", ansi.Yellow) }

func (o Options) unchanged(count int, what string) string {
	if count != 1 {
		what += "s"
	}
	return o.Pen.Paint(fmt.Sprintf("# (%d unchanged %s hidden)", count, what), ansi.Gray)
}

// Columns is how much room a name takes.
func (o Options) Columns(name string) int {
	if o.Fold {
		return ansi.Width(name)
	}
	return utf8.RuneCountInString(name)
}

// inner are the options for parts; forcing a replacement isn't inherited.
func (o Options) inner() Options {
	o.forces = false
	return o
}

type scalar struct{ before, after string }

func (s *scalar) text(n *Node, _ int, o Options) string {
	switch n.Action {
	case plan.Create:
		return o.null0(s.after) + o.replacement(n.replace)
	case plan.Delete:
		if s.before == "null" {
			return o.null0(s.before) + o.replacement(n.replace)
		}
		return s.before + o.null(n) + o.replacement(n.replace)
	case plan.NoOp:
		return o.null0(s.before) + o.replacement(n.replace)
	}
	return o.null0(s.before) + " " + o.arrow() + " " + o.null0(s.after) + o.replacement(n.replace)
}

// null0 sets a value that may be null.
func (o Options) null0(text string) string {
	if text == "null" {
		return o.Pen.Paint(text, ansi.Gray)
	}
	return text
}

// later is a value that isn't known yet.
type later struct{ before *Node }

func (l *later) text(n *Node, indent int, o Options) string {
	const known = "(known after apply)"
	if l.before == nil {
		return known + o.replacement(n.replace)
	}
	old := o.inner()
	old.NoNull, old.begins = true, o.Fold
	if _, ok := l.before.body.(*ellipsis); ok {
		return known + o.replacement(n.replace)
	}
	return l.before.Text(indent, old) + " -> " + known + o.replacement(n.replace)
}

// ellipsis is something whose parts aren't shown.
type ellipsis struct{}

func (*ellipsis) text(*Node, int, Options) string { return "…" }

type writeOnly struct{}

func (*writeOnly) text(n *Node, _ int, o Options) string {
	return "(write-only attribute)" + o.replacement(n.replace) + o.null(n)
}

type typeChange struct{ before, after *Node }

func (t *typeChange) text(_ *Node, indent int, o Options) string {
	o = o.inner()
	o.NoNull = true
	return t.before.Text(indent, o) + " " + o.arrow() + " " + t.after.Text(indent, o)
}

// secret is a value that isn't shown.
type secret struct {
	inner         *Node
	before, after bool
}

func (s *secret) text(n *Node, indent int, o Options) string {
	if o.ShowSensitive {
		return s.inner.Text(indent, o)
	}
	return "(sensitive value)" + o.null(n) + o.replacement(n.replace)
}

func (s *secret) warning(_ *Node, indent int, o Options) string {
	text := secrecyChange("this attribute value", s.before, s.after, s.inner.Action, indent, o)
	if text != "" && s.inner.Action == plan.NoOp {
		text += " The value is unchanged."
	}
	return text
}

// secrecyChange warns when something is going to be shown or hidden that
// wasn't before.
func secrecyChange(what string, before, after bool, a plan.Action, indent int, o Options) string {
	if before == after || a == plan.Create || a == plan.Delete {
		return ""
	}
	first, second := " will no longer be marked as sensitive", "after applying this change."
	if after {
		first, second = " will be marked as sensitive and will not", "display in UI output after applying this change."
	}
	return "  # " + o.Pen.Paint("Warning", ansi.Yellow) + ": " + what + first + "\n" + strings.Repeat("    ", indent) + "  # " + second
}

// A list is the elements of a sequence or set. With context, the unchanged neighbours of a
// change are shown: the order reports something.
type list struct {
	parts       []*Node
	context     bool
	pushReplace bool // the elements say it, not the list
}

func (l *list) text(n *Node, indent int, o Options) string {
	own := n.replace && !l.pushReplace
	if len(l.parts) == 0 {
		return "[]" + o.null(n) + o.replacement(own)
	}
	part := o.inner()
	part.NoNull = true
	part.forces = n.replace && l.pushReplace
	full := part
	full.ShowUnchanged = true

	var b strings.Builder
	b.WriteString("[" + o.replacement(own) + "\n")
	hidden := 0
	hide := func() {
		if hidden > 0 {
			b.WriteString(o.start(indent+1, plan.NoOp) + o.unchanged(hidden, "element") + "\n")
		}
		hidden = 0
	}
	for i, p := range l.parts {
		if p.Action == plan.NoOp && !o.ShowUnchanged && !(l.context && nearChange(l.parts, i)) {
			hidden++
			continue
		}
		if l.context {
			hide()
		}
		as := part
		if p.Action == plan.NoOp {
			as = full
		}
		writeWarning(&b, p, indent+1, o)
		b.WriteString(o.start(indent+1, p.Action) + p.Text(indent+1, as) + ",\n")
	}
	hide()
	b.WriteString(o.start(indent, plan.NoOp) + "]" + o.null(n))
	return b.String()
}

// nearChange reports whether an unchanged element stands beside a change.
func nearChange(parts []*Node, i int) bool {
	return i > 0 && parts[i-1].Action != plan.NoOp || i+1 < len(parts) && parts[i+1].Action != plan.NoOp
}

type mapping struct {
	parts  map[string]*Node
	nested bool // of a schema; the elements say that they force a replacement
}

func (m *mapping) text(n *Node, indent int, o Options) string {
	own := n.replace && !m.nested
	if len(m.parts) == 0 {
		return "{}" + o.null(n) + o.replacement(own)
	}
	part := o.inner()
	part.NoNull = o.NoNull || n.Action == plan.Delete || m.nested
	part.forces = n.replace && m.nested
	names, width := sortedNames(m.parts, strconv.Quote, o)
	if m.nested {
		width = 0
	}
	var b strings.Builder
	b.WriteString("{" + o.replacement(own) + "\n")
	hidden := 0
	for _, name := range names {
		p := m.parts[name]
		if p.Action == plan.NoOp && !o.ShowUnchanged {
			hidden++
			continue
		}
		line(&b, strconv.Quote(name), width, p, indent+1, part)
		if _, isObject := p.body.(*object); isObject {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	if hidden > 0 {
		b.WriteString(o.start(indent+1, plan.NoOp) + o.unchanged(hidden, "element") + "\n")
	}
	b.WriteString(o.start(indent, plan.NoOp) + "}" + o.null(n))
	return b.String()
}

type object struct {
	parts  map[string]*Node
	nested bool // of a schema
}

func (ob *object) text(n *Node, indent int, o Options) string {
	if len(ob.parts) == 0 {
		return "{}" + o.null(n) + o.replacement(n.replace)
	}
	part := o.inner()
	part.NoNull = !ob.nested
	var b strings.Builder
	b.WriteString("{" + o.replacement(n.replace) + "\n")
	attributes(&b, ob.parts, indent+1, part)
	b.WriteString(o.start(indent, plan.NoOp) + "}" + o.null(n))
	return b.String()
}

// isImportant reports whether an attribute is shown even when it stays: those by which people
// distinguish objects.
func isImportant(name string) bool { return name == "id" || name == "name" || name == "tags" }

// attributes writes a line for each attribute and one for the hidden.
func attributes(b *strings.Builder, parts map[string]*Node, indent int, o Options) {
	names, width := sortedNames(parts, Name, o)
	hidden := 0
	for _, name := range names {
		p, as := parts[name], o
		if isImportant(name) {
			as.ShowUnchanged = true
		}
		if p.Action == plan.NoOp && !as.ShowUnchanged {
			hidden++
			continue
		}
		line(b, Name(name), width, p, indent, as)
		b.WriteByte('\n')
	}
	if hidden > 0 {
		b.WriteString(o.start(indent, plan.NoOp) + o.unchanged(hidden, "attribute") + "\n")
	}
}

func line(b *strings.Builder, name string, width int, n *Node, indent int, o Options) {
	writeWarning(b, n, indent, o)
	pad := strings.Repeat(" ", max(width-o.Columns(name), 0))
	b.WriteString(o.start(indent, n.Action) + name + pad + " = " + n.Text(indent, o))
}

func writeWarning(b *strings.Builder, n *Node, indent int, o Options) {
	if w, ok := n.body.(warner); ok && !o.ShowSensitive {
		if text := w.warning(n, indent, o); text != "" {
			b.WriteString(strings.Repeat("    ", indent) + text + "\n")
		}
	}
}

func sortedNames(parts map[string]*Node, shown func(string) string, o Options) (names []string, width int) {
	for name := range parts {
		names = append(names, name)
		width = max(width, o.Columns(shown(name)))
	}
	sort.Strings(names)
	return names, width
}

// Name writes the name of an attribute as configuration would: in quotes
// unless it is an identifier.
func Name(name string) string {
	if isWord(name) || hclsyntax.ValidIdentifier(name) {
		return name
	}
	return strconv.Quote(name)
}

// isWord reports whether the name is an identifier of ASCII characters, as
// nearly all are; the library scans a name as if it were a file.
func isWord(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '-' || c == '_'):
		default:
			return false
		}
	}
	return name != ""
}

// A block is an object by schema: attributes, then nested blocks.
type block struct {
	attributes map[string]*Node
	groups     []*group
	// lists: there are lists of blocks, maybe without a block. Braces then have lines of their own,
	// as programs know them.
	lists bool
}

// A group is the blocks of one type.
type group struct {
	name                      string
	action                    plan.Action
	replace                   bool
	hiddenBefore, hiddenAfter bool
	blocks                    []labelled
}

type labelled struct {
	label    string
	hasLabel bool
	node     *Node
}

func (bl *block) text(n *Node, indent int, o Options) string {
	if len(bl.attributes) == 0 && len(bl.groups) == 0 && !bl.lists {
		return "{}" + o.replacement(n.replace)
	}
	part := o.inner()
	var b strings.Builder
	b.WriteString("{" + o.replacement(n.replace) + "\n")
	attributes(&b, bl.attributes, indent+1, part)
	hidden := 0
	for _, g := range bl.groups {
		hidden += g.write(&b, len(bl.attributes) > 0, indent+1, part)
	}
	if hidden > 0 {
		b.WriteString("\n" + o.start(indent+1, plan.NoOp) + o.unchanged(hidden, "block") + "\n")
	}
	b.WriteString(o.start(indent, plan.NoOp) + "}")
	return b.String()
}

// write sets the blocks of a group, after an empty line if gap, and returns
// how many unchanged ones it left out.
func (g *group) write(b *strings.Builder, gap bool, indent int, o Options) (hidden int) {
	o.forces = g.replace
	for _, l := range g.blocks {
		n := g.covered(l.node, o)
		if n.Action == plan.NoOp && !o.ShowUnchanged {
			hidden++
			continue
		}
		if gap {
			b.WriteByte('\n')
			gap = false
		}
		writeWarning(b, n, indent, o)
		label := ""
		if l.hasLabel {
			label = " " + strconv.Quote(l.label)
		}
		b.WriteString(o.start(indent, n.Action) + Name(g.name) + label + " " + n.Text(indent, o) + "\n")
	}
	return hidden
}

// covered hides the content of a block when the whole group is secret.
func (g *group) covered(n *Node, o Options) *Node {
	hide := g.hiddenBefore || g.hiddenAfter
	switch n.Action {
	case plan.Create:
		hide = g.hiddenAfter
	case plan.Delete:
		hide = g.hiddenBefore
	}
	if s, ok := n.body.(*secret); ok && !o.ShowSensitive {
		return &Node{n.Action, n.replace, &secretBlock{s.inner, s.before, s.after}}
	}
	if !hide || o.ShowSensitive {
		return n
	}
	action := n.Action
	if action == plan.NoOp && g.hiddenBefore != g.hiddenAfter {
		action = plan.Update
	}
	return &Node{action, n.replace, &secretBlock{n, g.hiddenBefore, g.hiddenAfter}}
}

// secretBlock is a block whose content isn't shown.
type secretBlock struct {
	inner         *Node
	before, after bool
}

func (s *secretBlock) text(n *Node, indent int, o Options) string {
	start := o.start(indent, plan.NoOp)
	return "{" + o.replacement(n.replace) + "\n" +
		start + "  # At least one attribute in this block is (or was) sensitive,\n" +
		start + "  # so its contents will not be displayed.\n" +
		start + "}"
}

func (s *secretBlock) warning(_ *Node, indent int, o Options) string {
	return secrecyChange("this block", s.before, s.after, s.inner.Action, indent, o)
}
