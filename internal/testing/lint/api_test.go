package lint

import (
	"bytes"
	"flag"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the recorded interfaces anew")

// TestInterface holds the packages for other programs to their recorded interface, so that
// nothing of it changes unnoticed: what is removed or changed breaks programs. After a change
// that is meant, go test ./internal/testing/lint -run Interface -update records it again.
func TestInterface(t *testing.T) {
	for dir, record := range map[string]string{"../../..": "testdata/weir.txt", "../../../weirtest": "testdata/weirtest.txt"} {
		got := exported(t, dir)
		if *update {
			if err := os.WriteFile(record, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(record)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(got, want) {
			continue
		}
		had := strings.Split(string(want), "\n")
		for _, line := range strings.Split(string(got), "\n") {
			if !slices.Contains(had, line) {
				t.Errorf("%s: new: %s", dir, line)
			}
		}
		has := strings.Split(string(got), "\n")
		for _, line := range had {
			if !slices.Contains(has, line) {
				t.Errorf("%s: gone: %s", dir, line)
			}
		}
		t.Errorf("%s isn't the interface of %s", record, dir)
	}
}

// exported prints the exported declarations of a package, without comments and
// bodies, by their text. Each needs a comment, or a group's.
func exported(t *testing.T, dir string) []byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.FileExports(file)
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
				continue
			}
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && !ast.IsExported(receiver(f)) {
				continue
			}
			nameable(t, fset, file, d)
			documented(t, fset, d)
			all = append(all, bare(t, d))
		}
	}
	slices.Sort(all)
	return []byte(strings.Join(all, "\n") + "\n")
}

// nameable rejects types that another program can't name: those of internal packages, and with
// them those of other modules.
func nameable(t *testing.T, fset *token.FileSet, file *ast.File, d ast.Decl) {
	t.Helper()
	imports := map[string]string{}
	for _, spec := range file.Imports {
		imports[localName(spec)] = importPath(spec)
	}
	if f, ok := d.(*ast.FuncDecl); ok {
		f.Body = nil
	}
	ast.Inspect(d, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			v.Values = nil
		}
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if base, ok := sel.X.(*ast.Ident); ok && strings.Contains(imports[base.Name], ".") && imports[base.Name] != "weir.dev/weir" {
				t.Errorf("%s: %s.%s can't be named by other programs", fset.Position(sel.Pos()), base.Name, sel.Sel.Name)
			}
		}
		return true
	})
}

// documented holds declarations to a comment, except methods that a program doesn't
// call by name.
func documented(t *testing.T, fset *token.FileSet, d ast.Decl) {
	t.Helper()
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && !slices.Contains([]string{"Error", "String", "Unwrap", "Is"}, d.Name.Name) {
			t.Errorf("%s: %s has no comment", fset.Position(d.Pos()), d.Name.Name)
		}
	case *ast.GenDecl:
		if d.Doc == nil {
			t.Errorf("%s: the declaration has no comment", fset.Position(d.Pos()))
		}
	}
}

// receiver is the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	e := d.Recv.List[0].Type
	for {
		switch of := e.(type) {
		case *ast.StarExpr:
			e = of.X
		case *ast.IndexExpr:
			e = of.X
		case *ast.IndexListExpr:
			e = of.X
		case *ast.Ident:
			return of.Name
		default:
			return ""
		}
	}
}

// bare is a declaration without comments and bodies.
func bare(t *testing.T, d ast.Decl) string {
	t.Helper()
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			n.Doc, n.Body = nil, nil
		case *ast.GenDecl:
			n.Doc = nil
		case *ast.ValueSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.TypeSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.Field:
			n.Doc, n.Comment = nil, nil
		}
		return true
	})
	var b bytes.Buffer
	if err := format.Node(&b, token.NewFileSet(), d); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(b.String(), "\n") {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
