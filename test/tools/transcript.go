package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// about is the first comment of a script: what it runs.
func about(script string) string {
	var words []string
	for _, line := range strings.Split(script, "\n") {
		if strings.HasPrefix(line, "#!") {
			continue
		}
		text, ok := strings.CutPrefix(line, "# ")
		if !ok {
			break
		}
		words = append(words, text)
	}
	return strings.TrimSuffix(strings.Join(words, " "), ".")
}

// facts are the tool's version and the number of steps in a transcript.
func facts(transcript string) (version string, steps int) {
	for _, line := range strings.Split(transcript, "\n") {
		if strings.HasPrefix(line, "=== ") {
			steps++
		}
		if v, ok := strings.CutPrefix(line, "version v"); ok && version == "" {
			version = v
		}
	}
	return version, steps
}

// differences are the lines that only one of two transcripts has, with the steps they belong to.
func differences(peer, weir string) []string {
	of, order := steps(peer)
	with, more := steps(weir)
	for _, name := range more {
		if _, ok := of[name]; !ok {
			order = append(order, name)
		}
	}
	var found []string
	for _, name := range order {
		lines := diff(of[name], with[name])
		if len(lines) == 0 {
			continue
		}
		found = append(append(found, "  "+name), lines...)
	}
	return found
}

// steps are the lines of each step, and the steps in their order.
func steps(transcript string) (lines map[string][]string, order []string) {
	lines = map[string][]string{}
	name := "before the first step"
	for _, line := range strings.Split(strings.TrimSpace(transcript), "\n") {
		if next, ok := strings.CutPrefix(line, "=== "); ok {
			name = next
		}
		if _, ok := lines[name]; !ok {
			order = append(order, name)
		}
		lines[name] = append(lines[name], line)
	}
	return lines, order
}

// diff are the lines of a, with "-", and of b, with "+", that the other lacks: what is left of
// both without their longest common subsequence.
func diff(a, b []string) []string {
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	var found []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && length[i+1][j] >= length[i][j+1]:
			found, i = append(found, "    - "+a[i]), i+1
		default:
			found, j = append(found, "    + "+b[j]), j+1
		}
	}
	return found
}

// table is what the page has of its runs: a row for each tool. Tools that didn't run now keep the
// row that they had.
func table(commit string, results []result, before string) string {
	rows := map[string]string{}
	for _, line := range strings.Split(before, "\n") {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok && name != "tool" {
			rows[name] = line
		}
	}
	for _, r := range results {
		if rows[r.name] == "" || r.skipped == "" {
			rows[r.name] = fmt.Sprintf("| %s | %s | %s | %s | %s |", r.name, r.version, strings.ReplaceAll(r.about, "|", "\\|"), r.outcome(), commit)
		}
	}
	var b strings.Builder
	b.WriteString("Recorded with `make tools OPENTOFU=BINARY TOOLS=DIR RECORD=1`, each tool at the commit in its row:\n\n")
	b.WriteString("| tool | version | commands and features | result | commit |\n|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		b.WriteString(rows[name] + "\n")
	}
	return b.String()
}
