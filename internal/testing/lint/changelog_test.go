package lint

import (
	"os"
	"strings"
	"testing"
)

// TestChangelog checks docs/proofs/changelog.txt: named tests exist, reasons are given, and what
// weir lacks is in docs/not-there-yet.md.
func TestChangelog(t *testing.T) {
	page, err := os.ReadFile("../../../docs/not-there-yet.md")
	if err != nil {
		t.Fatal(err)
	}
	lacking := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			lacking[strings.TrimSpace(cells[1])] = true
		}
	}
	list := proofs(t, "changelog")
	if len(list) < 600 {
		t.Errorf("docs/proofs/changelog.txt has %d entries", len(list))
	}
	for entry, verdict := range list {
		if verdict == "unjudged" {
			continue
		}
		if reason, ok := strings.CutPrefix(verdict, "reason "); ok {
			if len(strings.Fields(reason)) < 2 {
				t.Errorf("%s: %q is no reason", entry, reason)
			}
			continue
		}
		if feature, ok := strings.CutPrefix(verdict, "not yet "); ok {
			if !lacking[feature] {
				t.Errorf("%s: docs/not-there-yet.md has no row %q", entry, feature)
			}
			continue
		}
		for item := range strings.SplitSeq(verdict, ", ") {
			if problem := missing(item); problem != "" {
				t.Errorf("%s: %s", entry, problem)
			}
		}
	}
}
