package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSites checks what is changed in a small function, and that all changes compile together.
func TestSites(t *testing.T) {
	dir := t.TempDir()
	const text = `package x

var (
	seen int
	no   error
)

func f(a, b int, ok bool) (int, error) {
	if a < b && ok || b == 3 {
		seen++
		return 2, no
	}
	for range a {
		if ok {
			break
		}
		println(a)
	}
	return 0, nil
}

func g(ok bool) bool { return !ok }
`
	if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	config := types.Config{Importer: none{}}
	list, err := sites(fset, dir, &config, listed{ImportPath: "x", Dir: dir, GoFiles: []string{"x.go"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var numbers []int
	for i, s := range list {
		got = append(got, s.kind+" "+s.text)
		numbers = append(numbers, i)
	}
	want := []string{
		"negate a < b && ok || b == 3", "drop the clause b == 3", "drop the clause ok", "drop the clause a < b", "move the boundary a < b", "invert b == 3",
		"leave out seen++", "return another code than 2", `return nothing instead of no`,
		"negate ok", "leave out break", "leave out println(a)", "return another code than 0", "return the opposite of !ok",
	}
	for _, w := range want {
		if !strings.Contains(strings.Join(got, "\n")+"\n", w+"\n") {
			t.Errorf("%q is no site", w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d sites, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	changed := string(apply([]byte(text), numbers, list))
	for _, want := range []string{"if !mutant0.On(", "mutant0.Less(", "mutant0.Other(", "mutant0.Zero("} {
		if !strings.Contains(changed, want) {
			t.Errorf("no %q in\n%s", want, changed)
		}
	}
	if strings.Count(changed, "\n") != strings.Count(text, "\n") {
		t.Error("lines have other numbers")
	}
	// The whole is checked with the switches.
	source := strings.Replace(changed, "package x", "package x; import mutant0 \"m\"", 1)
	if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "m.go"), []byte(stub), 0o600); err != nil {
		t.Fatal(err)
	}
	check := types.Config{Importer: none{}}
	parsed, err := parse(fset, filepath.Join(dir, "m.go"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := check.Check("m", fset, parsed, nil)
	if err != nil {
		t.Fatal(err)
	}
	check.Importer = with{m}
	if parsed, err = parse(fset, filepath.Join(dir, "x.go")); err != nil {
		t.Fatal(err)
	}
	if _, err := check.Check("x", fset, parsed, nil); err != nil {
		t.Errorf("%v in\n%s", err, changed)
	}
}

func parse(fset *token.FileSet, name string) ([]*ast.File, error) {
	f, err := parser.ParseFile(fset, name, nil, 0)
	return []*ast.File{f}, err
}

// stub declares what the switches do, without their imports.
const stub = `package m

func On(int) bool { return false }
func Less[T int | string](n int, a, b T) bool { return a < b }
func Zero[T any](n int, v T) T { return v }
func Other(n, v int) int { return v }
`

type none struct{}

func (none) Import(path string) (*types.Package, error) { return nil, errors.New("no package " + path) }

type with struct{ m *types.Package }

func (w with) Import(string) (*types.Package, error) { return w.m, nil }
