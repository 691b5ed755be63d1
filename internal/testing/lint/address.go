package lint

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// An address has its parts as kinds, names and keys. Its text is for people and
// files, and the caller that takes the text apart to learn what it is gets it wrong for some
// name or key. Only package addr reads addresses.
const (
	addresses   = "core/addr"
	problems    = "core/diag"
	addressCure = "ask the address for its Steps, Name or Key, or read it with package addr"
)

// textFunctions take a text apart or look for something in it, by the beginning of
// their names.
var textFunctions = map[string][]string{
	"strings":       {"Contains", "Count", "Cut", "EqualFold", "Fields", "HasPrefix", "HasSuffix", "Index", "LastIndex", "Replace", "Split", "Trim"},
	"path":          {"Base", "Dir", "Match", "Split"},
	"path/filepath": {"Base", "Dir", "Match", "Split"},
}

// matchers are methods of regular expressions.
var matchers = []string{"FindString", "FindStringIndex", "FindStringSubmatch", "FindAllString", "MatchString", "ReplaceAllString"}

// checkAddresses looks for addresses that are taken apart as texts, or made of them.
func (t *tree) checkAddresses() {
	if t.packages[addresses] == nil {
		return
	}
	checked := &typed{tree: t, done: map[string]*types.Package{}, uses: map[string]*types.Info{}}
	for name, p := range t.packages {
		if name == addresses || names(strings.Fields(onlyTests)).has(name) {
			continue // whose work it is, and who reads what is printed
		}
		_, _ = checked.Import(inside + name)
		if strings.HasPrefix(name, "cmd/") {
			_, _ = checked.Import(modulePath + name)
		}
		for _, f := range p.files {
			a := &addressText{tree: t, pkg: name, info: checked.uses[name], texts: map[types.Object]bool{}}
			ast.Inspect(f.syntax, a.visit)
		}
	}
}

// typed finds the types of this module's packages. Of others it knows nothing, so
// what comes from there has no type.
type typed struct {
	tree *tree
	done map[string]*types.Package
	uses map[string]*types.Info
}

// Import implements types.Importer.
func (c *typed) Import(path string) (*types.Package, error) {
	if done := c.done[path]; done != nil {
		return done, nil
	}
	name := strings.TrimPrefix(strings.TrimPrefix(path, inside), modulePath)
	p := c.tree.packages[name]
	if p == nil || !strings.HasPrefix(path, modulePath) {
		pkg := types.NewPackage(path, path[strings.LastIndexByte(path, '/')+1:])
		pkg.MarkComplete()
		c.done[path] = pkg
		return pkg, nil
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	var files []*ast.File
	for _, f := range p.files {
		files = append(files, f.syntax)
	}
	config := types.Config{Importer: c, Error: func(error) {}, FakeImportC: true}
	pkg, err := config.Check(path, c.tree.fset, files, info)
	c.done[path], c.uses[name] = pkg, info
	return pkg, err
}

// addressText finds in one package what is the text of an address, and what is done
// with it.
type addressText struct {
	*tree
	pkg   string
	info  *types.Info
	texts map[types.Object]bool // variables that hold such a text
}

func (a *addressText) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			if name, ok := to.(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) && a.isText(n.Rhs[i]) {
				if o := a.object(name); o != nil {
					a.texts[o] = true
				}
			}
		}
	case *ast.CallExpr:
		a.call(n)
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			a.decides(n.X)
			a.decides(n.Y)
		}
	case *ast.SwitchStmt:
		a.decides(n.Tag)
	case *ast.SliceExpr:
		a.apart(n.X)
	case *ast.IndexExpr:
		a.apart(n.X)
	case *ast.RangeStmt:
		a.apart(n.X)
	}
	return true
}

// decides reports that something hangs on the summary of a diagnostic.
func (a *addressText) decides(x ast.Expr) {
	sel, ok := x.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Summary" || a.pkg == problems {
		return
	}
	field := a.info.Selections[sel]
	if field == nil || field.Kind() != types.FieldVal {
		return
	}
	if pkg := field.Obj().Pkg(); pkg != nil && pkg.Path() == inside+problems {
		a.report(a.position(x.Pos()), "%s must not decide by the text of a problem: give its kind a diag.Code", a.pkg)
	}
}

func (a *addressText) apart(x ast.Expr) {
	if a.isText(x) {
		a.report(a.position(x.Pos()), "%s must not take the text of an address apart: %s", a.pkg, addressCure)
	}
}

func (a *addressText) call(n *ast.CallExpr) {
	if a.converts(n, "Module") {
		if a.info.Types[n.Args[0]].Value == nil && !a.isModule(n.Args[0]) {
			a.report(a.position(n.Pos()), "%s must not make an address of a text: read it with addr.ParseModule, or make it with Child", a.pkg)
		}
		return
	}
	if !a.takesApart(n.Fun) {
		return
	}
	for _, arg := range n.Args {
		a.apart(arg)
		a.decides(arg)
	}
}

// takesApart reports whether a function takes a text apart.
func (a *addressText) takesApart(fun ast.Expr) bool {
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if base, ok := sel.X.(*ast.Ident); ok {
		if pkg, ok := a.info.Uses[base].(*types.PkgName); ok {
			return slices.ContainsFunc(textFunctions[pkg.Imported().Path()], func(name string) bool { return strings.HasPrefix(sel.Sel.Name, name) })
		}
	}
	return slices.Contains(matchers, sel.Sel.Name)
}

// isText reports whether an expression is the text of an address, or begins or ends
// with one.
func (a *addressText) isText(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return a.isText(x.X)
	case *ast.BinaryExpr:
		return x.Op == token.ADD && (a.isText(x.X) || a.isText(x.Y))
	case *ast.Ident:
		return a.isModule(x) || a.texts[a.object(x)]
	case *ast.SelectorExpr:
		field := a.info.Selections[x]
		return a.isModule(x) || field != nil && field.Kind() == types.FieldVal && x.Sel.Name == "Address" && types.Identical(field.Type(), types.Typ[types.String])
	case *ast.CallExpr:
		if sel, ok := x.Fun.(*ast.SelectorExpr); ok {
			method := a.info.Selections[sel]
			if method != nil && method.Obj().Name() == "String" && method.Obj().Pkg() != nil && method.Obj().Pkg().Path() == inside+addresses {
				return true
			}
		}
		return len(x.Args) == 1 && a.info.Types[x.Fun].IsType() && a.isText(x.Args[0]) || a.isModule(x)
	}
	return false
}

// isModule reports whether an expression is an address.Module, which is a text itself.
func (a *addressText) isModule(x ast.Expr) bool { return a.isAddr(a.info.Types[x].Type, "Module") }

func (a *addressText) isAddr(t types.Type, name string) bool {
	named, ok := t.(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == inside+addresses && named.Obj().Name() == name
}

// converts reports whether a call converts to a type of package addr.
func (a *addressText) converts(n *ast.CallExpr, name string) bool {
	fun := a.info.Types[n.Fun]
	return len(n.Args) == 1 && fun.IsType() && a.isAddr(fun.Type, name)
}

func (a *addressText) object(name *ast.Ident) types.Object {
	if o := a.info.Defs[name]; o != nil {
		return o
	}
	return a.info.Uses[name]
}
