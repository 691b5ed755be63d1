package commands

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"weir.dev/weir/internal/ui/terminal"
)

// A Page is everything to say about the use of a command: -help prints it, and the reference
// and the manual are made of it.
type Page struct {
	Program  string
	Name     string // without the program's; empty for the program itself
	Aliases  []string
	Usage    string // what stands after the program
	Synopsis string
	Long     string // paragraphs, empty for none
	// Subcommands are those of a group, or the commands of the program, in groups.
	Subcommands []Group
	Options     []Group
	Examples    []Example
}

// A Group has entries under a title.
type Group struct {
	Title   string
	Entries []Entry
}

// An Entry is an option as it is written, or a command, and what it is about.
type Entry struct{ Head, Text string }

// An Example is a command line, and what it does.
type Example struct{ Line, Text string }

// sections are the groups of options in the order of a page. Anything that is in none of them
// is what the command alone is about, and comes first.
var sections = []struct {
	title string
	flags []string
}{
	{"Which part", []string{"target", "target-file", "exclude", "exclude-file", "deployment", "component", "all", "root", "affected", "with-upstream", "with-downstream"}},
	{"Values", []string{"var", "var-file", "input"}},
	{"Output", []string{"json", "json-into", "detail", "show-sensitive", "progress", "deprecation", "concise", "raw", "format"}},
	{"State and lock", []string{"state", "state-out", "backup", "backup-out", "lock", "lock-timeout", "ignore-remote-version"}},
}

// kinds are the groups of commands in the order of the program's page. A test holds that
// each command is in one of them.
var kinds = []struct {
	title string
	names []string
}{
	{"Run", []string{"init", "validate", "plan", "apply", "destroy", "refresh", "ui"}},
	{"Inspect", []string{"show", "output", "why", "impact", "analyze", "graph", "roots", "drift", "query", "modules", "providers", "metadata", "doctor", "version"}},
	{"Recover", []string{"recover", "force-unlock", "taint", "untaint"}},
	{"Develop", []string{"console", "fmt", "test", "get", "explain", "daemon", "lsp", "completion", "login", "logout"}},
	{"State", []string{"state", "move", "workspace", "import"}},
	{"Stacks", []string{"stacks"}},
}

// few is how many options need no groups.
const few = 8

// Page is the page of a command.
func (t *Table[E]) Page(c *Command[E]) Page {
	p := Page{Program: t.Program, Name: c.Name, Aliases: c.Aliases, Usage: c.Name, Synopsis: c.Synopsis, Long: c.Long}
	p.Examples = ReadExamples(t.Examples, c.Name)
	if c.Setup == nil {
		p.Usage += " <subcommand> [options] [args]"
		g := Group{Title: "Subcommands"}
		for _, sub := range t.All {
			if word, ok := strings.CutPrefix(sub.Name, c.Name+" "); ok && !sub.Hidden {
				g.Entries = append(g.Entries, Entry{word, sub.Synopsis})
			}
		}
		p.Subcommands = []Group{g}
		return p
	}
	p.Usage += " [options]"
	if c.Args != "" {
		p.Usage += " " + c.Args
	}
	fs, _ := t.flags(c)
	groups := make([]Group, len(sections)+1)
	count := 0
	fs.VisitAll(func(f *flag.Flag) {
		if f.Usage == "" {
			return
		}
		count++
		n := 0
		for i, s := range sections {
			if slices.Contains(s.flags, f.Name) {
				n = i + 1
			}
		}
		groups[n].Entries = append(groups[n].Entries, entry(f))
	})
	groups[0].Title = "Options"
	for i, s := range sections {
		groups[i+1].Title = s.title
	}
	if count <= few {
		all := Group{Title: "Options"}
		for _, g := range groups {
			all.Entries = append(all.Entries, g.Entries...)
		}
		slices.SortFunc(all.Entries, func(a, b Entry) int { return strings.Compare(a.Head, b.Head) })
		groups = []Group{all}
	}
	p.Options = slices.DeleteFunc(groups, func(g Group) bool { return len(g.Entries) == 0 })
	return p
}

// entry is an option; in its usage `NAME` is the placeholder.
func entry(f *flag.Flag) Entry {
	placeholder, usage := flag.UnquoteUsage(f)
	head := "-" + f.Name
	boolean, ok := f.Value.(interface{ IsBoolFlag() bool })
	switch {
	case ok && boolean.IsBoolFlag() && placeholder != "": // more than a switch
		head += "=" + placeholder
		usage = withDefault(usage, f.DefValue)
	case ok && boolean.IsBoolFlag() && f.DefValue == "true":
		head += "=false"
	case ok && boolean.IsBoolFlag():
	default:
		head += "=" + placeholder
		if !slices.Contains([]string{"", "0", "0s", "[]"}, f.DefValue) {
			usage = withDefault(usage, f.DefValue)
		}
	}
	return Entry{head, usage}
}

// withDefault adds the default to a usage that has none.
func withDefault(usage, value string) string {
	if strings.Contains(usage, "efault") {
		return usage
	}
	return strings.TrimSuffix(usage, ".") + " (default: " + value + ")."
}

