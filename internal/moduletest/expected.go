package moduletest

import (
	"fmt"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/moduletest/testresult"
)

// expected are the failures that a run wants.
type expected struct {
	list []*testfile.Expected
	met  map[*testfile.Expected]bool
}

func newExpected(list []*testfile.Expected) *expected {
	return &expected{list: list, met: map[*testfile.Expected]bool{}}
}

// find returns the one that is about the object, or nil.
func (e *expected) find(c *diag.Checkable) *testfile.Expected {
	for _, x := range e.list {
		if x.Kind == c.Kind && (x.Address == c.Instance || !x.HasKey && x.Address == c.Address) {
			return x
		}
	}
	return nil
}

// settle takes out what was expected, makes errors of checks that don't hold,
// and adds what was expected and didn't come.
func (e *expected) settle(diags diag.List) diag.List {
	var out diag.List
	for _, d := range diags {
		if d.Unmet == nil || d.Severity == diag.Warning && !d.Unmet.Observed() {
			out.Add(d)
			continue
		}
		if x := e.find(d.Unmet); x != nil {
			e.met[x] = true
			continue
		}
		d.Severity = diag.Error
		out.Add(d)
	}
	for _, x := range e.list {
		if !e.met[x] {
			out.Add(NotFailed.Error(x.Range, "The checkable object, %s, was expected to report an error but did not.", x.Address))
		}
	}
	return out
}

// status is what a run results in that has errors after they were resolved. That one is
// missing makes a failure in Terraform, so that later runs are carried out.
func (e *expected) status(diags diag.List, d dialect.Dialect) testresult.Status {
	n := 0
	for _, x := range diags {
		if x.Severity == diag.Error {
			n++
		}
	}
	missing := 0
	for _, x := range e.list {
		if !e.met[x] {
			missing++
		}
	}
	if d == dialect.Terraform && n == missing {
		return testresult.Fail
	}
	return testresult.Error
}

// tooEarly says of expected failures that they have kept the apply from being
// carried out.
func (e *expected) tooEarly(diags diag.List) diag.List {
	var out diag.List
	for _, d := range diags {
		if d.Unmet == nil || d.Severity != diag.Error {
			continue
		}
		if x := e.find(d.Unmet); x != nil {
			summary := "Expected failure while planning"
			if x.Kind == "input_variable" {
				summary = "Invalid Variable in test file"
			}
			out.Add(diag.Diagnostic{Severity: diag.Warning, Code: NotFailed.Name, Summary: summary, Subject: x.Range.Ptr(),
				Detail: fmt.Sprintf("The failure of %s was expected, but it has kept the apply from being carried out, so the run as a whole fails. Use command = plan where the failure comes with the plan.", x.Address)})
		}
	}
	return out
}
