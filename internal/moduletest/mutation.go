package moduletest

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/moduletest/mutate"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/moduletest/testresult"
	"weir.dev/weir/internal/state"
)

// Mutants lists the changes that could be made to the programs that the tests
// compile, in the files that include selects. The tests have to pass, and make
// nothing real; what came of them is returned.
func Mutants(ctx context.Context, files []*testfile.File, o Options, include func(file string) bool) ([]mutate.Mutant, *testresult.Suite) {
	var mu sync.Mutex
	var list []mutate.Mutant
	seen := map[string]bool{}
	o.Compiled = func(p *program.Program) {
		mu.Lock()
		defer mu.Unlock()
		if seen[p.Dir] {
			return
		}
		seen[p.Dir] = true
		for _, m := range mutate.List(p) {
			if include(m.Range.Filename) {
				list = append(list, m)
			}
		}
	}
	o.Shelf = nothingReal{}
	all := testresult.New(files)
	Run(ctx, all, o)
	slices.SortStableFunc(list, func(a, b mutate.Mutant) int {
		switch {
		case a.Dir < b.Dir:
			return -1
		case a.Dir > b.Dir:
			return 1
		}
		return 0
	})
	return list, all
}

// notice carries out the tests with one change and names the run that notices it.
func notice(ctx context.Context, files []*testfile.File, o Options, m mutate.Mutant) (run string, noticed bool) {
	stop := make(chan struct{})
	first := &firstFailure{stop: stop}
	o.Compiled, o.Shelf, o.Report, o.Stop = m.Apply, nothingReal{}, first, stop
	Run(ctx, testresult.New(again(files, o)), o)
	return first.run, first.run != ""
}

// again reads test files once more: conditions that were compiled for one program
// stay with it.
func again(files []*testfile.File, o Options) []*testfile.File {
	fresh, diags := testfile.Load(o.Files, o.Dir, cmp.Or(o.TestDir, "tests"), o.World.Dialect)
	fresh = slices.DeleteFunc(fresh, func(f *testfile.File) bool {
		return !slices.ContainsFunc(files, func(wanted *testfile.File) bool { return wanted.Name == f.Name })
	})
	if diags.HasErrors() || len(fresh) != len(files) {
		return files
	}
	return fresh
}

// Mutate carries out the tests with one of the changes at a time, and reports what came of
// each, until it is stopped.
func Mutate(ctx context.Context, files []*testfile.File, o Options, list []mutate.Mutant, tell func(m mutate.Mutant, run string, noticed bool)) (stopped bool) {
	for _, m := range list {
		if Stopped(ctx, o.Stop) {
			return true
		}
		run, noticed := notice(ctx, files, o, m)
		if Stopped(ctx, o.Stop) {
			return true // what it came to says nothing
		}
		tell(m, run, noticed)
	}
	return false
}

// Stopped reports whether something has to end.
func Stopped(ctx context.Context, stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// nothingReal rejects to make real objects again and again.
type nothingReal struct{}

// Begin implements Shelf.
func (nothingReal) Begin(context.Context, testresult.Label) (Kept, diag.List) {
	return nil, diag.List{Again.New(diag.Error, "This would make real objects again for each of many runs. Mock the provider, or leave the test out with -filter.")}
}

// firstFailure stops everything at the first run that doesn't pass.
type firstFailure struct {
	stop chan struct{}
	run  string
}

// RunEnds implements testresult.Report.
func (r *firstFailure) RunEnds(f *testresult.File, run *testresult.Run) {
	if run.Status >= testresult.Fail && r.run == "" {
		r.run = f.Name + "/" + run.Name
		close(r.stop)
	}
}

func (*firstFailure) FileStarts(*testresult.File)    {}
func (*firstFailure) CleanupStarts(*testresult.File) {}
func (*firstFailure) FileEnds(*testresult.File)      {}

// Cleaned implements testresult.Report.
func (*firstFailure) Cleaned(*testresult.File, *testresult.Run, diag.List, *state.Snapshot) {}