// Overview is the page of the program.
func (t *Table[E]) Overview() Page {
	p := Page{Program: t.Program, Usage: "[global options] <subcommand> [args]",
		Synopsis: "Plan and apply infrastructure from configuration files",
		Long:     "weir plans and applies infrastructure from OpenTofu and Terraform configurations.",
		Options: []Group{
			{"Global options (use these before the subcommand, if any)", []Entry{
				{"-chdir=DIR", "Change to DIR before running the subcommand."},
				{"-compat=NAME", "Behave like opentofu or terraform where they differ (default: WEIR_COMPAT)."},
				{"-help", "Print this help, or the help of a subcommand."},
				{"-version", "Run the version subcommand."},
				{"-install-autocomplete", "Install shell completion; -uninstall-autocomplete removes it."},
			}},
			{"Options that every command has (use these after the subcommand)", []Entry{
				{"-no-color", "Print no colors (default without a terminal)."},
				{"-concise", "Hide progress lines."},
				{"-compact-warnings", "Print only titles of warnings, unless they come with errors."},
				{"-consolidate-warnings=false", "Print equal warnings each time instead of once with their number."},
				{"-consolidate-errors", "Print equal errors once with their number (default on a terminal)."},
			}},
			{"Environment", []Entry{
				{"TF_VAR_NAME", "Value of the input variable NAME."},
				{"TF_CLI_ARGS", "Arguments before those of each command; TF_CLI_ARGS_plan only for plan."},
				{"TF_WORKSPACE", "Workspace to use."},
				{"TF_DATA_DIR", "Directory for installed modules and providers (default: .terraform)."},
				{"TF_CLI_CONFIG_FILE", "File of the user's settings."},
				{"NO_COLOR, FORCE_COLOR", "Print no colors, or always print them, if not empty."},
			}},
		}}
	for _, group := range kinds {
		g := Group{Title: group.title}
		for _, name := range group.names {
			for _, c := range t.All {
				if c.Name == name && !c.Hidden {
					g.Entries = append(g.Entries, Entry{c.Name, c.Synopsis})
				}
			}
		}
		if len(g.Entries) > 0 {
			p.Subcommands = append(p.Subcommands, g)
		}
	}
	p.Examples = ReadExamples(t.Examples, p.Program)
	return p
}

// Pages are those of the program and of all commands, in the order of their names.
func (t *Table[E]) Pages() []Page {
	list := []Page{t.Overview()}
	for _, c := range t.All {
		if !c.Hidden {
			list = append(list, t.Page(c))
		}
	}
	slices.SortStableFunc(list, func(a, b Page) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Text is the page as -help prints it, at most 78 columns wide.
func (p Page) Text() string {
	var b strings.Builder
	if p.Name == "" {
		fmt.Fprintf(&b, "Usage: %s %s\n\n%s\n", p.Program, p.Usage, p.Long)
	} else {
		fmt.Fprintf(&b, "Usage: %s [global options] %s\n\n%s", p.Program, p.Usage, terminal.Indent(p.Synopsis+".", 2, 78))
		if p.Long != "" {
			b.WriteString("\n" + terminal.Indent(p.Long, 2, 78))
		}
	}
	for _, g := range p.Subcommands {
		indent, width := "  ", 13
		if p.Name != "" {
			indent, width = "    ", 18
		}
		b.WriteString("\n" + g.Title + ":\n")
		for _, e := range g.Entries {
			fmt.Fprintf(&b, "%s%-*s %s\n", indent, width, e.Head, e.Text)
		}
	}
	for _, g := range p.Options {
		b.WriteString("\n" + g.Title + ":\n")
		for _, e := range g.Entries {
			text := terminal.Indent(e.Text, 26, 78)
			if len(e.Head) < 22 {
				fmt.Fprintf(&b, "  %-23s %s", e.Head, strings.TrimLeft(text, " "))
			} else {
				fmt.Fprintf(&b, "  %s\n%s", e.Head, text)
			}
		}
	}
	if len(p.Examples) > 0 {
		b.WriteString("\nExamples:\n")
		for _, e := range p.Examples {
			b.WriteString(terminal.Indent("# "+e.Text, 2, 78) + "  " + p.Program + " " + e.Line + "\n")
		}
	}
	if len(p.Options) > 0 && p.Name != "" {
		fmt.Fprintf(&b, "\nOptions that every command has, such as -no-color: %s -help.\n", p.Program)
	}
	return b.String()
}

// ReadExamples reads the part of a page of examples that is about a command or the
// program, below a heading of the second order with its name: paragraphs, each before a
// line that begins with four spaces.
func ReadExamples(page, of string) (list []Example) {
	_, part, _ := strings.Cut(page, "\n## "+of+"\n")
	part, _, _ = strings.Cut(part, "\n## ")
	text := ""
	for line := range strings.Lines(part) {
		line = strings.TrimRight(line, "\n")
		if example, ok := strings.CutPrefix(line, "    "); ok {
			list = append(list, Example{example, strings.TrimSuffix(text, ":")})
		} else if line != "" {
			text = line
		}
	}
	return list
}
