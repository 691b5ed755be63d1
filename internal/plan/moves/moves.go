// Package moves finds the former addresses of objects. It compiles explicit and implied moved
// statements into a table from desired to former addresses.
//
// It owns the meaning of statements: what they match, in what order they apply, how chains of
// them collapse, and which of them contradict each other. It doesn't know states and plans;
// callers say what exists.
package moves

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
)

// A Statement says that an object has a new address. Its ends are relative
// to the module that declares it and hold in all instances of that module.
//
// Where neither end has an instance key, a whole resource or module call
// moves, instances keep their keys; else one instance does. Module steps on
// the way name one instance exactly.
type Statement struct {
	// Module is the declaring module. A step without a key stands for all
	// instances of the call.
	Module   addr.Module
	From, To program.Endpoint
	Range    hcl.Range
	// Implied statements stand for a change between count and none. Their
	// ends are absolute.
	Implied bool
}

// A statement is a Statement in the form that is matched.
type statement struct {
	Statement
	from, to pattern
	depth    int  // steps of the declaring module
	whole    bool // instances keep their keys
	position int
}

// A Table is the statements of a configuration, ready to be asked.
type Table struct {
	statements []*statement // in the order in which they apply
	from       *index
}

// Compile checks statements against each other and orders them. The checks
// need no state: statements that lead to where they come from, move an object
// to two places, or go in circles. With errors the table is empty. Whether
// statements with one destination are ambiguous, Apply decides by the objects.
func Compile(statements []Statement) (*Table, diag.List) {
	t := &Table{}
	for i := range statements {
		t.statements = append(t.statements, compile(statements[i]))
	}
	diags := t.contradictions()
	if !diags.HasErrors() {
		diags.Append(t.order())
	}
	if diags.HasErrors() {
		t.statements = nil
	}
	t.from = newIndex()
	for i, s := range t.statements {
		s.position = i
		t.from.add(s.from, i)
	}
	return t, diags
}

func compile(s Statement) *statement {
	c := &statement{Statement: s}
	var declaring []addr.Step
	if !s.Implied {
		for _, step := range s.Module.Steps() {
			if step.Key == addr.NoKey {
				step.Key = addr.AnyKey
			}
			declaring = append(declaring, step)
		}
	}
	c.depth = len(declaring)
	c.whole = !s.Implied && lastKey(s.From) == addr.NoKey && lastKey(s.To) == addr.NoKey
	c.from = newPattern(declaring, s.From, c.whole)
	c.to = newPattern(declaring, s.To, c.whole)
	return c
}

// lastKey is the key of the object itself that an end names.
func lastKey(e program.Endpoint) addr.Key {
	if e.Name != (addr.Name{}) {
		return e.Key
	}
	_, step, _ := e.Module.Parent()
	return step.Key
}

// Empty reports whether nothing ever moves.
func (t *Table) Empty() bool { return len(t.statements) == 0 }

// order puts the statements in the order in which they apply.
func (t *Table) order() diag.List {
	after := t.dependencies()
	components := circlesOf(after)
	var diags diag.List
	var sorted []*statement
	for _, component := range components {
		if len(component) > 1 || slices.Contains(after[component[0]], component[0]) {
			diags.Append(t.circle(component))
		}
		for _, i := range component {
			sorted = append(sorted, t.statements[i])
		}
	}
	t.statements = sorted
	return diags
}

func (t *Table) circle(component []int) diag.List {
	slices.SortFunc(component, func(a, b int) int {
		x, y := t.statements[a].Range, t.statements[b].Range
		return cmp.Or(cmp.Compare(x.Filename, y.Filename), cmp.Compare(x.Start.Byte, y.Start.Byte))
	})
	text := ""
	for _, i := range component {
		s := t.statements[i]
		text += "\n  - " + start(s.Range) + ": " + s.from.String() + " → " + s.to.String()
	}
	var diags diag.List
	diags.Add(diag.Cycle.As("Cyclic dependency in move statements").Error(t.statements[component[0]].Range, "These statements lead from one to the other in a circle, so that there is no place where the objects arrive:%s\n\nRemove those that tell of earlier moves, or let the last one end at an object that the configuration has.", text))
	return diags
}

// start is where a range begins, in the form of messages.
func start(r hcl.Range) string {
	return fmt.Sprintf("%s:%d,%d", r.Filename, r.Start.Line, r.Start.Column)
}
