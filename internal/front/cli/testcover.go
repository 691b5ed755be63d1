package cli

import (
	"os"

	"weir.dev/weir/internal/front/view/coverview"
	"weir.dev/weir/internal/suite"
	"weir.dev/weir/internal/suite/coverage"
	"weir.dev/weir/internal/word/diag"
)

// coverage shows and writes what was covered: of the configuration, not of what
// is installed for it or of what the tests bring along.
func (t *tester) coverage(r *coverage.Recorder, o suite.Options) int {
	report := r.Report(o.Sources, t.directory.UnderTest(o.TestDir))
	if t.Coverage {
		t.Notice(coverview.Text(report, t.Pen()))
	}
	text, err := coverview.JSON(report)
	if err != nil {
		return t.Fail(diag.Unwritable.As("Failed to write the coverage"), "%s.", err)
	}
	for _, file := range []struct {
		name string
		text []byte
	}{{t.CoverageJSON, text}, {t.CoverageHTML, coverview.HTML(report)}} {
		if file.name == "" {
			continue
		}
		if err := os.WriteFile(file.name, file.text, 0o666); err != nil {
			return t.Fail(diag.Unwritable.As("Failed to write the coverage"), "Writing %s: %s.", file.name, diag.Cause(err))
		}
	}
	return 0
}
