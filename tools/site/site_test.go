package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestLinks holds the pages of the repository to what they link to.
func TestLinks(t *testing.T) {
	book, err := Read(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range book.Check() {
		t.Error(fault)
	}
	for _, name := range []string{"README.md", "docs/README.md", "docs/reference/README.md", "docs/stacks.md"} {
		if book.pages[name] == nil {
			t.Errorf("%s isn't among the pages", name)
		}
	}
}

func files(content map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range content {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

func TestCheck(t *testing.T) {
	book, err := Read(files(map[string]string{
		"README.md": "# Top\n\n[docs](docs) [same](#top) [no](#bottom)\n\n[out](../other.md)\n",
		"docs/README.md": "# Docs\n\n- [a](a.md#b--c_d)\n- [twice](a.md#twice-1), [not three times](a.md#twice-2)\n" +
			"- ![](images/a.png)\n- ![](images/b.png)\n- [sources](../src) [built](../bin/weir)\n- <https://example.com/x#y> [code](../src/a.go#L1)\n",
		"docs/a.md":         "# A\n\n## `B` & c_d!\n\n## Twice\n\n## Twice\n",
		"docs/left.md":      "# Nobody links here\n",
		"docs/images/a.png": "", "src/a.go": "", "bin/weir": "",
		"src/odd.md": "[no](nowhere.md)",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"README.md:3: #bottom: README.md has no such heading",
		"README.md:5: ../other.md: there is no such file",
		"docs/README.md:4: a.md#twice-2: docs/a.md has no such heading",
		"docs/README.md:6: images/b.png: there is no such file",
		"docs/README.md:7: ../bin/weir: there is no such file",
		"docs/README.md:8: ../src/a.go#L1: src/a.go has no such heading",
		"docs/left.md: docs/README.md doesn't lead there",
	}
	if got := book.Check(); !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestWrite(t *testing.T) {
	book, err := Read(files(map[string]string{
		"README.md":              "# weir\n\n[Docs](docs/README.md) [plan](docs/reference/plan.md#what-it-does)\n",
		"docs/README.md":         "# Pages\n\n## To look up\n\n- [Plan](reference/plan.md), see [sources](../src)\n",
		"docs/reference/plan.md": "# plan\n\n## What it does\n\n![x](../images/a.svg) [top](../../README.md)\n\n<!-- made -->\n",
		"docs/images/a.svg":      "<svg/>", "src/a.go": "",
	}))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "site")
	if err := os.MkdirAll(filepath.Join(dir, "old"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := book.Write(dir); err != nil {
		t.Fatal(err)
	}
	for name, parts := range map[string][]string{
		"index.html":      {`href="docs/reference/plan.html#what-it-does"`, `href="docs/index.html"`, `href="style.css"`, `<title>weir</title>`},
		"docs/index.html": {`see sources`, `aria-current="page"`, `<h2>To look up</h2>`},
		"docs/reference/plan.html": {`src="../../docs/images/a.svg"`, `href="../../index.html"`, `<h2 id="what-it-does">`,
			`href="#what-it-does" class="anchor"`, `<title>plan – weir</title>`},
		"docs/images/a.svg": {"<svg/>"},
		"style.css":         {"prefers-color-scheme: dark"},
		"search-index.js":   {`"heading":"What it does","url":"docs/reference/plan.html#what-it-does"`},
		"minisearch.js":     {"MiniSearch"},
	} {
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Error(err)
		}
		for _, part := range parts {
			if !strings.Contains(string(content), part) {
				t.Errorf("%s: no %s in\n%s", name, part, content)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "old")); err == nil {
		t.Error("what was there before is still there")
	}
}
