package commands

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"weir.dev/weir/internal/ui/output"
)

// TestPage: what -help prints of a command with few options, and of one with many.
func TestPage(t *testing.T) {
	setup := func(n int) func(int, *flag.FlagSet) Runner {
		return func(_ int, fs *flag.FlagSet) Runner {
			fs.Int("count", 10, "Do it `N` times.")
			fs.Duration("wait", 0, "How `LONG` to wait.")
			fs.Bool("ask", true, "Don't ask.")
			fs.String("state", "x", "Read `PATH` (default: beside the rest).")
			fs.String("gone", "", "")
			for i := range n {
				fs.Bool(fmt.Sprint("more", i), false, "More.")
			}
			return nil
		}
	}
	table := &Table[int]{Program: "weir", Screen: &output.Screen{}, All: []*Command[int]{
		{Name: "few", Args: "[A]", Synopsis: "Do a little", Long: "It is soon done.", Aliases: []string{"short"}, Setup: setup(0), JSON: output.Own},
		{Name: "many", Synopsis: "Do a lot", Setup: setup(9), JSON: output.Own},
		{Name: "none", Synopsis: "Do nothing", JSON: output.Own, Setup: func(int, *flag.FlagSet) Runner { return nil }},
		{Name: "group", Synopsis: "Some"},
		{Name: "group one", Synopsis: "First", Setup: setup(0), Hidden: false},
		{Name: "group two", Synopsis: "Second", Setup: setup(0), Hidden: true},
	}, Examples: "# Examples\n\n## few\n\nThrice:\n\n    few -count=3\n\n## many\n"}
	for name, want := range map[string]string{
		"few": `Usage: weir [global options] few [options] [A]

  Do a little.

  It is soon done.

Options:
  -ask=false              Don't ask.
  -count=N                Do it N times (default: 10).
  -state=PATH             Read PATH (default: beside the rest).
  -wait=LONG              How LONG to wait.

Examples:
  # Thrice
  weir few -count=3

Options that every command has, such as -no-color: weir -help.
`,
		"none": `Usage: weir [global options] none [options]

  Do nothing.
`,
		"group": `Usage: weir [global options] group <subcommand> [options] [args]

  Some.

Subcommands:
    one                First
`,
	} {
		c, _ := table.find([]string{name})
		if got := table.Page(c).Text(); got != want {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	many, _ := table.find([]string{"many"})
	text := table.Page(many).Text()
	if i, j := strings.Index(text, "\nOptions:\n  -ask=false"), strings.Index(text, "\nState and lock:\n  -state=PATH"); i < 0 || j < i {
		t.Error(text)
	}
	few, _ := table.find([]string{"few"})
	page := table.Page(few)
	for _, part := range []string{"## weir few\n\nDo a little.\n\n    weir few [options] [A]\n", "Also: `short`.", "| `-count=N` | Do it N times (default: 10). |", "```sh\n# Thrice\nweir few -count=3\n```"} {
		if !strings.Contains(page.Markdown(), part) {
			t.Errorf("no %q in\n%s", part, page.Markdown())
		}
	}
	if file, man := page.Man("1.2"); file != "weir-few.1" || !strings.Contains(man, ".TP\n.B \\-count=N\nDo it N times (default: 10).\n") || !strings.Contains(man, ".BR weir (1)") {
		t.Error(file, man)
	}
	if over := table.Overview().Text(); !strings.Contains(over, "-install-autocomplete") || !strings.Contains(over, "TF_VAR_NAME") || strings.Index(over, "  few ") > strings.Index(over, "  none ") {
		t.Error(over)
	}
	if n := len(table.Pages()); n != 6 { // the program's, and no hidden one
		t.Error(n, "pages")
	}
}

// TestRoff: text is text to man, whatever it begins with.
func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		".terraform is": `\&.terraform is` + "\n",
		`'a' "b" \ -c`:  `\(aqa\(aq \(dqb\(dq \e \-c` + "\n",
		"a\n\n.b":       "a\n.PP\n\\&.b\n",
	} {
		if got := paragraphs(text); got != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

// TestLine: words of a command line that is being typed, also within quotes.
func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"weir":                       "",
		"weir plan ":                 "plan|",
		"weir plan -target=a.b":      "plan|-target=a.b",
		`weir plan -target='a.b["k`:  `plan|-target=a.b["k`,
		`weir plan -target="a.b[\"k`: `plan|-target=a.b["k`,
		`weir plan -target=a.b\[0`:   "plan|-target=a.b[0",
		`weir plan 'a b' c`:          "plan|a b|c",
	} {
		if got := strings.Join(Line(text, len(text)), "|"); got != want {
			t.Errorf("%s: got %s", text, got)
		}
	}
	if got := strings.Join(Line("weir state show a", 8), "|"); got != "sta" {
		t.Error(got)
	}
}
