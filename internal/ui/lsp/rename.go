package lsp

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/symbols"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/ui/lsp/project"
	"weir.dev/weir/internal/ui/lsp/protocol"
)

// edits are changes of files by path; the empty text at the end of a file that isn't there
// makes it.
type edits struct {
	*request
	byFile map[string][]protocol.TextEdit
	fresh  map[string]bool
}

func (q *request) edits() *edits {
	return &edits{q, map[string][]protocol.TextEdit{}, map[string]bool{}}
}

func (e *edits) replace(path string, start, end int, text string) {
	if t := e.Text(path); t != nil {
		e.byFile[path] = append(e.byFile[path], protocol.TextEdit{Range: t.Range(start, end), NewText: text})
	}
}

// appendTo adds a block to the end of a file, after a blank line.
func (e *edits) appendTo(path, block string) {
	t := e.Text(path)
	if t == nil {
		e.fresh[path] = true
		e.byFile[path] = append(e.byFile[path], protocol.TextEdit{NewText: block})
		return
	}
	switch src := string(t.Bytes); {
	case src == "":
	case strings.HasSuffix(src, "\n"):
		block = "\n" + block
	default:
		block = "\n\n" + block
	}
	e.replace(path, len(t.Bytes), len(t.Bytes), block)
}

// result is the edits in the form that the editor takes.
func (e *edits) result() *protocol.WorkspaceEdit {
	out := &protocol.WorkspaceEdit{}
	for _, path := range slices.Sorted(maps.Keys(e.byFile)) {
		list := e.byFile[path]
		slices.SortStableFunc(list, func(a, b protocol.TextEdit) int {
			return cmp.Or(a.Range.Start.Line-b.Range.Start.Line, a.Range.Start.Character-b.Range.Start.Character)
		})
		if !e.client.Workspace.WorkspaceEdit.DocumentChanges {
			if out.Changes == nil {
				out.Changes = map[string][]protocol.TextEdit{}
			}
			out.Changes[e.URI(path)] = list
			continue
		}
		if e.fresh[path] {
			out.DocumentChanges = append(out.DocumentChanges, protocol.CreateFile{Kind: "create", URI: e.URI(path), Options: protocol.CreateOptions{IgnoreIfExists: true}})
		}
		d := protocol.DocumentEdit{TextDocument: protocol.VersionedDocument{URI: e.URI(path)}, Edits: list}
		if open := e.Docs[path]; open != nil {
			d.TextDocument.Version = &open.Version
		}
		out.DocumentChanges = append(out.DocumentChanges, d)
	}
	return out
}

var errNothing = errors.New("weir renames variables, locals, outputs, resources, data sources, modules and provider aliases, and none of them is written here")

// renamed is the declaration at a place, if it can be renamed.
func (q *request) renamed(p protocol.PositionParams) (*symbols.Occurrence, project.Home, error) {
	m, o := q.at(p)
	if o == nil {
		return nil, project.Home{}, errNothing
	}
	home, ok := q.Home(q, m, o.Target)
	if _, there := q.Definition(q, home); !ok || !there {
		return nil, home, fmt.Errorf("the declaration of %s can't be found", o.Name)
	}
	if strings.Contains(filepath.ToSlash(home.Dir)+"/", "/.terraform/") || !q.inFolders(home.Dir) {
		return nil, home, fmt.Errorf("%s is declared in %s, which isn't in a folder of the editor", o.Name, home.Dir)
	}
	return o, home, nil
}

func (q *request) inFolders(dir string) bool {
	for path := range q.Docs {
		if filepath.Dir(path) == dir {
			return true
		}
	}
	return slices.ContainsFunc(q.Dirs, func(folder string) bool {
		rel, err := filepath.Rel(folder, dir)
		return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	})
}

func (q *request) prepareRename(p protocol.PositionParams) (any, error) {
	o, _, err := q.renamed(p)
	if err != nil {
		return nil, err
	}
	return struct {
		Range       protocol.Range `json:"range"`
		Placeholder string         `json:"placeholder"`
	}{rangeOf(q.Text(o.Range.Filename), o.Range), o.Label()}, nil
}

// rename changes a name wherever it is written: in its module, in the calls of the module, and
// in files of values and tests. Objects that exist get a moved block.
func (q *request) rename(p protocol.RenameParams) (any, error) {
	_, home, err := q.renamed(p.PositionParams)
	switch {
	case err != nil:
		return nil, err
	case !hclsyntax.ValidIdentifier(p.NewName):
		return nil, fmt.Errorf("%q isn't a name: names have letters, digits, underscores and dashes, and don't begin with a digit", p.NewName)
	case p.NewName == home.Label():
		return q.edits().result(), nil
	}
	other := home
	other.Name = strings.TrimSuffix(home.Name, home.Label()) + p.NewName
	if place, there := q.Definition(q, other); there {
		return nil, fmt.Errorf("%s is declared already, in line %d of %s", other.Name, place.Range.Start.Line, filepath.Base(place.Range.Filename))
	}
	e := q.edits()
	places := q.Places(q, home)
	former := false
	for _, place := range places {
		if place.Former {
			former = true // a move that was made continues to the new name
			continue
		}
		e.replace(place.Range.Filename, place.Range.Start.Byte, place.Range.End.Byte, p.NewName)
	}
	if q.Err() != nil {
		return nil, q.Err()
	}
	switch home.Kind {
	case symbols.Variable:
		e.values(home, p.NewName)
	case symbols.Resource, symbols.Call:
		if former || q.exists(home) {
			e.moved(home, other.Name)
		}
	}
	e.tests(home, p.NewName)
	return e.result(), nil
}

