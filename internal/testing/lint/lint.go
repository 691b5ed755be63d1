// Package lint checks rules of this source tree that a compiler doesn't check: allowed
// imports, where the outside world may be used, and readability.
//
// It owns the table of those rules (table.go) and the check of a tree against
// it. It reads files and never runs the go tool, so that a test of the tree is
// run again whenever a file of it changes. Test files may import what they like.
package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	public     = "weir" // the package in the root folder
	modulePath = "weir.dev/weir/"
	inside     = modulePath + "internal/"
)

// A pkg is one directory of Go files.
type pkg struct {
	name    string              // as in the table: below internal/, or cmd/NAME
	clause  string              // the name in its package clauses
	doc     string              // its package comment
	files   []*file             // without tests
	imports map[string]position // of this module, by table name, where first seen
}

type file struct {
	path   string
	syntax *ast.File
}

// A position is FILE:LINE.
type position string

// A tree is the packages that are ruled, and what was wrong with
// single files.
type tree struct {
	fset     *token.FileSet
	packages map[string]*pkg
	findings []string
}

// Check holds the source tree, given by the module's root directory, to the
// rules. It returns what is wrong, sorted, each line beginning with a place; an
// error means that the tree could not be read.
func Check(root fs.FS) (findings []string, err error) {
	t, err := readTree(root)
	if err != nil {
		return nil, err
	}
	if len(t.packages) == 0 {
		return nil, fmt.Errorf("there are no packages below cmd and internal")
	}
	if err := checkRows(table); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(t.packages)) {
		p := t.packages[name]
		t.checkWords(p)
		t.checkImports(p, ruleOf(table, name))
		t.checkGuards(p)
		t.checkWrappers(p)
		t.checkFailures(p)
		t.checkStart(p)
	}
	t.checkAddresses()
	slices.Sort(t.findings)
	return slices.Compact(t.findings), nil
}

// readTree reads the packages of the module that the rules are about.
func readTree(root fs.FS) (*tree, error) {
	t := &tree{fset: token.NewFileSet(), packages: map[string]*pkg{}}
	for _, dir := range []string{"cmd", "internal", "weirtest"} {
		if err := t.read(root, dir); err != nil {
			return nil, err
		}
	}
	names, err := fs.Glob(root, "*.go")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		if err := t.add(name, data); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *tree) report(at position, format string, args ...any) {
	t.findings = append(t.findings, string(at)+": "+fmt.Sprintf(format, args...))
}

func (t *tree) position(p token.Pos) position {
	at := t.fset.Position(p)
	return position(at.Filename + ":" + strconv.Itoa(at.Line))
}

// read parses the Go files below dir, which need not exist.
func (t *tree) read(root fs.FS, dir string) error {
	if _, err := fs.Stat(root, dir); err != nil {
		return nil
	}
	return fs.WalkDir(root, dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")) {
			return fs.SkipDir
		}
		if entry.IsDir() || path.Ext(name) != ".go" {
			return nil
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		return t.add(name, data)
	})
}

func (t *tree) add(name string, data []byte) error {
	syntax, err := parser.ParseFile(t.fset, name, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if strings.HasSuffix(name, "_test.go") {
		return nil
	}
	dir := strings.TrimPrefix(path.Dir(name), "internal/")
	if dir == "." {
		dir = public
	}
	p := t.packages[dir]
	if p == nil {
		p = &pkg{name: dir, clause: syntax.Name.Name, imports: map[string]position{}}
		t.packages[dir] = p
	}
	p.files = append(p.files, &file{name, syntax})
	if syntax.Doc != nil {
		p.doc += syntax.Doc.Text()
	}
	for _, spec := range syntax.Imports {
		imported := importPath(spec)
		if imported+"/" == modulePath {
			imported = modulePath + public
		}
		if !strings.HasPrefix(imported, modulePath) {
			continue
		}
		imported = strings.TrimPrefix(strings.TrimPrefix(imported, inside), modulePath)
		if _, seen := p.imports[imported]; !seen {
			p.imports[imported] = t.position(spec.Pos())
		}
	}
	return nil
}

func importPath(spec *ast.ImportSpec) string {
	s, _ := strconv.Unquote(spec.Path.Value) // the parser has accepted it
	return s
}

// checkWords holds a package to its name and its comment.
func (t *tree) checkWords(p *pkg) {
	at := position(p.files[0].path)
	for _, part := range strings.Split(p.name, "/") {
		if slices.Contains(strings.Fields(badNames), part) {
			t.report(at, "package name %q says nothing: name what it owns", part)
		}
	}
	want := "Package " + p.clause + " "
	if p.clause == "main" {
		want = "Command " + path.Base(p.name) + " "
	} else if p.clause != path.Base(p.name) {
		t.report(at, "package %s is in a directory named %s", p.clause, path.Base(p.name))
	}
	if !strings.HasPrefix(p.doc, want) {
		t.report(at, "the package comment has to begin with %q and say what the package does", want)
	}
}

// checkImports holds a package to its rule.
func (t *tree) checkImports(p *pkg, r rule) {
	if !r.ruled {
		t.report(position(p.files[0].path), "package %s is in no folder that internal/testing/lint/table.go has a row for", p.name)
		return
	}
	tests := names(strings.Fields(onlyTests))
	for imported, at := range p.imports {
		switch {
		case tests.has(imported) && !tests.has(p.name):
			t.report(at, "%s must not import %s, which is for tests", p.name, imported)
		case r.never.has(imported):
			// reported with the chains below
		case !r.all && !r.may.has(imported):
			t.report(at, "%s must not import %s: see internal/testing/lint/table.go", p.name, imported)
		}
	}
	for _, banned := range r.never {
		if chain := t.chain(p.name, names{banned}); chain != nil {
			t.report(p.imports[chain[1]], "%s must never reach %s, but does: %s", p.name, banned, strings.Join(chain, " -> "))
		}
	}
}

// chain is a shortest chain of imports from a package to one of others, or nil.
func (t *tree) chain(from string, to names) []string {
	type link struct {
		name string
		back *link
	}
	seen := map[string]bool{from: true}
	for queue := []*link{{from, nil}}; len(queue) > 0; queue = queue[1:] {
		here := queue[0]
		if here.back != nil && to.has(here.name) {
			var chain []string
			for l := here; l != nil; l = l.back {
				chain = append(chain, l.name)
			}
			slices.Reverse(chain)
			return chain
		}
		if p := t.packages[here.name]; p != nil {
			for _, next := range slices.Sorted(maps.Keys(p.imports)) {
				if !seen[next] {
					seen[next] = true
					queue = append(queue, &link{next, here})
				}
			}
		}
	}
	return nil
}

// checkWrappers looks for types that only wrap a pointer to another of their package. Such
// a type has the same state and the same methods: it is a part of the other by name alone.
func (t *tree) checkWrappers(p *pkg) {
	structs := map[string]bool{}
	var all []*ast.TypeSpec
	for _, f := range p.files {
		for _, d := range f.syntax.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				for _, s := range g.Specs {
					if spec, ok := s.(*ast.TypeSpec); ok {
						if _, ok := spec.Type.(*ast.StructType); ok {
							structs[spec.Name.Name] = true
							all = append(all, spec)
						}
					}
				}
			}
		}
	}
	for _, spec := range all {
		fields := spec.Type.(*ast.StructType).Fields.List
		if len(fields) != 1 || len(fields[0].Names) > 0 || wrappers[p.name+"."+spec.Name.Name] {
			continue
		}
		if star, ok := fields[0].Type.(*ast.StarExpr); ok {
			if wrapped, ok := star.X.(*ast.Ident); ok && structs[wrapped.Name] {
				t.report(t.position(spec.Pos()), "%s wraps *%s and adds nothing: give its methods to %s, or make it a part with fields of its own",
					spec.Name.Name, wrapped.Name, wrapped.Name)
			}
		}
	}
}

