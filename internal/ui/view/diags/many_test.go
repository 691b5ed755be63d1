package diags

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcled"
	hcljson "github.com/hashicorp/hcl/v2/json"

	"weir.dev/weir/internal/core/diag"
)

// TestMany: a file with a problem in each of its 32,000 blocks is read once. Read for each problem it would take minutes.
func TestMany(t *testing.T) {
	const n = 32_000
	const name = "main.tf"
	var src strings.Builder
	var all diag.List
	for i := range n {
		at := src.Len()
		fmt.Fprintf(&src, "locals { a%05d = 1 }\n", i)
		r := hcl.Range{Filename: name, Start: hcl.Pos{Line: i + 1, Column: 10, Byte: at + 9}, End: hcl.Pos{Line: i + 1, Column: 15, Byte: at + 15}}
		all.Add(diag.Diagnostic{Severity: diag.Error, Summary: fmt.Sprintf("Problem %05d", i), Subject: &r})
	}
	text := Text(all, map[string][]byte{name: []byte(src.String())}, Options{})
	if shown := strings.Count(text, "Problem "); shown != n {
		t.Errorf("%s: %d of the problems are shown", name, shown)
	}
	if len(text) > 400*n {
		t.Errorf("%s: %d bytes are shown", name, len(text))
	}
}

// TestManyInJSON: so is one in JSON, where each problem is in an object of its own.
func TestManyInJSON(t *testing.T) {
	const n = 32_000
	const name = "main.tf.json"
	var src strings.Builder
	var all diag.List
	src.WriteString("{\"output\": {\n")
	for i := range n {
		at := src.Len()
		fmt.Fprintf(&src, "\"o%05d\": {\"value\": 1},\n", i)
		r := hcl.Range{Filename: name, Start: hcl.Pos{Line: i + 2, Column: 21, Byte: at + 20}, End: hcl.Pos{Line: i + 2, Column: 22, Byte: at + 21}}
		all.Add(diag.Diagnostic{Severity: diag.Error, Summary: fmt.Sprintf("Problem %05d", i), Subject: &r})
	}
	src.WriteString("\"last\": {}}}\n")
	text := Text(all, map[string][]byte{name: []byte(src.String())}, Options{})
	if shown := strings.Count(text, "in output.o"); shown != n {
		t.Errorf("%d of the problems are shown where they are", shown)
	}
}

// TestPath holds the paths in files in JSON to what the library says.
func TestPath(t *testing.T) {
	for _, src := range []string{
		`{"a": {"b\"]\u00e9": [1, {"c": [[], {}]}, "x{"], "d": "}"}, "e": [], "f": {"g": null}}`,
		`[{"a": {}}, [1, [2]], "s"]`,
		`{"a": {"b": {}}, "a": {"b": {"c": 1}}}`,
		`{"broken": {`, `{"a": 01}`, ``, `"s"`,
	} {
		file, _ := hcljson.Parse([]byte(src), "x.json")
		all := containers([]byte(src))
		for at := range len(src) + 1 {
			if got, want := path(all, at), hcled.ContextString(file, at); got != want {
				t.Errorf("%s at %d: %q, want %q", src, at, got, want)
			}
		}
	}
}
