package engine

import (
	"strings"

	"github.com/hashicorp/go-version"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/program"
)

// CheckVersions holds the configuration to the version that the dialect claims. Constraints
// for the other program say nothing here: its version numbers mean something else.
func CheckVersions(d dialect.Dialect, tree *program.Tree) diag.List {
	var diags diag.List
	claimed := version.Must(version.NewVersion(d.Version()))
	var walk func(t *program.Tree, where string)
	walk = func(t *program.Tree, where string) {
		if t == nil || t.Program == nil {
			return
		}
		for _, c := range t.Program.RequiredVersions {
			if c.Product != d.String() {
				continue
			}
			diags.Append(c.Problems)
			constraint, err := version.NewConstraint(c.Constraint)
			if err == nil && !constraint.Check(claimed) {
				diags.Add(diag.BadVersion.As("Unsupported "+d.Product()+" Core version").Error(c.Range, "%s requires version %s, and this program behaves like version %s of %s. Change the constraint, or use a version that meets it.", where, strings.TrimSpace(c.Constraint), claimed, d.Product()))
			}
		}
		for _, child := range t.Calls() {
			walk(child, "Module "+child.Source)
		}
	}
	walk(tree, "The configuration")
	return diags
}
