package commands

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/ui/completion"
	"weir.dev/weir/internal/ui/terminal"
	"weir.dev/weir/internal/ui/view/ansi"
)

// complete does what has to do with the completion of command lines: it answers shells, by way
// of a script or of their own accord, and reports them to ask or not to.
func (t *Table[E]) complete(args []string) (code int, done bool) {
	if t.Getenv == nil {
		return 0, false
	}
	if line := t.Getenv("COMP_LINE"); line != "" { // complete -C
		point, err := strconv.Atoi(t.Getenv("COMP_POINT"))
		if err != nil {
			point = len(line)
		}
		for _, c := range t.Complete(Line(line, point)) {
			fmt.Fprintln(t.Screen.Out, c.Word)
		}
		return 0, true
	}
	if len(args) == 0 {
		return 0, false
	}
	change := completion.Installed
	switch strings.Replace(args[0], "--", "-", 1) {
	case completion.Ask:
		for _, c := range t.Complete(args[1:]) {
			fmt.Fprintf(t.Screen.Out, "%s\t%s\n", c.Word, c.About)
		}
		return 0, true
	case "-install-autocomplete":
	case "-uninstall-autocomplete":
		change = completion.Uninstalled
	default:
		return 0, false
	}
	if len(args) > 1 {
		if isHelp(args[1]) {
			t.Screen.Say("Usage: %s %s\n\n%s\n", t.Program, args[0], ansi.Wrap(t.aboutShells(), t.Screen.Prose()))
			return 0, true
		}
		return t.Screen.Fail(diag.BadOption.As("Too many command line arguments"), "%s stands alone.", args[0]), true
	}
	written, err := t.EditShells(func(shell, text string) string { return change(shell, t.Program, text) })
	switch {
	case err != nil:
		return t.Screen.Fail(diag.Unwritable.As("Failed to set up completion"), "The start files of the shells can't be changed: %s.", err), true
	case len(written) == 0:
		t.Screen.Say("Nothing to change: no shell has a file for its start in the home directory that isn't so already. \"%s completion SHELL\" prints what a shell has to read.\n", t.Program)
	default:
		t.Screen.Say("Changed %s. Shells that are started from now on go by that.\n", strings.Join(written, ", "))
	}
	return 0, true
}

// aboutShells is the help of what sets up completion.
func (t *Table[E]) aboutShells() string {
	return fmt.Sprintf("-install-autocomplete turns on completion for %[1]s. It adds a few lines to the start files of bash, zsh and fish in the home directory. -uninstall-autocomplete removes them. Missing files aren't created. \"%[1]s completion SHELL\" prints the script for a shell, and changes nothing.", t.Program)
}

// A Candidate is a word that may stand at a place of a command line.
type Candidate struct {
	// Word ends in "=" where a value follows.
	Word  string
	About string
}

// Complete are the words that may stand where the last of the given ones was started. The
// words are those after the program's name. None are offered for values and positional
// arguments that are anybody's to choose.
func (t *Table[E]) Complete(words []string) []Candidate {
	if len(words) == 0 {
		words = []string{""}
	}
	typed := words[len(words)-1]
	before := words[:len(words)-1]
	for len(before) > 0 && strings.HasPrefix(before[0], "-") {
		before = before[1:] // a global option
	}
	if len(before) == 0 && strings.HasPrefix(typed, "-") {
		return beginning(globals, typed)
	}
	if next := t.next(before, typed); next != nil {
		return next
	}
	c, rest := t.find(before)
	if c == nil || c.Setup == nil {
		return nil
	}
	if !strings.HasPrefix(typed, "-") {
		if len(rest) > 0 && rest[len(rest)-1] == "--" {
			return nil
		}
		return texts(t.arguments(c.Name), "", typed)
	}
	name, value, hasValue := strings.Cut(strings.TrimLeft(typed, "-"), "=")
	if hasValue {
		return texts(t.arguments("-"+name), typed[:len(typed)-len(value)], typed)
	}
	var all []Candidate
	fs, _ := t.flags(c)
	fs.VisitAll(func(f *flag.Flag) {
		if f.Usage == "" {
			return
		}
		placeholder, usage := flag.UnquoteUsage(f)
		word := "-" + f.Name
		if boolean, ok := f.Value.(interface{ IsBoolFlag() bool }); !ok || !boolean.IsBoolFlag() || placeholder != "" {
			word += "="
		} else if f.DefValue == "true" {
			word += "=false"
		}
		about, _, _ := strings.Cut(usage, ". ")
		all = append(all, Candidate{word, strings.TrimSuffix(about, ".")})
	})
	for _, name := range everywhere {
		all = append(all, Candidate{name, "Understood by every command"})
	}
	return beginning(all, "-"+strings.TrimLeft(typed, "-"))
}

