package cli

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

	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/terminal"
)

// A command is one entry of the command line.
type command struct {
	name     string // one or two words
	aliases  []string
	args     string // positional arguments as the usage line shows them
	synopsis string
	long     string // paragraphs for -help
	main     bool   // one of the few that most people need
	hidden   bool
	min, max int // how many positional arguments; max -1 means any number
	// setup registers the flags and returns what runs once they are parsed;
	// nil for a group of commands.
	setup func(e *env, fs *flag.FlagSet) runner
}

// A runner does a command's work with its positional arguments and returns the
// exit code.
type runner func(ctx context.Context, args []string) int

// run parses the arguments and does the work.
func (c *command) run(ctx context.Context, e *env, args []string) int {
	fs, run := c.flags(e)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(e.out, c.usage(e))
			return 0
		}
		e.json = e.json || wantsJSON(args) && fs.Lookup("json") != nil
		if e.json && fs.Lookup("json-into") != nil {
			e.startStream()
		}
		return c.misused(e, diag.OneError("Failed to parse command-line flags", "%s", err))
	}
	n := fs.NArg()
	switch {
	case n < c.min:
		return c.misused(e, diag.OneError("Required argument missing", "The %s command expects %s.", c.name, c.expects()))
	case c.max >= 0 && n > c.max:
		return c.misused(e, diag.OneError("Too many command line arguments", "The %s command expects %s. Options have to stand before positional arguments.", c.name, c.expects()))
	}
	return run(ctx, fs.Args())
}

// flags registers the command's flags. Those of commands that need a backend
// include -var and -var-file, since its settings may refer to variables.
func (c *command) flags(e *env) (*flag.FlagSet, runner) {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	run := c.setup(e, fs)
	group, _, _ := strings.Cut(c.name, " ")
	switch group {
	case "state", "workspace", "taint", "untaint", "output", "force-unlock":
		(*varFlags)(&e.directory.SettingsVars).register(fs)
	}
	return fs, run
}

func wantsJSON(args []string) bool {
	return slices.Contains(args, "-json") || slices.Contains(args, "--json") || slices.Contains(args, "-json=true")
}

func (c *command) expects() string {
	switch {
	case c.max == 0:
		return "no positional arguments"
	case c.max == 1 && c.min == 0:
		return "at most one positional argument: " + c.args
	}
	return "the arguments " + c.args
}

func (c *command) misused(e *env, problems diag.List) int {
	e.diags(problems)
	if !e.json {
		fmt.Fprintf(e.err, "\nFor more help on using this command, run:\n  %s %s -help\n", e.program, c.name)
	}
	return 1
}

// usage is the text of -help.
func (c *command) usage(e *env) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s [global options] %s", e.program, c.name)
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	if c.setup != nil {
		fs, _ = c.flags(e)
		b.WriteString(" [options]")
	} else {
		b.WriteString(" <subcommand> [options] [args]")
	}
	if c.args != "" {
		b.WriteString(" " + c.args)
	}
	b.WriteString("\n\n" + terminal.Indent(c.synopsis+".", 2, 78))
	if c.long != "" {
		b.WriteString("\n" + terminal.Indent(c.long, 2, 78))
	}
	if c.setup == nil {
		b.WriteString("\nSubcommands:\n")
		for _, sub := range commands {
			if word, ok := strings.CutPrefix(sub.name, c.name+" "); ok && !sub.hidden {
				fmt.Fprintf(&b, "    %-18s %s\n", word, sub.synopsis)
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
func (e *env) help(args []string) int {
	if len(args) > 0 {
		cmd, _ := find(args)
		if cmd == nil {
			return e.unknown(args)
		}
		fmt.Fprint(e.out, cmd.usage(e))
		return 0
	}
	fmt.Fprint(e.out, e.overview())
	return 0
}

func (e *env) overview() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s [global options] <subcommand> [args]\n\n", e.program)
	b.WriteString("The commands below are those of everyday work, in the order of use.\n\nMain commands:\n")
	list := func(main bool) {
		for _, c := range commands {
			if c.main == main && !c.hidden && !strings.Contains(c.name, " ") {
				fmt.Fprintf(&b, "  %-13s %s\n", c.name, c.synopsis)
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
func (e *env) unknown(args []string) int {
	if len(args) == 0 {
		fmt.Fprint(e.out, e.overview())
		return 127
	}
	given, group := args[0], ""
	if cmd, _ := find(args[:1]); cmd != nil && len(args) > 1 {
		group, given = args[0]+" ", args[1]
	}
	fmt.Fprintf(e.err, "%s has no command named \"%s%s\".", title(e.program), group, given)
	if near := nearest(group, given); near != "" {
		fmt.Fprintf(e.err, " Did you mean: %q?", near)
	}
	fmt.Fprintf(e.err, "\n\nTo see all of weir's top-level commands, run:\n  %s -help\n\n", e.program)
	return 1
}

func title(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// nearest is the command within the group whose name is like the given one.
func nearest(group, given string) string {
	type candidate struct {
		name     string
		distance int
	}
	var all []candidate
	for _, c := range commands {
		word, ok := strings.CutPrefix(c.name, group)
		if !ok || c.hidden || strings.Contains(word, " ") {
			continue
		}
		if d := levenshtein.Distance(given, word, nil); d < 3 {
			all = append(all, candidate{c.name, d})
		}
	}
	if len(all) == 0 {
		return ""
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].distance < all[j].distance })
	return all[0].name
}
