// Package testreport prints test results: as lines for people, as JSON messages and JUnit XML
// for programs.
//
// It owns the three forms. It doesn't know how tests are carried out.
package testreport

import (
	"fmt"
	"io"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/moduletest/testresult"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/ansi"
)

// Options say how results are set for people.
type Options struct {
	view.Options
	Dialect dialect.Dialect
	Verbose bool
	// Diagnostics prints them where they belong.
	Diagnostics func(diag.List)
}

// A Human informs people.
type Human struct {
	out, err io.Writer
	o        Options
}

// NewHuman makes a report that is written to the two streams.
func NewHuman(out, err io.Writer, o Options) *Human { return &Human{out, err, o} }

// word is a status as it is shown: errors are failures too.
func word(s testresult.Status) string {
	if s == testresult.Error {
		s = testresult.Fail
	}
	return s.String()
}

func (h *Human) painted(s testresult.Status) string {
	switch s {
	case testresult.Pass:
		return h.o.Pen.Paint(word(s), ansi.Green)
	case testresult.Fail, testresult.Error:
		return h.o.Pen.Paint(word(s), ansi.Red)
	}
	return h.o.Pen.Paint(word(s), ansi.Gray)
}

func (h *Human) live() bool { return h.o.Dialect == dialect.Terraform }

func (h *Human) file(f *testresult.File, what string) { fmt.Fprintf(h.out, "%s... %s\n", f.Name, what) }

// FileStarts implements testresult.Report. OpenTofu reports a file when its runs are over,
// Terraform while they go on.
func (h *Human) FileStarts(f *testresult.File) {
	if h.live() {
		h.file(f, h.o.Pen.Paint("in progress", ansi.Gray))
	}
}

// RunEnds implements testresult.Report.
func (h *Human) RunEnds(_ *testresult.File, r *testresult.Run) {
	if h.live() {
		h.run(r)
	}
}

// CleanupStarts implements testresult.Report.
func (h *Human) CleanupStarts(f *testresult.File) {
	if h.live() {
		h.file(f, h.o.Pen.Paint("tearing down", ansi.Gray))
		return
	}
	h.file(f, h.painted(f.Status))
	for _, r := range f.Runs {
		h.run(r)
	}
}

func (h *Human) run(r *testresult.Run) {
	samples := ""
	if r.Samples > 0 {
		samples = h.o.Pen.Paint(", "+Count(r.Samples, "sample"), ansi.Gray)
	}
	fmt.Fprintf(h.out, "  run %q... %s%s\n", r.Name, h.painted(r.Status), samples)
	if h.o.Verbose {
		h.content(r)
	}
	h.o.Diagnostics(r.Diags)
}

func (h *Human) content(r *testresult.Run) {
	var err error
	switch {
	case r.State != nil:
		err = view.State(h.out, r.State, r.Schemas, h.o.Options)
	case r.Plan != nil && r.PlanOnly:
		err = view.Plan(h.out, r.Plan, h.o.Options)
	}
	if err != nil {
		r.Diags.Add(diag.Diagnostic{Severity: diag.Warning, Code: diag.Unwritable.Name, Summary: "Failed to render test results", Detail: err.Error() + "."})
	}
}

// Cleaned implements testresult.Report.
func (h *Human) Cleaned(f *testresult.File, r *testresult.Run, diags diag.List, left *state.Snapshot) {
	if diags.HasErrors() {
		fmt.Fprint(h.err, ansi.Wrap(fmt.Sprintf("%s encountered an error destroying resources created while executing %s/%s.\n", view.Engine, f.Name, r.Name), h.o.Width))
	}
	h.o.Diagnostics(diags)
	if left == nil {
		return
	}
	fmt.Fprint(h.err, ansi.Wrap(fmt.Sprintf("\n%s left the following resources in state after executing %s/%s, and they need to be cleaned up manually:\n", view.Engine, f.Name, r.Name), h.o.Width))
	for _, a := range left.Addresses() {
		fmt.Fprintf(h.err, "  - %s\n", objectText(a))
	}
}

func objectText(a addr.Object) string {
	if a.Deposed != "" {
		return fmt.Sprintf("%s (%s)", a.Instance, a.Deposed)
	}
	return a.Instance.String()
}

// FileEnds implements testresult.Report.
func (h *Human) FileEnds(f *testresult.File) {
	if h.live() {
		h.file(f, h.painted(f.Status))
	}
}

// Conclusion reports the whole.
func (h *Human) Conclusion(s *testresult.Suite) {
	text := conclusion(s, h.o.Dialect)
	for verdict, colour := range map[string]ansi.Style{"Success!": ansi.Green, "Failure!": ansi.Red} {
		if rest, ok := strings.CutPrefix(text, verdict); ok {
			text = h.o.Pen.Paint(verdict, colour) + rest
		}
	}
	fmt.Fprintf(h.out, "\n%s\n", text)
}

// conclusion is the last line. Terraform has a verdict about no tests too.
func conclusion(s *testresult.Suite, d dialect.Dialect) string {
	text := "Executed 0 tests"
	if passed, failed := s.Count(testresult.Pass), s.Count(testresult.Fail)+s.Count(testresult.Error); passed+failed > 0 || d == dialect.Terraform {
		verdict := "Success!"
		if s.Status != testresult.Pass {
			verdict = "Failure!"
		}
		text = fmt.Sprintf("%s %d passed, %d failed", verdict, passed, failed)
	}
	if skipped := s.Count(testresult.Skip); skipped > 0 {
		text += fmt.Sprintf(", %d skipped", skipped)
	}
	return text + "."
}
