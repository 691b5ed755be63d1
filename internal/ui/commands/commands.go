// Package commands parses command lines by a table of commands, prints their help, and
// suggests similar names.
//
// It owns the form of command lines and of help texts. It doesn't know what any command does.
package commands

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/suggest"
	"weir.dev/weir/internal/core/trace"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/terminal"
)

// A Command is one entry of the command line. E is what commands share.
type Command[E any] struct {
	Name     string // one to three words
	Aliases  []string
	Args     string // positional arguments as the usage line shows them
	Synopsis string
	Long     string // paragraphs for -help
	Hidden   bool
	Min, Max int // how many positional arguments; Max -1 means any number
	JSON     output.Form
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
	Screen  *output.Screen
	Getenv  func(string) string
	Env     E
	All     []*Command[E]
	// Running is called with the name of the command that is about to run; nil isn't.
	Running func(name string)
	// Near is what the completion of command lines offers of the directory.
	Near Near
	// Examples has command lines as ReadExamples reads them.
	Examples string
	// EditShells changes what shells read at their start, and returns the files it wrote.
	EditShells func(change func(shell, text string) string) ([]string, error)
	// Leave has another program do a command, with its name as arguments before the
	// others.
	Leave func(args []string) (code int, diags diag.List)
}

// Run finds the command that arguments name, and runs it.
func (t *Table[E]) Run(ctx context.Context, args []string) int {
	if code, done := t.complete(args); done {
		return code
	}
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
	trace.Name(ctx, "weir "+cmd.Name)
	if t.Running != nil {
		t.Running(cmd.Name)
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
		return t.misused(c, fs, args, diag.BadOption.As("Failed to parse command-line flags").List("%s", refused(fs, err)))
	}
	n := fs.NArg()
	switch {
	case n < c.Min:
		return t.misused(c, fs, args, diag.BadOption.As("Required argument missing").List("The %s command expects %s.", c.Name, c.expects()))
	case c.Max >= 0 && n > c.Max:
		return t.misused(c, fs, args, diag.BadOption.As("Too many command line arguments").List("The %s command expects %s. Options have to stand before positional arguments.%s", c.Name, c.expects(), t.nested(c.Name, fs.Arg(0))))
	}
	if c.JSON != output.Own {
		if code := t.Screen.Begin(c.JSON); code != 0 {
			return code
		}
	}
	ctx, tell := t.Screen.Timed(ctx)
	defer tell()
	return run(ctx, fs.Args())
}

// flags registers the command's flags.
func (t *Table[E]) flags(c *Command[E]) (*flag.FlagSet, Runner) {
	fs := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	if c.JSON != output.Own {
		RegisterJSON(fs, t.Screen)
	}
	return fs, c.Setup(t.Env, fs)
}

// RegisterJSON registers the options that choose output for programs.
func RegisterJSON(fs *flag.FlagSet, on *output.Screen) {
	fs.BoolVar(&on.JSON, "json", false, "Print JSON or lines of JSON for programs; implies -input=false.")
	fs.StringVar(&on.Into, "json-into", "", "Write the output of -json to `FILE`, beside the text for people.")
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

// misused says what is wrong with arguments, in the form that programs read from the
// command where they want it.
func (t *Table[E]) misused(c *Command[E], fs *flag.FlagSet, args []string, problems diag.List) int {
	t.Screen.JSON = t.Screen.JSON || wantsJSON(args) && fs.Lookup("json") != nil
	if fs.Lookup("json-into") != nil {
		form := c.JSON
		if form == output.Own {
			form = output.Messages // nothing is done that could be shown
		}
		if code := t.Screen.Begin(form); code != 0 {
			return code
		}
	}
	if c.JSON == output.Verdict {
		t.Screen.Validation(problems)
		if t.Screen.JSON {
			return 1
		}
	}
	t.Screen.Diags(problems)
	if !t.Screen.JSON {
		fmt.Fprintf(t.Screen.Err, "\nFor more help on using this command, run:\n  %s %s -help\n", t.Program, c.Name)
	}
	return 1
}

// usage is the text of -help.
func (t *Table[E]) usage(c *Command[E]) string { return t.Page(c).Text() }

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

func (t *Table[E]) overview() string { return t.Overview().Text() }

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
	if strings.HasPrefix(args[0], "-") {
		fmt.Fprintf(t.Screen.Err, "The option %s stands after a command, such as: %s plan %s\n\nTo see all of weir's top-level commands, run:\n  %s -help\n\n", args[0], t.Program, args[0], t.Program)
		return 1
	}
	fmt.Fprintf(t.Screen.Err, "%s has no command named \"%s%s\".", t.Program, group, given)
	if best := t.nearest(group, given); best != "" {
		fmt.Fprintf(t.Screen.Err, " Did you mean: %q?", best)
	}
	fmt.Fprintf(t.Screen.Err, "\n\nTo see all of weir's top-level commands, run:\n  %s -help\n\n", t.Program)
	return 1
}

