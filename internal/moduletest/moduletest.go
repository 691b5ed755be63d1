// Package moduletest runs test files. Each run is a plan or an apply on a state in memory, with
// conditions on the result. At the end it destroys all objects.
//
// It owns the order of runs, their states, what they may refer to, and what counts as a
// failure. It rejects flags, terminals and how results are shown.
package moduletest

import (
	"context"
	"slices"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/fsfuncs"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/moduletest/testresult"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider/providerpool"
)

// Options are everything that running tests is a function of.
type Options struct {
	// World is what runs take from outside. Its catalog has the real providers.
	World engine.World
	Dir   string // of the module under test
	Files module.Files
	// Inputs are values for variables from outside, for all files. TestInputs are those that
	// the directory of tests has: in Terraform they are for the files in only it.
	Inputs, TestInputs map[string]module.VariableInput
	TestDir            string
	// Resolve finds the directory behind a module call.
	Resolve func(ctx context.Context, r module.Request) (string, diag.List)
	// Seed changes the values that mocked providers make up.
	Seed uint64
	// Sources gets the files read, by the name that ranges have.
	Sources map[string][]byte
	// Parallelism is how many runs of a file are carried out at once; 0 means the
	// usual number.
	Parallelism int
	// AllowDeferral lets runs leave out what can't be planned yet.
	AllowDeferral bool
	// Keep notes plans and states of runs, for who shows them.
	Keep bool
	// Judge compares what a run has planned with what was recorded; it is queried runs with a
	// snapshot.
	Judge func(*testfile.File, *testfile.Run, *plan.Plan) diag.List
	// Compiled is given each program that was compiled, before anybody else has
	// it, and Observe each configuration that was evaluated for a plan; nil for
	// nobody.
	Compiled func(*program.Program)
	Observe  func(root *eval.Frame)
	// Reader answers what the runs of a test file learn of files; nil leaves it to the world.
	// Configured learns what is loaded for a run; nil for nobody.
	Reader     func(*testfile.File) fsfuncs.Source
	Configured func(*testfile.File, *engine.Config)
	// Stop is closed when no further run is to be started. Anything that is there is destroyed
	// all the same.
	Stop <-chan struct{}
	// Shelf keeps states with real objects beyond the process; nil keeps none.
	Shelf Shelf
	// Forget: what is in doubt of states that are cleaned up doesn't exist.
	Forget bool
	// Program is the name in messages that say what to run.
	Program string
	// Limits are those of applies.
	Limits engine.ApplyOptions
	Report testresult.Report
}

// Run carries out the runs of a suite.
func Run(ctx context.Context, suite *testresult.Suite, o Options) {
	s := &session{Options: o, programs: newCache(o.Compiled), keeper: providerpool.New(o.World.Catalog, 0)}
	defer s.keeper.Close()
	suite.Status = testresult.Pass
	for _, f := range suite.Files {
		if ctx.Err() != nil {
			break
		}
		w := &work{session: s, file: f, states: map[string]*entry{}}
		w.carry(ctx)
		suite.Status = max(suite.Status, f.Status)
	}
	if s.stopped() && slices.ContainsFunc(suite.Files, unfinished) {
		suite.Status = max(suite.Status, testresult.Fail)
	}
}

// unfinished reports whether runs of a file weren't carried out.
func unfinished(f *testresult.File) bool {
	return slices.ContainsFunc(f.Runs, func(r *testresult.Run) bool { return r.Status <= testresult.Skip })
}

// A session is what all files share.
type session struct {
	Options
	programs *cache
	keeper   *providerpool.Keeper
}

// stopped reports whether no further run is to be started.
func (s *session) stopped() bool {
	select {
	case <-s.Stop:
		return true
	default:
		return false
	}
}
