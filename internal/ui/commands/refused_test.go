package commands

import (
	"bytes"
	"flag"
	"io"
	"strings"
	"testing"

	"weir.dev/weir/internal/ui/output"
)

// TestRefused: what is said of options that can't be read names what they may be.
func TestRefused(t *testing.T) {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Bool("lock", true, "")
	fs.Int("parallelism", 0, "")
	fs.Duration("lock-timeout", 0, "")
	fs.String("out", "", "Write it.")
	for arg, want := range map[string]string{
		"-lock=x":           `The option -lock can't be "x": it has to be true or false.`,
		"-parallelism=x":    `The option -parallelism can't be "x": it has to be a whole number.`,
		"-lock-timeout=5":   `The option -lock-timeout can't be "5": it has to be a duration such as 30s or 5m.`,
		"-out":              "The option -out needs a value: -out=VALUE.",
		"-ot=x":             "flag provided but not defined: -ot. Did you mean -out?",
		"-otu=x":            "flag provided but not defined: -otu. Did you mean -out?",
		"-x":                "flag provided but not defined: -x",
		"-parallelism=1e99": `The option -parallelism can't be "1e99": it has to be a whole number.`,
		"-policies=x":       `flag provided but not defined: -policies. Policies belong to HCP Terraform, and its runs print their results. To check a plan, save it with -out=FILE and pass the JSON of "show -json FILE" to a policy tool`,
	} {
		if err := fs.Parse([]string{arg}); err == nil || refused(fs, err) != want {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

// TestAutocomplete: help about what sets up completion sets up nothing, and neither does
// what isn't understood.
func TestAutocomplete(t *testing.T) {
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-install-autocomplete", "-help"}, 0, "Usage: weir -install-autocomplete"},
		{[]string{"-uninstall-autocomplete", "--help"}, 0, "Usage: weir -uninstall-autocomplete"},
		{[]string{"--install-autocomplete", "bash"}, 1, "stands alone"},
	} {
		var out bytes.Buffer
		table := &Table[int]{Program: "weir", Screen: &output.Screen{Out: &out, Err: &out}, Getenv: func(string) string { return "" }}
		table.Screen.Sources = func() map[string][]byte { return nil }
		table.EditShells = func(func(shell, text string) string) ([]string, error) {
			t.Errorf("%q changes what shells read", test.args)
			return nil, nil
		}
		if code, done := table.complete(test.args); code != test.code || !done || !strings.Contains(out.String(), test.want) {
			t.Errorf("%q: %d %s", test.args, code, out.String())
		}
	}
}
