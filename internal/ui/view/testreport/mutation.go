package testreport

import (
	"bytes"
	"fmt"
	"strings"

	"weir.dev/weir/internal/moduletest/mutate"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/stream"
)

// A Mutation sums up which changes tests have noticed.
type Mutation struct {
	Possible, Tried int
	unnoticed       []mutate.Mutant
	noticed         []noticed
}

type noticed struct {
	mutate.Mutant
	run string
}

// Add notes what came of a change.
func (t *Mutation) Add(m mutate.Mutant, run string, found bool) {
	t.Tried++
	if found {
		t.noticed = append(t.noticed, noticed{m, run})
	} else {
		t.unnoticed = append(t.unnoticed, m)
	}
}

func (t *Mutation) sum() string {
	text := fmt.Sprintf("%d of %s noticed", len(t.noticed), Count(t.Tried, "change"))
	if t.Possible > t.Tried {
		text += fmt.Sprintf(" (%d were possible)", t.Possible)
	}
	return text
}

// Text is the sum for people, with the changes that no test has noticed.
func (t *Mutation) Text(sources map[string][]byte, pen ansi.Pen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s: %s.\n", pen.Paint("Mutation", ansi.Bold), t.sum())
	for _, m := range t.unnoticed {
		fmt.Fprintf(&b, "\n  %s %s:%d, in %s: %s\n", pen.Paint("not noticed", ansi.Red), m.Range.Filename, m.Range.Start.Line, m.Owner, m.What)
		if line := lineOf(sources[m.Range.Filename], m.Range.Start.Byte); line != "" {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	return b.String()
}

func lineOf(source []byte, at int) string {
	if at >= len(source) {
		return ""
	}
	from := bytes.LastIndexByte(source[:at], '\n') + 1
	to := bytes.IndexByte(source[at:], '\n')
	if to < 0 {
		to = len(source) - at
	}
	return strings.TrimSpace(string(source[from : at+to]))
}

// JSON informs programs of each change and of the sum.
func (t *Mutation) JSON(s *stream.JSON) {
	tell := func(m mutate.Mutant, run string) {
		payload := map[string]any{"file": m.Range.Filename, "line": m.Range.Start.Line, "column": m.Range.Start.Column, "declaration": m.Owner, "change": m.What, "noticed": run != ""}
		word := "not noticed"
		if run != "" {
			payload["noticed_by"], word = run, "noticed by "+run
		}
		s.Info(fmt.Sprintf("%s:%d: %s: %s", m.Range.Filename, m.Range.Start.Line, m.What, word), "test_mutation", map[string]any{"test_mutation": payload})
	}
	for _, m := range t.noticed {
		tell(m.Mutant, m.run)
	}
	for _, m := range t.unnoticed {
		tell(m, "")
	}
	s.Info(t.sum(), "test_mutation_summary", map[string]any{"test_mutation_summary": map[string]int{"possible": t.Possible, "tried": t.Tried, "noticed": len(t.noticed)}})
}
