package syntax

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/diag"
)

// The native parser is recursive, and so is everything that walks its trees. A
// bracket weighs more than an operator in a chain because it costs the parser
// about ten frames.
const (
	maxDepth      = 10_000
	bracketWeight = 10
	maxBrackets   = maxDepth / bracketWeight
)

type lexer func(src []byte, name string, start hcl.Pos) (hclsyntax.Tokens, hcl.Diagnostics)

func lexFile(src []byte, name string, start hcl.Pos) (hclsyntax.Tokens, hcl.Diagnostics) {
	return hclsyntax.LexConfig(src, name, start)
}

func lexExpression(src []byte, name string, start hcl.Pos) (hclsyntax.Tokens, hcl.Diagnostics) {
	return hclsyntax.LexExpression(src, name, start)
}

func lexTemplate(src []byte, name string, start hcl.Pos) (hclsyntax.Tokens, hcl.Diagnostics) {
	return hclsyntax.LexTemplate(src, name, start)
}

// checkDepth rejects text that nests too deeply to be parsed. Text with too few characters
// that could nest isn't looked at twice.
func checkDepth(name string, src []byte, lex lexer) (diag.Diagnostic, bool) {
	weight := 0
	for _, c := range src {
		switch c {
		case '(', '[', '{':
			weight += bracketWeight
		case '!', '-', '?', '+', '*', '/', '%', '<', '>', '=', '&', '|', '.':
			weight++
		}
	}
	if weight < maxDepth {
		return diag.Diagnostic{}, false
	}
	tokens, _ := lex(src, name, hcl.InitialPos)
	d := depthMeter{levels: []level{{template: startsInTemplate(tokens)}}}
	for i, t := range tokens {
		if d.token(t, tokens[i+1:]) > maxDepth {
			return diag.Diagnostic{
				Code: Invalid.Name, Summary: "Too deeply nested",
				Detail:  "This is nested more deeply than 1000 brackets, or joins more than 10000 operators in one expression. Split it up, for instance with local values.",
				Subject: t.Range.Ptr(),
			}, true
		}
	}
	return diag.Diagnostic{}, false
}

// checkFileDepth is checkDepth for a file.
func checkFileDepth(name string, src []byte) (diag.Diagnostic, bool) {
	if bound, ok := depthBound(src); ok && bound < maxDepth {
		return diag.Diagnostic{}, false
	}
	return checkDepth(name, src, lexFile)
}

// startsInTemplate reports whether the text is a bare template.
func startsInTemplate(tokens hclsyntax.Tokens) bool {
	if len(tokens) == 0 {
		return false
	}
	switch tokens[0].Type {
	case hclsyntax.TokenStringLit, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		return true
	}
	return false
}

// A level is an open bracket: the weight of everything that encloses it, and
// what operators since its last separator add.
type level struct {
	base, chain int
	braces      bool // newlines separate
	template    bool // parts stand side by side
	directives  int  // open template directives
}

type depthMeter struct{ levels []level }

func (d *depthMeter) token(t hclsyntax.Token, rest hclsyntax.Tokens) int {
	top := &d.levels[len(d.levels)-1]
	switch t.Type {
	case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote,
		hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		if t.Type == hclsyntax.TokenTemplateControl {
			top.directive(rest)
		}
		if !top.template {
			top.chain++ // an index or call is a link of a chain as well
		}
		d.levels = append(d.levels, level{
			base:     top.base + top.chain + top.directives*bracketWeight + bracketWeight,
			braces:   t.Type == hclsyntax.TokenOBrace,
			template: t.Type == hclsyntax.TokenOQuote || t.Type == hclsyntax.TokenOHeredoc,
		})
		top = &d.levels[len(d.levels)-1]
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote,
		hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
		if len(d.levels) > 1 {
			d.levels = d.levels[:len(d.levels)-1]
			top = &d.levels[len(d.levels)-1]
		}
	case hclsyntax.TokenComma:
		top.chain = 0
	case hclsyntax.TokenNewline, hclsyntax.TokenComment:
		// A comment to the end of a line has the line's end in it.
		if (top.braces || len(d.levels) == 1) && bytes.HasSuffix(t.Bytes, []byte("\n")) {
			top.chain = 0
		}
	case hclsyntax.TokenIdent, hclsyntax.TokenNumberLit, hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit:
	default:
		top.chain++
	}
	return top.base + top.chain + top.directives*bracketWeight
}

// directive counts the template directive that begins.
func (l *level) directive(rest hclsyntax.Tokens) {
	if len(rest) == 0 || rest[0].Type != hclsyntax.TokenIdent {
		return
	}
	switch string(rest[0].Bytes) {
	case "if", "for":
		l.directives++
	case "endif", "endfor":
		l.directives = max(0, l.directives-1)
	}
}
