package cli

import (
	"os"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/moduletest"
	"weir.dev/weir/internal/moduletest/coverage"
	"weir.dev/weir/internal/ui/view/coveragereport"
)

// coverage shows and writes what was covered: of the configuration, not of what
// is installed for it or of what the tests bring along.
func (t *tester) coverage(r *coverage.Recorder, o moduletest.Options) int {
	report := r.Report(o.Sources, t.files().Subject())
	if t.Coverage {
		t.env.Notice(coveragereport.Text(report, t.env.Pen()))
	}
	text, err := coveragereport.JSON(report)
	if err != nil {
		return t.env.Fail(diag.Unwritable.As("Failed to write the coverage"), "%s.", err)
	}
	for _, file := range []struct {
		name string
		text []byte
	}{{t.CoverageJSON, text}, {t.CoverageHTML, coveragereport.HTML(report)}} {
		if file.name == "" {
			continue
		}
		if err := os.WriteFile(file.name, file.text, 0o666); err != nil {
			return t.env.Fail(diag.Unwritable.As("Failed to write the coverage"), "Writing %s: %s.", file.name, diag.Cause(err))
		}
	}
	return 0
}
