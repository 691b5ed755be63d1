package cli

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"

	"weir.dev/weir/internal/front/commands"
	"weir.dev/weir/internal/front/snapshot"
	"weir.dev/weir/internal/front/view/diags"
	"weir.dev/weir/internal/front/view/testview"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/operation/leftover"
	"weir.dev/weir/internal/suite"
	"weir.dev/weir/internal/suite/coverage"
	"weir.dev/weir/internal/suite/testfile"
	"weir.dev/weir/internal/suite/testresult"
	"weir.dev/weir/internal/word/diag"
)

var testCommand = &command{
	Name:     "test",
	Synopsis: "Execute integration tests for modules",
	Long:     "Carries out the runs of the test files beside the configuration and in the directory of tests: each is a plan or an apply of the module or of another one, with conditions on the result. What was made is destroyed in the end.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		t := &tester{env: e}
		t.register(fs)
		return func(ctx context.Context, _ []string) int { return t.run(ctx) }
	},
}

// registerTests registers -test-directory.
func (e *env) registerTests(fs *flag.FlagSet) {
	fs.StringVar(&e.tests, "test-directory", testfile.DefaultDirectory, "The `DIR` in the module that has test files, beside those in the module's own.")
}

// tester has the flags of test.
type tester struct {
	*env
	vars                              varFlags
	filter                            commands.Texts
	verbose                           bool
	junit                             string
	cloud                             string
	parallelism, runs                 int
	deferral                          bool
	seed                              uint64
	covering                          covering
	mutating                          mutating
	update, watching, cleanup, forget bool
}

func (t *tester) register(fs *flag.FlagSet) {
	t.vars.register(fs)
	t.registerTests(fs)
	t.jsonFlags(fs)
	fs.Var(&t.filter, "filter", "Carry out the test `FILE` and no others. May be repeated.")
	fs.BoolVar(&t.verbose, "verbose", false, "Show the plan or state of each run.")
	fs.StringVar(&t.junit, "junit-xml", "", "Write the results to `FILE` as XML in the form of JUnit.")
	fs.StringVar(&t.cloud, "cloud-run", "", "")
	fs.Uint64Var(&t.seed, "seed", 0, "Make up other values, in mocked providers and for variables: a `NUMBER`.")
	t.covering.register(fs)
	t.mutating.register(fs)
	fs.BoolVar(&t.watching, "watch", false, "Go on after the tests, and carry out again those that a change of files can affect.")
	fs.BoolVar(&t.update, "update", false, "Record what runs with a snapshot directive plan, for later runs to be compared with.")
	fs.BoolVar(&t.cleanup, "cleanup", false, "Carry out no tests, but destroy what earlier ones have left whose process ended before it could do so.")
	fs.BoolVar(&t.forget, "forget", false, "With -cleanup: objects of which it isn't known whether they were made don't exist.")
	registerParallelism(fs, &t.parallelism)
	fs.IntVar(&t.runs, "run-parallelism", 10, "Carry out at most `N` runs of a test file at once.")
	fs.BoolVar(&t.deferral, "allow-deferral", false, "Let runs leave out what can't be planned yet.")
}

func (t *tester) run(ctx context.Context) int {
	if code := t.Start(); code != 0 {
		return code
	}
	if t.cloud != "" {
		return t.Fail(diag.BadOption.As("Remote test execution isn't supported"), "The -cloud-run option asks for a run by a service. Leave it out to carry out the tests here.")
	}
	if problem := t.incompatible(); problem != "" {
		return t.Fail(diag.Incompatible, "%s", problem)
	}
	if t.watching {
		return t.watch(ctx)
	}
	chosen, options, diags := t.open(ctx)
	if t.Diags(diags) != 0 {
		return 1
	}
	if t.cleanup {
		return t.cleanUp(ctx, testresult.New(chosen), options)
	}
	if n := t.directory.WaitingTests(); n > 0 {
		t.Diags(diag.List{leftover.Left.New(diag.Warning, "Earlier tests have left objects, in %d states, because their process ended before it could destroy them, or they are still under way. This destroys what is left:\n    %s test -cleanup", n, t.program)})
	}
	if t.mutating.on {
		return t.mutate(ctx, chosen, options)
	}
	return t.carry(ctx, testresult.New(chosen), options)
}

// open finds the tests that are asked for.
func (t *tester) open(ctx context.Context) ([]*testfile.File, suite.Options, diag.List) {
	all, o, diags := t.directory.OpenTests(ctx, operation.Loading{Vars: t.vars, Parallelism: t.parallelism}, t.tests)
	o.Seed, o.Keep, o.Parallelism, o.AllowDeferral = t.seed, t.verbose, t.runs, t.deferral
	if !diags.HasErrors() {
		all, more := testfile.Choose(all, t.filter)
		return all, o, append(diags, more...)
	}
	return nil, o, diags
}

