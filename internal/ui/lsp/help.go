package lsp

import (
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/symbols"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/ui/lsp/assist"
	"weir.dev/weir/internal/ui/lsp/project"
	"weir.dev/weir/internal/ui/lsp/protocol"
	"weir.dev/weir/internal/ui/lsp/textdoc"
	"weir.dev/weir/internal/ui/view"
)

// scope is what is known in a module.
func (q *request) scope(m *project.Module) *assist.Scope {
	return &assist.Scope{
		Program: m.Program, Whole: m.Whole.Program,
		Called: func(call string) *program.Program {
			if dir, ok := m.Whole.Calls[call]; ok {
				if child := q.Module(q, dir); child != nil {
					return child.Whole.Program
				}
			}
			return nil
		},
		Schemas:   func(p addr.Provider) *provider.Schemas { return q.Schemas(m.Dir, p) },
		Versions:  func(p addr.Provider) []string { return q.Versions(q, m.Dir, p) },
		Installed: func(call string) string { return m.Whole.Versions[call] },
	}
}

// place is the text, offset and module of a place in native syntax; false for others.
func (q *request) place(p protocol.PositionParams) (*textdoc.Text, int, *project.Module, bool) {
	path := project.Path(p.TextDocument.URI)
	text, m := q.Text(path), q.Typed(q, path, p.Position.Line)
	if text == nil || m == nil || syntax.IsJSON(path) || !q.IsConfig(path) {
		return nil, 0, nil, false
	}
	return text, text.Offset(p.Position), m, true
}

func (q *request) completion(p protocol.PositionParams) (any, error) {
	out := protocol.CompletionList{Items: []protocol.CompletionItem{}}
	if path := project.Path(p.TextDocument.URI); isSettings(path) {
		if text := q.Text(path); text != nil {
			out.Items = settingNames(string(text.Line(p.Position.Line)))
		}
		return out, nil
	}
	text, offset, m, ok := q.place(p)
	if !ok {
		return out, nil
	}
	c := assist.At(text.Bytes, offset)
	at := text.Range(c.Start, offset)
	snippets := q.client.TextDocument.Completion.CompletionItem.SnippetSupport
	for _, item := range assist.Complete(c, q.scope(m)) {
		filter := item.Insert
		if !strings.HasPrefix(strings.ToLower(filter), strings.ToLower(c.Word[:min(1, len(c.Word))])) {
			continue
		}
		entry := protocol.CompletionItem{Label: item.Label, Kind: item.Kind, Detail: item.Detail, Deprecated: item.Old, FilterText: filter,
			SortText: fmt.Sprintf("%d%s", item.Rank, item.Label), InsertTextFormat: protocol.PlainText, TextEdit: &protocol.TextEdit{Range: at, NewText: item.Insert}}
		if snippets && item.Snippet != "" {
			entry.InsertTextFormat, entry.TextEdit.NewText = protocol.Snippet, item.Snippet
		}
		if item.Doc != "" {
			entry.Documentation = &protocol.Markup{Kind: "markdown", Value: item.Doc}
		}
		out.Items = append(out.Items, entry)
	}
	return out, nil
}

func (q *request) signature(p protocol.PositionParams) (any, error) {
	text, offset, m, ok := q.place(p)
	if !ok {
		return nil, nil
	}
	label, about, parameters, active, ok := assist.Signature(assist.At(text.Bytes, offset), q.scope(m))
	if !ok {
		return nil, nil
	}
	s := protocol.Signature{Label: label, Documentation: about, Parameters: []protocol.Parameter{}}
	for _, name := range parameters {
		s.Parameters = append(s.Parameters, protocol.Parameter{Label: name})
	}
	return protocol.SignatureHelp{Signatures: []protocol.Signature{s}, ActiveParameter: active}, nil
}

func (q *request) hover(p protocol.PositionParams) (any, error) {
	if m, o := q.at(p); o != nil {
		home, ok := q.Home(q, m, o.Target)
		if !ok {
			return nil, nil
		}
		in := q.Module(q, home.Dir)
		if in == nil {
			return nil, nil
		}
		about := q.scope(in).Declaration(home.Target)
		if value := q.value(m, o); value != "" {
			about += "\n\nIn the state:\n\n```\n" + value + "\n```"
		}
		if about == "" {
			return nil, nil
		}
		at := rangeOf(q.Text(o.Range.Filename), o.Range)
		return protocol.Hover{Contents: protocol.Markup{Kind: "markdown", Value: about}, Range: &at}, nil
	}
	text, offset, m, ok := q.place(p)
	if !ok {
		return nil, nil
	}
	for offset < len(text.Bytes) && isName(text.Bytes[offset]) { // to the end of the word
		offset++
	}
	if about := q.scope(m).Written(assist.At(text.Bytes, offset)); about != "" {
		return protocol.Hover{Contents: protocol.Markup{Kind: "markdown", Value: about}}, nil
	}
	return nil, nil
}

func isName(b byte) bool {
	return b == '_' || b == '-' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}

// mostShown is how long a value in the state may be that is shown.
const mostShown = 4000

// value is what a declaration of a root module is in the state of that module; empty where
// that isn't known.
func (q *request) value(m *project.Module, o *symbols.Occurrence) string {
	expr := o.Name
	switch o.Kind {
	case symbols.Resource, symbols.Data, symbols.Local:
	case symbols.Output:
		if len(o.Through) == 0 {
			return ""
		}
		expr = "module." + o.Through[0] + "." + o.Label()
	default:
		return ""
	}
	if len(o.Through) > 0 && o.Kind != symbols.Output {
		return ""
	}
	k, _ := q.console(m)
	if k == nil {
		return ""
	}
	defer k.Close()
	v, ok := known(k, expr)
	if !ok {
		return ""
	}
	shown := q.options.Outside.Secrets.Mask(view.Value(v, 0))
	if len(shown) > mostShown {
		shown = shown[:mostShown] + "\n…"
	}
	return shown
}

// console evaluates expressions with the state of a root module, which it returns too. Both are
// nil where no file of this machine has a state with objects.
func (q *request) console(m *project.Module) (*engine.Console, *state.Snapshot) {
	s, config := q.State(q, m.Dir)
	if s == nil || s.IsEmpty() || config.Tree == nil {
		return nil, nil
	}
	k, _ := engine.NewConsole(q, config, s)
	return k, s
}

// known evaluates an expression; false if its value is null, unknown or an error.
func known(k *engine.Console, expr string) (cty.Value, bool) {
	v, diags := k.Eval(expr)
	plain, _ := v.Unmark()
	return v, !diags.HasErrors() && plain != cty.NilVal && plain.IsKnown() && !plain.IsNull()
}
