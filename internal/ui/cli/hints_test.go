package cli

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir.dev/weir/internal/ui/commands"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/terminal"
)

// Commands in Go source: those of calls that make one, and those of texts.
var (
	calls = []*regexp.Regexp{
		regexp.MustCompile(`diag\.Run\("([a-z][a-z -]*)", "([^"]*)"\)`),
		regexp.MustCompile(`diag\.Command\{[^}]*Name: "([a-z][a-z -]*)"(?:, Args: "([^"]*)")?`),
		regexp.MustCompile(`command\(s\.Program, "([a-z][a-z -]*)", (?:fmt\.Sprintf\()?"([^"]*)"`),
	}
	inText = regexp.MustCompile(`(?:weir|%s) ([a-z][a-z-]+(?: [a-z][a-z-]+)*(?: (?:-[a-z][^\s"]*|'[^']*'|[A-Z%][A-Za-z_%\[\]]*))*)`)
	option = regexp.MustCompile(`(?:^|[\s("'` + "`" + `])-([a-z][a-z-]+)\b`)
	// Commands in pages: within a sentence, or as a block of their own.
	inPage = regexp.MustCompile("`weir ([a-z][^`]*)`|(?m:^    weir ([a-z].*)$)")
)

// A proposer tries the commands that texts propose, up to where they would do something.
type proposer struct {
	t     *testing.T
	e     *env
	found int
	// viewed are the options that texts of views name.
	viewed map[string]bool
}

// command finds the command that words begin with, and what follows its name.
func (p *proposer) command(words []string) (*command, []string) {
	for n := min(3, len(words)); n > 0; n-- {
		name := strings.Join(words[:n], " ")
		for _, c := range table {
			if c.Name == name || slices.Contains(c.Aliases, name) {
				return c, words[n:]
			}
		}
	}
	return nil, nil
}

// options are those of a command, with those that the table adds.
func (p *proposer) options(c *command) *flag.FlagSet {
	set := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	if c.JSON != output.Own {
		commands.RegisterJSON(set, p.e.Screen)
	}
	if c.Setup != nil {
		c.Setup(p.e, set)
	}
	return set
}

var placeholder = regexp.MustCompile(`^(?:[A-Z_]+|%.*)$`)

// try parses a proposed command line as the table does: the command exists, and so do its
// options, which take what they are given; the number of arguments is right.
func (p *proposer) try(at, line string, whole bool) {
	p.t.Helper()
	line, _, _ = strings.Cut(line, " #")
	for _, end := range []string{" > ", " | ", " && ", "; ", " & "} {
		line, _, _ = strings.Cut(line, end)
	}
	words, err := terminal.SplitWords(strings.TrimSpace(line))
	if err != nil {
		p.t.Errorf("%s: weir %s: %s", at, line, err)
		return
	}
	c, args := p.command(words)
	if c == nil {
		p.t.Errorf("%s: weir %s: there is no such command", at, line)
		return
	}
	p.found++
	if c.Setup == nil {
		return // a group
	}
	set := p.options(c)
	if slices.ContainsFunc(args, func(arg string) bool {
		return strings.HasPrefix(arg, "-on=") || strings.HasPrefix(arg, "-listen=") || strings.HasPrefix(arg, "-stack=")
	}) {
		return // weir-temporal does it, which has options of its own
	}
	for i, arg := range args {
		name, val, has := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if f := set.Lookup(name); strings.HasPrefix(arg, "-") && has && f != nil && placeholder.MatchString(val) && f.Value.Set("A=A") != nil {
			args[i] = "-" + name + "=1" // a placeholder for a number
		}
	}
	args = slices.DeleteFunc(args, func(arg string) bool { return arg == "-help" || arg == "-no-color" })
	if err := p.options(c).Parse(args); err != nil && !strings.Contains(err.Error(), "invalid value \"A\"") {
		if !placeholderValue(err) {
			p.t.Errorf("%s: weir %s: %s", at, line, err)
		}
		return
	}
	parsed := p.options(c)
	_ = parsed.Parse(args)
	if n := parsed.NArg(); whole && (c.Max >= 0 && n > c.Max) {
		p.t.Errorf("%s: weir %s: %d arguments are too many", at, line, n)
	}
	for _, arg := range parsed.Args() {
		if strings.HasPrefix(arg, "-") && len(arg) > 1 {
			p.t.Errorf("%s: weir %s: the option %s stands after an argument", at, line, arg)
		}
	}
}

// placeholderValue: the value is one of a placeholder such as N, which stands for another one.
func placeholderValue(err error) bool {
	m := regexp.MustCompile(`^invalid (?:boolean )?value "([^"]*)"`).FindStringSubmatch(err.Error())
	return m != nil && placeholder.MatchString(m[1])
}

