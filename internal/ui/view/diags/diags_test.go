package diags

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/ui/view/ansi"
)

var update = flag.Bool("update", false, "rewrite golden files")

const source = `variable "names" {
  type = list(string)
}

resource "sim_object" "a" {
  name = upper(
    var.names[3],
  )
}
`

// at is the range of the nth occurrence of text in the source.
func at(text string, nth int) *hcl.Range {
	start := -1
	for range nth + 1 {
		start += 1 + strings.Index(source[start+1:], text)
	}
	pos := func(offset int) hcl.Pos {
		before := source[:offset]
		return hcl.Pos{Byte: offset, Line: 1 + strings.Count(before, "\n"), Column: offset - strings.LastIndex(before, "\n")}
	}
	return &hcl.Range{Filename: "main.tf", Start: pos(start), End: pos(start + len(text))}
}

func examples() diag.List {
	list := diag.List{
		{
			Severity: diag.Error, Summary: "Invalid index",
			Detail:   "The given key does not identify an element in this collection value: the given index is greater than or equal to the length of the collection.",
			Subject:  at("[3]", 0),
			Context:  at("upper(\n    var.names[3],\n  )", 0),
			Address:  `module.m["x"].sim_object.a`,
			Values:   []diag.Value{{Traversal: "var.names", Statement: "is list of string with 2 elements"}, {Traversal: "each.key", Statement: `is "x"`}},
			Function: "upper",
		},
		{Severity: diag.Error, Summary: "Provider \x1b[2Jsaid no", Detail: "It gave these reasons:\n  - a reason that is longer than the screen is wide, but stands in a list\n\nTry again."},
		{Severity: diag.Warning, Code: "old-argument", Summary: "Old argument", Detail: "Use another.", Subject: at(`type = list(string)`, 0)},
		{Severity: diag.Warning, Summary: "Old argument", Detail: "Use another.", Subject: at(`name = upper`, 0)},
		{Severity: diag.Error, Summary: "No source", Detail: "Lost.", Subject: &hcl.Range{Filename: "gone.tf", Start: hcl.Pos{Line: 7, Column: 2, Byte: 90}, End: hcl.Pos{Line: 7, Column: 3, Byte: 91}}},
		{Severity: diag.Error, Summary: "Only an address", Address: "sim_object.b"},
	}
	return list
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s", name, got)
	}
}

func TestText(t *testing.T) {
	sources := map[string][]byte{"main.tf": []byte(source)}
	golden(t, "boxed.txt", Text(examples(), sources, Options{Width: 78}))
	golden(t, "plain.txt", Text(examples()[:3], sources, Options{Width: 78, Plain: true}))
	golden(t, "consolidated.txt", Text(examples(), sources, Options{Width: 50, ConsolidateWarnings: true}))
	golden(t, "narrow.txt", Text(examples(), sources, Options{Width: 40}))
	golden(t, "colour.txt", Text(examples()[:1], sources, Options{Pen: ansi.Pen{On: true}}))
	golden(t, "compact.txt", Text(examples()[2:4], sources, Options{CompactWarnings: true}))
}

// TestReasons: errors that say the same of different objects are shown once, others each, up
// to a limit.
func TestReasons(t *testing.T) {
	at := &hcl.Range{Filename: "main.tf", Start: hcl.InitialPos, End: hcl.InitialPos}
	failed := func(address, why string) diag.Diagnostic {
		return diag.Diagnostic{Severity: diag.Error, Summary: "Can't create", Detail: "It failed: " + why, Address: address, Subject: at}
	}
	l := diag.List{failed("t.a", "no route"), failed("t.b", "no route"), failed("t.c", "no disk")}
	got := Text(l, nil, Options{Plain: true, ConsolidateErrors: true})
	if strings.Count(got, "Error:") != 2 || !strings.Contains(got, "no disk") || !strings.Contains(got, "one more similar error") {
		t.Errorf("got %s", got)
	}
	for i := range 40 {
		l = append(l, failed("t.d", strings.Repeat("x", i+1)))
	}
	if got = Text(l, nil, Options{Plain: true, ConsolidateErrors: true}); strings.Count(got, "Error:") != mostReasons+1 {
		t.Errorf("%d are shown", strings.Count(got, "Error:"))
	}
	if got = Text(l, nil, Options{Plain: true}); strings.Count(got, "Error:") != len(l) {
		t.Errorf("%d are shown", strings.Count(got, "Error:"))
	}
}

// TestPrivate quotes of what may have secrets the lines that can't have any.
func TestPrivate(t *testing.T) {
	for line, quoted := range map[string]bool{
		`key_provider "pbkdf2" "k" {`:                        true,
		`      method = method.aes_gcm.zz`:                   true,
		`  passphrase = var.passphrase`:                      true,
		`key_provider "pbkdf2" "k" { passphrase = "short" }`: false,
		`  passphrase = "short"`:                             false,
		`  passphrase = 1234567890123456`:                    false,
		`  keys = { a = "short" }`:                           false,
		`  a secret ${var.nope}`:                             false,
		"  passphrase = <<EOT\n  short\nEOT":                 false,
	} {
		at := hcl.Range{Filename: "x.tf", Start: hcl.InitialPos, End: hcl.Pos{Line: 1 + strings.Count(line, "\n"), Column: 2, Byte: len(line)}}
		d := diag.Diagnostic{Severity: diag.Error, Summary: "Wrong", Subject: &at, Private: true}
		sources := map[string][]byte{"x.tf": []byte(line + "\n")}
		text := Text(diag.List{d}, sources, Options{})
		if got := JSON(d, sources).Snippet != nil; got != quoted || strings.Contains(text, "may stand there") == quoted {
			t.Errorf("%s: quoted is %v:\n%s", line, got, text)
		}
	}
}

