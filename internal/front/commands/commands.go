// Package commands is a table of commands: which one arguments name, what its
// options are, how it is used, and what was perhaps meant.
//
// It owns the form of command lines and of help texts. It refuses to know what any
// command does.
package commands

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/agext/levenshtein"

	"weir.dev/weir/internal/front/screen"
	"weir.dev/weir/internal/front/terminal"
	"weir.dev/weir/internal/word/diag"
)

// A Command is one entry of the command line. E is what commands share.
type Command[E any] struct {
	Name     string // one to three words
	Aliases  []string
	Args     string // positional arguments as the usage line shows them
	Synopsis string
	Long     string // paragraphs for -help
	Main     bool   // one of the few that most people need
	Hidden   bool
	Min, Max int // how many positional arguments; Max -1 means any number
	// Setup registers the flags and returns what runs once they are parsed;
	// nil for a group of commands.
	Setup func(e E, fs *flag.FlagSet) Runner
}

// A Runner does a command's work with its positional arguments and returns the
// exit code.
type Runner func(ctx context.Context, args []string) int

// A Table has all commands in the order of the help text.
type Table[E any] struct {
	Program string // its name in help texts
	Screen  *screen.Screen
	Getenv  func(string) string
	Env     E
	All     []*Command[E]
	// Leave has another program do a command, with its name as arguments before the
	// others.
	Leave func(args []string) (code int, diags diag.List)
}

// Run finds the command that arguments name, and runs it.
func (t *Table[E]) Run(ctx context.Context, args []string) int {
	if len(args) > 0 && (isHelp(args[0]) || args[0] == "help") {
		return t.help(args[1:])
	}
	cmd, rest := t.find(args)
	if cmd == nil {
		return t.unknown(args)
	}
	if leaves(cmd.Name, rest) {
		code, diags := t.Leave(append(strings.Fields(cmd.Name), rest...))
		return max(code, t.Screen.Diags(diags))
	}
	if cmd.Setup == nil { // a group such as state
		if len(rest) > 0 && isHelp(rest[0]) {
			fmt.Fprint(t.Screen.Out, t.usage(cmd))
			return 0
		}
		if len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
			return t.unknown(args)
		}
		fmt.Fprint(t.Screen.Err, t.usage(cmd))
		return 1
	}
	rest, err := t.withEnvironment(cmd, rest)
	if err != nil {
		fmt.Fprintf(t.Screen.Err, "%s\n", err)
		return 1
	}
	if slices.ContainsFunc(rest, isHelp) {
		fmt.Fprint(t.Screen.Out, t.usage(cmd))
		return 0
	}
	return t.run(ctx, cmd, t.Screen.TakeFlags(rest))
}

func isHelp(arg string) bool { return arg == "-help" || arg == "--help" || arg == "-h" }

// find looks the command up by one or two words and returns what follows.
func (t *Table[E]) find(args []string) (*Command[E], []string) {
	for n := min(3, len(args)); n > 0; n-- {
		name := strings.Join(args[:n], " ")
		for _, c := range t.All {
			if c.Name == name || slices.Contains(c.Aliases, name) {
				return c, args[n:]
			}
		}
	}
	return nil, args
}

// withEnvironment puts arguments from TF_CLI_ARGS_<command> and TF_CLI_ARGS before
// those of the command line.
func (t *Table[E]) withEnvironment(cmd *Command[E], args []string) ([]string, error) {
	specific := "TF_CLI_ARGS_" + strings.NewReplacer(" ", "_", "-", "_").Replace(cmd.Name)
	var all []string
	for _, name := range []string{specific, "TF_CLI_ARGS"} {
		words, err := terminal.SplitWords(t.Getenv(name))
		if err != nil {
			return nil, fmt.Errorf("Error parsing extra CLI args from %s: %s", name, err)
		}
		all = append(all, words...)
	}
	return append(all, args...), nil
}

// run parses the arguments and does the work.
func (t *Table[E]) run(ctx context.Context, c *Command[E], args []string) int {
	fs, run := t.flags(c)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(t.Screen.Out, t.usage(c))
			return 0
		}
		t.Screen.JSON = t.Screen.JSON || wantsJSON(args) && fs.Lookup("json") != nil
		if t.Screen.JSON && fs.Lookup("json-into") != nil {
			t.Screen.Start()
		}
		return t.misused(c, diag.BadOption.As("Failed to parse command-line flags").List("%s", err))
	}
	n := fs.NArg()
	switch {
	case n < c.Min:
		return t.misused(c, diag.BadOption.As("Required argument missing").List("The %s command expects %s.", c.Name, c.expects()))
	case c.Max >= 0 && n > c.Max:
		return t.misused(c, diag.BadOption.As("Too many command line arguments").List("The %s command expects %s. Options have to stand before positional arguments.", c.Name, c.expects()))
	}
	return run(ctx, fs.Args())
}

// flags registers the command's flags.
func (t *Table[E]) flags(c *Command[E]) (*flag.FlagSet, Runner) {
	fs := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return fs, c.Setup(t.Env, fs)
}

