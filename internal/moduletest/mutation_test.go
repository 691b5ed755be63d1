package moduletest_test

import (
	"strings"
	"testing"
	"time"

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/moduletest"
	"weir.dev/weir/internal/moduletest/mutate"
	"weir.dev/weir/internal/moduletest/testfile"
)

// A change of what an output results in is noticed by a condition on the output, whose
// references were resolved for the program without the change first.
func TestMutationOfOutputs(t *testing.T) {
	w := newWorld(module.Memory{
		"main.tf": []byte(`
locals { a = "a" }
output "a" { value = local.a }
`),
		"a.tftest.hcl": []byte(`
run "a" {
  assert {
    condition     = output.a == "a"
    error_message = "It is ${output.a}."
  }
}
`),
	})
	files, diags := testfile.Load(w.files, ".", "tests", w.dialect)
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	o := moduletest.Options{
		World: engine.World{Catalog: w.catalog, WorkDir: ".", OriginalDir: "/", Workspace: "default", Now: func() time.Time { return time.Unix(0, 0) }},
		Dir:   ".", Files: w.files, Sources: map[string][]byte{}, Report: &told{}, Stop: w.stop,
	}
	list, _ := moduletest.Mutants(t.Context(), files, o, func(name string) bool { return strings.HasSuffix(name, ".tf") })
	if len(list) != 1 {
		t.Fatalf("there are %d changes to make", len(list))
	}
	moduletest.Mutate(t.Context(), files, o, list, func(m mutate.Mutant, run string, noticed bool) {
		if !noticed || run != "a.tftest.hcl/a" {
			t.Errorf("%s: noticed %v by %q", m.What, noticed, run)
		}
	})
}
