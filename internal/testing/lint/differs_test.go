package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDifferences checks docs/where-weir-differs.md: every entry (a heading of the third
// level) gives a reason, and has a line in docs/proofs/differences.txt with the tests that
// show it.
func TestDifferences(t *testing.T) {
	const page = "../../../docs/where-weir-differs.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	shown := proofs(t, "differences")
	entries := map[string]bool{}
	for i, part := range strings.Split(string(text), "\n### ") {
		if i == 0 {
			continue
		}
		heading, body, _ := strings.Cut(part, "\n")
		body, _, _ = strings.Cut(body, "\n## ")
		entries[heading] = true
		if len(strings.Fields(body)) < 8 {
			t.Errorf("%s: %q gives no reason", page, heading)
		}
		if strings.Contains(body, "Shown by: ") {
			t.Errorf("%s: %q: move its \"Shown by: \" to docs/proofs/differences.txt", page, heading)
		}
		if shown[heading] == "" {
			t.Errorf("%s: %q names no test: add a line to docs/proofs/differences.txt", page, heading)
			continue
		}
		for item := range strings.SplitSeq(shown[heading], ", ") {
			if problem := missing(item); problem != "" {
				t.Errorf("%s: %q: %s", page, heading, problem)
			}
		}
	}
	for heading := range shown {
		if !entries[heading] {
			t.Errorf("docs/proofs/differences.txt has a line for %q, and %s has no such heading", heading, page)
		}
	}
}

// proofs reads docs/proofs/NAME.txt: the tests that prove an entry, by the entry. A line is
// "ENTRY: TEST, TEST". Users' pages don't carry these names, so that they stay readable.
func proofs(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/proofs/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		at := strings.LastIndex(line, ": ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case at < 0:
			t.Errorf("docs/proofs/%s.txt: %q isn't \"ENTRY: TEST, TEST\"", name, line)
		case list[line[:at]] != "":
			t.Errorf("docs/proofs/%s.txt: two lines for %q", name, line[:at])
		default:
			list[line[:at]] = line[at+2:]
		}
	}
	return list
}

// missing returns why one item of a line of proofs names no test, or "".
func missing(item string) string {
	kind, rest, _ := strings.Cut(item, " ")
	fields := strings.Fields(rest)
	found := false
	switch {
	case kind == "case" && len(fields) == 1:
		_, err := os.Stat(filepath.Join("../../../test/conformance/cases", rest+".txtar"))
		found = err == nil
	case kind == "script" && len(fields) == 1:
		files, _ := filepath.Glob("../../ui/cli/testdata/*/" + rest + ".txtar")
		found = files != nil
	case kind == "chaos" && len(fields) == 1:
		found = declares("../../../test/chaos/chaos.py", `def `+rest+`\(o`)
	case kind == "file" && len(fields) == 1:
		_, err := os.Stat(filepath.Join("../../..", rest))
		found = err == nil
	case kind == "go" && len(fields) == 2:
		found = declares(filepath.Join("../..", fields[0], "*_test.go"), `func `+regexp.QuoteMeta(fields[1])+`\(`)
	default:
		return item + `: want "case AREA/NAME", "script NAME", "chaos NAME", "file PATH" or "go PACKAGE TestName"`
	}
	if !found {
		return "no such " + kind + ": " + rest
	}
	return ""
}

// declares reports whether a file that matches the pattern has a line that starts so.
func declares(pattern, start string) bool {
	files, _ := filepath.Glob(pattern)
	line := regexp.MustCompile(`(?m)^` + start)
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && line.Match(text) {
			return true
		}
	}
	return false
}
