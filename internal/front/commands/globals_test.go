package commands

import (
	"testing"

	"weir.dev/weir/internal/word/dialect"
)

func TestDialect(t *testing.T) {
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
		got, err := Dialect(c.setting, c.program)
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("%+v: got %q, %v", c, got, err)
		}
	}
}
