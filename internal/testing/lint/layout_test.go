package lint

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLayout holds the code map of ARCHITECTURE.md, the folders and the table together:
// the map has a part for each folder, in the order of the table, and in it a row for each
// package; and the table names nothing that isn't there.
func TestLayout(t *testing.T) {
	tr, err := readTree(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## Code map\n")
	text, _, _ = strings.Cut(text, "\n## ")

	var ruled, mapped []string
	for _, r := range table {
		if folder, ok := strings.CutSuffix(r.pkg, "/"); ok && !strings.Contains(folder, "/") {
			ruled = append(ruled, folder)
		}
	}
	row := regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| [^|]+ \\|[^|]*\\|$")
	said := map[string]bool{}
	for _, part := range strings.Split(text, "\n### `")[1:] {
		folder, _, ok := strings.Cut(part, "/`: ")
		if !ok {
			t.Errorf("the heading %q isn't a folder and what it is", strings.SplitN(part, "\n", 2)[0])
			continue
		}
		mapped = append(mapped, folder)
		for _, m := range row.FindAllStringSubmatch(part, -1) {
			for _, name := range strings.Split(m[1], ", ") {
				name = strings.Trim(name, "`")
				if name != folder {
					name = folder + "/" + name
				}
				if said[name] {
					t.Errorf("the code map has two rows for %s", name)
				}
				said[name] = true
			}
		}
	}
	if !slices.Equal(ruled, mapped) {
		t.Errorf("folders of the table:\n%s\nof the code map:\n%s", strings.Join(ruled, " "), strings.Join(mapped, " "))
	}

	var there names
	for _, name := range slices.Sorted(maps.Keys(tr.packages)) {
		p := tr.packages[name]
		there = append(there, name)
		if !strings.HasPrefix(p.files[0].path, "internal/") {
			continue
		}
		if !said[name] {
			t.Errorf("the code map has no row for %s", name)
		}
		delete(said, name)
	}
	for name := range said {
		if name != "testing/crash" && name != "testing/simulation" && name != "testing/metamorphic" { // tests alone
			t.Errorf("the code map has a row for %s, which isn't there", name)
		}
	}
	for _, name := range named(table) {
		if !slices.ContainsFunc(there, names{name}.has) {
			t.Errorf("the table names %s, which isn't there", name)
		}
	}
	for _, g := range guards {
		for _, name := range strings.Fields(g.in) {
			if !slices.ContainsFunc(there, names{name}.has) {
				t.Errorf("the guard of %s names %s, which isn't there", g.what, name)
			}
		}
	}
}
