package flags

import (
	"flag"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/ui/commands"
)

// A Test has the flags of test alone.
type Test struct {
	Vars              Vars
	Filter            commands.Texts // test files; none is for all
	Verbose           bool
	JUnit             string // where results go as XML, "" for nowhere
	cloud             string
	Parallelism, Runs int // operations, and runs of a file, at once
	AllowDeferral     bool
	Seed              uint64
	Coverage          bool
	CoverageJSON      string // where coverage goes, "" for nowhere
	CoverageHTML      string
	Mutate            bool
	Mutations         int // the most that are made

	Update, Watch, Cleanup, Forget bool
}

// Register registers all of them.
func (t *Test) Register(fs *flag.FlagSet) {
	t.Vars.Register(fs)
	fs.Var(&t.Filter, "filter", "Carry out the test `FILE` and no others. May be repeated.")
	fs.BoolVar(&t.Verbose, "verbose", false, "Show the plan or state of each run.")
	fs.StringVar(&t.JUnit, "junit-xml", "", "Write the results to `FILE` as XML in the form of JUnit.")
	fs.StringVar(&t.cloud, "cloud-run", "", "")
	fs.Uint64Var(&t.Seed, "seed", 0, "Make up other values, in mocked providers and for variables: a `NUMBER`.")
	fs.BoolVar(&t.Coverage, "coverage", false, "Show which resources, outputs, branches and conditions of the configuration the tests have come to.")
	fs.StringVar(&t.CoverageJSON, "coverage-json", "", "Write the coverage to `FILE` as JSON.")
	fs.StringVar(&t.CoverageHTML, "coverage-html", "", "Write the coverage to `FILE` as a page with the sources marked.")
	fs.BoolVar(&t.Mutate, "mutate", false, "Make small changes to the configuration, one at a time, and show those that no test notices.")
	fs.IntVar(&t.Mutations, "mutations", 200, "With -mutate: make at most `NUMBER` changes, spread evenly over all that there are.")
	fs.BoolVar(&t.Watch, "watch", false, "Go on after the tests, and carry out again those that a change of files can affect.")
	fs.BoolVar(&t.Update, "update", false, "Record what runs with a snapshot directive plan, for later runs to be compared with.")
	fs.BoolVar(&t.Cleanup, "cleanup", false, "Carry out no tests, but destroy what earlier ones have left whose process ended before it could do so.")
	fs.BoolVar(&t.Forget, "forget", false, "With -cleanup: objects of which it isn't known whether they were made don't exist.")
	Parallelism(fs, &t.Parallelism)
	fs.IntVar(&t.Runs, "run-parallelism", 10, "Carry out at most `N` runs of a test file at once.")
	fs.BoolVar(&t.AllowDeferral, "allow-deferral", false, "Let runs leave out what can't be planned yet.")
}

// Covers reports whether what tests cover is to be recorded.
func (t *Test) Covers() bool { return t.Coverage || t.CoverageJSON != "" || t.CoverageHTML != "" }

// Check says which options can't be given, or not together.
func (t *Test) Check() diag.List {
	switch {
	case t.cloud != "":
		return diag.BadOption.As("Remote test execution isn't supported").List("The -cloud-run option asks for a run by a service. Leave it out to carry out the tests here.")
	case t.Forget && !t.Cleanup:
		return diag.Incompatible.List("The -forget option says something about objects that -cleanup finds, and has no meaning without it.")
	case t.Watch && (t.Mutate || t.Cleanup), t.Mutate && t.Cleanup,
		(t.Mutate || t.Cleanup) && (t.Update || t.Covers() || t.JUnit != ""):
		return diag.Incompatible.List("The options -watch, -mutate and -cleanup exclude one another. What -update, -junit-xml and those of coverage say is about tests of the configuration as it is, which neither -mutate nor -cleanup carries out.")
	}
	return nil
}
