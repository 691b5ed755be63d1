package format

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

func TestSource(t *testing.T) {
	for name, c := range map[string][2]string{
		"spaces and alignment": {
			"resource   \"sim_object\" \"a\" {\nname=\"a\"\n  value  =   \"x\"   # comment\n  longer_name = [1,2,\n  3]\n\n  rule   { port=1 }\n\n\n  map = {a=1\n  bb=2}\n}\n",
			"resource \"sim_object\" \"a\" {\n  name  = \"a\"\n  value = \"x\" # comment\n  longer_name = [1, 2,\n  3]\n\n  rule { port = 1 }\n\n\n  map = { a = 1\n  bb = 2 }\n}\n",
		},
		"empty":                       {"", ""},
		"no newline at the end":       {"a=1", "a = 1"},
		"interpolation":               {"a = \"${b}\"\n", "a = b\n"},
		"interpolation with trimming": {"a = \"${~ b ~}\"\n", "a = b\n"},
		"interpolation in a block":    {"x {\n  a = \"${b.c[0]}\"\n}\n", "x {\n  a = b.c[0]\n}\n"},
		"interpolation in a call":     {"a = f(\"${b}\")\n", "a = f(\"${b}\")\n"},
		"interpolation beside text":   {"a = \"x${b}\"\nb = \"${c}${d}\"\n", "a = \"x${b}\"\nb = \"${c}${d}\"\n"},
		"nested strings":              {"a = \"${f(\"${b}\")}\"\n", "a = f(\"${b}\")\n"},
		"nested interpolation":        {"a = \"${\"${b}\"}\"\n", "a = b\n"},
		"string in interpolation":     {"a = \"${\"b\"}\"\n", "a = \"b\"\n"},
		"empty interpolation":         {"a = \"${}\"\n", "a = \"${}\"\n"},
		"lines":                       {"a = \"${\n  b\n}\"\n", "a = b\n"},
		"lines of a conditional":      {"a = \"${b ?\n  c :\n  d}\"\n", "a = (b ?\n  c :\nd)\n"},
		"lines in parentheses":        {"a = \"${(b ?\n  c :\n  d)}\"\n", "a = (b ?\n  c :\nd)\n"},
		"lines between parentheses":   {"a = \"${(b) +\n  (c)}\"\n", "a = ((b) +\n(c))\n"},
		"comment at the end":          {"a = \"${b # why\n}\"\n", "a = b # why\n\n"},
		"heredoc":                     {"a = <<EOT\n  ${b}\n   x\nEOT\nb=1\n", "a = <<EOT\n  ${b}\n   x\nEOT\nb = 1\n"},
		"directive":                   {"a = \"%{ if b }${c}%{ endif }\"\n", "a = \"%{if b}${c}%{endif}\"\n"},
		"quoted types": {
			"variable \"a\" {\n  type = \"string\"\n}\nvariable \"b\" {\n  type = \"list\"\n}\nvariable \"c\" {\n  type = \"map\"\n}\nvariable \"d\" {\n  type = \"other\"\n}\n",
			"variable \"a\" {\n  type = string\n}\nvariable \"b\" {\n  type = list(string)\n}\nvariable \"c\" {\n  type = map(string)\n}\nvariable \"d\" {\n  type = \"other\"\n}\n",
		},
		"bare collection types": {
			"variable \"a\" {\n  type = list\n}\nvariable \"b\" {\n  type = set\n}\nvariable \"c\" {\n  type = map\n}\nvariable \"d\" {\n  type = list(string)\n}\n",
			"variable \"a\" {\n  type = list(any)\n}\nvariable \"b\" {\n  type = set(any)\n}\nvariable \"c\" {\n  type = map(any)\n}\nvariable \"d\" {\n  type = list(string)\n}\n",
		},
		"types elsewhere":         {"output \"a\" {\n  type = \"string\"\n}\nvariable \"a\" {\n  x {\n    type = list\n  }\n}\n", "output \"a\" {\n  type = \"string\"\n}\nvariable \"a\" {\n  x {\n    type = list\n  }\n}\n"},
		"bare labels":             {"resource a b {\n}\n", "resource \"a\" \"b\" {\n}\n"},
		"labels and spaces":       {"resource\"a\"\"b\"{\n}\n", "resource \"a\" \"b\" {\n}\n"},
		"comment in labels":       {"resource \"a\" /* x */ \"b\" {\n}\n", "resource \"a\" \"b\" {\n}\n"},
		"escape in a label":       {"x \"\\u0041\" {\n}\n", "x \"A\" {\n}\n"},
		"comment of a bare block": {"x /* y */ {\n}\n", "x /* y */ {\n}\n"},
		"carriage returns":        {"a=1\r\nbb=2\r\n", "a  = 1\r\nbb = 2\r\n"},
		"syntax error":            {"resource   \"a\" {\n", "resource   \"a\" {\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := string(Source([]byte(c[0]), "test.tf"))
			if got != c[1] {
				t.Errorf("got\n%s\nwant\n%s", got, c[1])
			}
			if again := string(Source([]byte(got), "test.tf")); again != got {
				t.Errorf("changes again to\n%s", again)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	_, diags := Check([]byte("a = \n"), "x.tf")
	if !diags.HasErrors() || diags[0].Subject.Filename != "x.tf" {
		t.Errorf("%v", diags)
	}
}

// significant lists what a parser sees of a file: no space, no newlines (the
// format keeps them, but edits may drop some), no comments among labels.
func significant(t *testing.T, src []byte) []string {
	tokens, diags := hclsyntax.LexConfig(src, "", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var ret []string
	for _, token := range tokens {
		if token.Type != hclsyntax.TokenEOF {
			ret = append(ret, string(token.Bytes))
		}
	}
	return ret
}

func FuzzSource(f *testing.F) {
	f.Add([]byte("a = \"${b}\"\nresource a \"b\" {\n  c=[1,\n2]\n # x\n}\n"))
	f.Add([]byte("variable \"a\" {\n type=list\n}\n"))
	f.Add([]byte("a = <<-EOT\n  x ${y} %{if z}a%{endif}\n  EOT\nb = {for k,v in c: k=>v... if v}\n"))
	f.Add([]byte("a = \"${(b) + \n (c)}\" // x\nb = -(-1) ? !x : a.*.b[*].c[\"d\"]\n"))
	f.Add([]byte("a = \"${ \"${b}\" # c\n}\"\n"))
	f.Add([]byte("x y /* z */ {}\nx \"\\u00e9\" { a = 1 }\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if _, diags := hclsyntax.ParseConfig(src, "", hcl.InitialPos); diags.HasErrors() {
			if got := Source(src, ""); !bytes.Equal(got, src) {
				t.Fatalf("a broken file was changed to\n%s", got)
			}
			return
		}
		got := Source(src, "")
		if _, diags := hclsyntax.ParseConfig(got, "", hcl.InitialPos); diags.HasErrors() {
			t.Fatalf("%q became broken: %q: %s", src, got, diags)
		}
		if again := Source(got, ""); !bytes.Equal(again, got) {
			t.Fatalf("%q became %q, then %q", src, got, again)
		}
		e := &editor{src: src}
		file, _ := hclsyntax.ParseConfig(src, "", hcl.InitialPos)
		e.body(file.Body.(*hclsyntax.Body), nil)
		if len(e.edits) == 0 {
			if a, b := significant(t, src), significant(t, got); !slices.Equal(a, b) {
				t.Fatalf("%q has other tokens after: %q", src, got)
			}
		}
	})
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b.tf": "a=1\n", "a.tofu": "a = 1\n", "c.tfvars": "a=1\n", "d.tftest.hcl": "", "e.tofutest.hcl": "", "f.tfmock.hcl": "",
		"g.tfquery.hcl": "", "h.tfcomponent.hcl": "", "i.tfdeploy.hcl": "", "broken.tf": "{", "no.hcl": "a=1\n", "no.tf.json": "{}",
		".hidden.tf": "a=1\n", "save.tf~": "a=1\n", "#lock.tf#": "", "bb/x.tf": "a=1\n", ".terraform/x.tf": "a=1\n", "bb/cc/y.tf": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		recursive bool
		want      string
	}{
		{false, "a.tofu b.tf broken.tf c.tfvars d.tftest.hcl e.tofutest.hcl f.tfmock.hcl g.tfquery.hcl h.tfcomponent.hcl i.tfdeploy.hcl"},
		{true, "a.tofu b.tf bb/cc/y.tf bb/x.tf broken.tf c.tfvars d.tftest.hcl e.tofutest.hcl f.tfmock.hcl g.tfquery.hcl h.tfcomponent.hcl i.tfdeploy.hcl"},
	} {
		paths, err := Find(dir, c.recursive)
		if err != nil {
			t.Fatal(err)
		}
		var names, changed []string
		files := Files(append(paths, filepath.Join(dir, "gone.tf")))
		for i, path := range paths {
			name, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(name))
			if files[i].Path != path || files[i].Err != nil {
				t.Errorf("%s: %v", path, files[i].Err)
			}
			if files[i].Changed() {
				changed = append(changed, filepath.ToSlash(name))
			}
			if files[i].Diags.HasErrors() != (name == "broken.tf") {
				t.Errorf("%s: %v", path, files[i].Diags)
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("got %s", got)
		}
		if want := map[bool]string{false: "b.tf c.tfvars", true: "b.tf bb/x.tf c.tfvars"}[c.recursive]; strings.Join(changed, " ") != want {
			t.Errorf("changed: %v", changed)
		}
		if files[len(paths)].Err == nil {
			t.Error("a file that isn't there was read")
		}
	}
	if _, err := Find(filepath.Join(dir, "nowhere"), true); err == nil {
		t.Error("a directory that isn't there was read")
	}
	if files := Files(nil); len(files) != 0 {
		t.Error("files from nowhere")
	}
	if !slices.Contains(Suffixes(), ".tofu") {
		t.Error("suffixes")
	}
}

func TestDiff(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"a\n", "a\n", ""},
		{"a\nb\nc\n", "a\nB\nc\n", "--- old/x\n+++ new/x\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{"", "a\n", "--- old/x\n+++ new/x\n@@ -0,0 +1 @@\n+a\n"},
		{"a\n", "", "--- old/x\n+++ new/x\n@@ -1 +0,0 @@\n-a\n"},
		{"a", "a\n", "--- old/x\n+++ new/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{
			"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", "1\nx\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\ny\n",
			"--- old/x\n+++ new/x\n@@ -1,5 +1,5 @@\n 1\n-2\n+x\n 3\n 4\n 5\n@@ -10,3 +10,4 @@\n 10\n 11\n 12\n+y\n",
		},
	} {
		if got := string(Diff("old/x", "new/x", []byte(c.a), []byte(c.b))); got != c.want {
			t.Errorf("%q to %q:\ngot\n%s\nwant\n%s", c.a, c.b, got, c.want)
		}
	}
	f := File{Path: "m.tf", Before: []byte("a=1\n"), After: []byte("a = 1\n")}
	if got := string(f.Diff()); !strings.HasPrefix(got, "--- old/m.tf\n+++ new/m.tf\n") {
		t.Error(got)
	}
}

// patch applies a diff to a text.
func patch(t *testing.T, a []byte, diff string) string {
	t.Helper()
	lines := splitLines(a)
	var out strings.Builder
	at := 0
	take := func(line string) {
		if at >= len(lines) || strings.TrimSuffix(string(lines[at]), "\n") != line {
			t.Fatalf("the diff expects %q at line %d", line, at)
		}
		at++
	}
	for _, line := range strings.Split(strings.TrimSuffix(diff, "\n"), "\n")[2:] {
		switch {
		case strings.HasPrefix(line, "@@"):
			var start int
			if _, err := fmt.Sscanf(line, "@@ -%d", &start); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Fields(line)[1], ",0") {
				start--
			}
			for at < start {
				out.Write(lines[at])
				at++
			}
		case line[0] == ' ':
			take(line[1:])
			out.WriteString(line[1:] + "\n")
		case line[0] == '-':
			take(line[1:])
		case line[0] == '+':
			out.WriteString(line[1:] + "\n")
		}
	}
	for _, line := range lines[at:] {
		out.Write(line)
	}
	return out.String()
}

