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
	// repair also cleans up what tests of Terraform keep on purpose. Those of weir keep nothing.
	repair bool
}

// Register registers all of them.
func (t *Test) Register(fs *flag.FlagSet) {
	t.Vars.Register(fs)
	fs.Var(&t.Filter, "filter", "Run only the test `FILE`; repeatable.")
	fs.BoolVar(&t.Verbose, "verbose", false, "Show the plan or state of each run.")
	fs.StringVar(&t.JUnit, "junit-xml", "", "Write the results to `FILE` as JUnit XML.")
	fs.StringVar(&t.cloud, "cloud-run", "", "")
	fs.Uint64Var(&t.Seed, "seed", 0, "Change made-up values of mocks and variables with the seed `NUMBER`.")
	fs.BoolVar(&t.Coverage, "coverage", false, "Report coverage of resources, outputs, branches and conditions.")
	fs.StringVar(&t.CoverageJSON, "coverage-json", "", "Write coverage to `FILE` as JSON.")
	fs.StringVar(&t.CoverageHTML, "coverage-html", "", "Write coverage to `FILE` as a page with marked sources.")
	fs.BoolVar(&t.Mutate, "mutate", false, "Run mutation testing: list small changes that no test notices.")
	fs.IntVar(&t.Mutations, "mutations", 200, "With -mutate: try at most `NUMBER` changes, spread evenly.")
	fs.BoolVar(&t.Watch, "watch", false, "Wait after the tests, and repeat those that a file change can affect.")
	fs.BoolVar(&t.Update, "update", false, "Record the plans of runs with a snapshot comment.")
	fs.BoolVar(&t.Cleanup, "cleanup", false, "Destroy the objects of killed tests, and run no tests.")
	fs.BoolVar(&t.repair, "repair", false, "")
	fs.BoolVar(&t.Forget, "forget", false, "With -cleanup: forget objects in doubt.")
	Parallelism(fs, &t.Parallelism)
	fs.IntVar(&t.Runs, "run-parallelism", 10, "Limit concurrent runs of a test file to `N`.")
	fs.BoolVar(&t.AllowDeferral, "allow-deferral", false, "Let runs defer changes that can't be planned yet.")
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
	case t.repair && !t.Cleanup:
		return diag.Incompatible.List("The -repair option has no meaning without -cleanup, which destroys everything that tests left.")
	case t.Watch && (t.Mutate || t.Cleanup), t.Mutate && t.Cleanup,
		(t.Mutate || t.Cleanup) && (t.Update || t.Covers() || t.JUnit != ""):
		return diag.Incompatible.List("The options -watch, -mutate and -cleanup exclude one another. -update, -junit-xml and the coverage options need a normal test run, which -mutate and -cleanup don't do.")
	}
	return nil
}
