package diff

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

var update = flag.Bool("update", false, "rewrite golden files")

func changed(before, after string, o Options) string {
	return Typed(cty.StringVal(before), cty.StringVal(after)).Text(0, o)
}

// numbered are so many lines, the given ones different.
func numbered(n int, different ...int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		mark := ""
		for _, d := range different {
			if d == i {
				mark = " changed"
			}
		}
		fmt.Fprintf(&b, "line %d%s\n", i, mark)
	}
	return b.String()
}

// TestFolded: of a long text that changes the lines around that are shown, for people; what
// others read has all of it.
func TestFolded(t *testing.T) {
	var got strings.Builder
	for _, different := range [][]int{{100}, {1}, {200}, {50, 56, 57, 66}, {2, 199}} {
		text := changed(numbered(200), numbered(200, different...), Options{Fold: true})
		fmt.Fprintf(&got, "%v %s\n\n", different, text)
		if n := strings.Count(changed(numbered(200), numbered(200, different...), Options{}), "\n"); n != 201+len(different) {
			t.Errorf("%v: in full it has %d lines", different, n)
		}
	}
	// One line isn't worth a note in its place.
	fmt.Fprintf(&got, "%s\n", changed(numbered(9), numbered(9, 1, 9), Options{Fold: true}))
	golden(t, "folded.txt", got.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != got {
		t.Errorf("%v; got:\n%s", err, got)
	}
}

const service = `# Made by hand.
kind: Service
metadata:
  name: web
  labels: {app: web, tier: "1.10"}
spec:
  replicas: 3
  script: |
    #!/bin/sh
    echo hello
  ports:
    - name: http
      port: 80
    - name: https
      port: 443
`

// TestYAML: texts that hold mappings or lists are compared by what they hold, for people.
func TestYAML(t *testing.T) {
	after := strings.NewReplacer("port: 443", "port: 8443", "web, tier", "web,   tier", "echo hello", "echo goodbye", "name: web", "name: 'web'").Replace(service)
	golden(t, "yaml.txt", changed(service, after, Options{Fold: true})+"\n"+changed(service, after, Options{})+"\n")
}

// TestNotYAML: where something of a text isn't in the values it holds, lines are compared.
func TestNotYAML(t *testing.T) {
	yaml := func(before, after string) bool {
		return strings.HasPrefix(changed(before, after, Options{Fold: true}), "yamlencode(")
	}
	for _, before := range []string{
		"a: 1\nb: x\n", "- 1\n- 2\n", "---\na: true\nb: null\n", "a:\n  b: [1.5, -2, \"1.10\"]\n", "a: 10.0.0.1\nb: 80:80\n",
		"a: 1_000\nb: 'x: y'\n", "a: # note: it\n  b: 1\n", "a: x y\nb:\n", "a: >-\n  some\n  text\nb: 1\n",
		"a: \"arn:0\"\nb: arn:aws:iam::0123:role/x\nc: ami-0abc\n", "a:\n- \"2012-10-17\"\n- '0755'\n",
	} {
		if !yaml(before, before+moreOf(before)) {
			t.Errorf("not taken for YAML:\n%s\n%s", before, changed(before, before+moreOf(before), Options{Fold: true}))
		}
	}
	for _, before := range []string{
		"one\ntwo\n", "a: 1", "a: 1.10\nb: x\n", "a: [1, 1.10, 2]\nb: x\n", "a: [2.0,1.0]\nb: x\n", "a: 0755\nb: x\n", "a: 0x1F\nb: x\n", "a: 1e3\nb: 2\n", "a: yes\nb: x\n",
		"a: ~\nb: x\n", "a: True\nb: x\n", "a: &x 1\nb: *x\n", "a: !!str 1\nb: x\n", "<<: {a: 1}\nb: 2\n", "a: 1\n---\nb: 2\n", "? a\n: b\n", "a: 1\na: 2\n",
		"a: {b: 1, b: 2}\nc: 3\n", "8080: x\nb: y\n", "a: {\"b\":1.10}\nc: x\n", "- - 1.10\n- x\n", "a: .inf\nb: x\n", "a: 2001-01-01\nb: x\n", "1.10: x\nb: y\n", "a: +1\nb: x\n", "a: [\nb: x\n", "",
	} {
		if yaml(before, before+moreOf(before)) {
			t.Errorf("taken for YAML:\n%s\n%s", before, changed(before, before+moreOf(before), Options{Fold: true}))
		}
	}
	// Few characters may be a number of very many digits.
	for _, text := range []string{"a: 1e400000000\nb: 1\n", "a: 1e-400000000\nb: 1\n", `{"a":1e400000000,"b":1}`} {
		changed(text, strings.Replace(text, "1e", "2e", 1), Options{Fold: true})
	}
	if yaml("# one\na: 1\nb: 2\n", "# two\na: 1\nb: 3\n") || yaml("a: 1\nb: 2\n", "a:   1\nb: 2\n") {
		t.Error("a change beside the values isn't shown")
	}
}

// moreOf is a line that makes a text another one of the same kind.
func moreOf(text string) string {
	if strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "---") {
		return "- more\n"
	}
	return "more: x\n"
}

// TestWideNames: columns are aligned by what characters take on a screen.
func TestWideNames(t *testing.T) {
	before := cty.MapVal(map[string]cty.Value{"日本": cty.StringVal("a"), "name": cty.StringVal("a"), "🚀": cty.StringVal("a")})
	after := cty.MapVal(map[string]cty.Value{"日本": cty.StringVal("b"), "name": cty.StringVal("b"), "🚀": cty.StringVal("b")})
	golden(t, "wide.txt", Typed(before, after).Text(0, Options{Fold: true})+"\n")
}

// FuzzYAML: no text makes the comparison panic, one with itself has no difference, and what
// is shown of a number is in the text.
func FuzzYAML(f *testing.F) {
	for _, text := range []string{service, "a: 1.10\nb: [1, \"x\"]\n", "- a\n- {b: c}\n", "a: |\n  x\n  y\nb: >-\n  z\n", "a: 1e400\nb: 1\n"} {
		f.Add(text, text+"more: 1\n")
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		changed(before, after, Options{Fold: true})
		if _, _, ok := YAML(before, before); ok {
			t.Errorf("%q differs from itself", before)
		}
	})
}
