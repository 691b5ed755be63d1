package workspace

import (
	"bytes"
	"slices"
	"strings"

	"github.com/hashicorp/go-version"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/state"
)

// evidence is what a directory has that may tell which program it belongs to. Providers whose host the configuration names are no
// sign: they are OpenTofu's as well as Terraform's.
type evidence struct {
	// Locks is the content of the dependency lock file; nil where it is missing.
	Locks []byte
	// Names are those of the root module's files, Program what they say.
	Names   []string
	Program *program.Program
	// Required are the providers that the configuration asks for, as OpenTofu reads it.
	Required install.Requirements
	// State is as it is stored; nil where it isn't known.
	State *state.Snapshot
}

// sign is the first sign of Terraform as a sentence, empty for none. A lock file that
// OpenTofu has written counts more than all else.
func (e evidence) sign() string {
	if e.Locks != nil {
		if sign, decided := e.ofLocks(); decided {
			return sign
		}
	}
	if sign := e.ofVersions(); sign != "" || e.Locks != nil || e.State == nil {
		return sign
	}
	return e.ofState()
}

// wrongMode is the error of a run that would go on as OpenTofu.
func wrongMode(sign string) diag.List {
	return TerraformDirectory.List("%s weir works as OpenTofu unless you choose, and would rewrite the lock file and the provider addresses in the state.\n\n"+
		"To work as Terraform, set WEIR_COMPAT=terraform in the environment, or put -compat=terraform before the command.\n"+
		"To move this directory to OpenTofu, set WEIR_COMPAT=opentofu.", sign)
}

// wrote reports whether the lock file says that init of an engine maintains it.
func (e evidence) wrote(d dialect.Dialect) bool {
	head, _, _ := bytes.Cut(e.Locks, []byte("\nprovider "))
	return bytes.Contains(head, []byte(`"`+d.Command()+` init"`))
}

func (e evidence) ofLocks() (sign string, decided bool) {
	if e.wrote(dialect.OpenTofu) {
		return "", true
	}
	locks, _ := lockfile.Parse(e.Locks, lockfile.Name)
	for _, lock := range locks.All() {
		p := lock.Provider
		if !addr.Terraform.Has(p) || e.requires(p) {
			continue
		}
		if _, both := locks.Get(namesake(p)); both {
			return "", true
		}
		if e.wrote(dialect.Terraform) {
			return lockfile.Name + " was written by \"terraform init\", and locks " + p.String() + ".", true
		}
		return lockfile.Name + " locks " + p.String() + ".", true
	}
	return "", false
}

// ofVersions looks for a constraint that Terraform meets and OpenTofu doesn't.
func (e evidence) ofVersions() string {
	if slices.ContainsFunc(e.Names, module.IsTofuFile) {
		return ""
	}
	own, other := version.Must(version.NewVersion(dialect.OpenTofu.Version())), version.Must(version.NewVersion(dialect.Terraform.Version()))
	for _, c := range e.Program.RequiredVersions {
		if c.Product != dialect.Terraform.String() {
			continue
		}
		if constraint, err := version.NewConstraint(c.Constraint); err == nil && constraint.Check(other) && !constraint.Check(own) {
			return c.Range.Filename + " requires version " + strings.TrimSpace(c.Constraint) + ", which Terraform " + other.String() + " meets and OpenTofu " + own.String() + " doesn't."
		}
	}
	return ""
}

// ofState looks for objects of Terraform's registry whose providers the configuration
// names without a host.
func (e evidence) ofState() string {
	of := e.State.Providers()
	for _, p := range of {
		if addr.Terraform.Has(p) && !e.requires(p) && e.requires(namesake(p)) && !slices.Contains(of, namesake(p)) {
			return "The state has objects of " + p.String() + "."
		}
	}
	return ""
}

func (e evidence) requires(p addr.Provider) bool { _, is := e.Required[p]; return is }

// namesake is the provider of the other public registry that has the same name.
func namesake(p addr.Provider) addr.Provider {
	p.Host = string(addr.Registry(p.Host).Other())
	return p
}
