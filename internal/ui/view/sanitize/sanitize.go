// Package sanitize keeps foreign text from controlling a terminal. Names and values come from
// providers, modules and states; none of their bytes may move the cursor, hide a line or
// change a title.
//
// Text makes one string harmless where it is used. Writer is the last gate before the
// terminal: whatever was forgotten on the way stops there. The package owns what counts as
// harmless; it doesn't know what is shown.
package sanitize

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"weir.dev/weir/internal/ui/view/ansi"
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

// A Writer passes text on to a terminal and lets no control sequence through
// but those that package ansi writes. A character cut in two by writes is put
// together again, so Flush has to be called at the end.
type Writer struct {
	w    io.Writer
	rest []byte // the beginning of a character or sequence
}

// NewWriter makes a writer in front of w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write passes p on. It reports all of p as written unless w fails.
func (w *Writer) Write(p []byte) (int, error) {
	if len(w.rest) == 0 && isHarmless(string(p)) {
		return w.w.Write(p)
	}
	data := append(w.rest, p...)
	out, rest := filter(data, false)
	w.rest = bytes.Clone(rest)
	if _, err := io.WriteString(w.w, out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what is still held back.
func (w *Writer) Flush() error {
	out, _ := filter(w.rest, true)
	w.rest = nil
	_, err := io.WriteString(w.w, out)
	return err
}

// filter makes data harmless. Unless final, it returns the tail that can only
// be judged with what comes next.
func filter(data []byte, final bool) (string, []byte) {
	var b strings.Builder
	s := string(data)
	for len(s) > 0 {
		if s[0] == 0x1b {
			known, partial := sequence(s)
			if partial && !final {
				return b.String(), []byte(s)
			}
			if known > 0 {
				b.WriteString(s[:known])
				s = s[known:]
				continue
			}
		}
		if !final && (!utf8.FullRuneInString(s) || s == "\r") {
			return b.String(), []byte(s)
		}
		s = s[appendRune(&b, s):]
	}
	return b.String(), nil
}

// sequence returns the length of the known sequence that s begins with, or
// whether s may become one.
func sequence(s string) (known int, partial bool) {
	for _, seq := range ansi.Sequences {
		if strings.HasPrefix(s, seq) {
			return len(seq), false
		}
		partial = partial || strings.HasPrefix(seq, s)
	}
	return 0, partial
}
