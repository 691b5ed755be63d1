package workspace

import (
	"testing"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/state"
)

const (
	byTerraform = "# This file is maintained automatically by \"terraform init\".\n\n"
	byOpenTofu  = "# This file is maintained automatically by \"tofu init\".\n\n"
	theirs      = "provider \"registry.terraform.io/hashicorp/null\" {\n  version = \"3.2.3\"\n}\n"
	own         = "provider \"registry.opentofu.org/hashicorp/null\" {\n  version = \"3.2.3\"\n}\n"
)

// TestSign: what says Terraform is a sign, unless the configuration names the host or
// OpenTofu has been at work.
func TestSign(t *testing.T) {
	short, explicit := install.Requirements{addr.OpenTofu.Provider("null"): nil}, install.Requirements{addr.Terraform.Provider("null"): nil}
	of := func(r addr.Registry) *state.Snapshot {
		return &state.Snapshot{Objects: map[addr.Object]*state.Object{{}: {Provider: addr.ProviderConfig{Provider: r.Provider("null")}}}}
	}
	constraint := func(text string) *program.Program {
		return &program.Program{RequiredVersions: []*program.VersionConstraint{{Product: "terraform", Constraint: text, Range: hcl.Range{Filename: "main.tf"}}}}
	}
	none := &program.Program{}
	for name, test := range map[string]struct {
		of   evidence
		want string
	}{
		"nothing":                     {evidence{Program: none}, ""},
		"lock file":                   {evidence{Program: none, Locks: []byte(byTerraform + theirs), Required: short}, `.terraform.lock.hcl was written by "terraform init", and locks registry.terraform.io/hashicorp/null.`},
		"lock file without its head":  {evidence{Program: none, Locks: []byte(theirs), Required: short}, ".terraform.lock.hcl locks registry.terraform.io/hashicorp/null."},
		"lock file of a named host":   {evidence{Program: none, Locks: []byte(byTerraform + theirs), Required: explicit}, ""},
		"lock file of both":           {evidence{Program: none, Locks: []byte(byTerraform + theirs + own), Required: short}, ""},
		"lock file of OpenTofu":       {evidence{Program: constraint(">= 1.14"), Locks: []byte(byOpenTofu + theirs), Required: short, State: of(addr.Terraform)}, ""},
		"empty lock file":             {evidence{Program: constraint(">= 1.14"), Locks: []byte(byTerraform)}, "main.tf requires version >= 1.14, which Terraform 1.15.9 meets and OpenTofu 1.12.6 doesn't."},
		"version":                     {evidence{Program: constraint("~> 1.15"), Names: []string{"main.tf"}}, "main.tf requires version ~> 1.15, which Terraform 1.15.9 meets and OpenTofu 1.12.6 doesn't."},
		"version beside a tofu file":  {evidence{Program: constraint("~> 1.15"), Names: []string{"main.tf", "a.tofu"}}, ""},
		"version that both meet":      {evidence{Program: constraint(">= 1.3")}, ""},
		"version that neither meets":  {evidence{Program: constraint("> 99.0")}, ""},
		"version that can't be read":  {evidence{Program: constraint("new")}, ""},
		"state":                       {evidence{Program: none, Required: short, State: of(addr.Terraform)}, "The state has objects of registry.terraform.io/hashicorp/null."},
		"state of a named host":       {evidence{Program: none, Required: explicit, State: of(addr.Terraform)}, ""},
		"state without configuration": {evidence{Program: none, State: of(addr.Terraform)}, ""},
		"state of OpenTofu":           {evidence{Program: none, Required: short, State: of(addr.OpenTofu)}, ""},
	} {
		if got := test.of.sign(); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
