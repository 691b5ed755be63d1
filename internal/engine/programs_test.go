package engine

import (
	"context"
	"path/filepath"
	"testing"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/module"
)

// TestProgramsAreKept edits one module of two: the other one is that of before.
func TestProgramsAreKept(t *testing.T) {
	kept := new(Programs)
	files := module.Memory{
		"main.tf":   []byte("module \"a\" {\n  source = \"./a\"\n}\nmodule \"b\" {\n  source = \"./b\"\n}\n"),
		"a/main.tf": []byte("output \"v\" { value = 1 }\n"),
		"b/main.tf": []byte("output \"v\" { value = 1 }\n"),
	}
	loaded := func() map[string]any {
		c, diags := Load(context.Background(), LoadOptions{Dir: ".", Files: files, Programs: kept, Resolve: func(_ context.Context, r module.Request) (string, diag.List) {
			return filepath.Join(r.ParentDir, r.Source), nil
		}})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		programs := map[string]any{"": c.Tree.Program}
		for at, child := range c.Tree.Children {
			programs[at.String()] = child.Program
		}
		return programs
	}
	first := loaded()
	for _, step := range []struct {
		edit, text string
		again      string // which program is another one then
	}{
		{"", "", "none"},
		{"a/main.tf", "output \"v\" { value = 2 }\n", "module.a"},
		{"a/more.tf", "output \"w\" { value = 2 }\n", "module.a"},
		{"a/README.md", "text", "module.a"}, // names may matter
		{"main.tf", string(files["main.tf"]) + "# more\n", ""},
	} {
		if step.edit != "" {
			files[step.edit] = []byte(step.text)
		}
		next := loaded()
		for at, p := range next {
			if (p != first[at]) != (at == step.again) {
				t.Errorf("after an edit of %q, the program of %q is another: %v", step.edit, at, p != first[at])
			}
		}
		first = next
	}
}
