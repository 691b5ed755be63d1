package cli

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/module"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/provider/install"
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
	fs.Uint64Var(&t.seed, "seed", 0, "Have mocked providers make up other values: a `NUMBER`.")
	registerParallelism(fs, &t.parallelism)
}

func (t *tester) run(ctx context.Context) int {
	if code := t.startStream(); code != 0 {
		return code
	}
	if t.cloud != "" {
		return t.fail("Remote test execution isn't supported", "The -cloud-run option asks for a run by a service. Leave it out to carry out the tests here.")
	}
	inputs, diags := t.env.inputs(t.vars)
	extra, more := t.testInputs(t.tests, inputs)
	diags.Append(more)
	world, more := t.world(loading{parallelism: t.parallelism})
	diags.Append(more)
	resolve, more := t.installed()
	diags.Append(more)
	if diags.HasErrors() {
		return t.diags(diags)
	}
	// Variables of the root module may be given by the tests alone.
	all, more := t.loadTested(ctx, engine.LoadOptions{World: world, Dir: ".", Inputs: inputs, Resolve: resolve})
	// What is wrong with uses of declarations is for the runs to find.
	diags.Append(declared(more))
	if !diags.HasErrors() {
		diags.Append(t.provide(world.Catalog.(*lateCatalog), all.requirements(nil)))
	}
	chosen, more := t.choose(all.files)
	diags.Append(more)
	if t.diags(diags) != 0 {
		return 1
	}
	return t.carry(ctx, testresult.New(chosen), suite.Options{
		World: world, Dir: ".", Files: module.Disk{}, Inputs: inputs, TestInputs: extra, TestDir: filepath.ToSlash(filepath.Clean(t.tests)),
		Resolve: resolve, Seed: t.seed, Sources: t.sources, Keep: t.verbose,
	})
}

// carry carries out the tests and shows what comes of them.
func (t *tester) carry(ctx context.Context, all *testresult.Suite, o suite.Options) int {
	var reports reports
	if t.stream != nil {
		j := testview.NewJSON(t.stream, t.sources, t.dialect, t.verbose)
		j.Abstract(all)
		reports = append(reports, j)
	}
	if !t.env.json {
		view := testview.Options{Options: t.viewing(), Dialect: t.dialect, Verbose: t.verbose, Diagnostics: func(l diag.List) { t.peopleDiags(l) }}
		reports = append(reports, testview.NewHuman(t.out, t.err, view))
	}
	reports = append(reports, &keptStates{env: t.env})
	limits, diags := t.limits()
	if t.diags(diags) != 0 {
		return 1
	}
	stop, end := t.interrupts.begin()
	o.Report, o.Stop, o.Limits = reports, stop, limits
	suite.Run(ctx, all, o)
	end()
	for _, r := range reports {
		if r, ok := r.(interface{ Conclusion(*testresult.Suite) }); ok {
			r.Conclusion(all)
		}
	}
	if t.junit != "" {
		if code := t.writeJUnit(all, stop); code != 0 {
			return code
		}
	}
	if all.Status != testresult.Pass {
		return 1
	}
	return 0
}

func (t *tester) writeJUnit(all *testresult.Suite, stop <-chan struct{}) int {
	stopped := false
	select {
	case <-stop:
		stopped = true
	default:
	}
	text, err := testview.JUnit(all, stopped, func(l diag.List) string { return diags.Text(l, t.sources, diags.Options{Plain: true}) })
	if err == nil {
		err = os.WriteFile(t.junit, text, 0o666)
	}
	if err != nil {
		return t.fail("Failed to write JUnit XML", "Writing %s: %s.", t.junit, cause(err))
	}
	return 0
}

// testFiles reads the test files of the working directory.
func (e *env) testFiles() ([]*testfile.File, diag.List) {
	files, diags := testfile.Load(module.Disk{}, ".", e.tests, e.dialect)
	for _, f := range files {
		e.sources[f.Source.Name] = f.Source.Bytes
	}
	for _, d := range diags {
		if d.Subject == nil || e.sources[d.Subject.Filename] != nil {
			continue
		}
		if data, err := os.ReadFile(d.Subject.Filename); err == nil {
			e.sources[d.Subject.Filename] = data
		}
	}
	return files, diags
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
			diags.Append(warning("Unknown test file", "The specified test file, %s, could not be found.", name))
		case !slices.Contains(chosen, files[n]):
			chosen = append(chosen, files[n])
		}
	}
	if len(chosen) == 0 {
		diags.Append(warning("No tests were found", "-filter is being used but no tests were found. Make sure you're using a relative path to the current working directory."))
	}
	slices.SortFunc(chosen, func(a, b *testfile.File) int { return strings.Compare(a.Name, b.Name) })
	return chosen, diags
}

