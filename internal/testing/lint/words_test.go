package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A wording is a pattern that texts avoid, and what to write in its place.
type wording struct {
	pattern *regexp.Regexp
	better  string
}

func avoid(pattern, better string) wording {
	return wording{regexp.MustCompile(`(?i)` + pattern), better}
}

// wordings are the phrases that made readers stumble. Each has few uses that are right; for
// one of those, write the sentence in another way.
var wordings = []wording{
	avoid(`\b(whoever|whomever)\b`, `name the reader: "you", "users", "the command that …"`),
	avoid(`\banew\b`, `"again"`),
	avoid(`\bof late\b`, `"recently"`),
	avoid(`\bas ever\b`, `"as usual"`),
	avoid(`\b(the|our|its) peers?\b|\b(another|other) engines?\b`, `"OpenTofu and Terraform", by name`),
	avoid(`\b(told|tells)\b`, `"reports", "prints" or "lists"`),
	avoid(`\bsettle[sd]?\b`, `"resolve"`),
	avoid(`\brefuse[sd]?\b`, `"reject", or "fails with an error"`),
	avoid(`\b(it|that|this|them|these|those|one|[a-z]+s) alone\b`, `"only"`),
	avoid(`\bbears?\b`, `"allow"`),
	avoid(`\b(comes?|came) to (the same|something|nothing|an?|be)\b|\bcomes to\b`, `"results in", or a verb that says what happens`),
	avoid(`\b(goes|went) on\b`, `"continues"`),
	avoid(`\bas far as it is known\b|\bwhat there (is|isn't)\b|\bthere (isn't|aren't)\b|\bthere (is|are) none\b`, `"exists", "is missing", or the thing itself`),
	avoid(`\bputs? off\b`, `"deferred"`),
	avoid(`\b(asked|asks?) about\b|\bis asked for\b`, `"reads", "refreshes" or "requests"`),
	avoid(`\b(is|are|was|were|be) looked at\b`, `"weir reads", "weir inspects"`),
	avoid(`\bbegun\b`, `"started"`),
}

// clauses begin a sentence with a clause for its subject. In code only sentences count: a
// comment such as "size: what a page may have" is no sentence.
var (
	inPages = avoid(`(^|[.!?] )(what|who) [^?]*$`, `name the thing; a clause isn't a subject`)
	inCode  = wording{regexp.MustCompile(`(^|[.!?] )(What|Who) [^?]*$`), inPages.better}
)

// matched are texts that programs look for, so they stay as they are.
var matched = regexp.MustCompile(`Put off until more is known|%d in doubt, %d not begun|was told to (fail|warn)`)

const longest = 25 // words in a sentence of a page

// TestWords checks the texts of the project: pages, and the comments, help texts and messages
// in code.
func TestWords(t *testing.T) {
	const root = "../../.."
	checked := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		switch filepath.Ext(path) {
		case ".md":
			text, err := os.ReadFile(filepath.Join(root, path))
			if err != nil {
				return err
			}
			checked++
			for _, p := range prose(string(text)) {
				reportWords(t, path, p.line, p.text, inPages)
				for _, s := range strings.Split(stop.ReplaceAllString(p.text, "$1\n"), "\n") {
					if n := len(strings.Fields(s)); n > longest {
						t.Errorf("%s:%d: a sentence of %d words, %d are allowed: split it: %s", path, p.line, n, longest, s)
					}
				}
			}
		case ".go":
			checked++
			goTexts(t, filepath.Join(root, path), func(line int, text string) { reportWords(t, path, line, text, inCode) })
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 1000 {
		t.Errorf("only %d files are checked", checked)
	}
}

func reportWords(t *testing.T, path string, line int, text string, clause wording) {
	t.Helper()
	for _, problem := range badWords(text, clause) {
		t.Errorf("%s:%d: %s", path, line, problem)
	}
}

// badWords returns the phrases in a paragraph that are to be replaced, with the better word.
func badWords(text string, clause wording) (problems []string) {
	for _, s := range sentences(matched.ReplaceAllString(text, "X")) {
		for _, w := range append(wordings[:len(wordings):len(wordings)], clause) {
			if found := w.pattern.FindString(s); found != "" {
				if len(found) > 40 {
					found = found[:40] + "…"
				}
				problems = append(problems, fmt.Sprintf("%q: write %s", strings.TrimSpace(found), w.better))
			}
		}
	}
	return problems
}

type paragraph struct {
	line int
	text string
}

var (
	codeSpan = regexp.MustCompile("`[^`]*`")
	linkTo   = regexp.MustCompile(`\]\([^)]*\)`)
	item     = regexp.MustCompile(`^\s*([-*]|\d+\.) `)
	ending   = regexp.MustCompile(`([.!?;:]["')]*)\s+`)
	stop     = regexp.MustCompile(`([.!?]["')]*)\s+`)
	comment  = regexp.MustCompile(`(?s)<!--.*?-->`)
)

// prose returns the paragraphs, list items and cells of a page, without its code.
func prose(page string) (list []paragraph) {
	fenced, open := false, false
	for i, line := range strings.Split(page, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			fenced, open = !fenced, false
		case fenced, trimmed == "", strings.HasPrefix(trimmed, "<"), strings.HasPrefix(line, "    ") && !open:
			open = false
		case strings.HasPrefix(trimmed, "#"):
			open = false // headings may be questions and topics
		case strings.HasPrefix(trimmed, "|"):
			open = false
			for cell := range strings.SplitSeq(trimmed, "|") {
				list = append(list, paragraph{i + 1, clean(cell)})
			}
		case item.MatchString(line):
			list = append(list, paragraph{i + 1, clean(item.ReplaceAllString(line, ""))})
			open = true
		case open:
			list[len(list)-1].text += " " + clean(trimmed)
		default:
			list = append(list, paragraph{i + 1, clean(trimmed)})
			open = true
		}
	}
	return list
}