// TestHints: each command and each option that a text of weir proposes exists, in source and
// pages.
func TestHints(t *testing.T) {
	e, err := newEnv(Process{Args: []string{"weir"}, Getwd: os.Getwd})
	if err != nil {
		t.Fatal(err)
	}
	p := &proposer{t: t, e: e, viewed: map[string]bool{}}
	// Those that stand before a command or anywhere, and one of weir-temporal.
	all := map[string]bool{}
	for _, name := range []string{"help", "chdir", "compat", "version", "install-autocomplete", "uninstall-autocomplete", "no-color", "compact-warnings", "on"} {
		all[name] = true
	}
	firsts, planned, stacked := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range table {
		first, _, _ := strings.Cut(c.Name, " ")
		firsts[first] = true
		p.options(c).VisitAll(func(f *flag.Flag) {
			all[f.Name] = true
			planned[f.Name] = planned[f.Name] || c.Name == "plan"
			stacked[f.Name] = stacked[f.Name] || c.Name == "stacks plan"
		})
	}
	root := filepath.Join("..", "..", "..")
	err = filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testing") {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, form := range calls {
			for _, m := range form.FindAllStringSubmatch(string(src), -1) {
				p.try(path, strings.TrimSpace(m[1]+" "+m[2]), false)
			}
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil && strings.Contains(text, " ") {
					p.text(path, text, firsts, all)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// Plans of modules and of stacks are shown by one package, whose texts hold for both.
	for name := range planned {
		if planned[name] && p.viewed[name] && !stacked[name] {
			t.Errorf("stacks plan has no option -%s, which texts about plans name", name)
		}
	}
	if p.found < 40 {
		t.Errorf("only %d commands were found in the source", p.found)
	}
	p.found = 0
	pages := []string{filepath.Join(root, "README.md")}
	for _, form := range []string{"*.md", "diagnostics/*.md", "cmd/reference/*.md"} {
		more, _ := filepath.Glob(filepath.Join(root, "docs", form))
		pages = append(pages, more...)
	}
	for _, path := range pages {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range inPage.FindAllSubmatch(src, -1) {
			line := string(bytes.Join(m[1:], nil))
			if strings.ContainsAny(line, "[<…") && strings.Contains(filepath.ToSlash(path), "cmd/reference/") {
				continue // how a command is used, which is written from the table
			}
			p.try(path, line, true)
		}
	}
	if p.found < 150 {
		t.Errorf("only %d commands were found in the pages", p.found)
	}
}

// text tries what a text of the source proposes.
func (p *proposer) text(path, text string, firsts, all map[string]bool) {
	for _, m := range inText.FindAllStringSubmatch(text, -1) {
		line := m[1]
		words := strings.Fields(line)
		if !firsts[words[0]] || !strings.Contains(line, " -") {
			continue // words of a sentence
		}
		p.try(path, line, false)
	}
	if strings.HasPrefix(text, "-") || strings.Contains(text, "%s -") || strings.Contains(path, "completion") {
		return // arguments of another program, or of a command that is tried above; scripts of shells
	}
	for _, m := range option.FindAllStringSubmatch(text, -1) {
		if strings.Contains(filepath.ToSlash(path), "ui/view/") {
			p.viewed[m[1]] = true
		}
		if !all[m[1]] {
			p.t.Errorf("%s: no command has the option -%s, which %q names", path, m[1], text)
		}
	}
}

// TestOptionTexts: the text of each option is one imperative sentence of up to 80 characters.
func TestOptionTexts(t *testing.T) {
	e, err := newEnv(Process{Args: []string{"weir"}, Getwd: os.Getwd})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range table {
		if c.Setup == nil {
			continue
		}
		set := flag.NewFlagSet(c.Name, flag.ContinueOnError)
		c.Setup(e, set)
		set.VisitAll(func(f *flag.Flag) {
			_, usage := flag.UnquoteUsage(f)
			if usage == "" || seen[usage] { // no text: accepted, not documented
				return
			}
			seen[usage] = true
			if len(usage) > 80 {
				t.Errorf("%s -%s: %d characters, 80 are allowed: %s", c.Name, f.Name, len(usage), usage)
			}
			if !regexp.MustCompile(`^[A-Z][^.]*(\.[^ .][^.]*)*\.$`).MatchString(usage) {
				t.Errorf("%s -%s: want one sentence with a capital and a full stop: %s", c.Name, f.Name, usage)
			}
		})
	}
	if len(seen) < 100 {
		t.Errorf("only %d texts", len(seen))
	}
}
