// Package version parses and compares provider versions and constraints, in the syntax of
// required_providers and in the normal form of lock files.
//
// It owns what a constraint text means. It doesn't choose or find versions.
package version

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/apparentlymart/go-versions/versions/constraints"
)

// A Version is a semantic version.
type Version = versions.Version

// Parse reads a version as it is written in file names and lock files.
func Parse(text string) (v Version, err error) {
	defer tooLarge(&err)
	return versions.ParseVersion(text)
}

// tooLarge turns a panic of the library into an error: it has numbers of 64
// bits and gives up on larger ones.
func tooLarge(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("a number in it is too large")
	}
}

// Newest gives the newest of the versions that are allowed.
func Newest(available []Version, allowed versions.Set) (Version, bool) {
	best := versions.Unspecified
	for _, v := range available {
		if v != versions.Unspecified && allowed.Has(v) && (best == versions.Unspecified || best.LessThan(v)) {
			best = v
		}
	}
	return best, best != versions.Unspecified
}

// Constraints must all be met. The zero value allows every release.
type Constraints struct{ spec constraints.IntersectionSpec }

// ParseConstraints reads comma-separated constraints.
func ParseConstraints(text string) (c Constraints, err error) {
	if strings.TrimSpace(text) == "" {
		return c, nil
	}
	defer tooLarge(&err)
	spec, err := constraints.ParseRubyStyleMulti(text)
	if err != nil {
		return Constraints{}, fmt.Errorf("%q isn't a version constraint: %w", text, err)
	}
	return Constraints{spec}, nil
}

// And gives the constraints of both.
func (c Constraints) And(other Constraints) Constraints {
	return Constraints{slices.Concat(c.spec, other.spec)}
}

// Empty reports whether there is no constraint.
func (c Constraints) Empty() bool { return len(c.spec) == 0 }

// Allowed is the set of versions that meet the constraints. Pre-releases are
// in it only where a constraint names them.
func (c Constraints) Allowed() versions.Set { return versions.MeetingConstraints(c.spec) }

// String is the normal form: sorted by version, without repetition.
func (c Constraints) String() string {
	terms := make([]constraints.SelectionSpec, 0, len(c.spec))
	for _, t := range c.spec {
		t.Boundary = t.Boundary.ConstrainToZero()
		if !slices.Contains(terms, t) {
			terms = append(terms, t)
		}
	}
	slices.SortStableFunc(terms, func(a, b constraints.SelectionSpec) int {
		return cmp.Or(compareBoundaries(a.Boundary, b.Boundary), cmp.Compare(order[a.Operator], order[b.Operator]))
	})
	texts := make([]string, len(terms))
	for i, t := range terms {
		texts[i] = termText(t)
	}
	return strings.Join(texts, ", ")
}

// order is the order of terms about the same version.
var order = map[constraints.SelectionOp]int{
	constraints.OpGreaterThan:                 1,
	constraints.OpGreaterThanOrEqual:          2,
	constraints.OpEqual:                       3,
	constraints.OpGreaterThanOrEqualPatchOnly: 4,
	constraints.OpGreaterThanOrEqualMinorOnly: 5,
	constraints.OpLessThanOrEqual:             6,
	constraints.OpLessThan:                    7,
	constraints.OpNotEqual:                    8,
}

var symbols = map[constraints.SelectionOp]string{
	constraints.OpGreaterThan:                 "> ",
	constraints.OpGreaterThanOrEqual:          ">= ",
	constraints.OpEqual:                       "",
	constraints.OpGreaterThanOrEqualPatchOnly: "~> ",
	constraints.OpGreaterThanOrEqualMinorOnly: "~> ",
	constraints.OpLessThanOrEqual:             "<= ",
	constraints.OpLessThan:                    "< ",
	constraints.OpNotEqual:                    "!= ",
}

func termText(t constraints.SelectionSpec) string {
	b := t.Boundary
	text := fmt.Sprintf("%s%s.%s", symbols[t.Operator], b.Major, b.Minor)
	if t.Operator != constraints.OpGreaterThanOrEqualMinorOnly {
		// How many parts are written is what reports the two kinds of ~> apart.
		text += "." + b.Patch.String()
	}
	if b.Prerelease != "" {
		text += "-" + b.Prerelease
	}
	if b.Metadata != "" {
		text += "+" + b.Metadata
	}
	return text
}

func compareBoundaries(a, b constraints.VersionSpec) int {
	x, y := exact(a), exact(b)
	switch {
	case x.LessThan(y):
		return -1
	case y.LessThan(x):
		return 1
	}
	return cmp.Compare(x.Metadata, y.Metadata)
}

func exact(s constraints.VersionSpec) Version {
	return Version{
		Major: s.Major.Num, Minor: s.Minor.Num, Patch: s.Patch.Num,
		Prerelease: versions.VersionExtra(s.Prerelease), Metadata: versions.VersionExtra(s.Metadata),
	}
}
