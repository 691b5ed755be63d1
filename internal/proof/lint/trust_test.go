package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFound holds the table of docs/trust.md to the tests, scripts and scenarios that it
// names.
func TestFound(t *testing.T) {
	page, err := os.ReadFile("../../../docs/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	scenarios, err := os.ReadFile("../../../chaos/chaos.py")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| | held by |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")[1:]
	if len(rows) < 30 {
		t.Errorf("the table has %d rows", len(rows))
	}
	for _, row := range rows {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		if len(cells) != 2 {
			t.Errorf("%q isn't a row of two cells", row)
			continue
		}
		for item := range strings.SplitSeq(cells[1], ", ") {
			kind, name, _ := strings.Cut(item, " ")
			problem := ""
			switch kind {
			case "script":
				if found, _ := filepath.Glob("../../front/cli/testdata/*/" + name + ".txtar"); found == nil {
					problem = "there is no such script"
				}
			case "chaos":
				if !regexp.MustCompile(`(?m)^def ` + regexp.QuoteMeta(name) + `\(o`).Match(scenarios) {
					problem = "there is no such scenario"
				}
			default:
				problem = missing(item)
			}
			if problem != "" {
				t.Errorf("%s: %s: %s", cells[0], item, problem)
			}
		}
	}
}
