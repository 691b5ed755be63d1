package view

import (
	"fmt"
	"io"
	"strings"

	"weir.dev/weir/internal/execgraph"
	"weir.dev/weir/internal/view/clean"
	"weir.dev/weir/internal/view/style"
)

// Steps writes every step of an execution graph with what it waits for. Gates
// have numbers, since they have no other names. A nil graph is that of a plan
// that failed.
func Steps(w io.Writer, g *execgraph.Graph, o Options) error {
	p := printer{o: o}
	switch {
	case g == nil:
		p.prose("\nThe plan failed when it was made, so it has no steps.")
	case len(g.Steps) == 0:
		p.prose("\nApplying this plan takes no steps.")
	default:
		p.WriteString("\n" + o.Pen.Paint("Steps", style.Bold) + " of the apply, in an order that would do:\n\n")
	}
	if g == nil {
		return p.flush(w)
	}
	name := func(id execgraph.ID) string {
		if s := &g.Steps[id]; s.Kind == execgraph.Gate {
			return fmt.Sprintf("%s %d", s.Kind, id)
		}
		return clean.Line(g.Steps[id].Label())
	}
	for n := range g.Steps {
		s := &g.Steps[n]
		p.printf("  %4d. %s", n, name(execgraph.ID(n)))
		if s.When == execgraph.Always {
			p.WriteString(" (whatever happens)")
		}
		if s.When == execgraph.OnFailure {
			p.printf(" (if %s fails)", name(s.Of))
		}
		p.WriteByte('\n')
		var after []string
		for _, a := range s.After {
			after = append(after, name(a))
		}
		if len(after) > 0 {
			p.WriteString("        after " + strings.Join(after, ",\n              ") + "\n")
		}
	}
	return p.flush(w)
}
