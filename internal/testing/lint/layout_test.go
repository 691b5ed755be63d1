package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLayout checks that the code map of ARCHITECTURE.md has a row for each folder of
// internal/, in the order of the table, that every top folder says in a README what it
// holds, and that the table names only packages that exist.
func TestLayout(t *testing.T) {
	const root = "../../.."
	tr, err := readTree(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(root + "/ARCHITECTURE.md")
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
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(text, -1) {
		mapped = append(mapped, m[1])
	}
	if !slices.Equal(ruled, mapped) {
		t.Errorf("folders of the table:\n%s\nof the code map:\n%s", strings.Join(ruled, " "), strings.Join(mapped, " "))
	}

	folders, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	tests, err := filepath.Glob(root + "/test/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if f.IsDir() && !strings.HasPrefix(f.Name(), ".") && f.Name() != "bin" && f.Name() != "dist" {
			tests = append(tests, filepath.Join(root, f.Name()))
		}
	}
	for _, dir := range tests {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "README.md")); err != nil {
			t.Errorf("%s needs a README.md that says in a few lines what it holds", strings.TrimPrefix(filepath.ToSlash(dir), root+"/"))
		}
	}

	var there names
	for name := range tr.packages {
		there = append(there, name)
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
