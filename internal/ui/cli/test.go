package cli

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/moduletest"
	"weir.dev/weir/internal/moduletest/coverage"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/moduletest/testresult"
	"weir.dev/weir/internal/ui/commands"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/snapshot"
	"weir.dev/weir/internal/ui/view/diags"
	"weir.dev/weir/internal/ui/view/testreport"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/orphans"
)

var testCommand = &command{
	Name:     "test",
	Synopsis: "Run tests of modules",
	Long:     "Runs the test files beside the configuration and in the test directory. Each run plans or applies the module, or another one, and checks conditions on the result. At the end all created objects are destroyed.",
	Max:      -1,
	Setup: func(e *env, fs *flag.FlagSet) runner {
		t := &tester{env: e}
		t.register(fs)
		return func(ctx context.Context, args []string) int { return t.run(ctx, args) }
	},
}

// testCleanupCommand is Terraform's name for it.
var testCleanupCommand = &command{
	Name:     "test cleanup",
	Synopsis: "Destroy the objects of killed tests",
	Long:     "Equals test -cleanup.",
	Hidden:   true,
	Setup: func(e *env, fs *flag.FlagSet) runner {
		t := &tester{env: e}
		t.register(fs)
		t.Cleanup = true
		return func(ctx context.Context, args []string) int { return t.run(ctx, args) }
	},
}

// registerTests registers -test-directory.
func (e *env) registerTests(fs *flag.FlagSet) {
	fs.StringVar(&e.tests, "test-directory", testfile.DefaultDirectory, "Read test files also from `DIR` in the module.")
}

// tester is test under way, with its flags.
type tester struct {
	env *env
	flags.Test
}

func (t *tester) register(fs *flag.FlagSet) {
	t.Register(fs)
	t.env.registerTests(fs)
	commands.RegisterJSON(fs, t.env.Screen)
}

// run carries out the tests. Arguments have no effect in OpenTofu and Terraform, so that scripts
// with them succeed there; a user who names files needs to know.
func (t *tester) run(ctx context.Context, args []string) int {
	if code := t.env.Start(); code != 0 {
		return code
	}
	if len(args) > 0 {
		t.env.Diags(diag.BadOption.As("Arguments ignored").Warnings("The test command ignores %q and runs all tests. To run the tests of one file, use -filter=FILE.", args))
	}
	if diags := t.Check(); diags != nil {
		return t.env.Diags(diags)
	}
	if t.Watch {
		return t.watch(ctx)
	}
	chosen, options, diags := t.open(ctx)
	if t.env.Diags(diags) != 0 {
		return 1
	}
	if t.Cleanup {
		return t.cleanUp(ctx, testresult.New(chosen), options)
	}
	if n := t.files().Waiting(); n > 0 {
		t.env.Diags(diag.List{orphans.Left.New(diag.Warning, "Earlier tests have left objects, in %d states, because their process ended before it could destroy them, or they are still under way. This destroys what is left:\n    %s test -cleanup", n, t.env.program)})
	}
	if t.Mutate {
		return t.mutate(ctx, chosen, options)
	}
	return t.carry(ctx, testresult.New(chosen), options)
}

// files are the test files of the directory.
func (t *tester) files() workspace.Tests {
	return workspace.Tests{Dir: t.env.directory, Folder: t.env.tests}
}

// open finds the tests that are asked for.
func (t *tester) open(ctx context.Context) ([]*testfile.File, moduletest.Options, diag.List) {
	all, o, diags := t.files().Open(ctx, workspace.Loading{Vars: t.Vars, Parallelism: t.Parallelism})
	o.Seed, o.Keep, o.Parallelism, o.AllowDeferral = t.Seed, t.Verbose, t.Runs, t.AllowDeferral
	if !diags.HasErrors() {
		all, more := testfile.Choose(all, t.Filter)
		return all, o, append(diags, more...)
	}
	return nil, o, diags
}

