package compiler

import (
	"io"
	"path/filepath"
	"testing"

	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/compiler/calls"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/testing/txtar"
)

// FuzzCompile compiles any bytes in both syntaxes, as a primary and as an
// override file: there is always a program, and it prints.
func FuzzCompile(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*.txtar")
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if file.Name != "want" {
				f.Add(file.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, files := range []module.Memory{
			{"main.tf": text}, {"main.tf.json": text}, {"main.tf": text, "override.tf": text}, {"main.tf.json": text, "x_override.tf.json": text},
		} {
			src, _ := module.Load(files, ".", dialect.OpenTofu)
			prog, diags := Compile(src)
			if err := prog.Print(io.Discard); err != nil {
				t.Fatal(err)
			}
			for _, d := range diags {
				if d.Subject == nil {
					t.Errorf("no place: %s", d)
				}
			}
			for _, call := range prog.Calls {
				calls.Check(call, prog)
			}
		}
	})
}