// clean reduces code and the targets of links to one word.
func clean(text string) string {
	text = comment.ReplaceAllString(text, "")
	return strings.TrimSpace(linkTo.ReplaceAllString(codeSpan.ReplaceAllString(text, "X"), "]"))
}

// sentences splits a paragraph for the search for phrases: behind a colon or semicolon a clause is
// a subject too. The length of a sentence counts up to its stop.
func sentences(text string) []string {
	return strings.Split(ending.ReplaceAllString(text, "$1\n"), "\n")
}

// goTexts visits the comments of a source and its string literals of several words.
func goTexts(t *testing.T, name string, visit func(line int, text string)) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return
	}
	if ast.IsGenerated(file) {
		return
	}
	names := map[string]bool{} // a comment begins with the name that it describes
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names[id.Name] = true
		}
		return true
	})
	for _, group := range file.Comments {
		text := strings.ReplaceAll(group.Text(), "\n", " ")
		if first, rest, ok := strings.Cut(text, " "); ok && names[strings.TrimSuffix(first, ":")] {
			text = "X " + rest
		}
		visit(set.Position(group.Pos()).Line, clean(text))
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && !strings.HasSuffix(name, "_test.go") {
			if text, err := strconv.Unquote(lit.Value); err == nil && strings.Count(text, " ") > 3 {
				visit(set.Position(lit.Pos()).Line, clean(text))
			}
		}
		return true
	})
}

func TestBadWords(t *testing.T) {
	for text, want := range map[string]int{
		"weir reads the lock file.":                              0,
		"What is asked for and missing is refused by name.":      3,
		"Read it. Who outgrows one machine uses Temporal.":       1,
		"What happens after a crash?":                            0,
		"A plan shows what changes.":                             0,
		"The peers do it anew.":                                  2,
		"An instance alone is read.":                             0,
		"It reads those alone that changed.":                     1,
		"The total comes to 3. The apply goes on.":               2,
		"`what` is told of in `settle`":                          1,
		"Settings are kept in a file, and peer review is usual.": 0,
	} {
		if got := badWords(clean(text), inPages); len(got) != want {
			t.Errorf("%q: %d problems, want %d: %q", text, len(got), want, got)
		}
	}
}

func TestProse(t *testing.T) {
	page := "# What isn't read\n\nOne two\nthree. Four\n\n    told\n\n- an item\n  goes\n- `anew` [x](told)\n\n```\nanew\n```\n\n| a | b |\n"
	var got []string
	for _, p := range prose(page) {
		if p.text != "" {
			got = append(got, fmt.Sprint(p.line, " ", p.text))
		}
	}
	if want := "[3 One two three. Four 8 an item goes 10 X [x] 16 a 16 b]"; fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}
