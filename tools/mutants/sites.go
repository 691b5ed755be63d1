package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A site is one place in the source and one change of it that another engineer could have
// made by mistake.
type site struct {
	file  string // path of the file from the root of the module
	line  int
	fn    string // the function around it
	kind  string // what is changed
	text  string // the code that is changed, on one line
	pkg   string // import path
	edits []edit // "$" in their texts is the number of the mutant

	start, end int // offsets of the changed code
}

// key names a site in docs/proofs/mutants.txt. It survives edits elsewhere in the file.
func (s *site) key() string { return fmt.Sprintf("%s %s, %s `%s`", s.file, s.fn, s.kind, s.text) }

// An edit puts a text in the place of the bytes from one offset to another.
type edit struct {
	from, to int
	text     string
	closes   bool // it ends a changed part, so inner parts end before it
	size     int  // of the changed part: outer parts begin first and end last
}

// uninteresting are calls that tests can't miss in a result: locks of memory, whose loss only
// races show, and the release of what the process gives back anyway.
var uninteresting = map[string]bool{
	"Lock": true, "Unlock": true, "RLock": true, "RUnlock": true, "Done": true, "Wait": true, "Close": true, "cancel": true, "stop": true, "End": true, "panic": true, "Helper": true, "Exit": true,
}

// sites finds all sites of a package.
func sites(fset *token.FileSet, root string, config *types.Config, l listed) ([]*site, error) {
	var files []*ast.File
	var texts [][]byte
	for _, name := range l.GoFiles {
		text, err := os.ReadFile(filepath.Join(l.Dir, name))
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files, texts = append(files, f), append(texts, text)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	if _, err := config.Check(l.ImportPath, fset, files, info); err != nil {
		return nil, err
	}
	var all []*site
	for i, f := range files {
		if ast.IsGenerated(f) {
			continue
		}
		name := fset.Position(f.Pos()).Filename
		short, err := filepath.Rel(root, name)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			finder := &finder{fset: fset, info: info, text: texts[i], file: filepath.ToSlash(short), fn: funcName(fn), pkg: l.ImportPath}
			finder.body(fn.Type, fn.Body)
			all = append(all, finder.found...)
		}
	}
	return all, nil
}

func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if index, ok := t.(*ast.IndexExpr); ok {
		t = index.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// A finder collects the sites of one function.
type finder struct {
	fset          *token.FileSet
	info          *types.Info
	text          []byte
	file, fn, pkg string
	found         []*site
}

func (f *finder) at(p token.Pos) int { return f.fset.Position(p).Offset }

// wrap adds a site that puts texts before and behind a node.
func (f *finder) wrap(kind string, n ast.Node, before, behind string, more ...edit) {
	from, to := f.at(n.Pos()), f.at(n.End())
	s := &site{file: f.file, line: f.fset.Position(n.Pos()).Line, fn: f.fn, kind: kind, pkg: f.pkg, start: from, end: to}
	s.text = strings.Join(strings.Fields(string(f.text[from:to])), " ")
	if len(s.text) > 70 {
		s.text = s.text[:67] + "..."
	}
	s.text = strings.ReplaceAll(s.text, "`", "'")
	s.edits = append([]edit{{from, from, before, false, to - from}, {to, to, behind, true, to - from}}, more...)
	f.found = append(f.found, s)
}

func (f *finder) constant(e ast.Expr) bool { return f.info.Types[e].Value != nil }

func (f *finder) isBool(e ast.Expr) bool {
	t := f.info.Types[e].Type
	return t == types.Typ[types.Bool] || t == types.Typ[types.UntypedBool]
}

// body finds the sites of a function and of those within it.
func (f *finder) body(signature *ast.FuncType, body *ast.BlockStmt) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			f.body(n.Type, n.Body)
			return false
		case *ast.IfStmt:
			if !f.constant(n.Cond) && f.isBool(n.Cond) {
				f.wrap("negate", n.Cond, "(", ") != mutant0.On($)")
			}
		case *ast.BinaryExpr:
			f.binary(n)
		case *ast.ReturnStmt:
			f.results(signature, n)
		case *ast.BlockStmt:
			f.statements(n.List)
		case *ast.CaseClause:
			f.statements(n.Body)
		case *ast.CommClause:
			f.statements(n.Body)
		}
		return true
	})
}

