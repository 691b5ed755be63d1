package commands

import (
	"testing"

	"weir.dev/weir/internal/core/dialect"
)

func TestDialect(t *testing.T) {
	for _, c := range []struct {
		setting, program string
		want             dialect.Dialect
		chosen, bad      bool
	}{
		{"", "weir", dialect.OpenTofu, false, false},
		{"", "tofu", dialect.OpenTofu, true, false},
		{"", "terraform", dialect.Terraform, true, false},
		{"opentofu", "terraform", dialect.OpenTofu, true, false},
		{"terraform", "weir", dialect.Terraform, true, false},
		{"tofu", "weir", dialect.OpenTofu, true, true},
	} {
		got, chosen, err := Dialect(c.setting, c.program)
		if got != c.want || chosen != c.chosen || (err != nil) != c.bad {
			t.Errorf("%+v: got %q, %v", c, got, err)
		}
	}
}
