package main

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// An expectation is the set of cases that are known to fail, each with the
// reason given for it, which may be empty. A nil expectation knows of none.
type expectation map[string]string

var caseNamePattern = regexp.MustCompile(`^[A-Za-z0-9_-]+/[A-Za-z0-9_.-]+$`)

// readExpectation reads a list of AREA/NAME, one a line, each with an optional
// `# reason`. Blank lines and lines that are only a comment are skipped. A name
// that is listed twice or that none of the cases has is an error, so that the
// list cannot outlive what it speaks of.
func readExpectation(file string, cases []string) (expectation, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, c := range cases {
		known[caseName(c)] = true
	}
	expect := expectation{}
	lines := bufio.NewScanner(strings.NewReader(string(data)))
	for n := 1; lines.Scan(); n++ {
		name, reason, _ := strings.Cut(lines.Text(), "#")
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if !caseNamePattern.MatchString(name) {
			return nil, fmt.Errorf("%s:%d: %q is not AREA/NAME", file, n, name)
		}
		if !known[name] {
			return nil, fmt.Errorf("%s:%d: there is no case %s", file, n, name)
		}
		if _, twice := expect[name]; twice {
			return nil, fmt.Errorf("%s:%d: %s is listed twice", file, n, name)
		}
		expect[name] = strings.TrimSpace(reason)
	}
	return expect, lines.Err()
}

// A verdict is how results differ from what was expected.
type verdict struct {
	newFailures []string // failed and not listed
	newPasses   []string // passed though listed
	known       int      // failed as listed
}

// judge compares results with the expectation. A skipped case says nothing.
func (e expectation) judge(all []result) (v verdict) {
	for _, r := range all {
		_, listed := e[r.Case]
		switch {
		case r.Status == failed && listed:
			v.known++
		case r.Status == failed:
			v.newFailures = append(v.newFailures, r.Case)
		case r.Status == passed && listed:
			v.newPasses = append(v.newPasses, r.Case)
		}
	}
	return v
}

func (v verdict) ok() bool { return len(v.newFailures) == 0 && len(v.newPasses) == 0 }

// print says what differs and what to do about it.
func (v verdict) print(file string) {
	for _, name := range v.newFailures {
		fmt.Printf("unexpected failure: %s\n", name)
	}
	for _, name := range v.newPasses {
		fmt.Printf("unexpected pass: %s (take it off %s)\n", name, file)
	}
	if v.known > 0 {
		fmt.Printf("%d failed as %s says\n", v.known, file)
	}
}

// revise brings the expectation in line with the results. Cases that did not
// run, or were skipped, stay as they are, and so do the reasons.
func (e expectation) revise(all []result) expectation {
	revised := maps.Clone(e)
	if revised == nil {
		revised = expectation{}
	}
	for _, r := range all {
		switch r.Status {
		case passed:
			delete(revised, r.Case)
		case failed:
			revised[r.Case] = e[r.Case]
		}
	}
	return revised
}

const expectationHeader = `# Cases that are known to fail, AREA/NAME, each with a reason.
# A run fails when one of these passes or when any other fails.
`

// write stores the expectation, sorted by name.
func (e expectation) write(file string) error {
	var b strings.Builder
	b.WriteString(expectationHeader)
	for _, name := range slices.Sorted(maps.Keys(e)) {
		b.WriteString(name)
		if e[name] != "" {
			b.WriteString(" # " + e[name])
		}
		b.WriteByte('\n')
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
