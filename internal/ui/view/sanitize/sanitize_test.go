package sanitize

import (
	"strings"
	"testing"
	"unicode/utf8"
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

func FuzzText(f *testing.F) {
	f.Add("\x1b[31mx\x1b[0m")
	f.Add("a\x9b\u202e\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got := Text(text); strings.ContainsFunc(got, isHarmful) || !utf8.ValidString(got) {
			t.Errorf("%q came out as %q", text, got)
		}
	})
}
