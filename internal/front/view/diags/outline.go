package diags

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcled"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
)

// blockHeader is the header of the top-level block that the range lies in, or
// empty: a header isn't said to be in its own block. It manages with every file, also with one that a parser would refuse
// or choke on.
func blockHeader(src []byte, r hcl.Range) string {
	o := outlineOf(src, r.Filename)
	if o.file != nil {
		return hcled.ContextString(o.file, r.Start.Byte-1)
	}
	i := sort.Search(len(o.blocks), func(i int) bool { return r.Start.Byte <= o.blocks[i].end })
	if i == len(o.blocks) || r.Start.Byte <= o.blocks[i].start {
		return ""
	}
	return o.blocks[i].header
}

// An outline is where the blocks of a file are: of one in JSON in file, unless it is nil.
type outline struct {
	src    []byte
	file   *hcl.File
	blocks []block // in their order
}

// A block is one at the top level, from its first to its last byte.
type block struct {
	start, end int
	header     string
}

// outlines are those of files that were asked for last, by name: with many problems in
// one file, reading it for each would take a time that grows with the square.
var outlines = struct {
	sync.Mutex
	of map[string]outline
}{of: map[string]outline{}}

const maxOutlines = 64

func outlineOf(src []byte, name string) outline {
	if len(src) == 0 {
		return outline{}
	}
	outlines.Lock()
	defer outlines.Unlock()
	o, ok := outlines.of[name]
	if !ok || len(o.src) != len(src) || &o.src[0] != &src[0] {
		if o = read(src, name); len(outlines.of) >= maxOutlines {
			clear(outlines.of)
		}
		outlines.of[name] = o
	}
	return o
}

func read(src []byte, name string) outline {
	o := outline{src: src}
	const deepest = 1000 // the parser is recursive
	switch {
	case !strings.HasSuffix(name, ".json"):
		o.blocks = blocks(src, name)
	case nesting(src) <= deepest:
		o.file, _ = hcljson.Parse(src, name)
	}
	return o
}

// nesting is how deep brackets are in one another, at most: those in strings
// count too.
func nesting(src []byte) int {
	depth, deepest := 0, 0
	for _, c := range src {
		switch c {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// blocks finds those at the top level among the tokens of a file.
func blocks(src []byte, name string) []block {
	var all []block
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos)
	for i := 0; i < len(tokens); {
		header, after := readHeader(tokens[i:])
		end := i + after
		for depth := 0; end < len(tokens); end++ {
			depth += brackets(tokens[end].Type)
			if depth <= 0 && (header != "" || tokens[end].Type == hclsyntax.TokenNewline || tokens[end].Type == hclsyntax.TokenComment) {
				break
			}
		}
		if header != "" {
			b := block{tokens[i].Range.Start.Byte, math.MaxInt, header}
			if end < len(tokens) {
				b.end = tokens[end].Range.End.Byte
			}
			all = append(all, b)
		}
		i = end + 1
	}
	return all
}

// readHeader reads a name and labels that a brace follows, which is where the
// block begins; otherwise the text is empty.
func readHeader(tokens hclsyntax.Tokens) (header string, brace int) {
	if tokens[0].Type != hclsyntax.TokenIdent {
		return "", 0
	}
	var b strings.Builder
	b.Write(tokens[0].Bytes)
	for i, t := range tokens[1:] {
		switch t.Type {
		case hclsyntax.TokenIdent:
			fmt.Fprintf(&b, " %q", t.Bytes)
		case hclsyntax.TokenQuotedLit:
			fmt.Fprintf(&b, " \"%s\"", t.Bytes)
		case hclsyntax.TokenOQuote, hclsyntax.TokenCQuote:
		case hclsyntax.TokenOBrace:
			return b.String(), 1 + i
		default:
			return "", 0
		}
	}
	return "", 0
}

// brackets is how much deeper a token leads.
func brackets(t hclsyntax.TokenType) int {
	switch t {
	case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen,
		hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		return 1
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd:
		return -1
	}
	return 0
}