func TestCompactIsNotUsedBesideErrors(t *testing.T) {
	if got := Text(examples()[1:3], nil, Options{CompactWarnings: true}); !strings.Contains(got, "It gave these reasons") {
		t.Errorf("an error lost its detail:\n%s", got)
	}
}

func TestValidationIsReadable(t *testing.T) {
	text := Validation(examples(), map[string][]byte{"main.tf": []byte(source)})
	var out struct {
		Valid        bool
		ErrorCount   int `json:"error_count"`
		WarningCount int `json:"warning_count"`
		Diagnostics  []struct {
			Code    string
			Snippet struct {
				Context, Code        string
				StartLine            int `json:"start_line"`
				HighlightStartOffset int `json:"highlight_start_offset"`
				HighlightEndOffset   int `json:"highlight_end_offset"`
			}
		}
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	if out.Valid || out.ErrorCount != 4 || out.WarningCount != 2 || len(out.Diagnostics) != 6 {
		t.Errorf("wrong counts: %+v", out)
	}
	if got := out.Diagnostics[2].Code; got != "old-argument" {
		t.Errorf("the code is %q", got)
	}
	s := out.Diagnostics[0].Snippet
	if got := s.Code[s.HighlightStartOffset:s.HighlightEndOffset]; got != "[3]" {
		t.Errorf("the highlight is %q", got)
	}
	if s.Code != "  name = upper(\n    var.names[3],\n  )" || s.StartLine != 6 || s.Context != `resource "sim_object" "a"` {
		t.Errorf("snippet %+v", s)
	}
	if text = Validation(nil, nil); !strings.Contains(string(text), `"diagnostics": []`) || !strings.Contains(string(text), `"valid": true`) {
		t.Errorf("an empty result is\n%s", text)
	}
}

// Ranges of providers and of half-typed files can be anywhere.
func FuzzSnippet(f *testing.F) {
	f.Add(source, 10, 20, 5, 30)
	f.Add("a\r\nb\r\n", 3, 4, 0, 6)
	f.Add("", 0, 0, -1, 5)
	f.Fuzz(func(t *testing.T, src string, start, end, from, to int) {
		r := func(a, b int) *hcl.Range {
			return &hcl.Range{Filename: "x.tf", Start: hcl.Pos{Line: 1, Byte: a}, End: hcl.Pos{Line: 1, Byte: b}}
		}
		d := diag.Diagnostic{Summary: "s", Subject: r(start, end), Context: r(from, to)}
		sources := map[string][]byte{"x.tf": []byte(src)}
		s := JSON(d, sources).Snippet
		if s.HighlightStartOffset < 0 || s.HighlightEndOffset < s.HighlightStartOffset || s.HighlightEndOffset > len(s.Code) {
			t.Errorf("bad offsets: %+v", s)
		}
		Text(diag.List{d}, sources, Options{})
	})
}

func TestBlockHeader(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	for _, c := range []struct{ name, file, before, after, want string }{
		{"with labels", "main.tf", "a = 1\nresource \"x\" \"y\" {\n  b = {\n", "}\n}\nc {}\n", `resource "x" "y"`},
		{"without labels", "main.tf", "locals { a = ", "1 }\n", "locals"},
		{"bare label", "main.tf", "output o { v = ", "1 }\n", `output "o"`},
		{"closing brace", "main.tf", "locals {\n", "}\n", "locals"},
		{"after a block", "main.tf", "locals {}\n", "x = 1\n", ""},
		{"in the header", "main.tf", "variable ", "\"x\" {\n}\n", `variable "x"`},
		{"the header itself", "main.tf", "locals {}\n", "variable \"x\" {\n}\n", ""},
		{"attribute", "main.tfvars", "a = {\n b = ", "1\n}\n", ""},
		{"template", "main.tf", "a {\n b = \"${c}}\"\n}\nd {\n e = ", "1\n}\n", "d"},
		{"comment", "main.tf", "# { is no brace\na {\n", "}\n", "a"},
		{"unclosed", "main.tf", "a {\n b = [", "1\n", "a"},
		{"deep", "main.tf", "a {\n b = " + deep, "1", "a"},
		{"json", "main.tf.json", `{"resource": {"x": {"y": {"a": `, `1}}}}`, "resource.x.y"},
		{"deep json", "main.tf.json", deep, "1", ""},
	} {
		src := []byte(c.before + c.after)
		r := hcl.Range{Filename: c.file, Start: hcl.Pos{Byte: len(c.before)}}
		if got := blockHeader(src, r); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestWindow(t *testing.T) {
	long := strings.Repeat("é", 400)
	for _, c := range []struct {
		line     string
		from, to int
		want     string
	}{
		{"short line", 2, 5, "sh|ort| line"},
		{long + "X" + long, 800, 801, "…" + long[:80] + "|X|" + long[:418] + "…"},
		{"X" + long, 0, 1, "|X|" + long[:498] + "…"},
		{long, 0, 800, "|" + long[:500] + "|…"},
		{long + "X", 800, 801, "…" + long[:80] + "|X|"},
	} {
		before, marked, after := window(c.line, c.from, c.to)
		if got := before + "|" + marked + "|" + after; got != c.want {
			t.Errorf("%.20s: got %q, want %q", c.line, got, c.want)
		}
	}
}
