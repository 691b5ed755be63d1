package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// reasons reads docs/proofs/mutants.txt: why a change that no test notices makes no
// difference, by its key.
func reasons(root string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "docs/proofs/mutants.txt"))
	if err != nil {
		return nil, err
	}
	list := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if at := strings.LastIndex(line, "`: "); at >= 0 && !strings.HasPrefix(line, "#") {
			list[line[:at+1]] = line[at+3:]
		}
	}
	return list, nil
}

// report prints the result, and writes it to the page if one is given.
func (o *options) report(list []*site, results []result) error {
	known, err := reasons(o.root)
	if err != nil {
		return err
	}
	own, others, equivalent := 0, 0, 0
	var alive []string
	for i, s := range list {
		switch r := results[i]; {
		case r.killer != "" && r.own:
			own++
		case r.killer != "":
			others++
		case known[s.key()] != "":
			equivalent++
			alive = append(alive, fmt.Sprintf("| `%s:%d` | %s | %s | %s |", s.file, s.line, s.kind, code(s.text), known[s.key()]))
		default:
			why := "no test notices it"
			if r.reaching == 0 {
				why = "no test reaches it"
			}
			alive = append(alive, fmt.Sprintf("| `%s:%d` | %s | %s | **%s** |", s.file, s.line, s.kind, code(s.text), why))
		}
	}
	slices.Sort(alive)
	left := len(list) - own - others - equivalent
	share := 0.0
	if n := len(list) - equivalent; n > 0 {
		share = 100 * float64(own+others) / float64(n)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Recorded at commit %s with `make mutants N=%d SEED=%d`.\n\n", o.commit, o.n, o.seed)
	fmt.Fprintf(&b, "| changes | noticed by tests of the package | by other tests | without a difference | unnoticed | noticed of those with one |\n|---:|---:|---:|---:|---:|---:|\n| %d | %d | %d | %d | %d | %.0f %% |\n", len(list), own, others, equivalent, left, share)
	if len(alive) > 0 {
		fmt.Fprintf(&b, "\n| place | change | code | reason |\n|---|---|---|---|\n%s\n", strings.Join(alive, "\n"))
	}
	fmt.Print(b.String())
	if o.table == "" {
		return nil
	}
	const begin, end = "<!-- mutants -->\n", "<!-- end of mutants -->\n"
	text, err := os.ReadFile(o.table)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return fmt.Errorf("%s has no marks for the table", o.table)
	}
	return os.WriteFile(o.table, []byte(before+begin+b.String()+end+after), 0o644)
}

func code(text string) string { return "`" + strings.ReplaceAll(text, "|", "\\|") + "`" }
