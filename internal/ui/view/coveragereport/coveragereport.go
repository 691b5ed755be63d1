// Package coveragereport prints test coverage as text, as JSON, and as a page with marked sources.
//
// It owns the three forms. It doesn't decide what counts as covered.
package coveragereport

import (
	"encoding/json"
	"fmt"
	"strings"

	"weir.dev/weir/internal/moduletest/coverage"
	"weir.dev/weir/internal/ui/view/ansi"
)

func headings() map[coverage.Kind]string {
	return map[coverage.Kind]string{
		coverage.Resource: "resources", coverage.Output: "outputs", coverage.Local: "locals",
		coverage.Branch: "branches", coverage.Condition: "conditions", coverage.Failure: "failures",
	}
}

func fraction(files []coverage.File, k coverage.Kind) string {
	covered, all := coverage.Count(files, k)
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", covered, all)
}

// missing says what a point lacks that isn't covered.
func missing(p coverage.Point) string {
	switch p.Kind {
	case coverage.Failure:
		return p.Name + " never fails"
	case coverage.Condition:
		return p.Name + " is never evaluated"
	case coverage.Branch:
		return p.Name + ", is never taken"
	case coverage.Resource:
		return p.Name + " never has an instance"
	}
	return p.Name + " is never evaluated"
}

// told reports whether a point that isn't covered is reported: that a condition never fails
// goes without saying where it is never evaluated.
func told(p coverage.Point, before *coverage.Point) bool {
	return !p.Covered && !(p.Kind == coverage.Failure && before != nil && before.Kind == coverage.Condition && before.Range == p.Range && !before.Covered)
}

// gaps lists the points of a file that aren't covered.
func gaps(f coverage.File) []coverage.Point {
	var list []coverage.Point
	for i, p := range f.Points {
		var before *coverage.Point
		if i > 0 {
			before = &f.Points[i-1]
		}
		if told(p, before) {
			list = append(list, p)
		}
	}
	return list
}

// Text is the report for people.
func Text(r *coverage.Report, pen ansi.Pen) string {
	if len(r.Files) == 0 {
		return "\nNothing could be covered: no file has anything that is evaluated.\n"
	}
	width := len("total")
	for _, f := range r.Files {
		width = max(width, len(f.Name))
	}
	var b strings.Builder
	row := func(name string, cell func(coverage.Kind) string) string {
		line := fmt.Sprintf("  %-*s", width, name)
		for _, k := range coverage.Kinds {
			line += fmt.Sprintf("  %10s", cell(k))
		}
		return strings.TrimRight(line, " ")
	}
	b.WriteString("\n" + pen.Paint(row("Coverage", func(k coverage.Kind) string { return headings()[k] }), ansi.Bold) + "\n")
	for _, f := range r.Files {
		b.WriteString(row(f.Name, func(k coverage.Kind) string { return fraction([]coverage.File{f}, k) }) + "\n")
	}
	if len(r.Files) > 1 {
		b.WriteString(row("total", func(k coverage.Kind) string { return fraction(r.Files, k) }) + "\n")
	}
	head := "\n  Not covered:\n"
	for _, f := range r.Files {
		for _, p := range gaps(f) {
			fmt.Fprintf(&b, "%s    %s:%d  %s\n", head, f.Name, p.Range.Start.Line, missing(p))
			head = ""
		}
	}
	return b.String()
}

type jsonCount struct {
	Covered int `json:"covered"`
	Of      int `json:"of"`
}

type jsonPlace struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

type jsonPoint struct {
	Kind    coverage.Kind `json:"kind"`
	Name    string        `json:"name"`
	Start   jsonPlace     `json:"start"`
	End     jsonPlace     `json:"end"`
	Covered bool          `json:"covered"`
}

type jsonFile struct {
	Name   string                      `json:"name"`
	Counts map[coverage.Kind]jsonCount `json:"counts"`
	Points []jsonPoint                 `json:"points"`
}

type jsonReport struct {
	FormatVersion string                      `json:"format_version"`
	Counts        map[coverage.Kind]jsonCount `json:"counts"`
	Files         []jsonFile                  `json:"files"`
}

func counts(files []coverage.File) map[coverage.Kind]jsonCount {
	all := map[coverage.Kind]jsonCount{}
	for _, k := range coverage.Kinds {
		covered, of := coverage.Count(files, k)
		all[k] = jsonCount{covered, of}
	}
	return all
}

// JSON is the report for programs.
func JSON(r *coverage.Report) ([]byte, error) {
	out := jsonReport{FormatVersion: "1.0", Counts: counts(r.Files), Files: []jsonFile{}}
	for _, f := range r.Files {
		file := jsonFile{Name: f.Name, Counts: counts([]coverage.File{f})}
		for _, p := range f.Points {
			start, end := p.Range.Start, p.Range.End
			file.Points = append(file.Points, jsonPoint{p.Kind, p.Name, jsonPlace{start.Line, start.Column, start.Byte}, jsonPlace{end.Line, end.Column, end.Byte}, p.Covered})
		}
		out.Files = append(out.Files, file)
	}
	text, err := json.MarshalIndent(out, "", "  ")
	return append(text, '\n'), err
}
