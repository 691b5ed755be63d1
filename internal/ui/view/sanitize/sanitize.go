// Package sanitize keeps foreign text from controlling a terminal. Names and values come from
// providers, modules and states; none of their bytes may move the cursor, hide a line or
// change a title.
//
// Each text is made harmless where it is printed. The package owns what counts as
// harmless; it doesn't know what is shown.
package sanitize

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text replaces every control character by a visible picture of itself, except
// for line ends and tabs. Invalid UTF-8 is shown as hexadecimal escapes, and
// so are characters that turn the direction of writing.
func Text(s string) string {
	if isHarmless(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		n := appendRune(&b, s)
		s = s[n:]
	}
	return b.String()
}

// Line is Text for a string that has to stay on one line: line ends and tabs
// become visible too.
func Line(s string) string {
	s = Text(s)
	if !strings.ContainsAny(s, "\n\t") {
		return s
	}
	return strings.NewReplacer("\n", "␊", "\t", "␉").Replace(s)
}

func isHarmless(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf || c == 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return !strings.ContainsFunc(s[i:], isHarmful) && utf8.ValidString(s[i:])
		}
	}
	return true
}

func isHarmful(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || isDirection(r)
}

// isDirection reports characters that reorder what follows them on screen.
func isDirection(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

// appendRune writes the first character of s in a harmless form and returns
// how many bytes it took.
func appendRune(b *strings.Builder, s string) int {
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && n == 1:
		fmt.Fprintf(b, `\x%02x`, s[0])
	case r == '\r' && strings.HasPrefix(s[1:], "\n"):
		// The line end alone says it.
	case r < ' ' && r != '\n' && r != '\t':
		b.WriteRune(0x2400 + r)
	case r == 0x7f:
		b.WriteRune(0x2421)
	case isHarmful(r):
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		b.WriteRune(r)
	}
	return n
}
