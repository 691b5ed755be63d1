package syntax

import "bytes"

// depthBound is a bound of how deep a file nests, found without its tokens,
// which take as long as parsing. It isn't ok where that takes a closer look:
// for templates, heredocs and comments between other things.
func depthBound(src []byte) (bound int, ok bool) {
	levels := []bracket{{lines: true}}
	base := 0 // the weight of the brackets around the innermost one
	for i := 0; i < len(src); i++ {
		top := &levels[len(levels)-1]
		switch c := src[i]; {
		case c == ' ' || c == '\t' || c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9':
			continue
		case c == '\r' && i+1 < len(src) && src[i+1] == '\n':
			continue
		case c == '\n':
			if top.lines {
				top.chain = 0
			}
			continue
		case c == ',':
			top.chain = 0
			continue
		case c == '"':
			n := plainString(src[i:])
			if n == 0 {
				return 0, false
			}
			i += n - 1
			bound = max(bound, base+top.chain+2*bracketWeight)
			top.chain++
			continue
		case c == '#':
			end := bytes.IndexByte(src[i:], '\n')
			if end < 0 {
				return bound + 1, true
			}
			i += end - 1
			continue
		case c == '(', c == '[', c == '{':
			top.chain++
			base += top.chain + bracketWeight
			levels = append(levels, bracket{lines: c == '{'})
		case c == ')', c == ']', c == '}':
			if len(levels) > 1 {
				levels = levels[:len(levels)-1]
				base -= levels[len(levels)-1].chain + bracketWeight
			}
		case c == '/' || c == '<' && i+1 < len(src) && src[i+1] == '<' || c >= 0x80 || c < ' ':
			return 0, false
		default:
			top.chain++
		}
		bound = max(bound, base+levels[len(levels)-1].chain)
	}
	return bound + 1, true // the end counts as well
}

// A bracket is an open one with the operators since its last separator.
type bracket struct {
	chain int
	lines bool // newlines separate
}

// plainString is the length of the string that begins the text, 0 where it has
// more in it than characters.
func plainString(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1
		case '\\', '$', '%', '\n':
			return 0
		}
	}
	return 0
}
