package testfile_test

import (
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/moduletest/testfile"
)

// A .tofutest file takes the place of the .tftest file of the same name, where
// OpenTofu's files are read.
func TestFind(t *testing.T) {
	files := module.Memory{}
	for _, name := range []string{
		"a.tftest.hcl", "a.tofutest.hcl", "b.tftest.json", "b.tofutest.json", "c.tftest.hcl~", ".d.tftest.hcl", "main.tf",
		"tests/e.tftest.hcl", "other/f.tftest.hcl",
	} {
		files[name] = nil
	}
	for _, tt := range []struct {
		dir     string
		dialect dialect.Dialect
		want    string
	}{
		{"tests", dialect.OpenTofu, "a.tofutest.hcl b.tofutest.json tests/e.tftest.hcl"},
		{"./other/", dialect.OpenTofu, "a.tofutest.hcl b.tofutest.json other/f.tftest.hcl"},
		{".", dialect.Terraform, "a.tftest.hcl b.tftest.json"},
	} {
		if got := strings.Join(testfile.Find(files, ".", tt.dir, tt.dialect), " "); got != tt.want {
			t.Errorf("%s in %s: %s", tt.dialect, tt.dir, got)
		}
	}
	for _, dir := range []string{"..", "../tests", "/tests"} {
		if !testfile.CheckDirectory(dir).HasErrors() {
			t.Errorf("%s may have tests", dir)
		}
	}
}

func load(text string, d dialect.Dialect) (*testfile.File, string) {
	files, diags := testfile.Load(module.Memory{
		"a.tftest.hcl":       []byte(text),
		"mocks/m.tfmock.hcl": []byte("mock_resource \"x\" {\n defaults = { id = \"file\" }\n}\nmock_data \"y\" {}\n"),
	}, ".", "tests", d)
	var lines []string
	for _, d := range diags {
		lines = append(lines, d.String())
	}
	if len(files) == 0 {
		return &testfile.File{}, strings.Join(lines, "\n")
	}
	return files[0], strings.Join(lines, "\n")
}

func TestLoad(t *testing.T) {
	f, problems := load(`
test { parallel = true }
variable "v" { type = string }
mock_provider "p" {
  alias  = "m"
  source = "./mocks"
  mock_resource "x" {}
}
run "a" {
  command    = plan
  parallel   = false
  providers  = { p = p.m }
  state_key  = "k"
  expect_failures = [var.v, output.o, check.c, x.y["k"], data.x.y]
  plan_options {
    mode    = refresh-only
    target  = [module.m[0], x.y]
    replace = [x.z[1]]
  }
  override_module { target = module.m }
}
run "b" {}
`, dialect.Terraform)
	if problems != "" {
		t.Fatal(problems)
	}
	a := f.Runs[0]
	var expected, targets []string
	for _, e := range a.Expected {
		expected = append(expected, e.Kind+" "+e.Address)
	}
	for _, x := range a.Targets {
		targets = append(targets, x.String())
	}
	if want := []string{"input_variable var.v", "output_value output.o", "check check.c", `resource x.y["k"]`, "resource data.x.y"}; !slices.Equal(expected, want) {
		t.Errorf("expected failures: %q", expected)
	}
	if want := []string{"module.m[0]", "x.y"}; !slices.Equal(targets, want) || a.Replace[0].String() != "x.z[1]" {
		t.Errorf("targets %q, replace %v", targets, a.Replace)
	}
	if !a.PlanOnly || !a.RefreshOnly || a.Parallel || !f.Runs[1].Parallel || a.StateKey != "k" || !a.Overrides[0].IsModule() {
		t.Errorf("%+v", a)
	}
	mock := f.Providers[0].Mock
	if len(mock.Resources) != 2 || mock.Resources[0].Defaults != nil {
		t.Errorf("what the test file says doesn't count more than the mock file: %+v", mock.Resources)
	}
}

