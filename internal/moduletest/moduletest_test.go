package moduletest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/moduletest"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/moduletest/testresult"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/fake"
	"weir.dev/weir/internal/state"
)

// counting counts the providers that are started.
type counting struct {
	fake.Catalog
	starts int
}

func (c *counting) Start(ctx context.Context, p addr.Provider) (provider.Provider, diag.List) {
	c.starts++
	return c.Catalog.Start(ctx, p)
}

// told keeps what a suite reports.
type told struct {
	text    strings.Builder
	cleaned []string
}

func (*told) FileStarts(*testresult.File)    {}
func (*told) CleanupStarts(*testresult.File) {}
func (*told) FileEnds(*testresult.File)      {}
func (r *told) RunEnds(_ *testresult.File, run *testresult.Run) {
	fmt.Fprintf(&r.text, "%s %s\n", run.Name, run.Status)
	for _, d := range run.Diags {
		fmt.Fprintf(&r.text, "  %s\n", d)
	}
}

func (r *told) Cleaned(_ *testresult.File, run *testresult.Run, diags diag.List, left *state.Snapshot) {
	entry := run.Name
	if left != nil {
		entry += " left"
	}
	r.cleaned = append(r.cleaned, entry)
}

type world struct {
	files   module.Memory
	fake    *fake.Provider
	catalog *counting
	dialect dialect.Dialect
	stop    chan struct{}
	shelf   moduletest.Shelf
}

func newWorld(files module.Memory) *world {
	p := fake.New()
	p.Config = fake.NewType("region string")
	p.Resources["sim_object"] = fake.NewType("name string required", "parent string", "id string computed", "size number optional computed")
	return &world{files: files, fake: p, catalog: &counting{Catalog: fake.Catalog{addr.OpenTofu.Provider("sim"): p}}, stop: make(chan struct{})}
}

func (w *world) run(t *testing.T) (*testresult.Suite, *told) {
	t.Helper()
	files, diags := testfile.Load(w.files, ".", "tests", w.dialect)
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	all, report := testresult.New(files), &told{}
	resolve := func(_ context.Context, r module.Request) (string, diag.List) {
		return strings.TrimPrefix(r.Source, "./"), nil
	}
	moduletest.Run(t.Context(), all, moduletest.Options{
		World: engine.World{
			Catalog: w.catalog, Dialect: w.dialect, WorkDir: ".", OriginalDir: "/", Workspace: "default",
			Now: func() time.Time { return time.Unix(0, 0) },
		},
		Dir: ".", Files: w.files, Resolve: resolve, Sources: map[string][]byte{}, Report: report, Stop: w.stop, Shelf: w.shelf,
	})
	return all, report
}

const instances = `
resource "sim_object" "a" {
  count = 2
  name  = "a${count.index}"
}
module "net" {
  for_each = toset(["x", "y"])
  source   = "./net"
}
output "ids" { value = sim_object.a[*].id }
output "nets" { value = { for k, n in module.net : k => n.id } }
`

// An override of an instance counts more than one of all of them, one of a run
// more than one of its file, and none is seen by the next file.
func TestOverrides(t *testing.T) {
	w := newWorld(module.Memory{
		"main.tf":     []byte(instances),
		"net/main.tf": []byte(`output "id" { value = "real" }`),
		"a.tftest.hcl": []byte(`
mock_provider "sim" {}
override_resource {
  target = sim_object.a
  values = { id = "all" }
}
override_module {
  target  = module.net["y"]
  outputs = { id = "made up" }
}
run "file" {
  command = plan
  override_resource {
    target = sim_object.a[1]
    values = { id = "one" }
  }
  assert {
    condition     = jsonencode(output.ids) == jsonencode(["all", "one"])
    error_message = jsonencode(output.ids)
  }
  assert {
    condition     = jsonencode(output.nets) == jsonencode({ x = "real", y = "made up" })
    error_message = jsonencode(output.nets)
  }
}
`),
		"b.tftest.hcl": []byte(`
mock_provider "sim" {}
run "next" {
  command = plan
  assert {
    condition     = output.nets["y"] == "real" && !contains(output.ids, "all") && output.ids[0] != output.ids[1]
    error_message = jsonencode([output.ids, output.nets])
  }
}
`),
	})
	if all, report := w.run(t); all.Status != testresult.Pass {
		t.Errorf("%s:\n%s", all.Status, &report.text)
	}
}

