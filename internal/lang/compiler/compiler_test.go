package compiler

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/testing/txtar"
)

var update = flag.Bool("update", false, "rewrite the goldens in testdata")

// compileText compiles files given by name.
func compileText(files map[string]string) (*program.Program, diag.List) {
	memory := module.Memory{}
	for name, text := range files {
		memory[name] = []byte(text)
	}
	src, diags := module.Load(memory, ".", dialect.OpenTofu)
	prog, more := Compile(src)
	diags.Append(more)
	return prog, diags
}

// TestCompile compares programs with what testdata says. A comment that has
// "error:" or "warning:" is a regular expression that a diagnostic of its line
// matches; for JSON, a file "diagnostics" has them with their places.
func TestCompile(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { runCase(t, path) })
	}
}

func runCase(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	want := -1
	var expected []expectation
	for i, f := range archive.Files {
		if f.Name == "want" {
			want = i
			continue
		}
		if f.Name == "diagnostics" {
			for line := range strings.Lines(string(f.Data)) {
				place, text, _ := strings.Cut(strings.TrimSpace(line), " ")
				expected = append(expected, expectation{place, regexp.MustCompile("(?s)" + text)})
			}
			continue
		}
		files[f.Name] = string(f.Data)
		expected = append(expected, expectations(f.Name, string(f.Data))...)
	}
	prog, diags := compileText(files)
	checkDiagnostics(t, diags, expected)
	if want < 0 {
		return
	}
	var got strings.Builder
	if err := prog.Print(&got); err != nil {
		t.Fatal(err)
	}
	if *update {
		archive.Files[want].Data = []byte(got.String())
		if err := os.WriteFile(path, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got.String() != string(archive.Files[want].Data) {
		t.Errorf("program is\n%s\nwant\n%s", got.String(), archive.Files[want].Data)
	}
}

type expectation struct {
	place string
	text  *regexp.Regexp
}

var expectationForm = regexp.MustCompile(`((?:error|warning): [^"]+)`)

func expectations(name, text string) []expectation {
	var list []expectation
	for i, line := range strings.Split(text, "\n") {
		_, comment, found := strings.Cut(line, "#")
		if !found {
			continue
		}
		for _, part := range strings.Split(comment, ";") {
			if m := expectationForm.FindString(part); m != "" {
				list = append(list, expectation{fmt.Sprintf("%s:%d", name, i+1), regexp.MustCompile("(?s)" + strings.TrimSpace(m))})
			}
		}
	}
	return list
}

func checkDiagnostics(t *testing.T, diags diag.List, expected []expectation) {
	t.Helper()
	for _, d := range diags {
		place := "-"
		if d.Subject != nil {
			place = fmt.Sprintf("%s:%d", d.Subject.Filename, d.Subject.Start.Line)
		}
		text := fmt.Sprintf("%s: %s; %s", d.Severity, d.Summary, d.Detail)
		i := slices.IndexFunc(expected, func(e expectation) bool { return e.place == place && e.text.MatchString(text) })
		if i < 0 {
			t.Errorf("unexpected %s", d)
			continue
		}
		expected = slices.Delete(expected, i, i+1)
	}
	for _, e := range expected {
		t.Errorf("%s: no %q", e.place, e.text)
	}
}