// moved adds a moved block behind the declaration.
func (e *edits) moved(home project.Home, to string) {
	place, ok := e.Definition(e, home)
	text := e.Text(place.Range.Filename)
	if !ok || text == nil {
		return
	}
	path, at := place.Range.Filename, place.Whole.End.Byte
	if syntax.IsJSON(path) { // another file of the module has the block
		e.appendTo(filepath.Join(home.Dir, "moved.tf"), movedBlock(home.Name, to))
		return
	}
	e.replace(path, at, at, "\n\n"+strings.TrimSuffix(movedBlock(home.Name, to), "\n"))
}

func movedBlock(from, to string) string {
	return fmt.Sprintf("moved {\n  from = %s\n  to   = %s\n}\n", from, to)
}

// exists reports whether a resource or module may have objects: always, unless a state has none.
func (q *request) exists(home project.Home) bool {
	if len(q.Callers(q, home.Dir)) > 0 {
		return true // their states have the objects
	}
	s, config := q.State(q, home.Dir)
	if config == nil {
		return true
	}
	if s == nil {
		return false
	}
	for a := range s.Objects {
		if home.Kind == symbols.Call {
			if steps := a.Resource.Module.Steps(); len(steps) > 0 && steps[0].Call.String() == home.Name {
				return true
			}
		} else if a.Resource.Module.IsRoot() && a.Resource.Name.Mode == addr.Managed && a.Resource.Name.String() == home.Name {
			return true
		}
	}
	return false
}

// values changes the name of a variable in the files of values beside it.
func (e *edits) values(home project.Home, to string) {
	names, _ := e.Files().List(home.Dir)
	for _, name := range names {
		if !strings.HasSuffix(name, ".tfvars") && !strings.HasSuffix(name, ".tfvars.json") {
			continue
		}
		path := filepath.Join(home.Dir, name)
		if text := e.Text(path); text != nil {
			f, _ := syntax.Parse(path, text.Bytes)
			attrs, _ := f.Body.JustAttributes()
			e.argument(path, attrs, home.Label(), to)
		}
	}
}

// argument changes the name of an argument.
func (e *edits) argument(path string, attrs hcl.Attributes, from, to string) {
	attr := attrs[from]
	text := e.Text(path)
	if attr == nil || text == nil {
		return
	}
	start, end := attr.NameRange.Start.Byte, attr.NameRange.End.Byte
	if end <= len(text.Bytes) && end-start >= 2 && text.Bytes[start] == '"' {
		start, end = start+1, end-1
	}
	if end <= len(text.Bytes) && string(text.Bytes[start:end]) == from {
		e.replace(path, start, end, to)
	}
}

// tests changes the name in the test files of the module: in expressions, and in the values of
// variables. Runs of other modules are left alone.
func (e *edits) tests(home project.Home, to string) {
	for _, dir := range []string{home.Dir, filepath.Join(home.Dir, "tests")} {
		names, _ := e.Files().List(dir)
		for _, name := range names {
			if !strings.HasSuffix(name, ".tftest.hcl") && !strings.HasSuffix(name, ".tofutest.hcl") {
				continue
			}
			path := filepath.Join(dir, name)
			text := e.Text(path)
			if text == nil {
				continue
			}
			f, _ := syntax.Parse(path, text.Bytes)
			if body, ok := f.Body.(*hclsyntax.Body); ok {
				e.testBody(path, body, home, to)
			}
		}
	}
}

func (e *edits) testBody(path string, body *hclsyntax.Body, home project.Home, to string) {
	for _, b := range body.Blocks {
		if b.Type == "run" && slices.ContainsFunc(b.Body.Blocks, func(inner *hclsyntax.Block) bool { return inner.Type == "module" }) {
			continue
		}
		if b.Type == "variables" && home.Kind == symbols.Variable {
			attrs, _ := b.Body.JustAttributes()
			e.argument(path, attrs, home.Label(), to)
		}
		e.testBody(path, b.Body, home, to)
	}
	want := strings.Split(home.Name, ".")
	if home.Kind == symbols.Provider {
		return
	}
	for _, attr := range body.Attributes {
		for _, t := range hclsyntax.Variables(attr.Expr) {
			if len(t) < len(want) || t.RootName() != want[0] {
				continue
			}
			same := true
			for i := 1; i < len(want); i++ {
				step, ok := t[i].(hcl.TraverseAttr)
				same = same && ok && step.Name == want[i]
			}
			if same && len(want) > 1 {
				at := t[len(want)-1].SourceRange()
				e.replace(path, at.End.Byte-len(home.Label()), at.End.Byte, to)
			}
		}
	}
}