// A mocked provider isn't started; made-up values are the same each time.
func TestMocksStartNothing(t *testing.T) {
	files := module.Memory{
		"main.tf": []byte(`
resource "sim_object" "a" { name = "a" }
output "id" { value = sim_object.a.id }
`),
		"a.tftest.hcl": []byte(`
mock_provider "sim" {}
run "make" {}
run "again" {
  variables {
    before = run.make.id
  }
  assert {
    condition     = output.id == var.before && length(output.id) == 8 && sim_object.a.size >= 0
    error_message = output.id
  }
}
`),
	}
	for _, d := range []dialect.Dialect{dialect.OpenTofu, dialect.Terraform} {
		w := newWorld(files)
		w.dialect = d
		w.catalog.Catalog = fake.Catalog{d.Registry().Provider("sim"): w.fake}
		all, report := w.run(t)
		if all.Status != testresult.Pass {
			t.Errorf("%s: %s:\n%s", d, all.Status, &report.text)
		}
		if w.catalog.starts != 0 {
			t.Errorf("%s: %d providers were started", d, w.catalog.starts)
		}
	}
}

// A mistake in what belongs to the whole file fails the run that needs it in
// OpenTofu mode. In Terraform mode the run is skipped and the file fails. A run with
// a value of its own doesn't need the file's.
func TestMistakesOfFiles(t *testing.T) {
	for file, want := range map[string]map[dialect.Dialect]string{
		`
variables {
  name = var.own.value
}
run "own" {
  variables {
    name = "x"
  }
}
run "needs" {}
run "after" {}
`: {dialect.OpenTofu: "own pass, needs error, after skip", dialect.Terraform: "own pass, needs skip, after skip"},
		`
variables {
  name = "x"
}
provider "sim" {
  region = run.missing.region
}
run "needs" {}
`: {dialect.OpenTofu: "needs error", dialect.Terraform: "needs skip"},
	} {
		for d, want := range want {
			w := newWorld(module.Memory{
				"main.tf": []byte(`
variable "name" { type = string }
resource "sim_object" "a" { name = var.name }
`),
				"a.tftest.hcl": []byte(file),
			})
			w.dialect = d
			w.catalog.Catalog = fake.Catalog{d.Registry().Provider("sim"): w.fake}
			all, report := w.run(t)
			var got []string
			for _, r := range all.Files[0].Runs {
				got = append(got, r.Name+" "+r.Status.String())
			}
			if strings.Join(got, ", ") != want || all.Status != testresult.Error || all.Files[0].Status != testresult.Error || !strings.Contains(report.text.String(), "Reference to un") {
				t.Errorf("%s: %s, file %s, instead of %s:\n%s", d, got, all.Files[0].Status, want, &report.text)
			}
		}
	}
}

