package cli

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/internal/coverage"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/module"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/snapshot"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/statefile"
	"weir.dev/weir/internal/suite"
	"weir.dev/weir/internal/testfile"
	"weir.dev/weir/internal/testresult"
	"weir.dev/weir/internal/view/diags"
	"weir.dev/weir/internal/view/testview"
)

var testCommand = &command{
	name:     "test",
	synopsis: "Execute integration tests for modules",
	long:     "Carries out the runs of the test files beside the configuration and in the directory of tests: each is a plan or an apply of the module or of another one, with conditions on the result. What was made is destroyed in the end.",
	setup: func(e *env, fs *flag.FlagSet) runner {
		t := &tester{env: e}
		t.register(fs)
		return func(ctx context.Context, _ []string) int { return t.run(ctx) }
	},
}

// leftByTests is what was made and not destroyed.
var leftByTests = diag.Code{Name: "left-by-tests", Summary: "Objects of earlier tests"}

// defaultTests is the directory of tests unless -test-directory names another.
const defaultTests = "tests"

// registerTests registers -test-directory.
func (e *env) registerTests(fs *flag.FlagSet) {
	fs.StringVar(&e.tests, "test-directory", defaultTests, "The `DIR` in the module that has test files, beside those in the module's own.")
}

// tester has the flags of test.
type tester struct {
	*env
	vars        varFlags
	filter      texts
	verbose     bool
	junit       string
	cloud       string
	parallelism int
	seed        uint64
	covering    covering
	mutating    mutating
	update      bool
	watching    bool
	cleanup     bool
	forget      bool
}

func (t *tester) register(fs *flag.FlagSet) {
	t.vars.register(fs)
	t.registerTests(fs)
	fs.BoolVar(&t.env.json, "json", false, "Print one JSON object a line, for programs.")
	fs.StringVar(&t.jsonInto, "json-into", "", "Write what -json prints to `FILE`, beside the text for people.")
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
}

func (t *tester) run(ctx context.Context) int {
	if code := t.startStream(); code != 0 {
		return code
	}
	if t.cloud != "" {
		return t.fail("Remote test execution isn't supported", "The -cloud-run option asks for a run by a service. Leave it out to carry out the tests here.")
	}
	if t.forget && !t.cleanup {
		return t.fail("Incompatible options", "The -forget option says something about objects that -cleanup finds, and has no meaning without it.")
	}
	if t.watching {
		return t.watch(ctx)
	}
	all, options, diags := t.directory.OpenTests(ctx, operation.Loading{Vars: t.vars, Parallelism: t.parallelism}, t.tests)
	if diags.HasErrors() {
		return t.diags(diags)
	}
	chosen, more := t.choose(all)
	diags.Append(more)
	if t.diags(diags) != 0 {
		return 1
	}
	if t.cleanup {
		return t.cleanUp(ctx, testresult.New(chosen), options)
	}
	if n := t.directory.WaitingTests(); n > 0 {
		t.diags(diag.List{leftByTests.New(diag.Warning, "Earlier tests have left objects, in %d states, because their process ended before it could destroy them, or they are still under way. This destroys what is left:\n    %s test -cleanup", n, t.program)})
	}
	options.Seed, options.Keep = t.seed, t.verbose
	if t.mutating.on {
		return t.mutate(ctx, chosen, options)
	}
	return t.carry(ctx, testresult.New(chosen), options)
}

// cleanUp destroys what earlier tests have left.
func (t *tester) cleanUp(ctx context.Context, all *testresult.Suite, o suite.Options) int {
	left, diags := t.directory.LeftByTests(ctx)
	if len(t.filter) > 0 {
		left = slices.DeleteFunc(left, func(l suite.Left) bool {
			return !slices.ContainsFunc(all.Files, func(f *testresult.File) bool { return f.Name == l.File })
		})
	}
	n := 0
	for _, l := range left {
		n += len(l.Snapshot.Objects)
	}
	var reports reports
	if t.stream != nil {
		reports = append(reports, testview.NewJSON(t.stream, o.Sources, t.dialect, t.verbose))
	}
	if !t.env.json {
		reports = append(reports, t.human(o))
	}
	o.Report, o.Forget = reports, t.forget
	diags.Append(suite.CleanUp(ctx, all, left, o))
	t.diags(diags)
	failed := diags.HasErrors() || all.Status != testresult.Pass
	switch {
	case failed:
		t.tellOfState(fmt.Sprintf("Something is left. Once the cause is gone, this destroys it:\n  %s test -cleanup", t.program))
		return 1
	case len(left) == 0:
		t.say("Earlier tests have left nothing.\n")
	default:
		t.say("Destroyed what earlier tests had left: %s in %s.\n", testview.Count(n, "object"), testview.Count(len(left), "state"))
	}
	return 0
}

// carry carries out the tests and shows what comes of them.
func (t *tester) carry(ctx context.Context, all *testresult.Suite, o suite.Options) int {
	var reports reports
	if t.stream != nil {
		j := testview.NewJSON(t.stream, o.Sources, t.dialect, t.verbose)
		j.Abstract(all)
		reports = append(reports, j)
	}
	if !t.env.json {
		reports = append(reports, t.human(o))
	}
	reports = append(reports, &keptStates{env: t.env})
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
			t.diags(diag.OneWarning("Failed to remove a snapshot", "%s.", diag.Cause(err)))
		}
	}
	written, removed := s.Changed()
	for _, name := range written {
		t.say("Snapshot written: %s\n", name)
	}
	for _, name := range removed {
		t.say("Snapshot removed: %s\n", name)
	}
}

