package diags

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// blockHeader is the header of the top-level block that the range lies in, or empty: a header
// isn't said to be in its own block. It manages with every file, also with one that a parser
// would reject or choke on.
func blockHeader(src []byte, r hcl.Range) string {
	o := outlineOf(src, r.Filename)
	if o.nested != nil {
		return path(o.nested, r.Start.Byte-1)
	}
	i := sort.Search(len(o.blocks), func(i int) bool { return r.Start.Byte <= o.blocks[i].end })
	if i == len(o.blocks) || r.Start.Byte <= o.blocks[i].start {
		return ""
	}
	return o.blocks[i].header
}

// An outline is where the blocks of a file are.
type outline struct {
	src    []byte
	nested []container // of one in JSON, in the order in which they begin
	blocks []block     // of one that isn't, in their order
}

// A block is one at the top level, from its first to its last byte.
type block struct {
	start, end int
	header     string
}

// outlines are those of files that were asked for last, by name: with many problems in
// one file, reading it for each would take a time that grows with the square.
var outlines struct {
	sync.Mutex
	of map[string]outline
}

const maxOutlines = 64

func outlineOf(src []byte, name string) outline {
	if len(src) == 0 {
		return outline{}
	}
	outlines.Lock()
	defer outlines.Unlock()
	o, ok := outlines.of[name]
	if !ok || len(o.src) != len(src) || &o.src[0] != &src[0] {
		if o = read(src, name); outlines.of == nil || len(outlines.of) >= maxOutlines {
			outlines.of = map[string]outline{}
		}
		outlines.of[name] = o
	}
	return o
}

func read(src []byte, name string) outline {
	o := outline{src: src}
	if strings.HasSuffix(name, ".json") {
		o.nested = containers(src)
	} else {
		o.blocks = blocks(src, name)
	}
	return o
}

// A container is an object or an array of a file in JSON, from its first byte to the
// one after its last.
type container struct {
	start, end int
	within     int    // the index of the one around it; -1 for the outermost
	step       string // from there: ".name" or "[0]"
}

// An opened container is one that is being gone through.
type opened struct {
	at      int // among all
	isArray bool
	next    int    // the index of the next value in an array
	key     string // what stands before the next value in an object, with its quotes
}

// step leads to the next value.
func (o opened) step() string {
	switch {
	case o.at < 0:
		return ""
	case o.isArray:
		return fmt.Sprintf("[%d]", o.next)
	}
	var name string
	_ = json.Unmarshal([]byte(o.key), &name) // the whole is valid
	return "." + name
}

// deepest is how many containers may be within one another for a path to be reported.
const deepest = 1000

// containers finds those of a file, none where it is no JSON, or none that people write.
func containers(src []byte) []container {
	if !json.Valid(src) {
		return nil
	}
	var all []container
	stack := []opened{{at: -1}}
	for i := 0; i < len(src); i++ {
		top := &stack[len(stack)-1]
		switch c := src[i]; c {
		case '"':
			end := i + 1
			for ; src[end] != '"'; end++ {
				if src[end] == '\\' {
					end++
				}
			}
			if !top.isArray && top.key == "" {
				top.key = string(src[i : end+1])
			}
			i = end
		case ',':
			top.key = ""
			top.next++
		case '{', '[':
			if len(stack) > deepest {
				return nil
			}
			all = append(all, container{i, len(src), top.at, top.step()})
			stack = append(stack, opened{at: len(all) - 1, isArray: c == '['})
		case '}', ']':
			all[top.at].end = i + 1
			stack = stack[:len(stack)-1]
		}
	}
	return all
}

// path leads to the innermost container that a byte is in.
func path(all []container, at int) string {
	i := sort.Search(len(all), func(i int) bool { return all[i].start > at }) - 1
	for i >= 0 && at >= all[i].end {
		i = all[i].within
	}
	var steps []string
	for ; i >= 0; i = all[i].within {
		steps = append(steps, all[i].step)
	}
	slices.Reverse(steps)
	return strings.TrimPrefix(strings.Join(steps, ""), ".")
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
