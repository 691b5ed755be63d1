package roots

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/suggest"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/environment"
)

// Moves are objects that move from one root to another.
type Moves struct {
	From, To string
	// Pairs are addresses with the ones in the other root, which are empty for the same.
	Pairs [][2]string
}

var (
	movesSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "move"}}}
	moveSchema  = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "from", Required: true}, {Name: "to", Required: true}, {Name: "addresses", Required: true}}}
)

// ReadMoves reads a file of moves.
func ReadMoves(d *workspace.Directory, name string) ([]Moves, diag.List) {
	data, err := d.Place.ReadFile(name)
	if err != nil {
		return nil, diag.Unreadable.List("The file %q could not be read: %s.", name, diag.Cause(err))
	}
	d.Place.AddSource(name, data)
	f, diags := syntax.Parse(name, data)
	r := &reader{diags: diags}
	var list []Moves
	for _, b := range r.content(f.Body, movesSchema).Blocks {
		content := r.content(b.Body, moveSchema)
		one := Moves{From: r.text(content.Attributes["from"]), To: r.text(content.Attributes["to"])}
		texts, at := r.texts(content.Attributes["addresses"])
		one.Pairs = Pairs(texts)
		if len(texts) == 0 && !r.diags.HasErrors() {
			r.diags.Add(BadSettings.As("Nothing to move").Error(at, "The list of addresses is empty."))
		}
		if n := len(list); n > 0 && list[n-1].From == one.From && list[n-1].To == one.To {
			list[n-1].Pairs = append(list[n-1].Pairs, one.Pairs...)
		} else {
			list = append(list, one)
		}
	}
	if len(list) == 0 && !r.diags.HasErrors() {
		r.diags.Append(BadSettings.As("Nothing to move").List("The file %q has no block such as:\n\n  move {\n    from      = \"network\"\n    to        = \"apps\"\n    addresses = [\"aws_instance.web\", \"module.db=module.database\"]\n  }", name))
	}
	return list, r.diags
}

// text reads a constant string.
func (r *reader) text(attr *hcl.Attribute) string {
	if attr == nil {
		return ""
	}
	v, problems := attr.Expr.Value(nil)
	r.diags.Append(diag.FromHCL(diag.Expression, problems))
	if problems.HasErrors() {
		return ""
	}
	if v.Type() != cty.String || v.IsNull() || !v.IsKnown() {
		r.diags.Add(BadSettings.Error(attr.Expr.Range(), "The argument %q has to be the name of a root.", attr.Name))
		return ""
	}
	return clean(v.AsString())
}

// Pairs splits texts of the form ADDRESS or ADDRESS=ADDRESS.
func Pairs(texts []string) [][2]string {
	list := make([][2]string, len(texts))
	for i, text := range texts {
		list[i][0] = text
		quoted := false
		for n, c := range text {
			if c == '"' && (n == 0 || text[n-1] != '\\') {
				quoted = !quoted
			}
			if c == '=' && !quoted {
				list[i] = [2]string{strings.TrimSpace(text[:n]), strings.TrimSpace(text[n+1:])}
				break
			}
		}
	}
	return list
}

// Undone are the moves that take others back.
func Undone(list []Moves) []Moves {
	var back []Moves
	for _, m := range slices.Backward(list) {
		one := Moves{From: m.To, To: m.From}
		for _, p := range m.Pairs {
			if p[1] == "" {
				p[1] = p[0]
			}
			one.Pairs = append(one.Pairs, [2]string{p[1], p[0]})
		}
		back = append(back, one)
	}
	return back
}

// Named is the root of a name: one of those below the directory, or another directory, which is added
// to them. A workspace stands after an @. In the directory of a stack that is a deployment.
func (e *Estate) Named(name string, reports environment.Reports) (*Root, diag.List) {
	name = clean(filepath.ToSlash(name))
	for _, r := range e.Roots {
		if r.Name == name {
			return r, nil
		}
	}
	path, space, _ := strings.Cut(name, "@")
	dir, err := filepath.Abs(e.Dir.Place.Path(path))
	if err != nil {
		return nil, diag.Unreadable.List("%s.", err)
	}
	d := e.Dir.RootIn(dir, space, reports)
	names, _ := d.Place.Files().List(".")
	stack := module.IsEmpty(names, d.Place.Dialect) && module.HasStack(names)
	if prog, _ := d.Settings.Root(); !stack && (prog == nil || !slices.ContainsFunc(names, isConfiguration)) {
		return nil, NoRoots.As("No root of that name").List("%q is neither a root below this directory nor a directory with a configuration.%s", name, suggest.Ask(name, Names(e.Roots)))
	}
	r := &Root{Name: name, Path: path, Workspace: space, Dir: d, Stack: stack}
	for _, other := range e.Roots {
		if other.Path == path { // another workspace of a root
			r.Vars = other.Vars
		}
	}
	e.Roots = append(e.Roots, r)
	return r, nil
}

// At adds the place of a root's state, so that reads of it are known. Two roots can't share one.
func (e *Estate) At(r *Root, p Place) diag.List {
	if other := e.states[p]; other != nil && other != r {
		return SharedState.List("The roots %s and %s have their state at the same place: %s. Within one state, use \"state mv\".", other.Name, r.Name, p.At)
	}
	e.states[p] = r
	return nil
}
