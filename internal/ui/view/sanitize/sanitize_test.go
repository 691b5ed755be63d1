package sanitize

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"weir.dev/weir/internal/ui/view/ansi"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain":              "plain",
		"a\tb\nc":            "a\tb\nc",
		"a\x1b[2Jb":          "a␛[2Jb",
		"win\r\nend":         "win\nend",
		"over\rwritten":      "over␍written",
		"\x7f\x00":           "␡␀",
		"c1 \u009b31m":       `c1 \u009b31m`,
		"raw \x9b31m":        `raw \x9b31m`,
		"bidi \u202e txt":    `bidi \u202e txt`,
		"größe 😀 stays":      "größe 😀 stays",
		"replacement � kept": "replacement � kept",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Line("a\nb\tc"); got != "a␊b␉c" {
		t.Errorf("Line = %q", got)
	}
}

func TestWriterKeepsOwnStyles(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	text := ansi.Pen{On: true}.Paint("red", ansi.Bold, ansi.Red) + "\x1b]0;title\a \x1b[8mhidden"
	for i := range len(text) { // one byte at a time
		if _, err := w.Write([]byte{text[i]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "\x1b[1m\x1b[31mred\x1b[0m␛]0;title␇ ␛[8mhidden"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestWriterKeepsCharactersCutInTwo(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, part := range []string{"gr\xc3", "\xb6\xc3\x9fe", "\x1b[", "31mx\r", "\n", "\xc3"} {
		if _, err := w.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := "größe\x1b[31mx\n\\xc3"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func FuzzWriter(f *testing.F) {
	f.Add("\x1b[31mx\x1b[0m", 3)
	f.Add("a\x9b\u202e\r\n", 1)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		var out bytes.Buffer
		w := NewWriter(&out)
		cut = min(max(cut, 0), len(text))
		for _, part := range []string{text[:cut], text[cut:]} {
			if _, err := w.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		got := out.String()
		for _, seq := range ansi.Sequences {
			got = strings.ReplaceAll(got, seq, "")
		}
		if strings.ContainsFunc(got, isHarmful) || !utf8.ValidString(got) {
			t.Errorf("%q came out as %q", text, got)
		}
	})
}
