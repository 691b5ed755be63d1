package output

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

// TestResultCutOff: a short document that can't be made leaves nothing, a long one its beginning.
func TestResultCutOff(t *testing.T) {
	for _, size := range []int{10, 100_000} {
		var out, problems bytes.Buffer
		s := &Screen{Out: &out, Err: &problems, JSON: true, Sources: func() map[string][]byte { return nil }}
		s.Begin(Document)
		code := s.ResultTo("one", func(w io.Writer) error {
			if _, err := w.Write(bytes.Repeat([]byte("x"), size)); err != nil {
				return err
			}
			return errors.New("no more")
		}, func() int { return 0 })
		if code != 1 || !strings.Contains(out.String()+problems.String(), "no more") {
			t.Errorf("%d bytes: exit code %d, %s", size, code, problems.String())
		}
		if size < 100 && strings.Contains(out.String(), "x") {
			t.Errorf("the beginning of a short document is printed: %s", out.String())
		}
	}
	for _, test := range []struct {
		err  error
		code int
	}{{syscall.EPIPE, 0}, {syscall.ENOSPC, 1}} {
		var problems bytes.Buffer
		s := &Screen{Out: failing{test.err}, Err: &problems, JSON: true, Sources: func() map[string][]byte { return nil }}
		s.Begin(Document)
		code := s.ResultTo("one", func(w io.Writer) error {
			_, err := w.Write(make([]byte, 100_000))
			return err
		}, func() int { return 0 })
		if code != test.code || strings.Contains(problems.String(), "marshal") {
			t.Errorf("%v: exit code %d, %s", test.err, code, problems.String())
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
