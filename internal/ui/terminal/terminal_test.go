package terminal

import (
	"strings"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // joined by |, or ! for an error
	}{
		{"", ""},
		{"  -a  b ", "-a|b"},
		{`-var="a b"`, "-var=a b"},
		{`-var='a "b"'`, `-var=a "b"`},
		{`'' x`, "|x"},
		{`a\ b`, "a b"},
		{`"a\"b\n"`, `a"b\n`},
		{`'a\b'`, `a\b`},
		{`"open`, "!"},
		{`open\`, "!"},
	} {
		words, err := SplitWords(c.text)
		got := strings.Join(words, "|")
		if err != nil {
			got = "!"
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}
