package lint

import (
	"os"
	"strings"
	"testing"
)

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
	shown := proofs(t, "trust")
	if len(shown) < 30 {
		t.Errorf("docs/proofs/trust.txt has %d lines", len(shown))
	}
	for fault := range faults {
		if shown[fault] == "" {
			t.Errorf("docs/trust.md: %q names no test: add a line to docs/proofs/trust.txt", fault)
		}
	}
	for fault, tests := range shown {
		if !faults[fault] {
			t.Errorf("docs/proofs/trust.txt has %q, and docs/trust.md doesn't list it", fault)
		}
		for item := range strings.SplitSeq(tests, ", ") {
			if problem := missing(item); problem != "" {
				t.Errorf("%s: %s", fault, problem)
			}
		}
	}
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