// Values that mocked providers compute are known from the plan on in OpenTofu, and after
// the apply in Terraform, unless the test says otherwise.
func TestWhenMocksAreKnown(t *testing.T) {
	for _, tt := range []struct {
		dialect dialect.Dialect
		during  string
		want    testresult.Status
	}{
		{dialect.OpenTofu, "", testresult.Pass},
		{dialect.OpenTofu, "override_during = apply", testresult.Error},
		{dialect.Terraform, "", testresult.Error},
		{dialect.Terraform, "override_during = plan", testresult.Pass},
	} {
		w := newWorld(module.Memory{
			"main.tf": []byte(`resource "sim_object" "a" { name = "a" }`),
			"a.tftest.hcl": []byte(`
mock_provider "sim" {
  ` + tt.during + `
  mock_resource "sim_object" {
    defaults = { id = "given" }
  }
}
run "plan" {
  command = plan
  assert {
    condition     = sim_object.a.id == "given"
    error_message = sim_object.a.id
  }
}
`),
		})
		w.dialect = tt.dialect
		w.catalog.Catalog = fake.Catalog{tt.dialect.Registry().Provider("sim"): w.fake}
		if all, report := w.run(t); all.Status != tt.want {
			t.Errorf("%s with %q: %s:\n%s", tt.dialect, tt.during, all.Status, &report.text)
		}
	}
}

// Runs that configure a provider alike share its process.
func TestProcessesAreShared(t *testing.T) {
	w := newWorld(module.Memory{
		"main.tf": []byte(`
variable "region" { default = "r" }
provider "sim" { region = var.region }
resource "sim_object" "a" { name = "a" }
`),
		"a.tftest.hcl": []byte("run \"a\" {}\nrun \"b\" {}\nrun \"c\" {\n variables { region = \"other\" }\n}\n"),
	})
	all, report := w.run(t)
	if all.Status != testresult.Pass {
		t.Fatalf("%s:\n%s", all.Status, &report.text)
	}
	if w.catalog.starts != 2 {
		t.Errorf("%d providers were started for 2 configurations", w.catalog.starts)
	}
}

// States are destroyed in the reverse order of the runs that changed them last,
// also when no further run is to be started.
func TestCleanup(t *testing.T) {
	w := newWorld(module.Memory{
		"main.tf":     []byte(`resource "sim_object" "a" { name = "a" }`),
		"net/main.tf": []byte(`resource "sim_object" "n" { name = "n" }`),
		"a.tftest.hcl": []byte(`
run "one" {}
run "two" {
  module { source = "./net" }
}
run "three" {
  state_key = "other"
}
run "four" {
  command = plan
}
`),
	})
	made := 0
	object := w.fake.Resources["sim_object"]
	object.Apply = func(r provider.ApplyRequest) provider.ApplyResponse {
		if !r.Planned.IsNull() {
			return object.DefaultApply(r, func() int { made++; return made })
		}
		if r.Prior.GetAttr("name").AsString() == "n" {
			var diags diag.List
			diags.Add(provider.Reported.As("Stuck").New(diag.Error, "It can't be deleted."))
			return provider.ApplyResponse{New: r.Prior, Diags: diags}
		}
		return provider.ApplyResponse{New: cty.NullVal(r.Prior.Type())}
	}
	all, report := w.run(t)
	if want := []string{"three", "two left", "one"}; !slices.Equal(report.cleaned, want) || all.Status != testresult.Error {
		t.Errorf("%s, cleaned %q, want %q:\n%s", all.Status, report.cleaned, want, &report.text)
	}

	close(w.stop)
	all, report = w.run(t)
	if all.Count(testresult.Skip) != 4 || report.cleaned != nil {
		t.Errorf("after the interrupt: %s%q", &report.text, report.cleaned)
	}
}

