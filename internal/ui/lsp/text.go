package lsp

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/ui/lsp/protocol"
	"weir.dev/weir/internal/ui/lsp/textdoc"
)

// body is the tree of a document in native syntax, whatever its kind, or nil.
func (q *request) body(uri string) (*textdoc.Text, *hclsyntax.Body) {
	d := q.Doc(uri)
	if d == nil {
		return nil, nil
	}
	f, _ := syntax.Parse(d.Path, d.Text.Bytes)
	b, _ := f.Body.(*hclsyntax.Body)
	return d.Text, b
}

func (q *request) folding(p protocol.DocumentParams) (any, error) {
	list := []protocol.FoldingRange{}
	text, body := q.body(p.TextDocument.URI)
	if body == nil {
		return list, nil
	}
	add := func(r hcl.Range, kind string) {
		at := rangeOf(text, r)
		if at.End.Line > at.Start.Line {
			list = append(list, protocol.FoldingRange{StartLine: at.Start.Line, EndLine: at.End.Line - 1, Kind: kind})
		}
	}
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.Block:
			add(hcl.RangeBetween(n.OpenBraceRange, n.CloseBraceRange), "")
		case *hclsyntax.ObjectConsExpr, *hclsyntax.TupleConsExpr, *hclsyntax.FunctionCallExpr:
			add(n.Range(), "")
		}
		return nil
	})
	// Comments of several lines.
	first, last := -1, -1
	for _, t := range q.lex(p.TextDocument.URI) {
		if t.Type != hclsyntax.TokenComment {
			continue
		}
		at := rangeOf(text, t.Range)
		end := at.End.Line
		if at.End.Character == 0 && end > at.Start.Line {
			end--
		}
		if at.Start.Line == last+1 {
			last = end
			continue
		}
		if last > first {
			list = append(list, protocol.FoldingRange{StartLine: first, EndLine: last, Kind: "comment"})
		}
		first, last = at.Start.Line, end
	}
	if last > first {
		list = append(list, protocol.FoldingRange{StartLine: first, EndLine: last, Kind: "comment"})
	}
	slices.SortFunc(list, func(a, b protocol.FoldingRange) int { return a.StartLine - b.StartLine })
	return list, nil
}

func (q *request) lex(uri string) hclsyntax.Tokens {
	d := q.Doc(uri)
	if d == nil || syntax.IsJSON(d.Path) {
		return nil
	}
	tokens, _ := hclsyntax.LexConfig(d.Text.Bytes, d.Path, hcl.InitialPos)
	return tokens
}

func (q *request) selection(p protocol.SelectionParams) (any, error) {
	list := []protocol.SelectionRange{}
	text, body := q.body(p.TextDocument.URI)
	for _, at := range p.Positions {
		if text == nil {
			continue
		}
		var around []hcl.Range
		if body != nil {
			offset := text.Offset(at)
			_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
				r := n.Range()
				if b, ok := n.(*hclsyntax.Block); ok {
					r = hcl.RangeBetween(b.TypeRange, b.CloseBraceRange)
				}
				if r.Start.Byte <= offset && offset <= r.End.Byte {
					around = append(around, r)
				}
				return nil
			})
			slices.SortStableFunc(around, func(a, b hcl.Range) int {
				return (b.End.Byte - b.Start.Byte) - (a.End.Byte - a.Start.Byte)
			})
		}
		// Each range contains the next, or the protocol's rule is broken.
		current := &protocol.SelectionRange{Range: text.Whole()}
		inside := hcl.Range{End: hcl.Pos{Byte: len(text.Bytes)}}
		for _, r := range around {
			if r.Start.Byte < inside.Start.Byte || r.End.Byte > inside.End.Byte || r.Start.Byte == inside.Start.Byte && r.End.Byte == inside.End.Byte {
				continue
			}
			inside = r
			current = &protocol.SelectionRange{Range: rangeOf(text, r), Parent: current}
		}
		list = append(list, *current)
	}
	return list, nil
}

// The kinds of tokens that the server reports, in the order of their numbers.
var tokenTypes = []string{"type", "property", "variable", "function", "string", "number", "keyword", "comment", "namespace", "parameter", "operator"}

const (
	tokenType = iota
	tokenProperty
	tokenVariable
	tokenFunction
	tokenString
	tokenNumber
	tokenKeyword
	tokenComment
	tokenNamespace
)

// tokens says what each word of a document is: a parser knows more than patterns do.
func (q *request) tokens(p protocol.DocumentParams) (any, error) {
	text, body := q.body(p.TextDocument.URI)
	if body == nil {
		return protocol.SemanticTokens{Data: []int{}}, nil
	}
	meaning := map[int]int{} // by the byte that a word begins at
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.Block:
			meaning[n.TypeRange.Start.Byte] = tokenType
			for _, l := range n.LabelRanges {
				meaning[l.Start.Byte] = tokenNamespace
			}
		case *hclsyntax.Attribute:
			meaning[n.NameRange.Start.Byte] = tokenProperty
		case *hclsyntax.FunctionCallExpr:
			meaning[n.NameRange.Start.Byte] = tokenFunction
		case *hclsyntax.ScopeTraversalExpr:
			for i, step := range n.Traversal {
				at := step.SourceRange().Start.Byte
				if i > 0 {
					at++ // the dot
					meaning[at] = tokenProperty
				} else {
					meaning[at] = tokenVariable
				}
			}
		case *hclsyntax.ObjectConsKeyExpr:
			meaning[n.Range().Start.Byte] = tokenProperty
		}
		return nil
	})
	out := protocol.SemanticTokens{Data: []int{}}
	var last protocol.Position
	add := func(r hcl.Range, kind int) {
		at := rangeOf(text, r)
		if at.Start.Line != at.End.Line { // editors take no tokens of several lines
			return
		}
		delta := at.Start.Character
		if at.Start.Line == last.Line {
			delta -= last.Character
		}
		out.Data = append(out.Data, at.Start.Line-last.Line, delta, at.End.Character-at.Start.Character, kind, 0)
		last = at.Start
	}
	for _, t := range q.lex(p.TextDocument.URI) {
		kind, known := meaning[t.Range.Start.Byte]
		switch t.Type {
		case hclsyntax.TokenIdent:
			switch string(t.Bytes) {
			case "true", "false", "null", "for", "in", "if":
				if !known || kind == tokenVariable {
					kind, known = tokenKeyword, true
				}
			}
			if known {
				add(t.Range, kind)
			}
		case hclsyntax.TokenNumberLit:
			add(t.Range, tokenNumber)
		case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit:
			if k, label := meaning[t.Range.Start.Byte-1]; label && k == tokenNamespace {
				add(t.Range, tokenNamespace)
			} else {
				add(t.Range, tokenString)
			}
		case hclsyntax.TokenComment:
			r := t.Range
			for r.End.Byte > r.Start.Byte && (text.Bytes[r.End.Byte-1] == '\n' || text.Bytes[r.End.Byte-1] == '\r') {
				r.End.Byte--
			}
			add(r, tokenComment)
		}
	}
	return out, nil
}
