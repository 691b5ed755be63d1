package view

import (
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/diff"
	"weir.dev/weir/internal/ui/view/jsonstate"
	"weir.dev/weir/internal/ui/view/sanitize"
)

// around lists the actions that are invoked before and after a change.
func (p *planPrinter) around(c *plan.Change) string {
	if c.Addr.Deposed != "" || len(p.plan.Invocations) == 0 {
		return ""
	}
	var b strings.Builder
	for _, at := range []struct {
		before bool
		head   string
	}{{true, "Actions to be invoked before this change in order:"}, {false, "Actions to be invoked after this change in order:"}} {
		head := "\n\n    " + p.o.Pen.Paint("# "+at.head, ansi.Bold)
		for _, i := range p.plan.Invocations {
			if i.Event != 0 && i.Event.Before() == at.before && i.Object == c.Addr.Instance {
				b.WriteString(head + "\n" + p.invocation(i))
				head = ""
			}
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// asked lists the actions that are invoked because somebody has asked for it.
func (p *planPrinter) asked() {
	head := "\n" + p.o.product() + " will invoke the following action(s):\n"
	for _, i := range p.plan.Invocations {
		if i.Event == 0 {
			p.WriteString(head + "\n" + p.invocation(i))
			head = ""
		}
	}
}

// invocation is an action with what it is configured with.
func (p *planPrinter) invocation(i *plan.Invocation) string {
	name := i.Addr.Name
	text := "    # " + sanitize.Line(i.Addr.String())
	switch {
	case i.Event == 0 && i.Object.Name.Type != "":
		text += " for " + sanitize.Line(i.Object.String())
	case i.Event != 0:
		text += " (" + i.Event.String() + ")"
	}
	text += fmt.Sprintf("\n    action %q %q {\n", name.Type, name.Name)
	if s := jsonstate.Schema(p.plan.Schemas, i.Provider.Provider, name); s != nil && s.Block != nil {
		bare, _ := i.Config.UnmarkDeep()
		if !bare.IsNull() {
			body := diff.Object(cty.NullVal(bare.Type()), i.Config, s.Block, nil, nil).Text(1, diff.Options{
				Pen: p.o.Pen, ShowSensitive: p.o.ShowSensitive, NoSymbols: true,
			})
			text += "        config " + indent(body, "    ") + "\n"
		}
	}
	return text + "    }\n"
}

// indent puts more room before all lines but the first.
func indent(text, room string) string { return strings.ReplaceAll(text, "\n", "\n"+room) }
