// Program tools runs other tools with weir and with OpenTofu on the same input, and compares
// their exit codes, what they print and what they leave.
//
//	go run ./test/tools -weir BINARY -peer BINARY -path FOLDER -page docs/tools.md
//
// Each tool has a script NAME.sh beside this file. It runs once with each engine, in an empty
// folder, and writes a transcript. lib.sh has the words of these scripts. A tool that isn't on
// PATH is skipped.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	var g gate
	flag.StringVar(&g.weir, "weir", "bin/weir", "the weir `BINARY`")
	flag.StringVar(&g.peer, "peer", "", "the OpenTofu `BINARY`")
	flag.StringVar(&g.path, "path", "", "`FOLDERS` with tools, before those of PATH")
	flag.StringVar(&g.mirror, "mirror", "", "`FOLDER` with real providers")
	flag.StringVar(&g.scripts, "scripts", "test/tools", "`FOLDER` with the scripts")
	flag.StringVar(&g.out, "out", ".cache/tools/transcripts", "`FOLDER` for the transcripts")
	flag.DurationVar(&g.limit, "limit", 15*time.Minute, "longest `TIME` of a script")
	page := flag.String("page", "", "write the table into the page `FILE`")
	commit := flag.String("commit", "", "the `COMMIT` that the page names")
	only := flag.String("run", "", "run only tools that match this `REGEXP`")
	flag.Parse()
	failed, err := run(g, *only, *page, *commit)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case failed > 0:
		os.Exit(1)
	}
}

// run runs the scripts that match only. It returns how many tools behave differently or have a
// broken script.
func run(g gate, only, page, commit string) (int, error) {
	pick, err := regexp.Compile(only)
	if err != nil {
		return 0, err
	}
	for _, path := range []*string{&g.weir, &g.peer, &g.scripts, &g.out} {
		if *path == "" {
			return 0, fmt.Errorf("no OpenTofu to compare with: OPENTOFU=BINARY")
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return 0, err
		}
	}
	scripts, err := filepath.Glob(filepath.Join(g.scripts, "*.sh"))
	if err != nil {
		return 0, err
	}
	var results []result
	failed := 0
	for _, script := range scripts {
		name := strings.TrimSuffix(filepath.Base(script), ".sh")
		if name == "lib" || name == "install" || !pick.MatchString(name) {
			continue
		}
		r, err := g.compare(name)
		if err != nil {
			return failed, err
		}
		fmt.Printf("%-20s %s\n", r.name, r.outcome())
		if len(r.differences) > 0 {
			fmt.Println(strings.Join(r.differences, "\n"))
		}
		if r.failed() {
			failed++
		}
		results = append(results, r)
	}
	if page == "" {
		return failed, nil
	}
	return failed, write(page, commit, results)
}

// write replaces the rows of a page that the results are about.
func write(page, commit string, results []result) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := "<!-- tools -->\n", "<!-- end -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	old, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return fmt.Errorf("%s: no lines %q and %q", page, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(page, []byte(before+begin+table(commit, results, old)+end+after), 0o644)
}
