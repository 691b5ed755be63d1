package engine

import (
	"context"
	"path/filepath"
	"testing"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
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

// TestProgramsOfSeveralDirectories: roots in one folder share the program of a module, which has other
// places for a root elsewhere.
func TestProgramsOfSeveralDirectories(t *testing.T) {
	kept := new(Programs)
	disk := map[string]string{
		"m/main.tf":      "output \"v\" { value = 1 }\n",
		"a/main.tf":      "module \"m\" {\n  source = \"../m\"\n}\n",
		"b/main.tf":      "module \"m\" {\n  source = \"../m\"\n}\n",
		"deep/c/main.tf": "module \"m\" {\n  source = \"../../m\"\n}\n",
	}
	loaded := func(root string) *Config {
		files := module.Memory{}
		for name, text := range disk {
			rel, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			files[rel] = []byte(text)
		}
		c, diags := Load(context.Background(), LoadOptions{Dir: ".", From: "/disk/" + root, Files: files, Programs: kept, Resolve: func(_ context.Context, r module.Request) (string, diag.List) {
			return filepath.Join(r.ParentDir, r.Source), nil
		}})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return c
	}
	called := func(c *Config) *program.Program {
		for _, child := range c.Tree.Children {
			return child.Program
		}
		t.Fatal("no module")
		return nil
	}
	a, b, c := loaded("a"), loaded("b"), loaded("deep/c")
	if called(a) != called(b) {
		t.Error("a and b have programs of their own of the same module")
	}
	if got := called(c).Outputs[0].Range.Filename; got != "../../m/main.tf" {
		t.Errorf("the module of c is in %s", got)
	}
	if a.Tree.Program == b.Tree.Program {
		t.Error("a and b have the same root module")
	}
	if loaded("a").Tree.Program != a.Tree.Program {
		t.Error("loading b has thrown away what a was compiled to")
	}
}