// human tells people.
func (t *tester) human(o suite.Options) *testview.Human {
	return testview.NewHuman(t.out, t.err, testview.Options{Options: t.viewing(), Dialect: t.dialect, Verbose: t.verbose, Diagnostics: func(l diag.List) {
		t.directory.AddSources(o.Sources)
		t.peopleDiags(l)
	}})
}

func (t *tester) writeJUnit(all *testresult.Suite, sources map[string][]byte, stop <-chan struct{}) int {
	stopped := false
	select {
	case <-stop:
		stopped = true
	default:
	}
	text, err := testview.JUnit(all, stopped, func(l diag.List) string { return diags.Text(l, sources, diags.Options{Plain: true}) })
	if err == nil {
		err = os.WriteFile(t.junit, text, 0o666)
	}
	if err != nil {
		return t.fail("Failed to write JUnit XML", "Writing %s: %s.", t.junit, diag.Cause(err))
	}
	return 0
}

// choose are the files that -filter names, or all of them.
func (t *tester) choose(files []*testfile.File) ([]*testfile.File, diag.List) {
	if len(t.filter) == 0 {
		return files, nil
	}
	var diags diag.List
	var chosen []*testfile.File
	for _, name := range t.filter {
		n := slices.IndexFunc(files, func(f *testfile.File) bool { return f.Name == filepath.ToSlash(filepath.Clean(name)) })
		switch {
		case n < 0:
			diags.Append(diag.OneWarning("Unknown test file", "The specified test file, %s, could not be found.", name))
		case !slices.Contains(chosen, files[n]):
			chosen = append(chosen, files[n])
		}
	}
	if len(chosen) == 0 {
		diags.Append(diag.OneWarning("No tests were found", "-filter is being used but no tests were found. Make sure you're using a relative path to the current working directory."))
	}
	slices.SortFunc(chosen, func(a, b *testfile.File) int { return strings.Compare(a.Name, b.Name) })
	return chosen, diags
}

// peopleDiags prints diagnostics for people alone.
func (e *env) peopleDiags(l diag.List) {
	stream := e.stream
	e.stream = nil
	e.diags(l)
	e.stream = stream
}

// reports tell several at once.
type reports []testresult.Report

func (all reports) FileStarts(f *testresult.File) {
	for _, r := range all {
		r.FileStarts(f)
	}
}

func (all reports) RunEnds(f *testresult.File, run *testresult.Run) {
	for _, r := range all {
		r.RunEnds(f, run)
	}
}

func (all reports) CleanupStarts(f *testresult.File) {
	for _, r := range all {
		r.CleanupStarts(f)
	}
}

func (all reports) Cleaned(f *testresult.File, run *testresult.Run, diags diag.List, left *state.Snapshot) {
	for _, r := range all {
		r.Cleaned(f, run, diags, left)
	}
}

func (all reports) FileEnds(f *testresult.File) {
	for _, r := range all {
		r.FileEnds(f)
	}
}

// keptStates writes states that couldn't be destroyed to files.
type keptStates struct {
	*env
	n int
}

func (*keptStates) FileStarts(*testresult.File)               {}
func (*keptStates) RunEnds(*testresult.File, *testresult.Run) {}
func (*keptStates) CleanupStarts(*testresult.File)            {}
func (*keptStates) FileEnds(*testresult.File)                 {}

// Cleaned writes what is left, and says how to finish.
func (k *keptStates) Cleaned(f *testresult.File, r *testresult.Run, _ diag.List, left *state.Snapshot) {
	if left == nil {
		return
	}
	k.n++
	name := "errored_test.tfstate"
	if k.n > 1 {
		name = fmt.Sprintf("errored_test.%d.tfstate", k.n)
	}
	k.tellOfState("Writing state to file: " + name)
	var b bytes.Buffer
	err := statefile.Write(&b, left)
	if err == nil {
		err = os.WriteFile(name, b.Bytes(), 0o600)
	}
	if err != nil {
		k.diags(diag.OneError("Failed to persist state", "Writing %s: %s. The state follows on standard error.", name, diag.Cause(err)))
		fmt.Fprintln(k.err, b.String())
		return
	}
	if k.directory.WaitingTests() > 0 {
		k.tellOfState(fmt.Sprintf("Once the cause is gone, this destroys what is left:\n  %s test -cleanup", k.program))
		return
	}
	dir := ""
	if r.Module != nil && module.IsLocal(r.Module.Source) {
		if at, err := filepath.Abs(name); err == nil {
			dir, name = " -chdir="+r.Module.Source, at
		}
	}
	k.tellOfState(fmt.Sprintf("Once the cause is gone, this destroys what is left, with the values that the test gave to variables:\n  %s%s destroy -state=%s", k.program, dir, name))
}

func (e *env) tellOfState(text string) {
	e.streamLog(text)
	if !e.json {
		fmt.Fprintf(e.err, "\n%s\n", text)
	}
}
