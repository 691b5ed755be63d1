package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// kept are the folders of backends: what one of them can do beside others is an interface
// of package storage.
var kept = []string{"internal/state/storage/", "internal/stack/shardedstate"}

// typeTests lists where a file asks whether something is of a type of a backend's package.
func typeTests(files *token.FileSet, file *ast.File) (at []token.Position) {
	backends := map[string]bool{}
	for _, i := range file.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		for _, folder := range kept {
			if strings.HasPrefix(path, "weir.dev/weir/"+folder) {
				backends[path[strings.LastIndex(path, "/")+1:]] = true
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		var asked []ast.Expr
		switch n := n.(type) {
		case *ast.TypeAssertExpr:
			asked = append(asked, n.Type)
		case *ast.TypeSwitchStmt:
			for _, c := range n.Body.List {
				asked = append(asked, c.(*ast.CaseClause).List...)
			}
		}
		for _, t := range asked {
			if star, ok := t.(*ast.StarExpr); ok {
				t = star.X
			}
			if s, ok := t.(*ast.SelectorExpr); ok {
				if p, ok := s.X.(*ast.Ident); ok && backends[p.Name] {
					at = append(at, files.Position(n.Pos()))
				}
			}
		}
		return true
	})
	return at
}

// TestCapabilities: nobody outside of the backends asks which one there is.
func TestCapabilities(t *testing.T) {
	const root = "../../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == ".cache" || name == ".git" || strings.HasPrefix(filepath.ToSlash(name)+"/", kept[0])):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		case strings.HasPrefix(filepath.ToSlash(name), kept[1]):
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return nil // sources that tests have on purpose
		}
		for _, at := range typeTests(files, file) {
			t.Errorf("%s asks for the type of a backend: make it an interface of package storage", at)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		"_ = b.(*local.Backend)":                          1,
		"_, _ = b.(shardedstate.Backend)":                 1,
		"switch b.(type) { case *local.Backend, error: }": 1,
		"_ = b.(storage.Filed)":                           0,
		"_ = b.(error)":                                   0,
	} {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, "x.go", `package x
import (
	"weir.dev/weir/internal/stack/shardedstate"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/local"
)
func f(b any) { `+text+" }\n", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(typeTests(files, file)); got != want {
			t.Errorf("%s: %d type tests found, want %d", text, got, want)
		}
	}
}
