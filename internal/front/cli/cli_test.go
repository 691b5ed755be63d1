package cli

import (
	"strings"
	"testing"

	"weir.dev/weir/internal/word/dialect"
)

func TestDialectOf(t *testing.T) {
	for _, c := range []struct {
		setting, program string
		want             dialect.Dialect
		bad              bool
	}{
		{"", "weir", dialect.OpenTofu, false},
		{"", "terraform", dialect.Terraform, false},
		{"opentofu", "terraform", dialect.OpenTofu, false},
		{"terraform", "weir", dialect.Terraform, false},
		{"tofu", "weir", dialect.OpenTofu, true},
	} {
		got, err := dialectOf(c.setting, c.program)
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("%+v: got %q, %v", c, got, err)
		}
	}
}

// TestTable holds the table of commands to what help and parsing rely on.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range table {
		if seen[c.Name] {
			t.Errorf("%s is there twice", c.Name)
		}
		seen[c.Name] = true
		if c.Synopsis == "" || strings.HasSuffix(c.Synopsis, ".") {
			t.Errorf("%s: synopsis %q", c.Name, c.Synopsis)
		}
		if group, _, ok := strings.Cut(c.Name, " "); ok && !seen[group] {
			t.Errorf("%s stands before its group", c.Name)
		}
	}
}
