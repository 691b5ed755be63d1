package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// revealing are words that only sections with a recorded run use.
var revealing = regexp.MustCompile(`(?i)\blast result\b|\b(recorded|measured) (on|at|by hand)\b|\bwritten by .make \S+ RECORD|\bone run of one build\b|\bcommit .?[0-9a-f]{7,40}\b|\| *commit *\|`)

// command is how a reader repeats a run: in a line of code, or within backticks.
var command = regexp.MustCompile(`(?m)(?:^    |\x60)((?:make|go run|go test) [^\x60\n]+|(?:test|internal|bench)/[^\x60\n]+)`)

// hexadecimal are words that look like the name of a commit: hexadecimal with digits and letters, and
// no part of a longer word or UUID.
var hexadecimal = regexp.MustCompile(`(?:^|[\s|(\x60])([0-9a-f]{7,12}|[0-9a-f]{40})(?:$|[\s|),:;.\x60])`)

// TestRuns checks that every recorded run can be repeated: its section names a commit of the
// history and the command.
func TestRuns(t *testing.T) {
	history := commits(t)
	found := 0
	for _, page := range recordPages(t) {
		text, err := os.ReadFile("../../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sections(string(text)) {
			at, commit := page+", "+s.heading, false
			for _, match := range hexadecimal.FindAllStringSubmatch(s.text, -1) {
				if !strings.ContainsAny(match[1], "0123456789") || !strings.ContainsAny(match[1], "abcdef") {
					continue
				}
				commit = true
				if !reachable(history, match[1]) {
					t.Errorf("%s: %s is no commit of this history: repeat the run, or remove it", at, match[1])
				}
			}
			word := revealing.FindString(s.text)
			if word == "" {
				continue
			}
			found++
			if !commit {
				t.Errorf("%s: %q is a recorded run, and the section names no commit", at, word)
			}
			problem := "the section names no command"
			for _, match := range command.FindAllStringSubmatch(s.text, -1) {
				if problem = runs(match[1]); problem == "" {
					break
				}
			}
			if problem != "" {
				t.Errorf("%s: %q is a recorded run: %s", at, word, problem)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d recorded runs are found", found)
	}
}

// TestRevealing checks that the patterns of TestRuns find a run without a line, and a commit.
func TestRevealing(t *testing.T) {
	for text, want := range map[string]bool{
		"## Last result": true, "Recorded on 2026-11-24 with `make x`.": true, "| commit | seeds | result |": true,
		"Commit 0101d68c: 4696 faults": true, "The state is recorded in a file.": false, "a commit has a message": false,
	} {
		if revealing.MatchString(text) != want {
			t.Errorf("%q: found %v", text, !want)
		}
	}
	for text, want := range map[string]string{
		"| 5a65e96 | 1 |": "5a65e96", "pass (0993fe8).": "0993fe8", "at `82cc0029`, twice": "82cc0029",
		"force-unlock 2f4a6e6e-34c1-7f0a-9d0b-9d9a6d1f7c55": "", "1.1.2f4a6e6e": "",
	} {
		got := ""
		if match := hexadecimal.FindStringSubmatch(text); match != nil {
			got = match[1]
		}
		if got != want {
			t.Errorf("%q: found %q, want %q", text, got, want)
		}
	}
	if problem := runs("make nothing N=1"); problem == "" {
		t.Error("a target that the Makefile doesn't have is accepted")
	}
}

// commits lists the history. A clone without it can't hold the claims.
func commits(t *testing.T) []string {
	t.Helper()
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", "../../.."}, args...)...).Output()
		if err != nil {
			t.Skip("no git history here:", err)
		}
		return strings.TrimSpace(string(out))
	}
	if git("rev-parse", "--is-shallow-repository") == "true" {
		t.Skip("the clone is shallow")
	}
	return strings.Fields(git("rev-list", "HEAD"))
}

func reachable(history []string, name string) bool {
	for _, commit := range history {
		if strings.HasPrefix(commit, name) {
			return true
		}
	}
	return false
}

// recordPages are the pages that may have recorded runs. The changelog names no commits.
func recordPages(t *testing.T) (list []string) {
	t.Helper()
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/decisions/*.md", "bench/*.md", "test/*.md", "test/*/*.md"} {
		files, err := filepath.Glob("../../../" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			list = append(list, filepath.ToSlash(strings.TrimPrefix(filepath.ToSlash(file), "../../../")))
		}
	}
	return list
}

type section struct{ heading, text string }

// sections splits a page at its headings. Each text has its heading.
func sections(page string) (list []section) {
	fenced := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if heading := strings.TrimLeft(line, "#"); !fenced && heading != line && strings.HasPrefix(heading, " ") || len(list) == 0 {
			list = append(list, section{heading: strings.TrimSpace(heading)})
		}
		list[len(list)-1].text += line
	}
	return list
}

// runs returns why a command isn't a target of the Makefile or a package of the tree, or "".
func runs(command string) string {
	fields := strings.Fields(command)
	switch {
	case len(fields) > 1 && fields[0] == "make":
		if !declares("../../../Makefile", regexp.QuoteMeta(fields[1])+":") {
			return "the Makefile has no target " + fields[1]
		}
	case len(fields) > 2 && fields[0] == "go" && (fields[1] == "run" || fields[1] == "test"):
		if _, err := os.Stat(filepath.Join("../../..", fields[2])); err != nil {
			return "no package " + fields[2]
		}
	case strings.Contains(fields[0], "/"):
		if _, err := os.Stat(filepath.Join("../../..", fields[0])); err != nil {
			return "no program " + fields[0]
		}
	default:
		return command + `: want "make TARGET", "go run PACKAGE", "go test PACKAGE" or a path`
	}
	return ""
}
