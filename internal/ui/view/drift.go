package view

import (
	"fmt"
	"io"
	"strings"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view/jsonplan"
	"weir.dev/weir/internal/ui/view/masking"
)

// Drift writes the objects that a plan found changed outside. Earlier is how many aren't among them
// because they had changed before.
func Drift(w io.Writer, pl *plan.Plan, earlier int, o Options) error {
	pl, hidden := masking.Plan(pl, masking.Secrets(pl, nil))
	p := &planPrinter{printer: printer{o: o}, plan: pl, hidden: hidden}
	for _, c := range jsonplan.Shown(pl.Drift) {
		p.WriteString(p.drifted(c, nil))
	}
	p.repeated()
	p.WriteString("\n" + Drifted(pl, earlier) + "\n")
	return p.flush(w)
}

// DriftedObject writes how one object changed outside.
func DriftedObject(w io.Writer, pl *plan.Plan, c *plan.Change, o Options) error {
	p := &planPrinter{printer: printer{o: o}, plan: pl}
	p.WriteString(strings.TrimPrefix(p.drifted(c, nil), "\n"))
	return p.flush(w)
}

// DriftCounts are how many objects changed outside, and how many were deleted.
func DriftCounts(p *plan.Plan) (changed, deleted int) {
	for _, c := range jsonplan.Shown(p.Drift) {
		if c.Action == plan.Delete {
			deleted++
		} else {
			changed++
		}
	}
	return changed, deleted
}

// Drifted counts the objects that changed outside.
func Drifted(p *plan.Plan, earlier int) string {
	text := "No drift."
	if changed, deleted := DriftCounts(p); changed+deleted > 0 {
		text = fmt.Sprintf("Drift: %d changed, %d deleted.", changed, deleted)
	}
	if earlier > 0 {
		text += fmt.Sprintf(" Not shown: %s that changed earlier.", Count(earlier, "object"))
	}
	return text
}
