package output

import (
	"bytes"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/diag"
)

// TestColours: each stream has colours if it is a terminal or they are asked for, and
// neither where they are unwanted.
func TestColours(t *testing.T) {
	for _, c := range []struct {
		name     string
		set      func(*Screen)
		out, err bool
	}{
		{"no terminal", func(*Screen) {}, false, false},
		{"both", func(s *Screen) { s.Terminal, s.ErrTerminal = true, true }, true, true},
		{"errors go to a file", func(s *Screen) { s.Terminal = true }, true, false},
		{"results go to a file", func(s *Screen) { s.ErrTerminal = true }, false, true},
		{"wanted everywhere", func(s *Screen) { s.Coloured = true }, true, true},
		{"forbidden by the environment", func(s *Screen) { s.Terminal, s.ErrTerminal, s.Plain = true, true, true }, false, false},
		{"forbidden by an option", func(s *Screen) { s.Terminal, s.Coloured, s.NoColor = true, true, true }, false, false},
	} {
		var out, err bytes.Buffer
		s := &Screen{Out: &out, Err: &err, Sources: func() map[string][]byte { return nil }}
		c.set(s)
		s.Diags(diag.List{
			{Severity: diag.Warning, Summary: "Warned", Detail: "Once."},
			{Severity: diag.Error, Summary: "Failed", Detail: "Twice."},
		})
		for name, stream := range map[string]struct {
			text string
			want bool
		}{"results": {out.String(), c.out}, "errors": {err.String(), c.err}} {
			if got := strings.Contains(stream.text, "\x1b["); got != stream.want || !strings.Contains(stream.text, "ed") {
				t.Errorf("%s: colours in %s: %v in %q", c.name, name, got, stream.text)
			}
		}
	}
}
