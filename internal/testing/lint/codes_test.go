package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestCodes checks docs/diagnostics: each code is declared once, has an entry under its
// summary with an example and a way out, is listed in the index, and has a line in
// docs/proofs/diagnostics.txt that names a case or test with the summary, or another
// phrase of that code, in it.
func TestCodes(t *testing.T) {
	codes, phrases := declaredCodes(t)
	shown := proofs(t, "diagnostics")
	index, err := os.ReadFile("../../../docs/diagnostics/README.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile("^## `([a-z:-]+)`: (.*)$")
	described := map[string]bool{}
	pages, err := filepath.Glob("../../../docs/diagnostics/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range strings.Split(string(text), "\n## ") {
			if i == 0 || filepath.Base(page) == "README.md" {
				continue
			}
			first, body, _ := strings.Cut(part, "\n")
			m := heading.FindStringSubmatch("## " + first)
			if m == nil {
				t.Errorf("%s: the heading %q isn't a code and its summary", page, first)
				continue
			}
			code, summary := m[1], m[2]
			switch declared, ok := codes[code]; {
			case described[code]:
				t.Errorf("%s has two entries", code)
			case !ok:
				t.Errorf("%s has an entry, and no package declares it", code)
			case declared != summary:
				t.Errorf("the entry of %s has the summary %q, the code has %q", code, summary, declared)
			}
			described[code] = true
			for _, problem := range undescribed(body, shown[code], append(phrases[code], summary)) {
				t.Errorf("%s: %s", code, problem)
			}
			if line := "- [`" + code + "`](" + filepath.Base(page) + "#"; !strings.Contains(string(index), line) {
				t.Errorf("docs/diagnostics/README.md doesn't list %s: add a line %q", code, line+"…")
			}
		}
	}
	for code := range codes {
		if !described[code] {
			t.Errorf("%s has no entry: add it to the page of its group in docs/diagnostics", code)
		}
	}
	for code := range shown {
		if !described[code] {
			t.Errorf("docs/proofs/diagnostics.txt has a line for %s, which has no entry", code)
		}
	}
}

// undescribed returns what the entry of a code lacks.
func undescribed(body, shown string, phrases []string) (problems []string) {
	if shown == "" {
		problems = append(problems, "no test shows it: add a line to docs/proofs/diagnostics.txt")
	} else {
		for path := range strings.SplitSeq(shown, ", ") {
			data, err := os.ReadFile(filepath.Join("../../..", path))
			if err != nil {
				problems = append(problems, err.Error())
			} else if !slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(string(data), phrase) }) {
				problems = append(problems, path+" has none of the phrases in it: "+strings.Join(phrases, ", "))
			}
		}
	}
	if strings.Contains(body, "\nShown by: ") {
		problems = append(problems, "move its \"Shown by: \" to docs/proofs/diagnostics.txt")
	}
	if !strings.Contains(body, "\n    ") {
		problems = append(problems, "no example")
	}
	if len(strings.Fields(body)) < 20 {
		problems = append(problems, "the entry is too short")
	}
	return problems
}

// declaredCodes are the summaries of all literals of diag.Code, by name, and the other
// phrases that places give them. It reports problems that are made without a code, and
// codes that nobody uses.
func declaredCodes(t *testing.T) (codes map[string]string, phrases map[string][]string) {
	t.Helper()
	codes, phrases = map[string]string{}, map[string][]string{}
	names := map[string]string{} // of codes, by package and variable
	given := map[string][]string{}
	uses := map[string]int{}
	eachFile(t, func(path string, file *ast.File) {
		own := filepath.Base(filepath.Dir(path))
		variable := func(e ast.Expr) string {
			switch e := e.(type) {
			case *ast.Ident:
				return own + "." + e.Name
			case *ast.SelectorExpr:
				if pkg, ok := e.X.(*ast.Ident); ok {
					return pkg.Name + "." + e.Sel.Name
				}
			}
			return ""
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				uses[own+"."+n.Name]++
			case *ast.SelectorExpr:
				uses[variable(n)]++
			case *ast.ValueSpec:
				for i, v := range n.Values {
					lit, ok := v.(*ast.CompositeLit)
					if !ok || !ofDiag(lit, own, "Code") {
						continue
					}
					name, summary := texts(lit)["Name"], texts(lit)["Summary"]
					switch {
					case name == "" || summary == "":
						t.Errorf("%s: a code needs a Name and a Summary, both written out", path)
					case codes[name] != "":
						t.Errorf("%s: the code %s is declared twice", path, name)
					}
					codes[name] = summary
					names[own+"."+n.Names[i].Name] = name
				}
			case *ast.CompositeLit:
				if path != "core/diag/code.go" && path != "core/diag/diag.go" {
					uncoded(t, path, own, n)
				}
			case *ast.CallExpr:
				if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "As" && len(n.Args) == 1 {
					given[variable(sel.X)] = append(given[variable(sel.X)], pieces(n.Args[0])...)
				}
			}
			return true
		})
	})
	for variable, name := range names {
		phrases[name] = given[variable]
		if uses[variable] < 2 { // the declaration is one
			t.Errorf("nothing is of the kind %s", variable)
		}
	}
	if len(codes) == 0 {
		t.Fatal("there are no codes")
	}
	return codes, phrases
}

