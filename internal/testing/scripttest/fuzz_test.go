package scripttest

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/testing/txtar"
)

// mostAllocated is what evaluating a short text with small limits may allocate in all, in
// bytes.
const mostAllocated = 1 << 30

// FuzzEvaluate validates and plans any text: it ends in values or in problems, never in
// a panic, and whatever it multiplies stays within the bounds of evaluation.
func FuzzEvaluate(f *testing.F) {
	paths, _ := filepath.Glob("../../*/testdata/*.txtar")
	more, _ := filepath.Glob("../../*/*/testdata/*.txtar")
	for _, path := range append(paths, more...) {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if strings.HasSuffix(file.Name, ".tf") {
				f.Add(string(file.Data))
			}
		}
	}
	for _, text := range []string{
		`setproduct(range(1000), range(1000), range(1000))`, `format("%2147483647s", "x")`, `indent(1000000000, "a\nb")`,
		`[for a in range(4000) : [for b in range(4000) : [for c in range(4000) : c]]]`, `"${1e100000000}"`, `1e-100000000 * 3`,
		`yamldecode("a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]")`, `join("", [for i in range(1000) : format("%1000000s", i)])`,
	} {
		f.Add("output \"x\" {\n  value = " + text + "\n}\n")
	}
	f.Add("locals {\n  a = \"0123456789\"\n  b = \"${local.a}${local.a}${local.a}\"\n  c = { for k in split(\"\", local.b) : k => local.b... }\n}\noutput \"c\" {\n  value = local.c\n}\n")
	defer func(size, steps int) { value.MaxSize, program.MaxSteps = size, steps }(value.MaxSize, program.MaxSteps)
	value.MaxSize, program.MaxSteps = 1<<20, 1<<12
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4000 || strings.Contains(text, "bcrypt") {
			return // slow by design
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s := newStory(t, &txtar.Archive{Files: []txtar.File{{Name: "main.tf", Data: []byte(text)}}})
		s.run("validate")
		s.run("plan")
		if strings.Contains(s.out.String(), "goroutine ") {
			t.Error(s.out.String())
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > mostAllocated {
			t.Errorf("%d MiB were allocated", n>>20)
		}
	})
}
