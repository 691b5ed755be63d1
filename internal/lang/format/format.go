// Package format formats configuration files in the standard layout.
//
// It owns what the layout is, which files of a directory have it, and how to
// show the difference. It changes whitespace and four old ways of writing:
//
//   - a string that is nothing but one interpolation becomes the expression
//   - a quoted type of a variable, or a collection type without a type of its
//     elements, becomes a type expression
//   - labels of blocks are put in quotes
//   - comments among labels go
//
// It doesn't touch files with syntax errors, because they may be laid out quite differently
// from what their author meant, and it writes no files.
package format

import (
	"bytes"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/syntax"
)

// Source lays out a file in native syntax. One that has syntax errors comes
// back as it is. Laying out the result again doesn't change it.
func Source(src []byte, filename string) []byte {
	ret, _ := Check(src, filename)
	return ret
}

// Check is Source that also reports the problems of a file that it doesn't change.
//
// A large file is laid out piece by piece, because tokens take a hundred times the room of
// their text. The layout of a top-level block doesn't follow from others: alignment ends at
// blank lines and closing braces.
func Check(src []byte, filename string) ([]byte, diag.List) {
	whole := func() ([]byte, diag.List) {
		out, _, diags := check(src, filename)
		return out, diags
	}
	if len(src) <= large {
		return whole()
	}
	out := make([]byte, 0, len(src)+len(src)/8)
	known := map[string]bool{}
	for rest := src; len(rest) > 0; {
		n, done, names := pieceOf(rest, filename)
		if n == 0 {
			return whole() // it has problems, whose lines are those of the file
		}
		for _, name := range names {
			if known[name] {
				return whole() // says that an attribute is there twice
			}
			known[name] = true
		}
		out = append(out, done...)
		rest = rest[n:]
	}
	return out, nil
}

// large is the length of a piece in bytes; tries is how often one is made longer because it
// ended in the middle of something, such as the text of a heredoc.
const (
	large = 64 << 10
	tries = 12
)

// pieceOf is how long the first piece of a text is that can be read alone, its layout, and the
// attributes in it that aren't in blocks. It is 0 if the text has problems.
func pieceOf(text []byte, filename string) (n int, done []byte, names []string) {
	size := large
	for range tries {
		if size < len(text) {
			size += cut(text[size:])
		}
		if size >= len(text) {
			break
		}
		if done, names, diags := check(text[:size], filename); len(diags) == 0 {
			return size, done, names
		}
		size *= 2
	}
	if done, names, diags := check(text, filename); len(diags) == 0 {
		return len(text), done, names
	}
	return 0, nil, nil
}

// cut is where the first line of a text begins that a piece may begin with: one that isn't
// indented, after a blank line or a closing brace.
func cut(text []byte) int {
	for at := 0; ; {
		n := bytes.IndexByte(text[at:], '\n')
		if n < 0 || at+n+1 == len(text) {
			return len(text)
		}
		line := bytes.TrimRight(text[at:at+n], "\r")
		at += n + 1
		// The first line of the text may be the end of one.
		if at > n+1 && (len(line) == 0 || string(line) == "}") && hclsyntax.ValidIdentifier(string(text[at:at+1])) {
			return at
		}
	}
}

// check lays out a text as a whole, and says which attributes are in no block.
func check(src []byte, filename string) (out []byte, names []string, diags diag.List) {
	file, diags := syntax.Parse(filename, src)
	body, native := file.Body.(*hclsyntax.Body)
	if diags.HasErrors() || !native {
		return src, nil, diags
	}
	e := &editor{src: src}
	e.body(body, nil)
	edited := e.apply()
	if len(e.edits) > 0 {
		// Edits are made of tokens, by rules of thumb. None is worth a file
		// that can't be read any more.
		if _, broken := hclsyntax.ParseConfig(edited, filename, hcl.InitialPos); broken.HasErrors() {
			edited = src
		}
	}
	return hclwrite.Format(edited), slices.Collect(maps.Keys(body.Attributes)), diags
}

// An edit replaces a part of the source.
type edit struct {
	from, to int
	text     []byte
}

type editor struct {
	src   []byte
	edits []edit
}

func (e *editor) replace(from, to int, text []byte) {
	e.edits = append(e.edits, edit{from, to, text})
}

func (e *editor) apply() []byte {
	if len(e.edits) == 0 {
		return e.src
	}
	slices.SortFunc(e.edits, func(a, b edit) int { return a.from - b.from })
	ret := make([]byte, 0, len(e.src))
	at := 0
	for _, edit := range e.edits {
		ret = append(ret, e.src[at:edit.from]...)
		ret = append(ret, edit.text...)
		at = edit.to
	}
	return append(ret, e.src[at:]...)
}

// body looks for old ways of writing in a body. blocks are the types of the
// blocks around it.
func (e *editor) body(body *hclsyntax.Body, blocks []string) {
	isVariable := len(blocks) == 1 && blocks[0] == "variable"
	for name, attr := range body.Attributes {
		rng := attr.Expr.Range()
		from, to := rng.Start.Byte, rng.End.Byte
		text := e.src[from:to]
		var better []byte
		if isVariable && name == "type" {
			better = typeExpr(text)
		} else if _, ok := attr.Expr.(*hclsyntax.TemplateWrapExpr); ok {
			better = unwrap(text)
		}
		if better != nil {
			e.replace(from, to, better)
		}
	}
	for _, block := range body.Blocks {
		e.labels(block)
		e.body(block.Body, append(blocks, block.Type))
	}
}

