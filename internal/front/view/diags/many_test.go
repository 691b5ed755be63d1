package diags

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/word/diag"
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