// testInputs are the values that the directory of tests has for variables. Those
// on the command line count more.
func (e *env) testInputs(dir string, given map[string]engine.VariableInput) (map[string]engine.VariableInput, diag.List) {
	in := map[string]engine.VariableInput{}
	var diags diag.List
	names, err := automaticFiles(dir)
	if err != nil {
		return in, nil // there is no such directory
	}
	for _, name := range names {
		e.inputsFrom(filepath.Join(dir, name), in, &diags)
	}
	maps.DeleteFunc(in, func(name string, _ engine.VariableInput) bool { return given[name].From == "argument" })
	return in, diags
}

// installed finds modules among those that init has installed.
func (e *env) installed() (func(context.Context, module.Request) (string, diag.List), diag.List) {
	manifest, err := module.ReadManifest(module.Disk{}, e.dataDir())
	if err != nil {
		return nil, oneError("Failed to read the list of installed modules", "%s. Run \"weir init\" to write it again.", err)
	}
	return func(_ context.Context, r module.Request) (string, diag.List) {
		return manifest.Find(r.Key, r.Source, r.Constraint, e.dialect.Registry(), r.Range)
	}, nil
}

// A testModule is a module that a run is about in place of the one under test,
// loaded without the values that it will have.
type testModule struct {
	*engine.Config
	file *testfile.File
}

// A tested is a configuration with its tests.
type tested struct {
	config  *engine.Config
	files   []*testfile.File
	modules []testModule
	keys    []string // of all installed modules
}

// loadTested loads the configuration, its test files, and the modules that these
// run.
func (e *env) loadTested(ctx context.Context, o engine.LoadOptions) (*tested, diag.List) {
	t := &tested{}
	var diags diag.List
	t.config, diags = engine.Load(ctx, o)
	if t.config == nil {
		return t, diags
	}
	e.addSources(t.config.Sources)
	t.keys = t.config.Installed
	diags.Append(e.loadTests(ctx, o, t))
	return t, diags
}

// loadTests adds the test files and the modules that these run.
func (e *env) loadTests(ctx context.Context, o engine.LoadOptions, t *tested) diag.List {
	var diags, more diag.List
	t.files, diags = e.testFiles()
	if o.Resolve == nil {
		if o.Resolve, more = e.installed(); more.HasErrors() {
			return append(diags, more...)
		}
	}
	for _, f := range t.files {
		for _, r := range f.Runs {
			if r.Module != nil {
				diags.Append(e.loadTestModule(ctx, o, t, f, r))
			}
		}
	}
	return diags
}

func (e *env) loadTestModule(ctx context.Context, o engine.LoadOptions, t *tested, f *testfile.File, r *testfile.Run) diag.List {
	request := suite.Request(o.Dir, f, r)
	dir, diags := o.Resolve(ctx, request)
	if diags.HasErrors() {
		return diags
	}
	o.Dir, o.Resolve = dir, suite.Prefixed(request.Key, o.Resolve)
	config, more := engine.Load(ctx, o)
	diags.Append(only(more, diag.Error))
	if config == nil {
		return diags
	}
	e.addSources(config.Sources)
	t.keys = append(t.keys, request.Key)
	for _, key := range config.Installed {
		t.keys = append(t.keys, request.Key+"."+key)
	}
	if config.Tree != nil {
		t.modules = append(t.modules, testModule{config, f})
	}
	return diags
}

// requirements lists the providers that the modules and the test files need, and
// a state.
func (t *tested) requirements(s *state.Snapshot) install.Requirements {
	reqs := requirements(t.config.Tree, s)
	named := func(tree *program.Tree, f *testfile.File) {
		for _, p := range f.Providers {
			if source := suite.Provider(tree.Program, p.Local); suite.Needs(tree, source) {
				reqs[source] = append(reqs[source], install.Requirement{Range: p.Range.Ptr()})
			}
		}
	}
	for _, f := range t.files {
		if t.config.Tree != nil {
			named(t.config.Tree, f)
		}
	}
	for _, m := range t.modules {
		for p, list := range requirements(m.Tree, nil) {
			reqs[p] = append(reqs[p], list...)
		}
		named(m.Tree, m.file)
	}
	return reqs
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
		k.diags(oneError("Failed to persist state", "Writing %s: %s. The state follows on standard error.", name, cause(err)))
		fmt.Fprintln(k.err, b.String())
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

func (k *keptStates) tellOfState(text string) {
	k.streamLog(text)
	if !k.json {
		fmt.Fprintf(k.err, "\n%s\n", text)
	}
}