// cleanUp destroys what earlier tests have left.
func (t *tester) cleanUp(ctx context.Context, all *testresult.Suite, o moduletest.Options) int {
	left, diags := t.files().Left(ctx, o.World.Catalog)
	if len(t.Filter) > 0 {
		left = slices.DeleteFunc(left, func(l moduletest.Left) bool {
			return !slices.ContainsFunc(all.Files, func(f *testresult.File) bool { return f.Name == l.File })
		})
	}
	n := 0
	for _, l := range left {
		n += len(l.Snapshot.Objects)
	}
	o.Report, o.Forget = t.reports(o, t.Verbose, nil), t.Forget
	diags.Append(moduletest.CleanUp(ctx, all, left, o))
	t.env.Diags(diags)
	failed := diags.HasErrors() || all.Status != testresult.Pass
	switch {
	case failed:
		t.env.Aside(fmt.Sprintf("Something is left. Once the cause is gone, this destroys it:\n  %s test -cleanup", t.env.program))
		return 1
	case len(left) == 0:
		t.env.Notice("Earlier tests have left nothing.\n")
	default:
		t.env.Notice(fmt.Sprintf("Destroyed what earlier tests had left: %s in %s.\n", testreport.Count(n, "object"), testreport.Count(len(left), "state")))
	}
	return 0
}

// carry carries out the tests and shows what comes of them.
func (t *tester) carry(ctx context.Context, all *testresult.Suite, o moduletest.Options) int {
	reports := append(t.reports(o, t.Verbose, all), &orphans.Errored{Aside: t.env.Aside, Problem: func(l diag.List) { t.env.Diags(l) }, Err: t.env.Err, Program: t.env.program, Waiting: t.files().Waiting})
	stop, end := t.env.interrupts.Begin()
	o.Report, o.Stop = reports, stop
	snapshots := &snapshot.Snapshots{Dir: o.Dir, Update: t.Update, Program: t.env.program}
	o.Judge = snapshots.Judge
	var covered *coverage.Recorder
	if t.Covers() {
		covered = coverage.New()
		o.Compiled, o.Observe = covered.Prepare, covered.Observe
	}
	moduletest.Run(ctx, all, o)
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
	if t.JUnit != "" {
		if code := t.writeJUnit(all, o.Sources, stop); code != 0 {
			return code
		}
	}
	if all.Status != testresult.Pass {
		return 1
	}
	return 0
}

// recorded reports which snapshots were written, and removes those of no run.
func (t *tester) recorded(all *testresult.Suite, s *snapshot.Snapshots) {
	for _, f := range all.Files {
		if err := s.Sweep(f.File); err != nil {
			t.env.Diags(diag.Unwritable.As("Failed to remove a snapshot").Warnings("%s.", diag.Cause(err)))
		}
	}
	written, removed := s.Changed()
	for _, name := range written {
		t.env.Notice(fmt.Sprintf("Snapshot written: %s\n", name))
	}
	for _, name := range removed {
		t.env.Notice(fmt.Sprintf("Snapshot removed: %s\n", name))
	}
}

// reports tell people and programs. These first get the list of tests, if that
// is given.
func (t *tester) reports(o moduletest.Options, verbose bool, all *testresult.Suite) (reports testresult.Reports) {
	if t.env.Stream != nil {
		j := testreport.NewJSON(t.env.Stream, o.Sources, t.env.Dialect, verbose)
		if all != nil {
			j.Abstract(all)
		}
		reports = append(reports, j)
	}
	if !t.env.JSON {
		reports = append(reports, t.human(o))
	}
	return reports
}

// human informs people.
func (t *tester) human(o moduletest.Options) *testreport.Human {
	return testreport.NewHuman(t.env.Out, t.env.Err, testreport.Options{Options: t.env.Viewing(), Dialect: t.env.Dialect, Verbose: t.Verbose, Diagnostics: func(l diag.List) {
		t.env.directory.Place.AddSources(o.Sources)
		t.env.PeopleDiags(l)
	}})
}

func (t *tester) writeJUnit(all *testresult.Suite, sources map[string][]byte, stop <-chan struct{}) int {
	text, err := testreport.JUnit(all, moduletest.Stopped(context.Background(), stop), func(l diag.List) string { return diags.Text(l, sources, diags.Options{Plain: true}) })
	if err == nil {
		err = os.WriteFile(t.JUnit, text, 0o666)
	}
	if err != nil {
		return t.env.Fail(diag.Unwritable.As("Failed to write JUnit XML"), "Writing %s: %s.", t.JUnit, diag.Cause(err))
	}
	return 0
}
