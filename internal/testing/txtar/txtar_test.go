package txtar

import (
	"fmt"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "|",
		"only a comment":                     "only a comment\n|",
		"c\n-- a.tf --\nx\n-- b/c --\n":      "c\n|a.tf=x\n|b/c=|",
		"-- a --\n--  --\n-- b\n--c --\nend": "|a=--  --\n-- b\n--c --\nend\n|",
		"-- a --\r\nx\r\n":                   "|a=x\r\n|",
	} {
		a := Parse([]byte(text))
		got := string(a.Comment) + "|"
		for _, f := range a.Files {
			got += fmt.Sprintf("%s=%s|", f.Name, f.Data)
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestFormat(t *testing.T) {
	const text = "c\n-- a --\nx\n-- b --\n"
	if got := string(Format(&Archive{Comment: []byte("c"), Files: []File{{"a", []byte("x")}, {"b", nil}}})); got != text {
		t.Errorf("got %q", got)
	}
	if got := string(Format(Parse([]byte(text)))); got != text {
		t.Errorf("%q comes back as %q", text, got)
	}
}