// incompatible says which options can't be given together, "" if they can.
func (t *tester) incompatible() string {
	switch {
	case t.forget && !t.cleanup:
		return "The -forget option says something about objects that -cleanup finds, and has no meaning without it."
	case t.watching && (t.mutating.on || t.cleanup), t.mutating.on && t.cleanup,
		(t.mutating.on || t.cleanup) && (t.update || t.covering.wanted() || t.junit != ""):
		return "The options -watch, -mutate and -cleanup exclude one another. What -update, -junit-xml and those of coverage say is about tests of the configuration as it is, which neither -mutate nor -cleanup carries out."
	}
	return ""
}

// cleanUp destroys what earlier tests have left.
func (t *tester) cleanUp(ctx context.Context, all *testresult.Suite, o suite.Options) int {
	left, diags := t.directory.LeftByTests(ctx, o.World.Catalog)
	if len(t.filter) > 0 {
		left = slices.DeleteFunc(left, func(l suite.Left) bool {
			return !slices.ContainsFunc(all.Files, func(f *testresult.File) bool { return f.Name == l.File })
		})
	}
	n := 0
	for _, l := range left {
		n += len(l.Snapshot.Objects)
	}
	o.Report, o.Forget = t.reports(o, t.verbose, nil), t.forget
	diags.Append(suite.CleanUp(ctx, all, left, o))
	t.Diags(diags)
	failed := diags.HasErrors() || all.Status != testresult.Pass
	switch {
	case failed:
		t.Aside(fmt.Sprintf("Something is left. Once the cause is gone, this destroys it:\n  %s test -cleanup", t.program))
		return 1
	case len(left) == 0:
		t.Notice("Earlier tests have left nothing.\n")
	default:
		t.Notice(fmt.Sprintf("Destroyed what earlier tests had left: %s in %s.\n", testview.Count(n, "object"), testview.Count(len(left), "state")))
	}
	return 0
}

// carry carries out the tests and shows what comes of them.
func (t *tester) carry(ctx context.Context, all *testresult.Suite, o suite.Options) int {
	reports := append(t.reports(o, t.verbose, all), &leftover.Errored{Aside: t.Aside, Problem: func(l diag.List) { t.Diags(l) }, Err: t.Err, Program: t.program, Waiting: t.directory.WaitingTests})
	stop, end := t.interrupts.Begin()
	o.Report, o.Stop = reports, stop
	snapshots := &snapshot.Snapshots{Dir: o.Dir, Update: t.update, Program: t.program}
	o.Judge = snapshots.Judge
	var covered *coverage.Recorder
	if t.covering.wanted() {
		covered = t.covering.record(&o)
	}
	suite.Run(ctx, all, o)
	end()
	t.recorded(all, snapshots)
	if covered != nil {
		if code := t.coverage(covered, o); code != 0 {
			return code
		}
	}
	for _, r := range reports {
		if r, ok := r.(interface{ Conclusion(*testresult.Suite) }); ok {
			r.Conclusion(all)
		}
	}
	if t.junit != "" {
		if code := t.writeJUnit(all, o.Sources, stop); code != 0 {
			return code
		}
	}
	if all.Status != testresult.Pass {
		return 1
	}
	return 0
}

// recorded tells which snapshots were written, and removes those of no run.
func (t *tester) recorded(all *testresult.Suite, s *snapshot.Snapshots) {
	for _, f := range all.Files {
		if err := s.Sweep(f.File); err != nil {
			t.Diags(diag.Unwritable.As("Failed to remove a snapshot").Warnings("%s.", diag.Cause(err)))
		}
	}
	written, removed := s.Changed()
	for _, name := range written {
		t.Notice(fmt.Sprintf("Snapshot written: %s\n", name))
	}
	for _, name := range removed {
		t.Notice(fmt.Sprintf("Snapshot removed: %s\n", name))
	}
}

// reports tell people and programs. Those are told first what there is, if that is
// given.
func (t *tester) reports(o suite.Options, verbose bool, all *testresult.Suite) (reports testresult.Reports) {
	if t.Stream != nil {
		j := testview.NewJSON(t.Stream, o.Sources, t.Dialect, verbose)
		if all != nil {
			j.Abstract(all)
		}
		reports = append(reports, j)
	}
	if !t.JSON {
		reports = append(reports, t.human(o))
	}
	return reports
}

// human tells people.
func (t *tester) human(o suite.Options) *testview.Human {
	return testview.NewHuman(t.Out, t.Err, testview.Options{Options: t.Viewing(), Dialect: t.Dialect, Verbose: t.verbose, Diagnostics: func(l diag.List) {
		t.directory.AddSources(o.Sources)
		t.PeopleDiags(l)
	}})
}

func (t *tester) writeJUnit(all *testresult.Suite, sources map[string][]byte, stop <-chan struct{}) int {
	text, err := testview.JUnit(all, suite.Stopped(context.Background(), stop), func(l diag.List) string { return diags.Text(l, sources, diags.Options{Plain: true}) })
	if err == nil {
		err = os.WriteFile(t.junit, text, 0o666)
	}
	if err != nil {
		return t.Fail(diag.Unwritable.As("Failed to write JUnit XML"), "Writing %s: %s.", t.junit, diag.Cause(err))
	}
	return 0
}
