package lint

import (
	"os"
	"strings"
	"testing"
)

// agree checks the entries of a page against docs/proofs/NAME.txt, which has at least so many
// lines, and that the tests exist that these name.
func agree(t *testing.T, page, name string, entries map[string]bool, least int) {
	t.Helper()
	shown := proofs(t, name)
	if len(shown) < least {
		t.Errorf("docs/proofs/%s.txt has %d lines", name, len(shown))
	}
	for entry := range entries {
		if shown[entry] == "" {
			t.Errorf("%s: %q names no test: add a line to docs/proofs/%s.txt", page, entry, name)
		}
	}
	for entry, tests := range shown {
		if !entries[entry] {
			t.Errorf("docs/proofs/%s.txt has %q, and %s doesn't list it", name, entry, page)
		}
		for item := range strings.SplitSeq(tests, ", ") {
			if problem := missing(item); problem != "" {
				t.Errorf("%s: %s", entry, problem)
			}
		}
	}
}

// TestSecurity checks the table of SECURITY.md against docs/proofs/security.txt.
func TestSecurity(t *testing.T) {
	page, err := os.ReadFile("../../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n<!-- proofs/security.txt -->\n")
	table, _, _ = strings.Cut(table, "\n<!-- end -->\n")
	rows := map[string]bool{}
	for i, line := range strings.Split(table, "\n") {
		if cells := strings.Split(line, "|"); i > 1 && len(cells) > 3 {
			rows[strings.TrimSpace(cells[1])+", "+strings.TrimSpace(cells[2])] = true
		}
	}
	agree(t, "SECURITY.md", "security", rows, 20)
}

// TestFound checks the list of faults in docs/trust.md against docs/proofs/trust.txt, and the
// tests, scripts and scenarios that are named there and in docs/proofs/pages.txt.
func TestFound(t *testing.T) {
	page, err := os.ReadFile("../../../docs/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "\n<!-- proofs/trust.txt -->\n")
	list, _, _ = strings.Cut(list, "\n<!-- end -->\n")
	faults := map[string]bool{}
	for line := range strings.Lines(list) {
		if fault, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			faults[fault] = true
		}
	}
	agree(t, "docs/trust.md", "trust", faults, 30)
	for entry, tests := range proofs(t, "pages") {
		name, heading, _ := strings.Cut(entry, ", ")
		if !declares("../../../"+name, "#+ "+heading+"$") {
			t.Errorf("docs/proofs/pages.txt: %s has no heading %q", name, heading)
		}
		for item := range strings.SplitSeq(tests, ", ") {
			if problem := missing(item); problem != "" {
				t.Errorf("%s: %s", entry, problem)
			}
		}
	}
}
