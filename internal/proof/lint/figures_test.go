package lint

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestFigures holds the table of figures in ARCHITECTURE.md to the tree: no figure
// exceeds what the table says, and none is much lower, and a goal that the table says
// is reached isn't lost again. Generated code and tests don't count.
func TestFigures(t *testing.T) {
	page, err := os.ReadFile("../../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| ([0-9,]+) \| ([0-9,]+) \| (yes|no) \|$`).FindAllStringSubmatch(string(page), -1)
	said := map[string]bool{}
	measured := figures(t)
	for _, row := range rows {
		name, stated, goal, reached := row[1], number(row[2]), number(row[3]), row[4] == "yes"
		f, ok := measured[name]
		if !ok {
			t.Errorf("nothing measures %q", name)
			continue
		}
		said[name] = true
		const slack = 4 // so that not every change changes the page
		switch {
		case f.value > stated:
			t.Errorf("%s: %d (%s), and ARCHITECTURE.md says %d", name, f.value, f.where, stated)
		case stated > f.value+max(1, f.value/slack):
			t.Errorf("%s: only %d (%s) by now, and ARCHITECTURE.md says %d", name, f.value, f.where, stated)
		}
		if reached && f.value > goal {
			t.Errorf("%s: %d (%s), more than %d, which was reached already", name, f.value, f.where, goal)
		}
		if !reached && stated <= goal {
			t.Errorf("%s: the goal %d is reached; say so in ARCHITECTURE.md", name, goal)
		}
	}
	for name, f := range measured {
		if !said[name] {
			t.Errorf("ARCHITECTURE.md has no row for %q: %d (%s)", name, f.value, f.where)
		}
	}
}

func number(text string) int {
	n, _ := strconv.Atoi(strings.ReplaceAll(text, ",", "")) // digits by the expression
	return n
}

// A figure is the greatest of something, and where.
type figure struct {
	value int
	where string
}

func (f *figure) take(value int, where string) {
	if value > f.value {
		*f = figure{value, where}
	}
}

// figures measures the tree.
func figures(t *testing.T) map[string]figure {
	t.Helper()
	tr, err := readTree(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	var biggest, longest, most, chain, cli figure
	methods := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(tr.packages)) {
		p, lines := tr.packages[name], 0
		for _, f := range p.files {
			if ast.IsGenerated(f.syntax) {
				continue
			}
			lines += tr.fset.File(f.syntax.Pos()).LineCount()
			for _, d := range f.syntax.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				longest.take(tr.fset.Position(fn.End()).Line-tr.fset.Position(fn.Pos()).Line+1, fmt.Sprintf("%s in %s", fn.Name.Name, path.Base(f.path)))
				if fn.Recv != nil {
					methods[name+"."+receiver(fn)]++
				}
			}
		}
		switch {
		case name == "front/cli": // flags of all commands, with a goal of its own
			cli.take(lines, name)
		case !names(strings.Fields(onlyTests)).has(name):
			biggest.take(lines, name)
		}
	}
	for typ, n := range methods {
		most.take(n, typ)
	}
	for _, links := range tr.longestChains() {
		chain.take(len(links), strings.Join(links, " "))
	}
	return map[string]figure{
		"lines of `cli`": cli,
		"lines of the biggest package, `cli` aside": biggest,
		"longest chain of imports":                  chain,
		"lines of the longest function":             longest,
		"methods of the type with most of":          most,
	}
}