func TestDiffApplies(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	text := func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "%d\n", rng.Intn(4))
		}
		return b.String()
	}
	for range 2000 {
		a, b := text(rng.Intn(30)), text(rng.Intn(30))
		diff := string(Diff("a", "b", []byte(a), []byte(b)))
		if a == b {
			if diff != "" {
				t.Fatal(diff)
			}
			continue
		}
		if got := patch(t, []byte(a), diff); got != b {
			t.Fatalf("%q to %q gave %q by\n%s", a, b, got, diff)
		}
	}
	// Too different for a search of all ways.
	a, b := strings.Repeat("a\n", 5000), strings.Repeat("b\n", 5000)
	if got := patch(t, []byte(a), string(Diff("a", "b", []byte(a), []byte(b)))); got != b {
		t.Error("a large difference is wrong")
	}
}

// TestPieces: a large file is laid out as it would be in one piece, wherever it may be cut.
func TestPieces(t *testing.T) {
	parts := []string{
		"resource   \"a\" \"b\" {\nname=\"a\"\n  value  =   \"x\"   # comment\n}\n", "x {\n  a = <<EOT\n}\n\nnot = { a block\n}\nEOT\n}\n\n", "a=1\nlonger   = 2\n\n",
		"/* }\n\nb {\n*/\n", "list=[\n1,\n\n2,\n]\n", "variable \"a\" {\n  type = \"string\"\n}\n", "# comment\n\n\n\n", "y \"z\" {\r\n  b=\"${c}\"\r\n}\r\n", "d = {\n}\ne = 1\nfgh = 2\n",
		"m = {\n  k = 1\n}\nresource a b {\n}\n", "_u = 1\n", "  indented = 1\n",
	}
	random := rand.New(rand.NewSource(1))
	rounds := 5
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		var b bytes.Buffer
		for n := 0; b.Len() < 3*large; n++ {
			part := parts[random.Intn(len(parts))]
			b.WriteString(part)
		}
		src := distinct(b.Bytes())
		whole, _, wrong := check(src, "x.tf")
		if wrong.HasErrors() {
			t.Fatal(wrong)
		}
		got, diags := Check(src, "x.tf")
		if diags.HasErrors() || !bytes.Equal(got, whole) {
			t.Fatalf("it isn't laid out as a whole: %v", diags)
		}
		if n, _, _ := pieceOf(src, "x.tf"); n > 8*large {
			t.Errorf("the first piece has %d bytes", n)
		}
		src = append(src, "broken = {\n"...)
		if got, diags := Check(src, "x.tf"); !bytes.Equal(got, src) || !diags.HasErrors() || diags[0].Subject.Start.Line < bytes.Count(src, []byte("\n")) {
			t.Errorf("with a mistake at the end: %v", diags)
		}
	}
}

