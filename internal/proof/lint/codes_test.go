package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestCodes holds codes, their page and what shows them together: each code is declared
// once and has a part of the page under its summary, with an example and a way out, that
// names a case or test which has the summary in it.
func TestCodes(t *testing.T) {
	codes := declaredCodes(t)
	page, err := os.ReadFile("../../../docs/diagnostics.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile("^`([a-z-]+)`: (.*)$")
	described := map[string]bool{}
	for i, part := range strings.Split(string(page), "\n## ") {
		if i == 0 {
			continue
		}
		first, body, _ := strings.Cut(part, "\n")
		m := heading.FindStringSubmatch(first)
		if m == nil {
			t.Errorf("the heading %q isn't a code and its summary", first)
			continue
		}
		code, summary := m[1], m[2]
		switch declared, ok := codes[code]; {
		case described[code]:
			t.Errorf("%s is described twice", code)
		case !ok:
			t.Errorf("%s is described, and nothing declares it", code)
		case declared != summary:
			t.Errorf("%s is described as %q, and its summary is %q", code, summary, declared)
		}
		described[code] = true
		for _, problem := range undescribed(body, summary) {
			t.Errorf("%s: %s", code, problem)
		}
	}
	for code := range codes {
		if !described[code] {
			t.Errorf("docs/diagnostics.md has nothing about %s", code)
		}
	}
}

// undescribed says what the part of a code lacks.
func undescribed(body, summary string) (problems []string) {
	text, shown, ok := strings.Cut(body, "\nShown by: ")
	if !ok {
		problems = append(problems, "no line \"Shown by: \"")
	}
	for _, path := range strings.Split(strings.TrimSpace(shown), ", ") {
		data, err := os.ReadFile(filepath.Join("../../..", path))
		if err != nil {
			problems = append(problems, err.Error())
		} else if !strings.Contains(string(data), summary) {
			problems = append(problems, path+" doesn't have the summary in it")
		}
	}
	if !strings.Contains(text, "\n    ") {
		problems = append(problems, "no example")
	}
	if len(strings.Fields(text)) < 20 {
		problems = append(problems, "too little is said")
	}
	return problems
}

// declaredCodes are the summaries of all literals of diag.Code, by name.
func declaredCodes(t *testing.T) map[string]string {
	t.Helper()
	codes := map[string]string{}
	err := fs.WalkDir(os.DirFS("../.."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", path), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if sel, ok := lit.Type.(*ast.SelectorExpr); !ok || sel.Sel.Name != "Code" {
				return true
			}
			fields := map[string]string{}
			for _, element := range lit.Elts {
				if pair, ok := element.(*ast.KeyValueExpr); ok {
					if text, ok := pair.Value.(*ast.BasicLit); ok {
						fields[pair.Key.(*ast.Ident).Name], _ = strconv.Unquote(text.Value)
					}
				}
			}
			switch name := fields["Name"]; {
			case name == "" || fields["Summary"] == "":
				t.Errorf("%s: a code needs a Name and a Summary, both written out", path)
			case codes[name] != "":
				t.Errorf("%s: the code %s is declared twice", path, name)
			default:
				codes[name] = fields["Summary"]
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(codes) == 0 {
		t.Fatal("there are no codes")
	}
	return codes
}