// checkFailures looks for a second channel of failures beside the task's. Of two, callers
// forget one, and the compiler doesn't notice.
func (t *tree) checkFailures(p *pkg) {
	if p.name == "core/promise" {
		return
	}
	for _, f := range p.files {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Type.Results != nil && lists(n.Type.Params, "promise.Task") && lists(n.Type.Results, "diag.List") && !answering[p.name+"."+n.Name.Name] {
					t.report(t.position(n.Pos()), "%s has a task and returns diagnostics: report them to the task, and return whether it went well", n.Name.Name)
				}
			case *ast.CallExpr:
				if failed, ok := n.Fun.(*ast.SelectorExpr); ok && failed.Sel.Name == "Failed" {
					if call, ok := failed.X.(*ast.CallExpr); ok {
						if current, ok := call.Fun.(*ast.SelectorExpr); ok && current.Sel.Name == "Current" {
							t.report(t.position(n.Pos()), "code reads whether the task's cell failed: use the result of the call before")
						}
					}
				}
			}
			return true
		})
	}
}

// checkStart looks for regular expressions that every command compiles before main.
func (t *tree) checkStart(p *pkg) {
	if strings.HasPrefix(p.name, "cmd/") || names(strings.Fields(onlyTests)).has(p.name) {
		return
	}
	for _, f := range p.files {
		for _, d := range f.syntax.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				ast.Inspect(g, func(n ast.Node) bool {
					if call, ok := n.(*ast.SelectorExpr); ok && call.Sel.Name == "MustCompile" {
						t.report(t.position(n.Pos()), "%s must not compile regular expressions before main: use core/lazyregexp", p.name)
					}
					return true
				})
			}
		}
	}
}

// lists reports whether one of the fields has that type, or a pointer to it.
func lists(fields *ast.FieldList, want string) bool {
	return slices.ContainsFunc(fields.List, func(f *ast.Field) bool {
		typ := f.Type
		if star, ok := typ.(*ast.StarExpr); ok {
			typ = star.X
		}
		named, ok := typ.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		from, ok := named.X.(*ast.Ident)
		return ok && from.Name+"."+named.Sel.Name == want
	})
}

// checkGuards looks for guarded imports and names.
func (t *tree) checkGuards(p *pkg) {
	guarded := map[string]guard{}
	for _, g := range guards {
		if !names(strings.Fields(g.in)).has(p.name) {
			guarded[g.what] = g
		}
	}
	for _, f := range p.files {
		imports := map[string]string{} // local name -> import path
		for _, spec := range f.syntax.Imports {
			imported := importPath(spec)
			imports[localName(spec)] = imported
			for g := imported; g != "."; g = path.Dir(g) { // a guard covers what is below it
				if bad, ok := guarded[g]; ok && (g == imported || strings.Contains(g, ".")) {
					t.report(t.position(spec.Pos()), "%s must not import %s: %s", p.name, imported, bad.cure)
					break
				}
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if base, ok := sel.X.(*ast.Ident); ok && imports[base.Name] != "" {
					what := imports[base.Name] + "." + sel.Sel.Name
					if bad, ok := guarded[what]; ok {
						t.report(t.position(sel.Pos()), "%s must not use %s: %s", p.name, what, bad.cure)
					}
				}
			}
			return true
		})
	}
}

// localName is what a file calls an import.
func localName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return path.Base(importPath(spec))
}
