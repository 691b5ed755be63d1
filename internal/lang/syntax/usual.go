package syntax

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A usual reads what most of a big configuration consists of: blocks, arguments,
// literals, templates with interpolations, references by names, calls, tuples and
// objects, in ASCII. It makes the very tree that hclsyntax would, without a list of
// tokens. Whatever else there is, mistakes included, isn't usual, and then the
// whole text is left to hclsyntax.
type usual struct {
	name  string
	src   string
	at    int // in src
	base  int // of src in the file
	line  int
	begin int // of the line, in src
	depth int
	fail  bool
}

// usualDepth is how deep what is usual is nested, far below what any reader may.
const usualDepth = 40

// parseUsual reads a text that begins with a line, or reports that it isn't usual.
func parseUsual(name string, src []byte, start hcl.Pos) (*hclsyntax.Body, bool) {
	for _, c := range src {
		if (c < ' ' && c != '\n' && c != '\t') || c > '~' {
			return nil, false
		}
	}
	p := &usual{name: name, src: string(src), base: start.Byte, line: start.Line}
	p.spaces()
	first := p.pos()
	if p.comment() && !p.lineEnd() { // only comments with an end of line count
		first = p.pos()
	}
	body := p.body(0)
	end := p.pos()
	body.SrcRange = hcl.Range{Filename: name, Start: first, End: end}
	body.EndRange = hcl.Range{Filename: name, Start: end, End: end}
	return body, !p.fail
}

func (p *usual) pos() hcl.Pos {
	return hcl.Pos{Line: p.line, Column: p.at - p.begin + 1, Byte: p.base + p.at}
}

// since is the range from a position to here.
func (p *usual) since(start hcl.Pos) hcl.Range {
	return hcl.Range{Filename: p.name, Start: start, End: p.pos()}
}

// peek is the next byte, 0 at the end and after what isn't usual.
func (p *usual) peek() byte {
	if p.fail || p.at >= len(p.src) {
		return 0
	}
	return p.src[p.at]
}

// unusual gives up.
func (p *usual) unusual() { p.fail = true }

// take reads one byte, or gives up.
func (p *usual) take(c byte) hcl.Range {
	start := p.pos()
	if p.peek() != c {
		p.unusual()
		return hcl.Range{}
	}
	p.at++
	return p.since(start)
}

func (p *usual) spaces() {
	for p.at < len(p.src) && (p.src[p.at] == ' ' || p.src[p.at] == '\t') {
		p.at++
	}
}

// comment reports whether one begins here that goes to the end of the line.
func (p *usual) comment() bool {
	return p.peek() == '#' || strings.HasPrefix(p.src[p.at:], "//")
}

// lineEnd reads spaces, and the end of the line with a comment before it, if that is next.
func (p *usual) lineEnd() bool {
	p.spaces()
	if p.peek() != '\n' && !p.comment() {
		return false
	}
	n := strings.IndexByte(p.src[p.at:], '\n')
	if n < 0 { // the comment is the last line
		p.at = len(p.src)
		return false
	}
	p.at += n + 1
	p.line, p.begin = p.line+1, p.at
	return true
}

func (p *usual) lines() {
	for p.lineEnd() {
	}
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// ident reads a name, or gives up.
func (p *usual) ident() (string, hcl.Range) {
	from, start := p.at, p.pos()
	if !letter(p.peek()) {
		p.unusual()
		return "", hcl.Range{}
	}
	for p.at < len(p.src) && (letter(p.src[p.at]) || digit(p.src[p.at]) || p.src[p.at] == '-') {
		p.at++
	}
	return p.src[from:p.at], p.since(start)
}

// body reads to the closing byte, which is left, or to the end for 0.
func (p *usual) body(end byte) *hclsyntax.Body {
	body := &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, Blocks: hclsyntax.Blocks{}}
	if p.depth++; p.depth > usualDepth {
		p.unusual()
	}
	for p.lines(); !p.fail && p.peek() != end; p.lines() {
		name, rng := p.ident()
		p.spaces()
		if p.peek() != '=' {
			body.Blocks = append(body.Blocks, p.block(name, rng))
		} else if body.Attributes[name] == nil {
			body.Attributes[name] = p.attribute(name, rng)
		} else {
			p.unusual()
		}
		// It ends with its line, or the text.
		if !p.fail && !p.lineEnd() && p.at < len(p.src) {
			p.unusual()
		}
	}
	p.depth--
	return body
}

func (p *usual) attribute(name string, rng hcl.Range) *hclsyntax.Attribute {
	a := &hclsyntax.Attribute{Name: name, NameRange: rng, EqualsRange: p.take('=')}
	p.spaces()
	a.Expr = p.expression()
	a.SrcRange = p.since(rng.Start)
	return a
}

func (p *usual) block(name string, rng hcl.Range) *hclsyntax.Block {
	b := &hclsyntax.Block{Type: name, TypeRange: rng}
	for ; !p.fail && p.peek() != '{'; p.spaces() {
		var label string
		if p.peek() == '"' {
			start := p.pos()
			p.at++
			label = p.literal()
			p.take('"')
			rng = p.since(start)
		} else {
			label, rng = p.ident()
		}
		b.Labels, b.LabelRanges = append(b.Labels, label), append(b.LabelRanges, rng)
	}
	b.OpenBraceRange = p.take('{')
	if p.spaces(); p.peek() != '}' && !p.lineEnd() {
		p.unusual() // with an argument in the same line
	}
	b.Body = p.body('}')
	b.CloseBraceRange = p.take('}')
	end := b.CloseBraceRange.End
	b.Body.SrcRange = hcl.RangeBetween(b.OpenBraceRange, b.CloseBraceRange)
	b.Body.EndRange = hcl.Range{Filename: p.name, Start: end, End: end}
	return b
}

