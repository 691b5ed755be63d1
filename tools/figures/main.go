// Command figures prints figures of the source tree: method sets and fields with embedded
// ones, imports, lines, and the longest functions.
//
// The numbers are for readers. Nothing fails because of them: a limit is met by moving code
// around, and what it should have shown stays as it is.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", ".", "directory of the module")
	n := flag.Int("n", 10, "rows of each table")
	flag.Parse()
	packages, err := load(*root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
	write(os.Stdout, packages, *n)
}

// A pkg is one package of the module, type-checked, without tests and generated files.
type pkg struct {
	name    string // its import path below the module's, without internal/
	lines   int
	imports []string // those of the module, by name
	types   []typ
	funcs   []row
}

// A typ is a type with its method set and fields, both with those of embedded types.
type typ struct {
	name            string
	methods, fields int
}

// A row is a number and what it is about.
type row struct {
	value int
	about string
}

type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Module                  *struct{ Main bool }
}

// load type-checks the packages of the module from source. Their imports come from the compiler's export data.
func load(root string) ([]*pkg, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Module", "./...")
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	exports := map[string]string{}
	var own []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[l.ImportPath] = l.Export
		if l.Module != nil && l.Module.Main {
			own = append(own, l)
		}
	}
	fset := token.NewFileSet()
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	var packages []*pkg
	for _, l := range own {
		p, err := check(fset, &config, l)
		if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	return packages, nil
}

const module = "weir.dev/weir"

// short is how tables name a package.
func short(path string) string {
	if path == module {
		return "weir"
	}
	return strings.TrimPrefix(strings.TrimPrefix(path, module+"/"), "internal/")
}

func check(fset *token.FileSet, config *types.Config, l listed) (*pkg, error) {
	p := &pkg{name: short(l.ImportPath)}
	var files []*ast.File
	for _, name := range l.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	checked, err := config.Check(l.ImportPath, fset, files, nil)
	if err != nil {
		return nil, err
	}
	for _, i := range checked.Imports() {
		if i.Path() == module || strings.HasPrefix(i.Path(), module+"/") {
			p.imports = append(p.imports, short(i.Path()))
		}
	}
	for _, f := range files {
		if ast.IsGenerated(f) {
			continue
		}
		p.lines += fset.File(f.Pos()).LineCount()
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				at := fset.Position(fn.Pos())
				p.funcs = append(p.funcs, row{fset.Position(fn.End()).Line - at.Line + 1, fmt.Sprintf("%s in %s/%s", fn.Name.Name, p.name, filepath.Base(at.Filename))})
			}
		}
	}
	if p.lines > 0 {
		p.types = typesOf(checked, p.name)
	}
	return p, nil
}

func typesOf(checked *types.Package, in string) []typ {
	var list []typ
	for _, name := range checked.Scope().Names() {
		t, ok := checked.Scope().Lookup(name).(*types.TypeName)
		if !ok || t.IsAlias() {
			continue
		}
		if _, ok := t.Type().Underlying().(*types.Interface); ok {
			continue
		}
		list = append(list, typ{in + "." + name, types.NewMethodSet(types.NewPointer(t.Type())).Len(), fields(t.Type(), map[types.Type]bool{})})
	}
	return list
}

// fields counts the fields of a struct and of those it embeds, each of these once.
func fields(t types.Type, seen map[types.Type]bool) int {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok || seen[t] {
		return 0
	}
	seen[t] = true
	n := s.NumFields()
	for f := range s.Fields() {
		if f.Embedded() {
			n += fields(f.Type(), seen)
		}
	}
	return n
}

func write(w io.Writer, packages []*pkg, n int) {
	var methods, fieldsOf, fan, users, lines, functions, small []row
	total := 0
	imported := map[string][]string{}
	for _, p := range packages {
		total += p.lines
		lines = append(lines, row{p.lines, p.name})
		fan = append(fan, row{len(p.imports), p.name})
		functions = append(functions, p.funcs...)
		for _, t := range p.types {
			methods = append(methods, row{t.methods, t.name})
			fieldsOf = append(fieldsOf, row{t.fields, t.name})
		}
		for _, i := range p.imports {
			imported[i] = append(imported[i], p.name)
		}
	}
	for _, p := range packages {
		by := imported[p.name]
		users = append(users, row{len(by), p.name})
		if p.lines > 0 && p.lines < 150 {
			about := fmt.Sprintf("%s (imported by %d packages)", p.name, len(by))
			if len(by) == 1 {
				about = fmt.Sprintf("%s (imported by %s)", p.name, by[0])
			}
			small = append(small, row{p.lines, about})
		}
	}
	chain := longest(packages)
	fmt.Fprintf(w, "%d packages, %d lines without tests and generated files; longest chain of imports %d:\n  %s\n",
		len(packages), total, len(chain), strings.Join(chain, " -> "))
	table(w, "methods of a type, promoted ones with them", methods, n)
	table(w, "fields of a type, those of embedded types with them", fieldsOf, n)
	table(w, "packages of this module that a package imports", fan, n)
	table(w, "packages that import a package", users, n)
	table(w, "lines of a package", lines, n)
	table(w, "lines of a function", functions, n)
	table(w, fmt.Sprintf("the %d packages of under 150 lines", len(small)), small, len(small))
}

// table prints the n greatest rows.
func table(w io.Writer, title string, rows []row, n int) {
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Or(b.value-a.value, strings.Compare(a.about, b.about)) })
	fmt.Fprintf(w, "\n%s\n", title)
	for _, r := range rows[:min(n, len(rows))] {
		fmt.Fprintf(w, "%8d  %s\n", r.value, r.about)
	}
}

// longest is the longest chain of imports within the module.
func longest(packages []*pkg) []string {
	by, chains := map[string]*pkg{}, map[string][]string{}
	for _, p := range packages {
		by[p.name] = p
	}
	var from func(name string) []string
	from = func(name string) []string {
		if chain, done := chains[name]; done {
			return chain
		}
		var best []string
		if p := by[name]; p != nil { // the compiler forbids cycles
			for _, i := range p.imports {
				if chain := from(i); len(chain) > len(best) {
					best = chain
				}
			}
		}
		chains[name] = append([]string{name}, best...)
		return chains[name]
	}
	var best []string
	for _, p := range packages {
		if chain := from(p.name); len(chain) > len(best) {
			best = chain
		}
	}
	return best
}
