package cli

import (
	"strings"
	"testing"

	"weir.dev/weir/internal/front/commands"
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

func TestChoose(t *testing.T) {
	base := planFlags{refresh: true, parallelism: 10}
	for _, c := range []struct {
		name   string
		change func(*planFlags)
		want   string // a summary, or empty
	}{
		{"plain", func(*planFlags) {}, ""},
		{"two modes", func(o *planFlags) { o.Destroy, o.RefreshOnly = true, true }, "Incompatible plan mode options"},
		{"no refresh", func(o *planFlags) { o.RefreshOnly, o.refresh = true, false }, "Incompatible refresh options"},
		{"target and exclude", func(o *planFlags) { o.Targets, o.Excludes = commands.Texts{"a.b"}, commands.Texts{"c.d"} }, "Invalid combination of arguments"},
		{"bad target", func(o *planFlags) { o.Targets = commands.Texts{"a"} }, `Invalid target "a"`},
		{"replace a module", func(o *planFlags) { o.Replace = commands.Texts{"module.a"} }, `Invalid force-replace address "module.a"`},
		{"replace data", func(o *planFlags) { o.Replace = commands.Texts{"data.a.b"} }, `Invalid force-replace address "data.a.b"`},
	} {
		o := base
		c.change(&o)
		_, diags := o.choose()
		got := ""
		if len(diags) > 0 {
			got = diags[0].Summary
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
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