// labels puts the labels of a block in quotes, one space apart.
func (e *editor) labels(block *hclsyntax.Block) {
	if len(block.Labels) == 0 {
		return
	}
	from, to := block.TypeRange.End.Byte, block.OpenBraceRange.Start.Byte
	var want bytes.Buffer
	for _, label := range block.Labels {
		want.WriteByte(' ')
		want.Write(hclwrite.TokensForValue(cty.StringVal(label)).Bytes())
	}
	have := e.src[from:to]
	if bytes.Equal(bytes.TrimRight(have, " \t"), want.Bytes()) || e.labelsAre(block, want.Bytes()) {
		return
	}
	want.WriteByte(' ')
	e.replace(from, to, want.Bytes())
}

// labelsAre reports whether only the space between the labels is different,
// which is left to the layout.
func (e *editor) labelsAre(block *hclsyntax.Block, want []byte) bool {
	at := block.TypeRange.End.Byte
	var have []byte
	for _, rng := range append(slices.Clone(block.LabelRanges), block.OpenBraceRange) {
		if len(bytes.Trim(e.src[at:rng.Start.Byte], " \t")) > 0 {
			return false
		}
		at = rng.End.Byte
		if rng != block.OpenBraceRange {
			have = append(append(have, ' '), e.src[rng.Start.Byte:at]...)
		}
	}
	return bytes.Equal(have, want)
}

// typeExpr gives the modern form of an old type constraint, nil for any other.
func typeExpr(text []byte) []byte {
	switch string(text) {
	case "list", "map", "set":
		return []byte(string(text) + "(any)")
	case `"string"`:
		return []byte("string")
	case `"list"`, `"map"`:
		// Elements were strings when types were written like that.
		return []byte(string(text[1:len(text)-1]) + "(string)")
	}
	return nil
}

// unwrap takes "${x}" apart, again and again if x is such a string itself. It
// gives nil if there is no safe way.
func unwrap(text []byte) []byte {
	inner := unwrapOnce(text)
	if inner == nil {
		return nil
	}
	expr, diags := hclsyntax.ParseExpression(inner, "", hcl.InitialPos)
	if diags.HasErrors() {
		return nil
	}
	if _, ok := expr.(*hclsyntax.TemplateWrapExpr); ok {
		from, to := expr.Range().Start.Byte, expr.Range().End.Byte
		if further := unwrap(inner[from:to]); further != nil {
			return slices.Concat(inner[:from], further, inner[to:])
		}
	}
	return inner
}

func unwrapOnce(text []byte) []byte {
	tokens, diags := hclsyntax.LexExpression(text, "", hcl.InitialPos)
	if diags.HasErrors() {
		return nil
	}
	tokens = tokens[:len(tokens)-1] // the end of the file
	n := len(tokens)
	if n < 5 || tokens[0].Type != hclsyntax.TokenOQuote || tokens[1].Type != hclsyntax.TokenTemplateInterp ||
		tokens[n-2].Type != hclsyntax.TokenTemplateSeqEnd || tokens[n-1].Type != hclsyntax.TokenCQuote {
		return nil
	}
	inside := tokens[2 : n-2]
	if !isSingle(inside) {
		return nil
	}
	for len(inside) > 0 && inside[0].Type == hclsyntax.TokenNewline {
		inside = inside[1:]
	}
	for len(inside) > 0 && inside[len(inside)-1].Type == hclsyntax.TokenNewline {
		inside = inside[:len(inside)-1]
	}
	if len(inside) == 0 {
		return nil
	}
	inner := text[inside[0].Range.Start.Byte:inside[len(inside)-1].Range.End.Byte]
	if hasLines(inside) && !inParens(inside) {
		return slices.Concat([]byte("("), inner, []byte(")"))
	}
	return inner
}

// isSingle reports whether no other template sequence and no literal text
// stands beside the one interpolation. Those within nested quotes are part of
// it. In doubt the answer is no.
func isSingle(tokens hclsyntax.Tokens) bool {
	quotes := 0
	for _, token := range tokens {
		switch token.Type {
		case hclsyntax.TokenOQuote:
			quotes++
		case hclsyntax.TokenCQuote:
			quotes--
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateSeqEnd, hclsyntax.TokenQuotedLit:
			if quotes == 0 {
				return false
			}
		}
	}
	return true
}

// hasLines reports whether an expression goes over several lines, which only
// brackets allow. A comment may end its last line.
func hasLines(tokens hclsyntax.Tokens) bool {
	return slices.ContainsFunc(tokens[:len(tokens)-1], func(token hclsyntax.Token) bool {
		return token.Type == hclsyntax.TokenNewline ||
			token.Type == hclsyntax.TokenComment && bytes.HasSuffix(token.Bytes, []byte("\n"))
	})
}

// inParens reports whether one pair of parentheses holds the whole expression.
func inParens(tokens hclsyntax.Tokens) bool {
	depth := 0
	for i, token := range tokens {
		switch token.Type {
		case hclsyntax.TokenOParen:
			depth++
		case hclsyntax.TokenCParen:
			depth--
		}
		if depth == 0 {
			return i == len(tokens)-1 && token.Type == hclsyntax.TokenCParen
		}
	}
	return false
}
