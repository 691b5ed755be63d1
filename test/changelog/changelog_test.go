package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTable: the page has the table of the list. "make changelog" writes it again.
func TestTable(t *testing.T) {
	text, err := os.ReadFile("../../docs/proofs/changelog.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := parseList(string(text))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/changelog-gate.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), begin+table(lines)+end) {
		t.Error("the table in docs/changelog-gate.md is another: run make changelog")
	}
}

const changelog = `The v1.13.x release series is supported for long.

## 1.13.0 (Unreleased)

ENHANCEMENTS:

- First. ([#11](https://github.com/opentofu/opentofu/pull/11))
* Second, with more
  in another line:
    * nested

    A paragraph of it.
- Third of the same. ([#11](https://github.com/opentofu/opentofu/issues/11))

Not an entry.
  Nor this.

## 1.7.0

- Too old. ([#1](https://github.com/opentofu/opentofu/issues/1))

## Previous Releases

- [v1.12](https://example.com)
`

// checkout makes a clone's work tree, in a repository of its own.
func checkout(t *testing.T, module string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module " + module + "\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %s\n%s", args, err, out)
	}
}

func lackingOf(t *testing.T, list, dir string) []string {
	t.Helper()
	lines, err := parseList(list)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := readCheckout(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range missing(lines, entries) {
		got = append(got, e.Version+" "+e.Text)
	}
	return got
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestLacking: entries are found by number or text, as often as a release has them.
func TestLacking(t *testing.T) {
	dir := checkout(t, "github.com/opentofu/opentofu", map[string]string{"CHANGELOG.md": changelog})
	const since = "opentofu 1.8.0 #5, five: reason of theirs\n"
	const second = "Second, with more in another line: * nested A paragraph of it."
	want(t, lackingOf(t, since, dir), "1.13.0 First.", "1.13.0 Third of the same.", "1.13.0 "+second)
	entries := parseChangelog("opentofu", changelog)
	both := since + "opentofu 1.13.0 #11, first: case a/b\nopentofu 1.13.0,1.12.3 #11, third: unjudged\n"
	want(t, lackingOf(t, both, dir), "1.13.0 "+second)
	want(t, lackingOf(t, both+"opentofu 1.13.2 "+entries[1].ID+", second: not yet that\n", dir))
	// One line for two entries isn't enough, and Terraform has numbers of its own.
	want(t, lackingOf(t, since+"opentofu 1.13.0 #11, first: case a/b\nterraform 1.13.0 #11, third: unjudged\n", dir),
		"1.13.0 First.", "1.13.0 Third of the same.", "1.13.0 "+second)
}

// TestBranches: entries of release branches count, and those that Terraform collects in files.
func TestBranches(t *testing.T) {
	dir := checkout(t, "github.com/hashicorp/terraform", map[string]string{
		"CHANGELOG.md":                    "## 1.17.0 (Unreleased)\n\n* a ([#1](https://github.com/hashicorp/terraform/issues/1))\n",
		".changes/v1.17/BUG FIXES-1.yaml": "kind: BUG FIXES\nbody: 'b: c'\ntime: 2026\ncustom:\n    Issue: \"2\"\n",
	})
	git(t, dir, "init", "-q", "-b", "v1.16")
	older := filepath.Join(dir, "CHANGELOG.md")
	now, err := os.ReadFile(older)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(older, []byte("## 1.16.1\n\n* d ([#3](https://github.com/hashicorp/terraform/issues/3))\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "1.16")
	git(t, dir, "checkout", "-q", "-b", "main")
	if err := os.WriteFile(older, now, 0o644); err != nil {
		t.Fatal(err)
	}
	want(t, lackingOf(t, "terraform 1.9.0 #9, nine: unjudged\n", dir), "1.17.0 a", "1.17.0 b: c", "1.16.1 d")
}

// TestLists: lines of another form are errors.
func TestLists(t *testing.T) {
	for _, line := range []string{
		"opentofu 1.13.0 #11: unjudged", "opentofu 1.13.0, about: unjudged", "opentofu 1.13.0 #11, about", "opentofu 1.13.0 #11, about: perhaps",
	} {
		if _, err := parseList("# comment\n\n" + line + "\n"); err == nil || !strings.Contains(err.Error(), "line 3") {
			t.Errorf("%s: %v", line, err)
		}
	}
}
