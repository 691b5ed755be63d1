package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// engine writes a script that takes the place of an engine.
func engine(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestGate(t *testing.T) {
	dir := t.TempDir()
	scripts, page := filepath.Join(dir, "scripts"), filepath.Join(dir, "page.md")
	if err := os.Mkdir(scripts, 0o755); err != nil {
		t.Fatal(err)
	}
	lib, err := os.ReadFile("lib.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"lib.sh":     string(lib),
		"same.sh":    "#!/bin/sh\n# says the\n# same.\n. \"$TOOLS/lib.sh\"\nversion echo same v1.2.3\nstep said tofu same\ncode ended terraform other\n",
		"other.sh":   "# says more\n. \"$TOOLS/lib.sh\"\nstep \"said it\" tofu other\nstep again tofu same\n",
		"exits.sh":   "# ends\n. \"$TOOLS/lib.sh\"\ncode ended tofu exit\n",
		"missing.sh": "# needs\n. \"$TOOLS/lib.sh\"\nneeds no-such-tool\n",
		"mirror.sh":  "# needs\n. \"$TOOLS/lib.sh\"\nmirror weir/none\n",
		"broken.sh":  "# breaks\necho why >&2\nexit 3\n",
		"empty.sh":   "# nothing\n",
		"slow.sh":    "# waits\n. \"$TOOLS/lib.sh\"\n[ -z \"${SLOW:-}\" ] || sleep 60\nstep done true\n",
	} {
		if err := os.WriteFile(filepath.Join(scripts, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(page, []byte("# Page\n\n<!-- tools -->\n| tool | old head |\n|---|---|\n| same | old row |\n| missing | row that stays |\n| gone | row of another run |\n<!-- end -->\nafter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	g := gate{
		weir:    engine(t, dir, "weir", `[ "$1" = exit ] && exit 4; [ "$1" = same ] && echo "$PWD took 3s" || echo weir`),
		peer:    engine(t, dir, "peer", `[ "$1" = exit ] && exit 5; [ "$1" = same ] && echo "$PWD took 1m2.5s" || echo peer`),
		scripts: scripts, out: filepath.Join(dir, "out"), limit: time.Minute,
	}
	failed, err := run(g, "", page, "0123abcd")
	if err != nil || failed != 4 {
		t.Errorf("%d failed, %v", failed, err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| missing | row that stays |\n", "| gone | row of another run |\n",
		"| same | 1.2.3 | says the same | equal in 2 steps | 0123abcd |", "| other |  | says more | differs | 0123abcd |", "| exits |  | ends | differs | 0123abcd |",
		"| mirror |  | needs | skipped: no weir/none in the provider mirror: make providers | 0123abcd |",
		"broken: exit 3 with " + g.peer + ": why", "broken: no steps", "-->\nafter\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "old head") || strings.Contains(string(text), "old row") {
		t.Error("the page has its old table")
	}
	r, err := g.compare("other")
	if err != nil || !slices.Equal(r.differences, []string{"  said it", "    - peer", "    + weir"}) {
		t.Errorf("%v, %v", r.differences, err)
	}
	t.Setenv("SLOW", "1")
	g.limit = 200 * time.Millisecond
	if failed, err := run(g, "^slow$", "", ""); err != nil || failed != 1 {
		t.Errorf("a script that doesn't end: %d failed, %v", failed, err)
	}
}

func TestArguments(t *testing.T) {
	dir := t.TempDir()
	good := gate{weir: "weir", peer: "peer", scripts: dir, out: dir}
	if _, err := run(gate{weir: "weir", scripts: dir, out: dir}, "", "", ""); err == nil {
		t.Error("no engine to compare with")
	}
	if _, err := run(good, "(", "", ""); err == nil {
		t.Error("a wrong pattern passes")
	}
	if _, err := run(good, "", filepath.Join(dir, "none.md"), ""); err == nil {
		t.Error("a page that doesn't exist passes")
	}
	page := filepath.Join(dir, "page.md")
	if err := os.WriteFile(page, []byte("no place for a table"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := run(good, "", page, ""); err == nil {
		t.Error("a page without a place passes")
	}
}

func TestDiff(t *testing.T) {
	got := diff([]string{"a", "b", "c", "d"}, []string{"a", "c", "x", "d", "e"})
	if want := []string{"    - b", "    + x", "    + e"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	got = differences("=== one\n1\n=== two\n2\n", "=== one\n1\n=== three\n3\n")
	if want := []string{"  two", "    - === two", "    - 2", "  three", "    + === three", "    + 3"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestScripts checks that each script names what it runs, and needs a tool.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("*.sh")
	if err != nil || len(scripts) < 5 {
		t.Fatal(scripts, err)
	}
	for _, script := range scripts {
		if script == "lib.sh" || script == "install.sh" {
			continue
		}
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		if about(string(text)) == "" || !strings.Contains(string(text), "\nneeds ") {
			t.Errorf("%s: no first comment that says what runs, or no needs", script)
		}
	}
}
