package cli

import (
	"context"
	"fmt"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/moduletest"
	"weir.dev/weir/internal/moduletest/mutate"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/moduletest/testresult"
	"weir.dev/weir/internal/ui/snapshot"
	"weir.dev/weir/internal/ui/view/testreport"
)

// mutate carries out the tests with one change of the configuration at a time.
func (t *tester) mutate(ctx context.Context, files []*testfile.File, o moduletest.Options) int {
	if t.Mutations < 1 {
		return t.env.Fail(diag.BadOption.As("Invalid number of changes"), "The -mutations option has to be at least 1, and it is %d.", t.Mutations)
	}
	stop, end := t.env.interrupts.Begin()
	defer end()
	o.Judge = (&snapshot.Snapshots{Dir: o.Dir, Program: t.env.program}).Judge
	o.Stop = stop
	o.Report = t.reports(o, false, nil)
	all, first := moduletest.Mutants(ctx, files, o, t.files().Subject())
	if first.Status != testresult.Pass {
		return t.env.Fail(diag.BadOption.As("Tests fail"), "Mutation testing needs tests that pass. Fix the failures first.")
	}
	chosen := mutate.Choose(all, t.Mutations)
	tally := testreport.Mutation{Possible: len(all)}
	ended := moduletest.Mutate(ctx, files, o, chosen, tally.Add)
	if t.env.Stream != nil {
		tally.JSON(t.env.Stream)
	}
	if !t.env.JSON {
		fmt.Fprint(t.env.Out, tally.Text(o.Sources, t.env.Pen()))
	}
	if ended {
		t.env.Diags(diag.Interrupted.Warnings("%d changes weren't tried any more.", len(chosen)-tally.Tried))
		return 1
	}
	return 0
}