// nearest is the command within the group whose name is like the given one.
func (t *Table[E]) nearest(group, given string) string {
	var words []string
	for _, c := range t.All {
		if word, ok := strings.CutPrefix(c.Name, group); ok && !c.Hidden && !strings.Contains(word, " ") {
			words = append(words, word)
		}
	}
	if best := suggest.Proper(given, words); best != "" {
		return group + best
	}
	return ""
}

// nested proposes a command below another one, which an argument was perhaps meant to name.
func (t *Table[E]) nested(name, given string) string {
	if c := t.nearest(name+" ", given); c != "" {
		return fmt.Sprintf(" Did you mean: %q?", c)
	}
	return ""
}

// refused says what is wrong with options that can't be read, and what they may be.
func refused(fs *flag.FlagSet, err error) string {
	text := err.Error()
	if name, missing := strings.CutPrefix(text, "flag needs an argument: -"); missing {
		return fmt.Sprintf("The option -%s needs a value: -%s=VALUE.", name, name)
	}
	// This is how package flag says that a value can't be read.
	m := regexp.MustCompile(`(?s)^invalid (?:boolean )?value (".*") for (?:flag )?-(\S+): (.*)$`).FindStringSubmatch(text)
	if m == nil {
		return text + nearestFlag(fs, err)
	}
	value, name, cause := m[1], m[2], strings.TrimSuffix(m[3], ".")
	switch {
	case cause == "parse error":
		cause = "it has to be " + kind(fs.Lookup(name))
	case cause == "value out of range":
		cause = "that is too large"
	case strings.HasPrefix(cause, "has to "):
		cause = "it " + cause
	}
	return fmt.Sprintf("The option -%s can't be %s: %s.", name, value, cause)
}

// kind is what values of a flag are.
func kind(f *flag.Flag) string {
	if g, ok := f.Value.(flag.Getter); ok {
		switch g.Get().(type) {
		case bool:
			return "true or false"
		case time.Duration:
			return "a duration such as 30s or 5m"
		}
	}
	return "a whole number"
}

// unsupported are flags of OpenTofu and Terraform that weir lacks on purpose, of one command or of
// all, and what serves instead.
var unsupported = []struct{ command, name, instead string }{
	{"", "policies", "Policies belong to HCP Terraform, and its runs print their results. To check a plan, save it with -out=FILE and pass the JSON of \"show -json FILE\" to a policy tool"},
	{"refresh", "minimal-refresh", "The refresh command reads all objects. The plan command has -minimal-refresh"},
}

// nearestFlag is a sentence about the flag that was perhaps meant by one that doesn't exist.
func nearestFlag(fs *flag.FlagSet, err error) string {
	given, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !ok {
		return ""
	}
	for _, f := range unsupported {
		if f.name == given && (f.command == "" || f.command == fs.Name()) {
			return ". " + f.instead
		}
	}
	var names []string
	fs.VisitAll(func(f *flag.Flag) {
		if f.Usage != "" {
			names = append(names, f.Name)
		}
	})
	best := suggest.Proper(given, names)
	if best == "" {
		return ""
	}
	return ". Did you mean -" + best + "?"
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
