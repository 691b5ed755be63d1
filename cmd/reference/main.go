// Command reference writes the reference page of each command, from the command line's own
// table:
//
//	go run ./cmd/reference -pages docs/reference              the reference, as Markdown
//	go run ./cmd/reference -man .cache/man -version 0.1.0     the manual, as pages of man
//	go run ./cmd/reference -completions .cache/completions    the completion scripts of shells
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/internal/ui/cli"
	"weir.dev/weir/internal/ui/completion"
)

//go:embed addresses.md
var addresses string

func main() {
	pages := flag.String("pages", "", "write the reference to `DIR`")
	man := flag.String("man", "", "write the manual to `DIR`")
	completions := flag.String("completions", "", "write the completion scripts to `DIR`")
	version := flag.String("version", "", "the version that the manual is about")
	flag.Parse()
	for dir, files := range map[string]func() (map[string]string, error){
		*pages:       Reference,
		*man:         func() (map[string]string, error) { return Manual(*version) },
		*completions: Completions,
	} {
		if err := write(dir, files); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// write puts files in the place of what a directory has; "" is nowhere.
func write(dir string, files func() (map[string]string, error)) error {
	if dir == "" {
		return nil
	}
	texts, err := files()
	if err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "*.[m1]*"))
	if err != nil {
		return err
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// head stands above each page.
const head = "<!-- written by make reference -->\n\n"

// Reference has the pages of the reference by their names: one for each command with its
// subcommands, and README.md about the program.
func Reference() (map[string]string, error) {
	pages, err := cli.Pages()
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, p := range pages {
		if p.Name == "" {
			texts["README.md"] = head + p.Markdown() + "\n" + addresses
			continue
		}
		first, _, _ := strings.Cut(p.Name, " ")
		if file := first + ".md"; texts[file] == "" {
			texts[file] = head + "# " + p.Program + " " + first + "\n\n" + strings.TrimPrefix(p.Markdown(), "## "+p.Program+" "+first+"\n\n")
		} else {
			texts[file] += "\n" + p.Markdown()
		}
	}
	if texts["language.md"], err = Language(); err != nil {
		return nil, err
	}
	if texts["functions.md"], err = Functions(); err != nil {
		return nil, err
	}
	return texts, nil
}

// Manual has the pages of the manual by the names of their files.
func Manual(version string) (map[string]string, error) {
	pages, err := cli.Pages()
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, p := range pages {
		name, text := p.Man(version)
		texts[name] = text
	}
	return texts, nil
}

// Completions has the completion scripts by the names that the shells look for.
func Completions() (map[string]string, error) {
	texts := map[string]string{}
	for shell, name := range map[string]string{"bash": "weir.bash", "zsh": "_weir", "fish": "weir.fish", "powershell": "weir.ps1"} {
		text, err := completion.Script(shell, "weir")
		if err != nil {
			return nil, err
		}
		texts[name] = text
	}
	return texts, nil
}

// differing are the files that two sets don't have alike.
func differing(a, b map[string]string) (names []string) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for name := range all {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
