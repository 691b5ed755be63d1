package textdoc

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"weir.dev/weir/internal/ui/lsp/protocol"
)

func TestPositions(t *testing.T) {
	const src = "a\nbü𝒳c\r\n\nlast"
	for _, c := range []struct {
		encoding     Encoding
		offset       int
		line, column int
	}{
		{UTF16, 0, 0, 0}, {UTF16, 2, 1, 0}, {UTF16, 5, 1, 2}, {UTF16, 9, 1, 4}, {UTF16, 12, 2, 0}, {UTF16, 17, 3, 4},
		{UTF8, 9, 1, 7}, {UTF8, 17, 3, 4},
	} {
		text := New([]byte(src), c.encoding)
		want := protocol.Position{Line: c.line, Character: c.column}
		if got := text.Position(c.offset); got != want {
			t.Errorf("%s: byte %d is at %v, want %v", c.encoding, c.offset, got, want)
		}
		if got := text.Offset(want); got != c.offset {
			t.Errorf("%s: %v is byte %d, want %d", c.encoding, want, got, c.offset)
		}
	}
	text := New([]byte(src), UTF16)
	if got := text.Offset(protocol.Position{Line: 1, Character: 99}); got != 10 {
		t.Errorf("behind the line's end is byte %d, want the end before the carriage return", got)
	}
	if got := text.Offset(protocol.Position{Line: 99}); got != len(src) {
		t.Errorf("behind the text is byte %d, want %d", got, len(src))
	}
}

// Edits by position give the same text as edits by byte.
func TestApply(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, encoding := range []Encoding{UTF8, UTF16} {
		text := New([]byte("a = 1\nü = \"𝒳\"\n"), encoding)
		for range 2000 {
			start := random.IntN(len(text.Bytes) + 1)
			end := start + random.IntN(min(8, len(text.Bytes)-start)+1)
			at := text.Range(start, end)
			start, end = text.Offset(at.Start), text.Offset(at.End) // a byte within a character has no position
			end = max(start, end)
			insert := []string{"", "x", "\n", "ü", "𝒳 = 1\n", "\r\n"}[random.IntN(6)]
			want := string(text.Bytes[:start]) + insert + string(text.Bytes[end:])
			if strings.ToValidUTF8(want, "") != want {
				continue
			}
			text = text.Apply([]protocol.Change{{Range: &at, Text: insert}})
			if string(text.Bytes) != want {
				t.Fatalf("%s: %q, want %q", encoding, text.Bytes, want)
			}
		}
	}
}

func TestDiff(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	make := func() []byte {
		var b bytes.Buffer
		for range random.IntN(6) {
			b.WriteString([]string{"a = 1\n", "b\n", "\n", "c", "ü\n"}[random.IntN(5)])
		}
		return b.Bytes()
	}
	for range 2000 {
		from, to := New(make(), UTF16), make()
		edits := from.Diff(to)
		for _, e := range edits {
			from = from.Apply([]protocol.Change{{Range: &e.Range, Text: e.NewText}})
		}
		if !bytes.Equal(from.Bytes, to) {
			t.Fatalf("%q after %v, want %q", from.Bytes, edits, to)
		}
	}
}

func TestSameBut(t *testing.T) {
	text := New([]byte("one\ntwo\nthree"), UTF16)
	for other, want := range map[string][]bool{
		"one\ntwo\nthree": {true, true, true}, "one\n2\nthree": {false, true, false}, "one\ntwo\n": {false, false, true}, "1\ntwo\nthree": {true, false, false},
		"one\ntwo": {false, false, false}, "1\ntwo\n3": {false, false, false}, "one\nt\nwo\nthree": {false, false, false}, "one\n\nthree": {false, true, false},
	} {
		for line, same := range want {
			if got := text.SameBut(line, New([]byte(other), UTF16)); got != same {
				t.Errorf("%q, line %d: %t", other, line, got)
			}
		}
	}
	if text.SameBut(-1, text) || text.SameBut(3, text) {
		t.Error("a line that isn't there")
	}
}
