package lint

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDifferences holds docs/where-weir-differs.md to the tests it names: every
// entry (a heading of the third level) says why in words and ends with a line
// "Shown by: " whose items exist.
func TestDifferences(t *testing.T) {
	const page = "../../../docs/where-weir-differs.md"
	f, err := os.Open(page)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	var heading string
	var words int
	shown := true
	finish := func() {
		if heading != "" && !shown {
			t.Errorf("%s: %q names no test: it needs a line \"Shown by: \"", page, heading)
		}
		if heading != "" && words < 8 {
			t.Errorf("%s: %q gives no reason", page, heading)
		}
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "#"):
			finish()
			heading, words, shown = "", 0, false
			if name, ok := strings.CutPrefix(line, "### "); ok {
				heading = name
			}
		case strings.HasPrefix(line, "Shown by: "):
			shown = true
			for item := range strings.SplitSeq(strings.TrimPrefix(line, "Shown by: "), ", ") {
				if problem := missing(item); problem != "" {
					t.Errorf("%s: %q: %s", page, heading, problem)
				}
			}
		default:
			words += len(strings.Fields(line))
		}
	}
	finish()
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// missing says what is wrong with one item of "Shown by: ".
func missing(item string) string {
	fields := strings.Fields(item)
	switch {
	case len(fields) == 2 && fields[0] == "case":
		if _, err := os.Stat(filepath.Join("../../../conformance/cases", fields[1]+".txtar")); err != nil {
			return "there is no case " + fields[1]
		}
		return ""
	case len(fields) == 3 && fields[0] == "go":
		files, err := filepath.Glob(filepath.Join("../..", fields[1], "*_test.go"))
		if err != nil {
			return err.Error()
		}
		declared := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(fields[2]) + `\(`)
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil && declared.Match(text) {
				return ""
			}
		}
		return "there is no test " + fields[2] + " in " + fields[1]
	}
	return item + `: want "case AREA/NAME" or "go PACKAGE TestName"`
}
