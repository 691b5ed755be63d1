package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"weir.dev/weir/internal/moduletest"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/moduletest/testresult"
	"weir.dev/weir/internal/ui/view/testreport"
)

// watch carries out the tests, and again those that a change can affect, until it
// is interrupted.
func (t *tester) watch(ctx context.Context) int {
	whole := t.env.directory
	defer func() { t.env.directory = whole }()
	watched := moduletest.NewWatch(whole.Place.Dir, t.env.tests)
	var changed []string
	for code := 0; ; {
		t.env.directory = whole.With(whole.Place.Reports)
		code = t.again(ctx, watched, changed, code)
		t.env.directory.Close()
		if moduletest.Stopped(ctx, t.env.interrupts.Stop()) {
			return code
		}
		if changed = watched.Wait(ctx); len(changed) == 0 {
			return code
		}
	}
}

// again carries out the tests that changes affect. Where none exist, the exit code stays as it
// was.
func (t *tester) again(ctx context.Context, w *moduletest.Watch, changed []string, code int) int {
	chosen, options, diags := t.open(ctx)
	if diags.HasErrors() {
		t.env.Diags(diags)
		t.env.Notice("\nWaiting for changes.\n")
		return 1
	}
	affected := w.Affected(chosen, changed)
	if len(affected) == 0 {
		return code
	}
	changed = slices.DeleteFunc(changed, func(name string) bool { return len(w.Affected(chosen, []string{name})) == 0 })
	if len(changed) > 0 {
		t.env.Notice(fmt.Sprintf("\n%s changed; carrying out %s.\n\n", strings.Join(changed, ", "), testfile.Names(affected)))
	}
	t.env.Erred.Store(false) // the exit code is that of the last tests
	t.env.Diags(diags)
	w.Note(affected, &options)
	code = t.carry(ctx, testresult.New(affected), options)
	t.env.Notice(fmt.Sprintf("\nWaiting for changes of %s and %s.\n", testreport.Count(len(chosen), "test file"), testreport.Count(w.Modules(), "module")))
	return code
}
