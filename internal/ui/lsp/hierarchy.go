package lsp

import (
	"path/filepath"
	"slices"

	"weir.dev/weir/internal/lang/symbols"
	"weir.dev/weir/internal/ui/lsp/project"
	"weir.dev/weir/internal/ui/lsp/protocol"
)

// prepareHierarchy is the module that a call loads, or else the one that a place stands in.
func (q *request) prepareHierarchy(p protocol.PositionParams) (any, error) {
	m, o := q.at(p)
	if m == nil {
		return nil, nil
	}
	dir := m.Dir
	if o != nil && o.Kind == symbols.Call && len(o.Through) == 0 {
		if called, ok := m.Calls[o.Label()]; ok {
			dir = called
		}
	}
	item, ok := q.hierarchyItem(dir)
	if !ok {
		return nil, nil
	}
	return []protocol.HierarchyItem{item}, nil
}

// hierarchyItem stands for a module: the beginning of its first file.
func (q *request) hierarchyItem(dir string) (protocol.HierarchyItem, bool) {
	m := q.Module(q, dir)
	if m == nil || len(m.Source.Files) == 0 {
		return protocol.HierarchyItem{}, false
	}
	file := m.Source.Files[0].Name
	for _, f := range m.Source.Files {
		if filepath.Base(f.Name) == "main.tf" {
			file = f.Name
		}
	}
	return protocol.HierarchyItem{Name: q.relative(dir), Kind: protocol.SymbolModule, URI: q.URI(file)}, true
}

// hierarchyDir is the directory of an item.
func hierarchyDir(p protocol.HierarchyParams) string { return filepath.Dir(project.Path(p.Item.URI)) }

func (q *request) incomingCalls(p protocol.HierarchyParams) (any, error) {
	list := []protocol.IncomingCall{}
	dir := hierarchyDir(p)
	for _, caller := range q.Callers(q, dir) {
		if item, ok := q.hierarchyItem(caller); ok {
			list = append(list, protocol.IncomingCall{From: item, Ranges: q.callRanges(caller, dir, item.URI)})
		}
	}
	return list, nil
}

func (q *request) outgoingCalls(p protocol.HierarchyParams) (any, error) {
	list := []protocol.OutgoingCall{}
	dir := hierarchyDir(p)
	m := q.Module(q, dir)
	if m == nil {
		return list, nil
	}
	var called []string
	for _, c := range m.Program.Calls { // in the order of the text
		if to, ok := m.Calls[c.Name]; ok && !slices.Contains(called, to) {
			called = append(called, to)
		}
	}
	for _, to := range called {
		if item, ok := q.hierarchyItem(to); ok {
			list = append(list, protocol.OutgoingCall{To: item, Ranges: q.callRanges(dir, to, p.Item.URI)})
		}
	}
	return list, nil
}

// callRanges are the labels of the calls from one module to another, in the file that stands for
// the caller. Editors show ranges in that file only.
func (q *request) callRanges(from, to, uri string) []protocol.Range {
	list := []protocol.Range{}
	m := q.Module(q, from)
	if m == nil {
		return list
	}
	for _, o := range m.Occurrences {
		if o.Definition && o.Kind == symbols.Call && m.Calls[o.Label()] == to && q.URI(o.Range.Filename) == uri {
			list = append(list, rangeOf(q.Text(o.Range.Filename), o.Range))
		}
	}
	return list
}
