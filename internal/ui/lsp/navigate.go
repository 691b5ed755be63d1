package lsp

import (
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/internal/lang/format"
	"weir.dev/weir/internal/lang/symbols"
	"weir.dev/weir/internal/ui/lsp/project"
	"weir.dev/weir/internal/ui/lsp/protocol"
	"weir.dev/weir/internal/ui/lsp/textdoc"
)

// format lays out a document as fmt does. A document with errors of syntax stays as it is.
func (q *request) format(p protocol.DocumentParams) (any, error) {
	edits := []protocol.TextEdit{}
	d := q.Doc(p.TextDocument.URI)
	if d == nil || !format.Has(filepath.Base(d.Path)) {
		return edits, nil
	}
	after, diags := format.Check(d.Text.Bytes, d.Path)
	if diags.HasErrors() {
		return edits, nil
	}
	return lineEdits(d.Text, after), nil
}

// formatRange is format for the lines of a range, where the layout has as many lines as the
// text.
func (q *request) formatRange(p protocol.RangeParams) (any, error) {
	all, err := q.format(protocol.DocumentParams{TextDocument: p.TextDocument})
	return slices.DeleteFunc(all.([]protocol.TextEdit), func(e protocol.TextEdit) bool {
		return e.Range.End.Line < p.Range.Start.Line || e.Range.Start.Line > p.Range.End.Line
	}), err
}

// lineEdits change line by line, so that an editor can leave its cursor where it is.
func lineEdits(from *textdoc.Text, to []byte) []protocol.TextEdit {
	target := textdoc.New(to, textdoc.UTF16)
	if target.Lines() != from.Lines() {
		if edits := from.Diff(to); edits != nil {
			return edits
		}
		return []protocol.TextEdit{}
	}
	edits := []protocol.TextEdit{}
	for n := range from.Lines() {
		before, after := from.Line(n), target.Line(n)
		if string(before) != string(after) {
			end := from.Position(from.Offset(protocol.Position{Line: n}) + len(before))
			edits = append(edits, protocol.TextEdit{Range: protocol.Range{Start: protocol.Position{Line: n}, End: end}, NewText: string(after)})
		}
	}
	return edits
}

// at is what is written at a place, with the module that it stands in.
func (q *request) at(p protocol.PositionParams) (*project.Module, *symbols.Occurrence) {
	path := project.Path(p.TextDocument.URI)
	text := q.Text(path)
	m := q.Module(q, filepath.Dir(path))
	if text == nil || m == nil {
		return m, nil
	}
	return m, m.At(path, text.Offset(p.Position))
}

func (q *request) location(p project.Place) protocol.Location {
	at := protocol.Location{URI: q.URI(p.Range.Filename)}
	if text := q.Text(p.Range.Filename); text != nil {
		at.Range = rangeOf(text, p.Range)
	}
	return at
}

func (q *request) definition(p protocol.PositionParams) (any, error) {
	m, o := q.at(p)
	list := []protocol.Location{}
	if o == nil {
		return list, nil
	}
	if home, ok := q.Home(q, m, o.Target); ok {
		if place, ok := q.Definition(q, home); ok {
			list = append(list, q.location(place))
		}
	}
	return list, nil
}

func (q *request) references(p protocol.ReferenceParams) (any, error) {
	m, o := q.at(p.PositionParams)
	list := []protocol.Location{}
	if o == nil {
		return list, nil
	}
	if home, ok := q.Home(q, m, o.Target); ok {
		for _, place := range q.Places(q, home) {
			if !place.Definition || p.Context.IncludeDeclaration {
				list = append(list, q.location(place))
			}
		}
	}
	return list, nil
}

func (q *request) highlights(p protocol.PositionParams) (any, error) {
	type highlight struct {
		Range protocol.Range `json:"range"`
		Kind  int            `json:"kind"`
	}
	const read, write = 2, 3
	list := []highlight{}
	m, o := q.at(p)
	if o == nil {
		return list, nil
	}
	path := project.Path(p.TextDocument.URI)
	text := q.Text(path)
	for _, other := range m.Occurrences {
		if other.Is(o.Target) && other.Range.Filename == path {
			kind := read
			if other.Definition {
				kind = write
			}
			list = append(list, highlight{rangeOf(text, other.Range), kind})
		}
	}
	return list, nil
}

func symbolKinds() map[symbols.Kind]int {
	return map[symbols.Kind]int{
		symbols.Variable: protocol.SymbolVariable, symbols.Local: protocol.SymbolConstant, symbols.Output: protocol.SymbolProperty,
		symbols.Resource: protocol.SymbolClass, symbols.Data: protocol.SymbolInterface, symbols.Temporal: protocol.SymbolInterface,
		symbols.Call: protocol.SymbolModule, symbols.Provider: protocol.SymbolNamespace, "action": protocol.SymbolFunction, "list": protocol.SymbolInterface,
	}
}

func (q *request) documentSymbols(p protocol.DocumentParams) (any, error) {
	list := []protocol.Symbol{}
	path := project.Path(p.TextDocument.URI)
	m, text := q.Module(q, filepath.Dir(path)), q.Text(path)
	if m == nil || text == nil {
		return list, nil
	}
	for _, o := range m.Occurrences {
		if o.Definition && o.Range.Filename == path {
			whole := o.Whole
			whole.Start.Byte, whole.End.Byte = min(whole.Start.Byte, o.Range.Start.Byte), max(whole.End.Byte, o.Range.End.Byte)
			list = append(list, protocol.Symbol{Name: o.Name, Detail: string(o.Kind), Kind: symbolKinds()[o.Kind], Range: rangeOf(text, whole), SelectionRange: rangeOf(text, o.Range)})
		}
	}
	return list, nil
}

// mostSymbols is how many symbols an answer has: nobody reads more.
const mostSymbols = 500

func (q *request) workspaceSymbols(p protocol.WorkspaceSymbolParams) (any, error) {
	list := []protocol.WorkspaceSymbol{}
	query := strings.ToLower(p.Query)
	for _, dir := range q.Directories(q) {
		o := q.Outline(q, dir)
		if o == nil {
			continue
		}
		for _, s := range o.Symbols {
			if !strings.Contains(strings.ToLower(s.Name), query) {
				continue
			}
			text := q.Text(s.Range.Filename)
			if text == nil {
				continue
			}
			list = append(list, protocol.WorkspaceSymbol{Name: s.Name, Kind: symbolKinds()[s.Kind], ContainerName: q.relative(dir),
				Location: protocol.Location{URI: q.URI(s.Range.Filename), Range: rangeOf(text, s.Range)}})
			if len(list) == mostSymbols {
				return list, nil
			}
		}
	}
	return list, nil
}

// relative is a path as seen from the folder that it is in.
func (q *request) relative(path string) string {
	for _, folder := range q.Dirs {
		if rel, err := filepath.Rel(folder, path); err == nil && !strings.HasPrefix(rel, "..") {
			return filepath.ToSlash(rel)
		}
	}
	return path
}
