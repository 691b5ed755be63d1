// Package ansi formats text for a terminal: colors, wrapped paragraphs, and rules across the
// screen.
//
// It doesn't know what is written. Colours are off unless the caller turns them on; whether a
// stream is a terminal is the caller's to find out.
package ansi

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// A Style is a way to set text, as the control sequence that starts it.
type Style string

const (
	Bold      Style = "\x1b[1m"
	Underline Style = "\x1b[4m"
	Red       Style = "\x1b[31m"
	Green     Style = "\x1b[32m"
	Yellow    Style = "\x1b[33m"
	Cyan      Style = "\x1b[36m"
	Gray      Style = "\x1b[90m"

	reset = "\x1b[0m"
)

// Sequences are all control sequences that a Pen writes. No others may reach a
// terminal.
var Sequences = []string{reset, string(Bold), string(Underline), string(Red), string(Green), string(Yellow), string(Cyan), string(Gray)}

// A Pen writes text in styles, or plainly unless On is set.
type Pen struct{ On bool }

// Paint sets text in the given styles. Empty text stays empty.
func (p Pen) Paint(text string, styles ...Style) string {
	if !p.On || text == "" || len(styles) == 0 {
		return text
	}
	var b strings.Builder
	for _, s := range styles {
		b.WriteString(string(s))
	}
	b.WriteString(text)
	b.WriteString(reset)
	return b.String()
}

// DefaultWidth is the width of output that isn't a terminal.
const DefaultWidth = 78

// Narrow is the width below which terminals are too narrow to set things beside each other,
// or to leave lines whole so that they can be copied.
const Narrow = 60

// Width is how many columns of a terminal text takes, painted or not. Anything that is joined
// to the character before it, as in emoji of several, takes none.
func Width(text string) int {
	n, last, joined, painting := 0, 0, false, false
	for _, r := range text {
		own := 1
		switch {
		case painting:
			painting = r != 'm'
			continue
		case r == '\x1b':
			painting = true
			continue
		case r < 0x7f:
		case r == joiner:
			joined = true
			continue
		case r == asEmoji:
			// It makes the character before it as wide as other emoji.
			if own = 0; last == 1 {
				own, last = 1, 2
			}
			n += own
			continue
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
			continue
		case joined, '\U0001f3fb' <= r && r <= '\U0001f3ff' && last == 2: // the latter colour skin
			own = 0
		case isWide(r):
			own = 2
		}
		n += own
		if last = own; joined {
			last, joined = 2, false
		}
	}
	return n
}

const joiner, asEmoji = '\u200d', '\ufe0f'

func isWide(r rune) bool {
	if r < 0x1100 {
		return false
	}
	kind := width.LookupRune(r).Kind()
	return kind == width.EastAsianWide || kind == width.EastAsianFullwidth
}

// Unwrap makes a line of each paragraph.
func Unwrap(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for n, p := range paragraphs {
		paragraphs[n] = strings.ReplaceAll(p, "\n", " ")
	}
	return strings.Join(paragraphs, "\n\n")
}

// Wrap breaks every line of text at spaces so that it fits the width, where
// words allow it. Lines that begin with a space are left as they are: they are
// code or lists. A limit below 1 means no limit.
func Wrap(text string, limit int) string { return Hang(text, limit, "") }

// Hang is Wrap with something before what continues a line.
func Hang(text string, limit int, before string) string {
	if limit < 1 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/20)
	for line := range strings.Lines(text) {
		body, hasEnd := strings.CutSuffix(line, "\n")
		if strings.HasPrefix(body, " ") || Width(body) <= limit {
			b.WriteString(body)
		} else {
			wrapLine(&b, body, limit, before)
		}
		if hasEnd {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func wrapLine(b *strings.Builder, line string, limit int, before string) {
	at := 0
	for i, word := range strings.Split(line, " ") {
		n := Width(word)
		switch {
		case i == 0:
		case at+1+n > limit:
			b.WriteString("\n" + before)
			at = Width(before)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
}

// Fold breaks a line, painted or not, so that it fits the width: at spaces, or within a word
// that is longer than half of it. Continuing lines have something before them. A limit below 1
// means no limit.
func Fold(line string, limit int, before string) string {
	var b strings.Builder
	for limit > Width(before)+1 {
		at, paint := breaking(line, limit)
		if at == len(line) {
			break
		}
		end := ""
		if paint != "" {
			end = reset
		}
		b.WriteString(strings.TrimRight(line[:at], " ") + end + "\n")
		line = before + paint + strings.TrimLeft(line[at:], " ")
	}
	return b.String() + line
}

// breaking is where a line is broken, its end where it fits, and how the text there is painted.
func breaking(line string, limit int) (at int, paint string) {
	space, spacePaint, sequence := 0, "", 0
	inSequence, indented := false, true
	for i, r := range line {
		switch {
		case inSequence:
			if r != 'm' {
				continue
			}
			inSequence = false
			if paint += line[sequence : i+1]; line[sequence:i+1] == reset {
				paint = ""
			}
			continue
		case r == '\x1b':
			inSequence, sequence = true, i
			continue
		case r == ' ' && !indented:
			space, spacePaint = i, paint
		case Width(line[:i+utf8.RuneLen(r)]) > limit:
			if Width(line[:space]) > limit/2 {
				return space, spacePaint
			}
			return i, paint
		}
		indented = indented && r == ' '
	}
	return len(line), paint
}

// Rule is a line across the screen.
func (p Pen) Rule(width int) string {
	if width < 1 {
		width = DefaultWidth
	}
	return p.Paint(strings.Repeat("─", width), Gray)
}