// The problems of a test are reported with the run that has them.
func TestProblems(t *testing.T) {
	for name, tt := range map[string]struct {
		test, want string
		status     testresult.Status
	}{
		"later run":       {"run \"a\" {\n variables { v = run.b.o }\n}\nrun \"b\" {}", "Reference to unavailable run block", testresult.Error},
		"unknown run":     {"run \"a\" {\n variables { v = run.nope.o }\n}", "Reference to unknown run block", testresult.Error},
		"no such value":   {"run \"a\" {\n variables { v = var.nope }\n}", "Reference to unavailable variable", testresult.Error},
		"no such output":  {"run \"a\" {\n assert {\n condition = output.nope\n error_message = \"\"\n }\n}", "Reference to undeclared output value", testresult.Error},
		"false":           {"run \"a\" {\n assert {\n condition = output.o == \"x\"\n error_message = \"not x\"\n }\n}", "Test assertion failed; not x", testresult.Fail},
		"null":            {"run \"a\" {\n assert {\n condition = null\n error_message = \"\"\n }\n}", "Invalid condition result", testresult.Error},
		"module expected": {`run "a" { expect_failures = [module.m] }`, "Invalid `expect_failures` reference", testresult.Error},
		"not failed":      {`run "a" { expect_failures = [var.v] }`, "Missing expected failure", testresult.Error},
		"no provider":     {`run "a" { providers = { sim = sim.nope } }`, "Missing provider definition for sim.nope", testresult.Error},
	} {
		w := newWorld(module.Memory{
			"main.tf":      []byte("variable \"v\" { default = \"\" }\noutput \"o\" { value = var.v }\nresource \"sim_object\" \"a\" { name = \"a\" }"),
			"a.tftest.hcl": []byte(tt.test),
		})
		all, report := w.run(t)
		if all.Files[0].Runs[0].Status != tt.status || !strings.Contains(report.text.String(), tt.want) {
			t.Errorf("%s: want %q with status %s, got:\n%s", name, tt.want, tt.status, &report.text)
		}
	}
}

// Parallel runs on states of their own are carried out at the same time, unless
// one refers to the other.
func TestParallel(t *testing.T) {
	w := newWorld(module.Memory{
		"main.tf": []byte(`
variable "after" { default = "" }
resource "sim_object" "a" { name = "a" }
output "id" { value = sim_object.a.id }
`),
		"a.tftest.hcl": []byte(`
test { parallel = true }
run "one" { state_key = "1" }
run "two" { state_key = "2" }
run "three" {
  state_key = "3"
  variables { after = run.two.id }
}
run "last" {
  parallel = false
  variables { after = "${run.one.id}${run.three.id}" }
}
`),
	})
	// The first two creations wait for one another.
	var both sync.WaitGroup
	both.Add(2)
	var creations atomic.Int32
	w.fake.Before = func(_ context.Context, call, _ string, about cty.Value) error {
		if call == "Apply" && creations.Add(1) <= 2 {
			both.Done()
			both.Wait()
		}
		return nil
	}
	if all, report := w.run(t); all.Count(testresult.Pass) != 4 {
		t.Errorf("%s:\n%s", all.Status, &report.text)
	}
}

// begun counts the states that are to be kept.
type begun struct{ n int }

func (b *begun) Begin(context.Context, testresult.Label) (moduletest.Kept, diag.List) {
	b.n++
	return nil, diag.Unreadable.As("No place").List("There is none.")
}

// Nothing is kept on disk of what is made up; what is real isn't made where it
// can't be kept.
func TestKeptStates(t *testing.T) {
	for text, want := range map[string]string{
		"mock_provider \"sim\" {}\nrun \"made\" {}":                        "made pass\n",
		"override_resource {\n  target = sim_object.a\n}\nrun \"made\" {}": "made pass\n",
		"run \"made\" { command = plan }":                                  "made pass\n",
		"run \"made\" {}":                                                  "made error\n  error: No place; There is none.\n",
	} {
		w := newWorld(module.Memory{"main.tf": []byte("resource \"sim_object\" \"a\" { name = \"a\" }\n"), "a.tftest.hcl": []byte(text)})
		shelf := &begun{}
		w.shelf = shelf
		_, report := w.run(t)
		if got := report.text.String(); got != want {
			t.Errorf("%s: got\n%s", text, got)
		}
		if failed := strings.Contains(want, "error"); failed != (shelf.n == 1) || w.fake.Count("Apply") > 0 {
			t.Errorf("%s: %d states kept, %s", text, shelf.n, w.fake.Counts())
		}
	}
}

