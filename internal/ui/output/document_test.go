package output

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/dialect"
)

// TestForms has for each form of results what people and programs get.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		name          string
		form          Form
		dialect       dialect.Dialect
		json, into    bool
		people, other []string // what each has, in this order
	}{
		{name: "text alone", form: Messages, people: []string{"Moved\n  a.\n", "x\ny\n", "text"}},
		{name: "messages", form: Messages, json: true, people: []string{`"type":"version"`, `"@message":"Moved a."`, `"from":"a"`, `"type":"moved"`, `"@message":"x"`, `"type":"item"`, `"@message":"y"`, "{1}"}},
		{name: "messages beside text", form: Messages, into: true, people: []string{"Moved\n  a.\n", "x\ny\n", "text"}, other: []string{`"@message":"Moved a."`, `"@message":"x"`, "{1}"}},
		{name: "a document", form: Document, json: true, people: []string{"{1}\n"}},
		{name: "a document beside text", form: Document, into: true, people: []string{"text"}, other: []string{"{1}\n"}},
		{name: "either is messages", form: Either, json: true, people: []string{`"type":"version"`, "{1}"}},
		{name: "either is a document", form: Either, dialect: dialect.Terraform, json: true, people: []string{"{1}\n"}},
	} {
		var out bytes.Buffer
		s := &Screen{Out: &out, Err: &out, Dialect: c.dialect, JSON: c.json}
		if c.into {
			s.Into = filepath.Join(t.TempDir(), "into")
		}
		if code := s.Begin(c.form); code != 0 {
			t.Fatalf("%s: exit code %d: %s", c.name, code, out.String())
		}
		if c.form == Messages {
			s.SayAs("moved", map[string]any{"from": "a"}, "Moved\n  %s.\n", "a")
			s.List("item", []string{"x", "y"})
		}
		if code := s.Result("one", func() ([]byte, error) { return []byte("{1}"), nil }, func() int { s.Say("text"); return 0 }); code != 0 {
			t.Errorf("%s: exit code %d", c.name, code)
		}
		s.Close()
		inOrder(t, c.name, out.String(), c.people)
		if c.json && strings.Contains(out.String(), "text") {
			t.Errorf("%s: programs get text: %s", c.name, out.String())
		}
		if c.into {
			written, err := os.ReadFile(s.Into)
			if err != nil {
				t.Fatal(err)
			}
			inOrder(t, c.name, string(written), c.other)
		}
	}
}

func inOrder(t *testing.T, name, text string, parts []string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Errorf("%s: %q isn't there, or not in order: %s", name, part, text)
			return
		}
		rest = after
	}
}
