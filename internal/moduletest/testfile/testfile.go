// Package testfile finds and parses test files, and reports every mistake that needs no value.
//
// It evaluates constants only. It doesn't know modules, providers and how anything is run.
package testfile

import (
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/syntax"
)

// Names are those of files, in a line.
func Names(list []*File) string {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

// A File is one test file.
type File struct {
	// Name is the path, with slashes, from the directory of the module.
	Name   string
	Source *syntax.File

	// Parallel: its runs are parallel unless they say otherwise.
	Parallel bool

	Variables []*Assignment // of the variables block, for all runs
	Declared  []*Variable
	Providers []*Provider
	Overrides []*Override
	Runs      []*Run
}

// An Assignment gives a variable a value.
type Assignment struct {
	Name  string
	Expr  hcl.Expression
	Range hcl.Range // of the name
}

// A Variable is declared by the test file itself. Its expressions are nil
// without.
type Variable struct {
	Name          string
	Type, Default hcl.Expression
	Range         hcl.Range
}

// A ProviderName names a provider configuration within a module or test file.
type ProviderName struct{ Local, Alias string }

func (n ProviderName) String() string {
	if n.Alias == "" {
		return n.Local
	}
	return n.Local + "." + n.Alias
}

// A Provider is a provider block, or a mock_provider block if Mock is set.
type Provider struct {
	ProviderName
	ForEach hcl.Expression // nil without
	Config  hcl.Body       // of a provider block
	Version string         // a constraint of a provider block, "" without
	Mock    *Mock
	Range   hcl.Range
}

// A Mock says what a mocked provider answers.
type Mock struct {
	// Source is a directory with mock files, empty without; Dir is where that
	// is relative to.
	Source      string
	SourceRange hcl.Range

	During    During
	Resources []*Mocked
	Overrides []*Override
}

// During says when the values of mocks and overrides are known: from the plan
// on, or only after the apply.
type During uint8

// The phases. Unsaid is left to whatever is around it, and in the end to the
// dialect.
const (
	Unsaid During = iota
	Plan
	Apply
)

// A Mocked is a mock_resource or mock_data block: values for all instances of a
// resource type.
type Mocked struct {
	Mode     addr.Mode
	Type     string
	Defaults hcl.Expression // nil without
	During   During
	Range    hcl.Range
}

// An Override is an override_resource, override_data or override_module block:
// values for what the target selects.
type Override struct {
	Target addr.Target
	// Values are those of a resource, or the outputs of a module; nil without.
	Values      hcl.Expression
	During      During
	Range       hcl.Range
	TargetRange hcl.Range
}

// IsModule reports whether a module is overridden.
func (o *Override) IsModule() bool { return o.Target.IsModule() }

// A Run is one plan or apply with conditions on the result.
type Run struct {
	Name  string
	Index int
	// PlanOnly: nothing is applied.
	PlanOnly    bool
	RefreshOnly bool
	SkipRefresh bool
	Replace     []Address
	Targets     []Address

	Variables []*Assignment
	Module    *Module // nil for the module under test
	Providers []*PassedProvider
	Asserts   []*Assert
	Expected  []*Expected
	Overrides []*Override

	// Snapshot: what is planned is compared with what was recorded.
	Snapshot bool
	// SnapshotOrder: the snapshot has the steps of the apply too.
	SnapshotOrder bool
	// Orders are demands on the execution graph.
	Orders []*Order
	// Generate says which variables get made-up values as well; nil without.
	Generate *Generate

	// Problems are found when the run's turn comes, or by who only checks files.
	Problems diag.List

	// StateKey reports apart the states of a file; empty for that of the module.
	StateKey string
	Parallel bool

	Range     hcl.Range // the block's header
	NameRange hcl.Range
}

// A Generate has a run carried out with made-up values of variables too.
type Generate struct {
	Variables []string
	Samples   int // 0 where it isn't said
	Range     hcl.Range
}

// An Order is a demand on the order of a plan's steps: each step that First selects
// comes before each one that Then selects. Where Replacements is set, the creation of
// each replaced object that Then selects comes before its destruction instead.
type Order struct {
	First, Then  Steps
	Replacements bool
	Range        hcl.Range
}

// Steps selects steps of a plan.
type Steps struct {
	// Action is create, update, read or destroy; empty for all.
	Action string
	// Target is what the steps work on. It is only missing with Replacements: then all
	// objects are meant.
	Target *addr.Target
}

func (s Steps) String() string {
	switch {
	case s.Target == nil:
		return s.Action
	case s.Action == "":
		return s.Target.String()
	}
	return s.Action + " " + s.Target.String()
}

// An Address is the address of a module, resource or instance as written.
type Address struct {
	addr.Target
	Range hcl.Range
}

// A Module is a module that is run in place of the one under test.
type Module struct {
	Source, Version string
	Range           hcl.Range // of the source
}

// A PassedProvider gives the module a configuration of the test file.
type PassedProvider struct {
	Inner, Outer ProviderName
	Range        hcl.Range
}

// An Assert is a condition on what a run came to.
type Assert struct {
	Condition, ErrorMessage hcl.Expression
	Range                   hcl.Range
}

// An Expected names an object whose conditions have to fail. Address is as
// states have it: without instance keys unless HasKey is set.
type Expected struct {
	Kind    string // of diag.Checkable
	Address string
	HasKey  bool
	Range   hcl.Range
}
