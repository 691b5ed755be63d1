package coveragereport_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/moduletest/coverage"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/coveragereport"
)

var update = flag.Bool("update", false, "write the golden files")

func report() *coverage.Report {
	const text = "locals {\n  a = b < c ? \"<x>\" : <<EOT\n  two\n  lines\nEOT\n}\ncheck { assert }\n"
	at := func(part string) hcl.Range {
		for i := range text {
			if len(text) >= i+len(part) && text[i:i+len(part)] == part {
				r := hcl.Range{Filename: "a&b.tf", Start: hcl.Pos{Line: 1, Column: 1, Byte: i}, End: hcl.Pos{Byte: i + len(part)}}
				for _, c := range text[:i] {
					if r.Start.Column++; c == '\n' {
						r.Start.Line, r.Start.Column = r.Start.Line+1, 1
					}
				}
				return r
			}
		}
		panic(part)
	}
	return &coverage.Report{Files: []coverage.File{
		{Name: "a&b.tf", Source: []byte(text), Points: []coverage.Point{
			{Kind: coverage.Local, Name: "local.a", Range: at("a = b < c ? \"<x>\" : <<EOT\n  two\n  lines\nEOT"), Covered: true},
			{Kind: coverage.Branch, Name: "branch where the condition is true, in local.a", Range: at("\"<x>\"")},
			{Kind: coverage.Branch, Name: "branch where the condition is false, in local.a", Range: at("<<EOT\n  two\n  lines\nEOT"), Covered: true},
			{Kind: coverage.Condition, Name: "assertion of check.c", Range: at("assert"), Covered: true},
			{Kind: coverage.Failure, Name: "assertion of check.c", Range: at("assert")},
		}},
		{Name: "empty.tf", Source: nil, Points: []coverage.Point{{Kind: coverage.Output, Name: "output.o"}}},
	}}
}

func TestForms(t *testing.T) {
	page := coveragereport.HTML(report())
	text := coveragereport.Text(report(), ansi.Pen{})
	data, err := coveragereport.JSON(report())
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]byte{"page.html": page, "text.txt": []byte(text), "coverage.json": data} {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
