package simtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state/statefile"
)

func sameWorld(a, b *World) bool {
	return a.Cloud.String() == b.Cloud.String() && statefile.Equal(a.State, b.State)
}

// String is the cloud and the state, a line for each object and output.
func (w *World) String() string {
	var b strings.Builder
	b.WriteString(w.Cloud.String())
	for _, a := range w.State.Addresses() {
		o := w.State.Objects[a]
		fmt.Fprintf(&b, "%s = %s by %s needs %v", a, o.JSON, o.Provider, o.Dependencies)
		if o.CreateBeforeDestroy {
			b.WriteString(" cbd")
		}
		if o.Tainted {
			b.WriteString(" tainted")
		}
		b.WriteByte('\n')
	}
	for _, name := range slices.Sorted(maps.Keys(w.State.Outputs)) {
		fmt.Fprintf(&b, "output %s = %#v\n", name, w.State.Outputs[name].Value)
	}
	return b.String()
}

// difference has the lines that are in one of two texts only.
func difference(a, b string) string {
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	var out strings.Builder
	for _, line := range left {
		if !slices.Contains(right, line) {
			out.WriteString("- " + line + "\n")
		}
	}
	for _, line := range right {
		if !slices.Contains(left, line) {
			out.WriteString("+ " + line + "\n")
		}
	}
	return out.String()
}

// printed is a plan as text.
func printed(p *plan.Plan) string {
	var b strings.Builder
	for _, c := range p.Changes {
		if c.Action != plan.NoOp || c.Moved() {
			fmt.Fprintf(&b, "%s %s %s", c.Action, c.Addr, c.Reason)
			if c.Moved() {
				fmt.Fprintf(&b, " from %s", c.Previous())
			}
			b.WriteByte('\n')
		}
	}
	for _, o := range p.Outputs {
		if o.Action != plan.NoOp {
			fmt.Fprintf(&b, "output %s %s\n", o.Action, o.Name)
		}
	}
	if p.Graph != nil {
		_ = p.Graph.Print(&b) // a builder doesn't fail
	}
	return b.String()
}
