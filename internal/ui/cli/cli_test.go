package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/docs"
	"weir.dev/weir/internal/ui/commands"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/terminal"
)

// TestTable holds the table of commands to what help and parsing rely on.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range table {
		if seen[c.Name] {
			t.Errorf("%s is there twice", c.Name)
		}
		seen[c.Name] = true
		if c.Synopsis == "" || strings.HasSuffix(c.Synopsis, ".") {
			t.Errorf("%s: synopsis %q", c.Name, c.Synopsis)
		}
		if group, _, ok := strings.Cut(c.Name, " "); ok && !seen[group] {
			t.Errorf("%s stands before its group", c.Name)
		}
	}
}

// TestExamples: each example is a command line that the table takes.
func TestExamples(t *testing.T) {
	headings, named := strings.Count(docs.Examples, "\n## "), 0
	for _, c := range append([]*command{{Name: "weir"}}, table...) {
		list := commands.ReadExamples(docs.Examples, c.Name)
		if len(list) > 0 {
			named++
		}
		for _, example := range list {
			line, _, _ := strings.Cut(example.Line, " | ")
			line, _, _ = strings.Cut(line, " > ")
			words, err := terminal.SplitWords(line)
			if err != nil || example.Text == "" {
				t.Errorf("%s: %v", line, err)
				continue
			}
			if err := parses(words); err != nil || c.Name != "weir" && !strings.HasPrefix(line, c.Name) {
				t.Errorf("%s: %s: %v", c.Name, line, err)
			}
		}
	}
	if named != headings {
		t.Errorf("%d of %d headings are commands with examples", named, headings)
	}
}

// parses reads a command line as far as that goes without doing anything.
func parses(words []string) error {
	e, err := newEnv(Process{Args: []string{"weir"}, Getwd: func() (string, error) { return ".", nil }})
	if err != nil {
		return err
	}
	defer e.close()
	for n := min(3, len(words)); n > 0; n-- {
		for _, c := range table {
			if c.Name != strings.Join(words[:n], " ") || c.Setup == nil {
				continue
			}
			fs := flag.NewFlagSet(c.Name, flag.ContinueOnError)
			fs.SetOutput(io.Discard)
			if c.JSON != output.Own {
				commands.RegisterJSON(fs, e.Screen)
			}
			c.Setup(e, fs)
			if err := fs.Parse(words[n:]); err != nil {
				return err
			}
			if args := fs.NArg(); args < c.Min || c.Max >= 0 && args > c.Max {
				return fmt.Errorf("%d arguments", args)
			}
			return nil
		}
	}
	return errors.New("no such command")
}

// TestGroups: each command of the program is in one group of its help, with one line.
func TestGroups(t *testing.T) {
	e, err := newEnv(Process{Args: []string{"weir"}, Getwd: os.Getwd})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	var titles []string
	for _, g := range e.table().Overview().Subcommands {
		titles = append(titles, g.Title)
		for _, entry := range g.Entries {
			seen[entry.Head]++
			if len(entry.Text) > 78 {
				t.Errorf("%s needs more than a line: %s", entry.Head, entry.Text)
			}
		}
	}
	if want := []string{"Run", "Inspect", "Recover", "Develop", "State", "Stacks"}; !slices.Equal(titles, want) {
		t.Errorf("groups %q", titles)
	}
	for _, c := range table {
		if !c.Hidden && !strings.Contains(c.Name, " ") && seen[c.Name] != 1 {
			t.Errorf("%s is in %d groups", c.Name, seen[c.Name])
		}
	}
}