var verb = regexp.MustCompile("%[a-z]")

// pieces are the texts that a phrase is made of, as far as they are long enough to tell
// it from others.
func pieces(phrase ast.Expr) (list []string) {
	ast.Inspect(phrase, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, _ := strconv.Unquote(lit.Value)
			for _, piece := range verb.Split(text, -1) {
				if piece = strings.TrimSpace(piece); len(piece) >= 10 {
					list = append(list, piece)
				}
			}
		}
		return true
	})
	return list
}

// uncoded reports a diagnostic that is made without a code.
func uncoded(t *testing.T, path, own string, lit *ast.CompositeLit) {
	t.Helper()
	fields := map[string]bool{}
	for _, element := range lit.Elts {
		switch element := element.(type) {
		case *ast.KeyValueExpr:
			if key, ok := element.Key.(*ast.Ident); ok {
				fields[key.Name] = true
			}
		case *ast.CompositeLit: // the type is left out within a list
			if ofDiag(lit, own, "List") && element.Type == nil {
				element.Type = &ast.SelectorExpr{X: ast.NewIdent("diag"), Sel: ast.NewIdent("Diagnostic")}
			}
		}
	}
	switch {
	case ofDiag(lit, own, "Diagnostic") && fields["Summary"] && !fields["Code"]:
		t.Errorf("%s: a diagnostic without a code. Make it from a diag.Code: Code.Error, Warning or New", path)
	case ofDiag(lit, own, "Code") && !fields["Name"]:
		t.Errorf("%s: a code without a name. Give another phrase with Code.As", path)
	}
	if sel, ok := lit.Type.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "Diagnostic") && path != "lang/syntax/jsonbody.go" {
		if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "hcl" && (sel.Sel.Name == "Diagnostic" || elided(lit)) {
			t.Errorf("%s: a diagnostic of the hcl library, which has no code. Use diag.List.ToHCL", path)
		}
	}
}

// elided reports whether the first element of a list is a literal without its type.
func elided(lit *ast.CompositeLit) bool {
	if len(lit.Elts) == 0 {
		return false
	}
	first, ok := lit.Elts[0].(*ast.CompositeLit)
	return ok && first.Type == nil
}

// ofDiag reports whether a literal is of that type of package diag.
func ofDiag(lit *ast.CompositeLit, own, name string) bool {
	switch ty := lit.Type.(type) {
	case *ast.Ident:
		return own == "diag" && ty.Name == name
	case *ast.SelectorExpr:
		pkg, ok := ty.X.(*ast.Ident)
		return ok && pkg.Name == "diag" && ty.Sel.Name == name
	case *ast.ArrayType:
		sel, ok := ty.Elt.(*ast.SelectorExpr)
		return ok && name == "List" && sel.Sel.Name == "Diagnostic"
	}
	return false
}

// texts are the fields of a literal that are written out as text.
func texts(lit *ast.CompositeLit) map[string]string {
	fields := map[string]string{}
	for _, element := range lit.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if text, ok := pair.Value.(*ast.BasicLit); ok {
				fields[pair.Key.(*ast.Ident).Name], _ = strconv.Unquote(text.Value)
			}
		}
	}
	return fields
}

// eachFile parses all sources below internal, and those of the public package.
func eachFile(t *testing.T, visit func(path string, file *ast.File)) {
	t.Helper()
	parse := func(name, path string) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		visit(path, file)
	}
	err := fs.WalkDir(os.DirFS("../.."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") {
			parse(filepath.Join("../..", path), path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	public, err := filepath.Glob("../../../*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range public {
		if !strings.HasSuffix(name, "_test.go") {
			parse(name, filepath.Join("weir", filepath.Base(name)))
		}
	}
}