// Near lists names in the directory, found without asking anybody; nil is
// nothing.
type Near struct {
	Workspaces func() []string
	Addresses  func() []string
}

// arguments are what may stand after a command, or be the value of a flag.
func (t *Table[E]) arguments(of string) []string {
	find := func() []string { return choices[of] }
	switch {
	case slices.Contains(addressed, of):
		find = t.Near.Addresses
	case of == "workspace select" || of == "workspace delete":
		find = t.Near.Workspaces
	}
	if find == nil {
		return nil
	}
	return find()
}

// choices are the values of flags and arguments that have a few.
var choices = map[string][]string{
	"completion": completion.Shells,
	"-progress":  {"auto", "tty", "plain", "json", "quiet"},
	"-detail":    {"full", "brief"},
	"-refresh":   {"true", "false", "auto"},
}

// addressed are the flags whose values are addresses, and the commands whose arguments are.
var addressed = []string{"-target", "-exclude", "-replace", "state show", "state list", "state rm", "state mv", "taint", "untaint", "why", "impact"}

// globals are the options that stand before commands.
var globals = []Candidate{
	{"-chdir=", "Switch to another directory first"}, {"-compat=opentofu", "What OpenTofu means counts"}, {"-compat=terraform", "What Terraform means counts"},
	{"-help", "Show help"}, {"-version", "Show the version"},
	{"-install-autocomplete", "Have shells complete command lines"}, {"-uninstall-autocomplete", "Take that back"},
}

// everywhere are the options that every command understands.
var everywhere = []string{"-help", "-no-color", "-compact-warnings", "-consolidate-warnings=false", "-consolidate-errors", "-concise"}

// next are the words that may follow in the name of a command; nil where a name is whole
// already.
func (t *Table[E]) next(before []string, typed string) []Candidate {
	group := ""
	if len(before) > 0 {
		group = strings.Join(before, " ") + " "
	}
	var all []Candidate
	seen := map[string]bool{}
	for _, c := range t.All {
		rest, ok := strings.CutPrefix(c.Name, group)
		if !ok || c.Hidden {
			continue
		}
		word, deeper, _ := strings.Cut(rest, " ")
		if !seen[word] && strings.HasPrefix(word, typed) && (deeper == "" || !t.has(group+word)) {
			seen[word] = true
			all = append(all, Candidate{word, c.Synopsis})
		}
	}
	return all
}

// has reports whether a name is a command's, which stands in the table itself.
func (t *Table[E]) has(name string) bool {
	for _, c := range t.All {
		if c.Name == name {
			return true
		}
	}
	return false
}

func beginning(all []Candidate, typed string) (some []Candidate) {
	for _, c := range all {
		if strings.HasPrefix(c.Word, typed) {
			some = append(some, c)
		}
	}
	return some
}

func texts(list []string, prefix, typed string) (all []Candidate) {
	for _, text := range list {
		all = append(all, Candidate{Word: prefix + text})
	}
	return beginning(all, typed)
}

// Line takes a command line apart for Complete: the words after the program's name, up to
// the place where it is typed.
func Line(text string, point int) []string {
	if point >= 0 && point < len(text) {
		text = text[:point]
	}
	words, err := terminal.SplitWords(text)
	for _, quote := range []string{"'", `"`} { // one that is still open
		if err != nil {
			words, err = terminal.SplitWords(text + quote)
		}
	}
	if err != nil {
		words = strings.Fields(text)
	}
	if len(words) == 0 {
		return nil
	}
	if strings.HasSuffix(text, " ") {
		words = append(words, "")
	}
	return words[1:]
}