func TestProblems(t *testing.T) {
	for text, want := range map[string]string{
		"nosuch {}":                                        "Unsupported block type",
		"variables {}\nvariables {}":                       `Multiple "variables" blocks`,
		"run \"a b\" {}":                                   "Invalid run block name",
		"run \"a\" { command = go }":                       `Invalid "command" keyword`,
		"run \"a\" {}\nrun \"a\" {}":                       `Duplicate "run" block names`,
		"provider \"P\" {}":                                "Invalid provider local name",
		"mock_provider \"p\" {}\nprovider \"p\" {}":        "Duplicate provider block",
		"mock_provider \"p\" {\n source = \"./nope\"\n}":   "Failed to read mock directory",
		"mock_provider \"p\" {\n override_during = now\n}": "Invalid override_during value",
		"mock_provider \"p\" {\n mock_data \"x\" {}\n mock_data \"x\" {}\n}":            "Duplicated `mock_data` block",
		"override_resource { target = module.m }":                                       "Invalid override target",
		"override_data { target = x.y }":                                                "Invalid override target",
		"override_module { target = x.y }":                                              "Invalid override target",
		"override_resource { target = x.y }\noverride_resource { target = x.y }":        "Duplicated `override_resource` block",
		"run \"a\" {\n assert { condition = true }\n}":                                  "Missing required argument",
		"run \"a\" {\n plan_options {\n  mode = refresh-only\n  refresh = false\n }\n}": "Incompatible plan options",
		"run \"a\" {\n plan_options { replace = [data.x.y] }\n}":                        "Can only target resources",
		"run \"a\" {\n module { source = 1 + true }\n}":                                 "Invalid operand",
		"run \"a\" {\n module {\n  source = \"./m\"\n  version = \"1\"\n }\n}":          "Invalid registry module source address",
		"run \"a\" {\n backend \"local\" {}\n}":                                         "Invalid block",
		"test { skip_cleanup = true }":                                                  "Invalid attribute",
	} {
		if _, got := load(text, dialect.Terraform); !strings.Contains(got, want) {
			t.Errorf("%s\nwant %q, got %q", text, want, got)
		}
	}
	if f, got := load(`run "a" { expect_failures = [local.x] }`, dialect.OpenTofu); got != "" || !strings.Contains(f.Runs[0].Problems.Err().Error(), "Invalid `expect_failures` reference") {
		t.Errorf("%q, %v", got, f.Runs[0].Problems)
	}
}

// TestDirectives: comments directly above a run ask for something, elsewhere they
// are mistakes, and so is what isn't understood.
func TestDirectives(t *testing.T) {
	f, problems := load("# weir: snapshot\n// weir: generate a, b samples=7\nrun \"one\" {}\n\n# about weir: nothing\nrun \"two\" {}\n", dialect.OpenTofu)
	if problems != "" {
		t.Fatal(problems)
	}
	one, two := f.Runs[0], f.Runs[1]
	if g := one.Generate; !one.Snapshot || g == nil || !slices.Equal(g.Variables, []string{"a", "b"}) || g.Samples != 7 {
		t.Errorf("%+v %+v", one, g)
	}
	if two.Snapshot || two.Generate != nil {
		t.Errorf("%+v", two)
	}
	for text, want := range map[string]string{
		"# weir: snapshot\n\nrun \"a\" {}":                               "Misplaced directive",
		"run \"a\" {\n # weir: snapshot\n}":                              "Misplaced directive",
		"# weir: snapshott\nrun \"a\" {}":                                "Did you mean \"snapshot\"?",
		"# weir: snapshot now\nrun \"a\" {}":                             "only the word order has a meaning",
		"# weir: order a\nrun \"a\" {}":                                  "Write order create ADDRESS before",
		"# weir: order a.b before c\nrun \"a\" {}":                       "Invalid directive",
		"# weir: generate\nrun \"a\" {}":                                 "Say which variables",
		"# weir: generate a samples=1000000000\nrun \"a\" {}":            "100000 samples at most",
		"# weir: generate a samples=none\nrun \"a\" {}":                  "no meaning here",
		"# weir: generate a-b, 7\nrun \"a\" {}":                          "no name of a variable",
		"# weir: generate a\n# weir: generate b\nrun \"a\" {}":           "directive for this run already",
		"# weir: snapshot\nrun \"a\" {}\n# weir: snapshot\nrun \"a\" {}": "Two snapshots of one name",
	} {
		if _, problems := load(text, dialect.OpenTofu); !strings.Contains(problems, want) {
			t.Errorf("%s: %s", text, problems)
		}
	}
}