// literal reads what is quoted up to the quote or an interpolation, without escapes.
func (p *usual) literal() string {
	from := p.at
	for ; p.at < len(p.src); p.at++ {
		switch c := p.src[p.at]; c {
		case '"':
			return p.src[from:p.at]
		case '$':
			if strings.HasPrefix(p.src[p.at:], "${") {
				return p.src[from:p.at]
			}
			p.unusual()
			return ""
		case '%', '\\', '\n':
			p.unusual()
			return ""
		}
	}
	p.unusual()
	return ""
}

// expression reads one without operators. The text behind it is up to the caller,
// who accepts nothing that would belong to it.
func (p *usual) expression() hclsyntax.Expression {
	if p.depth++; p.depth > usualDepth {
		p.unusual()
	}
	defer func() { p.depth-- }()
	switch c := p.peek(); {
	case letter(c):
		return p.named()
	case digit(c):
		return p.number()
	case c == '"':
		return p.template()
	case c == '[':
		return p.tuple()
	case c == '{':
		return p.object()
	}
	p.unusual()
	return nil
}

// named reads a keyword, a call or a reference.
func (p *usual) named() hclsyntax.Expression {
	name, rng := p.ident()
	switch {
	case p.peek() == '(':
		return p.call(name, rng)
	case name == "true", name == "false":
		return &hclsyntax.LiteralValueExpr{Val: cty.BoolVal(name == "true"), SrcRange: rng}
	case name == "null":
		return &hclsyntax.LiteralValueExpr{Val: cty.NullVal(cty.DynamicPseudoType), SrcRange: rng}
	}
	path := hcl.Traversal{hcl.TraverseRoot{Name: name, SrcRange: rng}}
	for p.peek() == '.' {
		start := p.pos()
		p.at++
		step, _ := p.ident()
		path = append(path, hcl.TraverseAttr{Name: step, SrcRange: p.since(start)})
	}
	return &hclsyntax.ScopeTraversalExpr{Traversal: path, SrcRange: p.since(rng.Start)}
}

func (p *usual) number() hclsyntax.Expression {
	from, start := p.at, p.pos()
	for digit(p.peek()) {
		p.at++
	}
	if c := p.peek(); letter(c) || c == '.' {
		p.unusual()
		return nil
	}
	val, err := cty.ParseNumberVal(p.src[from:p.at])
	if err != nil {
		p.unusual()
	}
	return &hclsyntax.LiteralValueExpr{Val: val, SrcRange: p.since(start)}
}

func (p *usual) template() hclsyntax.Expression {
	start := p.pos()
	p.take('"')
	var parts []hclsyntax.Expression
	literals := 0
	for !p.fail && p.peek() != '"' {
		from := p.pos()
		if text := p.literal(); text != "" {
			parts = append(parts, &hclsyntax.LiteralValueExpr{Val: cty.StringVal(text), SrcRange: p.since(from)})
			literals++
		} else if !p.fail && p.peek() == '$' {
			p.at += len("${")
			p.lines()
			parts = append(parts, p.expression())
			p.lines()
			p.take('}')
		}
	}
	p.take('"')
	if len(parts) == 0 {
		parts = append(parts, &hclsyntax.LiteralValueExpr{Val: cty.StringVal(""), SrcRange: p.since(p.pos())})
		literals++
	}
	if len(parts) == 1 && literals == 0 {
		return &hclsyntax.TemplateWrapExpr{Wrapped: parts[0], SrcRange: p.since(start)}
	}
	return &hclsyntax.TemplateExpr{Parts: parts, SrcRange: p.since(start)}
}

// list reads expressions with commas between them up to the closing byte.
func (p *usual) list(end byte) (list []hclsyntax.Expression, closing hcl.Range) {
	for p.lines(); !p.fail && p.peek() != end; p.lines() {
		list = append(list, p.expression())
		if p.lines(); p.peek() != end {
			p.take(',')
		}
	}
	return list, p.take(end)
}

func (p *usual) call(name string, rng hcl.Range) hclsyntax.Expression {
	call := &hclsyntax.FunctionCallExpr{Name: name, NameRange: rng, OpenParenRange: p.take('(')}
	call.Args, call.CloseParenRange = p.list(')')
	return call
}

// loop reports whether a for expression begins here.
func (p *usual) loop() bool { return strings.HasPrefix(p.src[p.at:], "for") }

func (p *usual) tuple() hclsyntax.Expression {
	tuple := &hclsyntax.TupleConsExpr{OpenRange: p.take('[')}
	if p.lines(); p.loop() {
		p.unusual()
	}
	tuple.Exprs, _ = p.list(']')
	tuple.SrcRange = p.since(tuple.OpenRange.Start)
	return tuple
}

func (p *usual) object() hclsyntax.Expression {
	object := &hclsyntax.ObjectConsExpr{OpenRange: p.take('{')}
	if p.lines(); p.loop() {
		p.unusual()
	}
	for ; !p.fail && p.peek() != '}'; p.lines() {
		key := &hclsyntax.ObjectConsKeyExpr{Wrapped: p.expression()}
		p.spaces()
		if sign := p.peek(); sign == '=' || sign == ':' {
			p.at++
		} else {
			p.unusual()
		}
		p.spaces()
		object.Items = append(object.Items, hclsyntax.ObjectConsItem{KeyExpr: key, ValueExpr: p.expression()})
		if p.lineEnd() || p.peek() == '}' {
			continue
		}
		p.take(',')
	}
	p.take('}')
	object.SrcRange = p.since(object.OpenRange.Start)
	return object
}
