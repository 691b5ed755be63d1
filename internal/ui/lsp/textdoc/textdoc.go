// Package textdoc has texts that an editor edits: positions in the encoding of the editor,
// offsets in bytes, and incremental edits.
//
// It doesn't know what the texts mean.
package textdoc

import (
	"bytes"
	"sort"
	"unicode/utf16"
	"unicode/utf8"

	"weir.dev/weir/internal/ui/lsp/protocol"
)

// An Encoding is how an editor counts the characters of a line.
type Encoding string

// The encodings. Every editor has UTF16.
const (
	UTF8  Encoding = "utf-8"
	UTF16 Encoding = "utf-16"
)

// A Text is one version of a text. It doesn't change.
type Text struct {
	Bytes    []byte
	encoding Encoding
	lines    []int // where each line begins
}

// New is a text whose positions are in an encoding.
func New(src []byte, e Encoding) *Text {
	t := &Text{Bytes: src, encoding: e, lines: []int{0}}
	for i, b := range src {
		if b == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// Lines is the number of lines.
func (t *Text) Lines() int { return len(t.lines) }

// Line is a line without its end.
func (t *Text) Line(n int) []byte {
	if n < 0 || n >= len(t.lines) {
		return nil
	}
	end := len(t.Bytes)
	if n+1 < len(t.lines) {
		end = t.lines[n+1] - 1
	}
	return bytes.TrimSuffix(t.Bytes[t.lines[n]:end], []byte{'\r'})
}

// SameBut reports whether two texts differ in no other line than one.
func (t *Text) SameBut(line int, other *Text) bool {
	if line < 0 || line >= len(t.lines) || len(t.lines) != len(other.lines) || t.lines[line] != other.lines[line] || !bytes.Equal(t.Bytes[:t.lines[line]], other.Bytes[:t.lines[line]]) {
		return false
	}
	return line+1 == len(t.lines) || bytes.Equal(t.Bytes[t.lines[line+1]:], other.Bytes[other.lines[line+1]:])
}

// Offset is the byte at a position. A position behind the end of its line is the end of the
// line, and one behind the text its end.
func (t *Text) Offset(p protocol.Position) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(t.lines) {
		return len(t.Bytes)
	}
	line := t.Line(p.Line)
	start := t.lines[p.Line]
	if t.encoding == UTF8 {
		return start + max(0, min(p.Character, len(line)))
	}
	units := 0
	for i := 0; i < len(line); {
		if units >= p.Character {
			return start + i
		}
		r, size := utf8.DecodeRune(line[i:])
		units += max(1, utf16.RuneLen(r))
		i += size
	}
	return start + len(line)
}

// Position is where a byte is.
func (t *Text) Position(offset int) protocol.Position {
	offset = max(0, min(offset, len(t.Bytes)))
	line := sort.Search(len(t.lines), func(i int) bool { return t.lines[i] > offset }) - 1
	if t.encoding == UTF8 {
		return protocol.Position{Line: line, Character: offset - t.lines[line]}
	}
	units := 0
	for part := t.Bytes[t.lines[line]:offset]; len(part) > 0; {
		r, size := utf8.DecodeRune(part)
		units += max(1, utf16.RuneLen(r))
		part = part[size:]
	}
	return protocol.Position{Line: line, Character: units}
}

// Range is the part between two bytes.
func (t *Text) Range(start, end int) protocol.Range {
	return protocol.Range{Start: t.Position(start), End: t.Position(end)}
}

// Whole is the range of the text.
func (t *Text) Whole() protocol.Range { return t.Range(0, len(t.Bytes)) }

// Apply is the text after changes, one after the other.
func (t *Text) Apply(changes []protocol.Change) *Text {
	for _, c := range changes {
		if c.Range == nil {
			t = New([]byte(c.Text), t.encoding)
			continue
		}
		start, end := t.Offset(c.Range.Start), t.Offset(c.Range.End)
		end = max(start, end)
		next := make([]byte, 0, len(t.Bytes)+len(c.Text)-(end-start))
		next = append(append(append(next, t.Bytes[:start]...), c.Text...), t.Bytes[end:]...)
		t = New(next, t.encoding)
	}
	return t
}

// Diff is the edits that make another text of this one: the lines between the first and the
// last that differ.
func (t *Text) Diff(to []byte) []protocol.TextEdit {
	if bytes.Equal(t.Bytes, to) {
		return nil
	}
	from := t.Bytes
	start := 0
	for start < len(from) && start < len(to) && from[start] == to[start] {
		start++
	}
	start = bytes.LastIndexByte(from[:start], '\n') + 1
	end := 0
	for end < len(from)-start && end < len(to)-start && from[len(from)-1-end] == to[len(to)-1-end] {
		end++
	}
	if at := bytes.IndexByte(from[len(from)-end:], '\n'); at >= 0 {
		end -= at + 1
	} else {
		end = 0
	}
	return []protocol.TextEdit{{Range: t.Range(start, len(from)-end), NewText: string(to[start : len(to)-end])}}
}