// Anything that isn't there to be overridden is reported once by a file, and by a run if it is
// the run's; runs of other modules aren't held to what the file overrides.
func TestOverrideTargets(t *testing.T) {
	w := newWorld(module.Memory{
		"main.tf":     []byte(instances),
		"net/main.tf": []byte(`output "id" { value = "real" }`),
		"a.tftest.hcl": []byte(`
mock_provider "sim" {}
override_module { target = module.none }
override_resource { target = sim_object.a[1] }
override_module { target = module.net["x"] }
run "other" {
  module { source = "./net" }
}
run "first" {}
run "second" {
  override_data { target = module.net.data.sim_object.none }
}
`),
	})
	w.dialect = dialect.Terraform
	w.catalog.Catalog[addr.Terraform.Provider("sim")] = w.fake
	_, report := w.run(t)
	const missing = "  a.tftest.hcl:%s: warning: Invalid override target; The override target %s does not exist within the configuration under test. This could indicate a typo in the target address or an unnecessary override.\n"
	want := "other pass\nfirst pass\n" + fmt.Sprintf(missing, "3,28-39", "module.none") + "second pass\n" + fmt.Sprintf(missing, "11,28-59", "module.net.data.sim_object.none")
	if got := report.text.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// References to runs in provider blocks are checked like all others.
func TestRunsInProviders(t *testing.T) {
	w := newWorld(module.Memory{
		"main.tf": []byte("resource \"sim_object\" \"a\" { name = \"a\" }\noutput \"name\" { value = \"n\" }\n"),
		"a.tftest.hcl": []byte(`
provider "sim" { region = run.later.name }
run "first" {}
run "later" {}
`),
		"b.tftest.hcl": []byte(`
provider "sim" {
  alias  = "x"
  region = run.first.name
}
run "first" {}
run "later" {
  providers = { sim = sim.x }
}
`),
	})
	_, report := w.run(t)
	got := report.text.String()
	if !strings.HasPrefix(got, "first error\n  a.tftest.hcl:2,27-41: error: Reference to unavailable run block; The run block \"later\" has no results here") || !strings.HasSuffix(got, "later skip\nfirst pass\nlater pass\n") {
		t.Errorf("got\n%s", got)
	}
}

// In Terraform, variables that a file gives may refer to one another in any order,
// and to runs.
func TestFileVariables(t *testing.T) {
	files := module.Memory{
		"main.tf": []byte(`
variable "name" { type = string }
output "name" { value = var.name }
`),
		"a.tftest.hcl": []byte(`
variables {
  full  = "${var.half} ${var.base}"
  base  = "b"
  half  = "half of ${var.base}"
  later = run.one.name
}
run "one" {
  variables { name = var.full }
  assert {
    condition     = output.name == "half of b b"
    error_message = "It is ${output.name}."
  }
}
run "two" {
  variables { name = "${var.later}!" }
  assert {
    condition     = output.name == "half of b b!"
    error_message = "It is ${output.name}."
  }
}
`),
	}
	for d, want := range map[dialect.Dialect]testresult.Status{dialect.Terraform: testresult.Pass, dialect.OpenTofu: testresult.Error} {
		w := newWorld(files)
		w.dialect = d
		if all, report := w.run(t); all.Status != want {
			t.Errorf("with %v: %v\n%s", d, all.Status, report.text.String())
		}
	}
}

// Files and runs after an interrupt are skipped.
func TestStoppedBefore(t *testing.T) {
	w := newWorld(module.Memory{"main.tf": []byte(""), "a.tftest.hcl": []byte(`run "a" {}`)})
	close(w.stop)
	all, report := w.run(t)
	if all.Status != testresult.Fail || all.Files[0].Status != testresult.Skip || report.text.String() != "a skip\n" {
		t.Errorf("the file: %v, its runs:\n%s", all.Files[0].Status, report.text.String())
	}
}
