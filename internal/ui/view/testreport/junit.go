package testreport

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/moduletest/testresult"
)

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []junitSuite
}

type junitSuite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Cases    []junitCase
}

type junitCase struct {
	XMLName   xml.Name      `xml:"testcase"`
	Name      string        `xml:"name,attr"`
	Class     string        `xml:"classname,attr"`
	Time      string        `xml:"time,attr,omitempty"`
	Timestamp string        `xml:"timestamp,attr,omitempty"`
	Skipped   *junitMessage `xml:"skipped"`
	Failure   *junitMessage `xml:"failure"`
	Error     *junitMessage `xml:"error"`
	Err       *junitText    `xml:"system-err"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",cdata"`
}

type junitText struct {
	Text string `xml:",cdata"`
}

// JUnit is the suite as XML in the form of JUnit. Text sets diagnostics for
// people.
func JUnit(s *testresult.Suite, stopped bool, text func(diag.List) string) ([]byte, error) {
	var doc junitSuites
	for _, f := range s.Files {
		suite := junitSuite{Name: f.Name, Tests: len(f.Runs)}
		for _, r := range f.Runs {
			c := junitCase{Name: r.Name, Class: f.Name}
			if !r.Began.IsZero() {
				c.Time = strconv.FormatFloat(r.Took.Seconds(), 'f', -1, 64)
				c.Timestamp = r.Began.UTC().Format(time.RFC3339)
			}
			failures := only(r.Diags, diag.Error)
			switch r.Status {
			case testresult.Skip:
				suite.Skipped++
				c.Skipped = &junitMessage{Message: "Testcase skipped due to file level errors"}
				if len(failures) > 0 {
					c.Skipped.Text = text(failures)
				}
				if stopped {
					c.Skipped.Message = "Testcase skipped due to an interrupt"
				}
			case testresult.Fail:
				suite.Failures++
				c.Failure = &junitMessage{failureMessage(r), text(failures)}
			case testresult.Error:
				suite.Errors++
				c.Error = &junitMessage{"Encountered an error", text(failures)}
			}
			if warnings := only(r.Diags, diag.Warning); len(warnings) > 0 {
				c.Err = &junitText{text(warnings)}
			}
			suite.Cases = append(suite.Cases, c)
		}
		doc.Suites = append(doc.Suites, suite)
	}
	body, err := xml.MarshalIndent(doc, "", "  ")
	return append([]byte(xml.Header), append(body, '\n')...), err
}

func failureMessage(r *testresult.Run) string {
	failed, first := 0, ""
	for _, d := range r.Diags {
		if d.Severity != diag.Error {
			continue
		}
		if failed++; first == "" {
			first = d.Detail
		}
	}
	text := fmt.Sprintf("%d of %d assertions failed", failed, len(r.Asserts))
	if failed == 1 {
		text += ": " + first
	}
	return text
}

func only(l diag.List, s diag.Severity) diag.List {
	var out diag.List
	for _, d := range l {
		if d.Severity == s {
			out = append(out, d)
		}
	}
	return out
}
