package cli

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Hints in the source: a command with arguments, in one of the forms that texts have.
var hints = []*regexp.Regexp{
	regexp.MustCompile(`diag\.Run\("([a-z][a-z -]*)", "([^"]*)"\)`),
	regexp.MustCompile(`diag\.Command\{[^}]*Name: "([a-z][a-z -]*)"(?:, Args: "([^"]*)")?`),
	regexp.MustCompile(`command\(s\.Program, "([a-z][a-z -]*)", (?:fmt\.Sprintf\()?"([^"]*)"`),
	regexp.MustCompile(`(?:weir|%s) ((?:state |stacks |providers |workspace |daemon )?[a-z][a-z-]+)((?: -[a-z][a-z-]*(?:=\S+)?)+)`),
}

var options = regexp.MustCompile(`(?:^|\s)-([a-z][a-z-]*)`)

// TestHints: each command and each option that a text of weir proposes exists.
func TestHints(t *testing.T) {
	e, err := newEnv(Process{Args: []string{"weir"}, Getwd: os.Getwd})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	check := func(at, name, args string) {
		var c *command
		name = strings.TrimSpace(name) // a subcommand may be joined to it
		for _, one := range table {
			if one.Name == name {
				c = one
			}
		}
		if c == nil {
			t.Errorf("%s: there is no command %q", at, name)
			return
		}
		found++
		if c.Setup == nil {
			return
		}
		set := flag.NewFlagSet(name, flag.ContinueOnError)
		c.Setup(e, set)
		for _, m := range options.FindAllStringSubmatch(args, -1) {
			common := map[string]bool{"help": true, "no-color": true, "json": true, "json-into": true}[m[1]] // of the table
			if !common && set.Lookup(m[1]) == nil {
				t.Errorf("%s: %s has no option -%s", at, name, m[1])
			}
		}
	}
	names := map[string]bool{}
	for _, c := range table {
		names[c.Name] = true
	}
	err = filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "proof") {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, form := range hints {
			for _, m := range form.FindAllStringSubmatch(string(src), -1) {
				if i == len(hints)-1 && !names[m[1]] {
					continue // words that follow the name of the program in a sentence
				}
				check(path, m[1], m[2])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 30 {
		t.Errorf("only %d hints were found", found)
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