// TestTwice: an attribute that is there twice is a mistake also in different pieces.
func TestTwice(t *testing.T) {
	src := slices.Concat([]byte("a=1\n\n"), bytes.Repeat([]byte("x {\n}\n"), large), []byte("\na = 2\n"))
	if got, diags := Check(src, "x.tfvars"); !diags.HasErrors() || !bytes.Equal(got, src) {
		t.Errorf("it is %v", diags)
	}
}

// distinct gives attributes at the top names of their own.
func distinct(src []byte) []byte {
	lines := bytes.SplitAfter(src, []byte("\n"))
	n := 0
	for i, line := range lines {
		for _, name := range []string{"a=", "longer ", "list=", "d = {", "e =", "fgh =", "m = {", "_u", "  indented"} {
			if bytes.HasPrefix(line, []byte(name)) && !bytes.HasPrefix(line, []byte("  a")) {
				n++
				word := strings.TrimRight(name, " ={")
				lines[i] = []byte(strings.Replace(string(line), word, fmt.Sprintf("%s%d", word, n), 1))
			}
		}
	}
	return bytes.Join(lines, nil)
}

// TestMemory: what fmt takes is a small multiple of a large file.
func TestMemory(t *testing.T) {
	one := "resource \"a_b\" \"c\" {\n  count=2\n  name   = \"x-${count.index}\"\n  tags = {\n    a = var.a\n    bcd = [1, 2,3]\n  }\n}\n\n"
	src := bytes.Repeat([]byte(one), 4<<20/len(one))
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	peak := before.HeapAlloc
	done := make(chan bool)
	go func() {
		defer close(done)
		Source(src, "main.tf")
	}()
	for {
		select {
		case <-done:
			if grown := (peak - before.HeapAlloc) >> 20; grown > 20*4 {
				t.Errorf("4 MiB took %d MiB", grown)
			}
			return
		case <-time.After(5 * time.Millisecond):
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapAlloc)
		}
	}
}
