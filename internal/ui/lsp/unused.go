package lsp

import (
	"context"
	"fmt"
	"path/filepath"

	"weir.dev/weir/internal/lang/symbols"
	"weir.dev/weir/internal/ui/lsp/project"
	"weir.dev/weir/internal/ui/lsp/protocol"
	"weir.dev/weir/internal/ui/lsp/textdoc"
)

// unusedCode is the code of declarations that nothing in their module refers to.
const unusedCode = "unused"

// unused are hints at the variables and local values of a file that nothing refers to. A module with
// errors of syntax has none, because a reference may be where it can't be read.
func unused(ctx context.Context, v *project.View, path string, text *textdoc.Text) []protocol.Diagnostic {
	m := v.Module(ctx, filepath.Dir(path))
	if m == nil || m.Source.Partial || text == nil {
		return nil
	}
	used := map[string]bool{}
	for _, o := range m.Occurrences {
		if !o.Definition && len(o.Through) == 0 {
			used[o.Name] = true
		}
	}
	var list []protocol.Diagnostic
	for _, o := range m.Occurrences {
		if o.Definition && o.Range.Filename == path && !used[o.Name] && (o.Kind == symbols.Variable || o.Kind == symbols.Local) {
			list = append(list, protocol.Diagnostic{
				Range: rangeOf(text, o.Range), Severity: protocol.SeverityHint, Code: unusedCode, Source: source,
				Message: fmt.Sprintf("Nothing in this module refers to %s.", o.Name), Tags: []int{protocol.TagUnnecessary},
			})
		}
	}
	return list
}

// removal takes out the declaration at a byte, unless a call of its module sets it.
func (q *request) removal(path string, at int) *edits {
	m := q.Module(q, filepath.Dir(path))
	text := q.Text(path)
	if m == nil || text == nil {
		return nil
	}
	o := m.At(path, at)
	if o == nil || !o.Definition {
		return nil
	}
	for _, place := range q.Places(q, project.Home{Dir: m.Dir, Target: o.Target}) {
		if !place.Definition {
			return nil
		}
	}
	start, end := withComments(text.Bytes, o.Whole.Start.Byte), o.Whole.End.Byte
	for start > 0 && (text.Bytes[start-1] == ' ' || text.Bytes[start-1] == '\t') {
		start--
	}
	for end < len(text.Bytes) && text.Bytes[end] == '\n' {
		end++
	}
	e := q.edits()
	e.replace(path, start, end, "")
	return e
}