func (f *finder) binary(n *ast.BinaryExpr) {
	if f.constant(n) || f.constant(n.X) && f.constant(n.Y) {
		return
	}
	switch n.Op {
	case token.LAND, token.LOR:
		if !f.isBool(n.X) || !f.isBool(n.Y) {
			return
		}
		// The change is reached only where it makes a difference.
		behind := ") || mutant0.On($))"
		if n.Op == token.LOR {
			behind = ") && !mutant0.On($))"
		}
		f.wrap("drop the clause", n.Y, "((", behind)
		if x, ok := n.X.(*ast.BinaryExpr); !ok || x.Op != token.LAND && x.Op != token.LOR {
			f.wrap("drop the clause", n.X, "((", behind)
		}
	case token.EQL, token.NEQ:
		if f.isBool(n) {
			f.wrap("invert", n, "((", ") != mutant0.On($))")
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		t, ok := f.info.Types[n.X].Type.Underlying().(*types.Basic)
		if !ok || t.Info()&types.IsOrdered == 0 || !f.isBool(n) || !types.Identical(types.Default(f.info.Types[n.X].Type), types.Default(f.info.Types[n.Y].Type)) {
			return
		}
		name := map[token.Token]string{token.LSS: "Less", token.LEQ: "AtMost", token.GTR: "More", token.GEQ: "AtLeast"}[n.Op]
		op := f.at(n.OpPos)
		f.wrap("move the boundary", n, "mutant0."+name+"($, ", ")", edit{op, op + len(n.Op.String()), ",", false, 0})
	}
}

// results changes what a function returns: no error, no diagnostics, the other boolean, another
// exit code.
func (f *finder) results(signature *ast.FuncType, n *ast.ReturnStmt) {
	var want []ast.Expr
	if signature.Results != nil {
		for _, field := range signature.Results.List {
			for range max(1, len(field.Names)) {
				want = append(want, field.Type)
			}
		}
	}
	if len(want) != len(n.Results) {
		return
	}
	for i, e := range n.Results {
		t, result := f.info.Types[e].Type, f.info.Types[want[i]].Type
		if id, ok := e.(*ast.Ident); ok && id.Name == "nil" || t == nil || result == nil || !types.Identical(t, result) && !(t == types.Typ[types.UntypedBool] && result == types.Typ[types.Bool]) {
			continue
		}
		switch {
		case result == types.Typ[types.Bool]:
			f.wrap("return the opposite of", e, "(", ") != mutant0.On($)")
		case result == types.Typ[types.Int] && f.constant(e):
			f.wrap("return another code than", e, "mutant0.Other($, ", ")")
		case result.String() == "error", strings.HasSuffix(result.String(), "/core/diag.List"):
			f.wrap("return nothing instead of", e, "mutant0.Zero($, ", ")")
		}
	}
}

// statements leaves out one statement.
func (f *finder) statements(list []ast.Stmt) {
	for _, n := range list {
		switch n := n.(type) {
		case *ast.ExprStmt:
			call, ok := n.X.(*ast.CallExpr)
			if !ok || uninteresting[callee(call)] {
				continue
			}
		case *ast.DeferStmt:
			if uninteresting[callee(n.Call)] {
				continue
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE || blank(n.Lhs) {
				continue
			}
		case *ast.IncDecStmt:
		case *ast.BranchStmt:
			if n.Tok == token.GOTO || n.Tok == token.FALLTHROUGH {
				continue
			}
		default:
			continue
		}
		f.wrap("leave out", n, "if !mutant0.On($) { ", " }")
	}
}

func callee(call *ast.CallExpr) string {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	}
	return ""
}

func blank(list []ast.Expr) bool {
	for _, e := range list {
		if id, ok := e.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}

// apply writes all chosen changes of a file into its text, each behind its number.
func apply(text []byte, numbers []int, list []*site) []byte {
	var edits []edit
	for i, s := range list {
		for _, e := range s.edits {
			e.text = strings.ReplaceAll(e.text, "$", fmt.Sprint(numbers[i]))
			edits = append(edits, e)
		}
	}
	slices.SortStableFunc(edits, func(a, b edit) int {
		if by := cmp.Compare(a.from, b.from); by != 0 {
			return by
		}
		if a.closes != b.closes {
			if a.closes {
				return -1
			}
			return 1
		}
		if a.closes {
			return cmp.Compare(a.size, b.size)
		}
		return cmp.Compare(b.size, a.size)
	})
	// Two changes of the same code: the one that begins first has to end last.
	for i := 0; i < len(edits); {
		j := i + 1
		for j < len(edits) && edits[j].from == edits[i].from && edits[j].closes == edits[i].closes && edits[j].size == edits[i].size {
			j++
		}
		if edits[i].closes {
			slices.Reverse(edits[i:j])
		}
		i = j
	}
	var out []byte
	last := 0
	for _, e := range edits {
		out = append(out, text[last:e.from]...)
		out = append(out, e.text...)
		last = e.to
	}
	return append(out, text[last:]...)
}