func wantsJSON(args []string) bool {
	return slices.Contains(args, "-json") || slices.Contains(args, "--json") || slices.Contains(args, "-json=true")
}

func (c *Command[E]) expects() string {
	switch {
	case c.Max == 0:
		return "no positional arguments"
	case c.Max == 1 && c.Min == 0:
		return "at most one positional argument: " + c.Args
	}
	return "the arguments " + c.Args
}

func (t *Table[E]) misused(c *Command[E], problems diag.List) int {
	t.Screen.Diags(problems)
	if !t.Screen.JSON {
		fmt.Fprintf(t.Screen.Err, "\nFor more help on using this command, run:\n  %s %s -help\n", t.Program, c.Name)
	}
	return 1
}

// usage is the text of -help.
func (t *Table[E]) usage(c *Command[E]) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s [global options] %s", t.Program, c.Name)
	fs := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	if c.Setup != nil {
		fs, _ = t.flags(c)
		b.WriteString(" [options]")
	} else {
		b.WriteString(" <subcommand> [options] [args]")
	}
	if c.Args != "" {
		b.WriteString(" " + c.Args)
	}
	b.WriteString("\n\n" + terminal.Indent(c.Synopsis+".", 2, 78))
	if c.Long != "" {
		b.WriteString("\n" + terminal.Indent(c.Long, 2, 78))
	}
	if c.Setup == nil {
		b.WriteString("\nSubcommands:\n")
		for _, sub := range t.All {
			if word, ok := strings.CutPrefix(sub.Name, c.Name+" "); ok && !sub.Hidden {
				fmt.Fprintf(&b, "    %-18s %s\n", word, sub.Synopsis)
			}
		}
		return b.String()
	}
	b.WriteString("\nOptions:\n")
	fs.VisitAll(func(f *flag.Flag) {
		if f.Usage != "" {
			terminal.WriteFlag(&b, f)
		}
	})
	b.WriteString("\n  -no-color, -compact-warnings, -consolidate-warnings=false,\n  -consolidate-errors and -concise are understood by every command.\n")
	return b.String()
}

// help prints the help of a command, or of the program.
func (t *Table[E]) help(args []string) int {
	if len(args) > 0 {
		cmd, _ := t.find(args)
		if cmd == nil {
			return t.unknown(args)
		}
		fmt.Fprint(t.Screen.Out, t.usage(cmd))
		return 0
	}
	fmt.Fprint(t.Screen.Out, t.overview())
	return 0
}

func (t *Table[E]) overview() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s [global options] <subcommand> [args]\n\n", t.Program)
	b.WriteString("The commands below are those of everyday work, in the order of use.\n\nMain commands:\n")
	list := func(main bool) {
		for _, c := range t.All {
			if c.Main == main && !c.Hidden && !strings.Contains(c.Name, " ") {
				fmt.Fprintf(&b, "  %-13s %s\n", c.Name, c.Synopsis)
			}
		}
	}
	list(true)
	b.WriteString("\nAll other commands:\n")
	list(false)
	b.WriteString(`
Global options (use these before the subcommand, if any):
  -chdir=DIR    Switch to a different working directory before executing the
                given subcommand.
  -compat=NAME  The engine whose meaning counts where the two differ: opentofu
                or terraform. By default that of WEIR_COMPAT.
  -help         Show this help output, or the help for a specified subcommand.
  -version      An alias for the "version" subcommand.
`)
	return b.String()
}

// unknown says that there is no such command and what was perhaps meant.
func (t *Table[E]) unknown(args []string) int {
	if len(args) == 0 {
		fmt.Fprint(t.Screen.Out, t.overview())
		return 127
	}
	given, group := args[0], ""
	if cmd, _ := t.find(args[:1]); cmd != nil && len(args) > 1 {
		group, given = args[0]+" ", args[1]
	}
	fmt.Fprintf(t.Screen.Err, "%s has no command named \"%s%s\".", title(t.Program), group, given)
	if near := t.nearest(group, given); near != "" {
		fmt.Fprintf(t.Screen.Err, " Did you mean: %q?", near)
	}
	fmt.Fprintf(t.Screen.Err, "\n\nTo see all of weir's top-level commands, run:\n  %s -help\n\n", t.Program)
	return 1
}

func title(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// nearest is the command within the group whose name is like the given one.
func (t *Table[E]) nearest(group, given string) string {
	type candidate struct {
		name     string
		distance int
	}
	var all []candidate
	for _, c := range t.All {
		word, ok := strings.CutPrefix(c.Name, group)
		if !ok || c.Hidden || strings.Contains(word, " ") {
			continue
		}
		if d := levenshtein.Distance(given, word, nil); d < 3 {
			all = append(all, candidate{c.Name, d})
		}
	}
	if len(all) == 0 {
		return ""
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].distance < all[j].distance })
	return all[0].name
}

// Texts collects the values of a flag that may be repeated.
type Texts []string

// String implements flag.Value.
func (t *Texts) String() string { return "" }

// Set implements flag.Value.
func (t *Texts) Set(s string) error {
	*t = append(*t, s)
	return nil
}
