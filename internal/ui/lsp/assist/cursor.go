// Package assist proposes what may be written at a place of a configuration, and says what is
// known of what is written there: types, schemas, signatures.
//
// It works with text that isn't finished. It reads no files: packages of the session give it
// compiled modules and schemas.
package assist

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/lazyregexp"
)

// A kind is what a frame is.
type kind uint8

const (
	inBlock kind = iota + 1
	inObject
	inCall
	inBrackets
	inQuotes
	inTemplate
)

// A frame is something that was opened before the cursor and isn't closed.
type frame struct {
	kind   kind
	typ    string   // of a block
	labels []string // of a block
	attr   string   // the argument, or key of an object, whose value the cursor is in
	set    []string // the arguments and blocks of a block before the cursor
	called string   // the function of a call
	arg    int      // the argument of a call
}

// A Cursor is a place in a text with what stands around it.
type Cursor struct {
	frames []frame
	// statement is what stands before the cursor in an unfinished line of a block.
	statement []string
	// Word is the part of a reference or name before the cursor, and Start where it begins.
	Word  string
	Start int
}

var wordEnd = lazyregexp.New(`[\pL\pN_.\-\[\]"*:]*$`)

// At is the cursor at a byte of a text in native syntax.
func At(src []byte, offset int) *Cursor {
	offset = max(0, min(offset, len(src)))
	c := &Cursor{}
	tokens, _ := hclsyntax.LexConfig(src[:offset], "", hcl.InitialPos)
	c.frames = []frame{{kind: inBlock}}
	var line []hclsyntax.Token // of the statement in a block
	var lines [][]hclsyntax.Token
	top := func() *frame { return &c.frames[len(c.frames)-1] }
	push := func(f frame) {
		c.frames = append(c.frames, f)
		lines = append(lines, line)
		line = nil
	}
	pop := func(kinds ...kind) {
		for i := len(c.frames) - 1; i > 0; i-- {
			for _, k := range kinds {
				if c.frames[i].kind == k {
					line = lines[i-1]
					c.frames, lines = c.frames[:i], lines[:i-1]
					return
				}
			}
		}
	}
	for _, t := range tokens {
		f := top()
		switch t.Type {
		case hclsyntax.TokenEOF, hclsyntax.TokenComment:
			if t.Type == hclsyntax.TokenComment && strings.HasSuffix(string(t.Bytes), "\n") && (f.kind == inBlock || f.kind == inObject) {
				line, f.attr = nil, ""
			}
			continue
		case hclsyntax.TokenNewline:
			if f.kind == inBlock || f.kind == inObject {
				line, f.attr = nil, ""
			}
			continue
		case hclsyntax.TokenComma:
			if f.kind == inCall {
				f.arg++
			}
			if f.kind == inObject {
				line, f.attr = nil, ""
				continue
			}
		case hclsyntax.TokenEqual, hclsyntax.TokenColon:
			if (f.kind == inBlock && t.Type == hclsyntax.TokenEqual || f.kind == inObject) && f.attr == "" && len(line) > 0 {
				f.attr = strings.Trim(text(line), `"`)
				f.set = append(f.set, f.attr)
			}
		case hclsyntax.TokenOBrace:
			if f.kind == inBlock && f.attr == "" {
				b := frame{kind: inBlock}
				for i, w := range words(line) {
					if i == 0 {
						b.typ = w
						f.set = append(f.set, w)
					} else {
						b.labels = append(b.labels, w)
					}
				}
				push(b)
			} else {
				push(frame{kind: inObject})
			}
			continue
		case hclsyntax.TokenCBrace:
			pop(inBlock, inObject)
			if f := top(); f.kind == inBlock && f.attr == "" {
				line = nil
			}
			continue
		case hclsyntax.TokenOParen:
			push(frame{kind: inCall, called: callee(line)})
			continue
		case hclsyntax.TokenCParen:
			pop(inCall)
			continue
		case hclsyntax.TokenOBrack:
			push(frame{kind: inBrackets})
			continue
		case hclsyntax.TokenCBrack:
			pop(inBrackets)
			continue
		case hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			line = append(line, t)
			push(frame{kind: inQuotes})
			continue
		case hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			inside := line
			pop(inQuotes)
			line = append(line, inside...)
			continue
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			push(frame{kind: inTemplate})
			continue
		case hclsyntax.TokenTemplateSeqEnd:
			pop(inTemplate)
			continue
		}
		line = append(line, t)
	}
	if top().kind == inQuotes && len(lines) > 0 {
		c.statement = words(lines[len(lines)-1])
	} else {
		c.statement = words(line)
	}
	c.Start = offset
	if top().kind != inQuotes {
		word := wordEnd.Get().FindString(string(src[:offset]))
		word = word[strings.LastIndexByte(strings.ReplaceAll(word, "::", "\x00\x00"), ':')+1:]
		for open := strings.Count(word, "]") - strings.Count(word, "["); open < 0; open++ { // [var.x
			word = word[strings.IndexByte(word, '[')+1:]
		}
		c.Word = strings.TrimLeft(word, `[]".*-0123456789`)
		c.Start = offset - len(c.Word)
	} else if lit := strings.LastIndexByte(string(src[:offset]), '"'); lit >= 0 {
		c.Word, c.Start = string(src[lit+1:offset]), lit+1
	}
	return c
}

// text is what tokens have, without space.
func text(tokens []hclsyntax.Token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.Write(t.Bytes)
	}
	return b.String()
}

// words are the names and texts of a header such as resource "a" "b".
func words(tokens []hclsyntax.Token) []string {
	var list []string
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenIdent, hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit:
			list = append(list, string(t.Bytes))
		}
	}
	return list
}

// callee is the name of the function that a parenthesis calls; empty for none.
func callee(line []hclsyntax.Token) string {
	end := len(line)
	start := end
	for start > 0 && (line[start-1].Type == hclsyntax.TokenIdent || line[start-1].Type == hclsyntax.TokenDoubleColon) {
		if start < end && line[start-1].Type == hclsyntax.TokenIdent && line[start].Type == hclsyntax.TokenIdent {
			break
		}
		start--
	}
	return text(line[start:end])
}

// innermost is the frame that the cursor is in.
func (c *Cursor) innermost() frame { return c.frames[len(c.frames)-1] }

// blocks are the blocks around the cursor, from outside; and the argument of the innermost one
// whose value the cursor is in, empty for none.
func (c *Cursor) blocks() (list []frame, attr string) {
	for _, f := range c.frames[1:] {
		if f.kind == inBlock {
			list = append(list, f)
			attr = f.attr
		}
	}
	return list, attr
}

// inValue reports whether an expression stands at the cursor.
func (c *Cursor) inValue() bool {
	f := c.innermost()
	if f.kind == inObject && len(c.statement) > 0 && c.statement[0] == "for" {
		return true
	}
	return f.kind != inBlock && f.kind != inQuotes && !(f.kind == inObject && f.attr == "") || f.kind == inBlock && f.attr != ""
}

// call is the innermost call of a function around the cursor, and the argument that the cursor
// is in.
func (c *Cursor) call() (name string, argument int) {
	for i := len(c.frames) - 1; i > 0; i-- {
		if f := c.frames[i]; f.kind == inCall && f.called != "" {
			return f.called, f.arg
		}
	}
	return "", 0
}
