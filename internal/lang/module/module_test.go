package module

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
)

func TestSelect(t *testing.T) {
	names := []string{
		"main.tf", "main.tofu", "only.tf.json", "both.tf.json", "both.tofu.json", ".hidden.tf", "backup.tf~", "#auto.tf#",
		"override.tf", "z_override.tf.json", "a_override.tofu", "a_override.tf", "x.tftest.hcl", "x.tfvars", "README.md", "b.tf",
	}
	primary, override := Select(names, dialect.OpenTofu)
	if got, want := strings.Join(primary, " "), "b.tf both.tofu.json main.tofu only.tf.json"; got != want {
		t.Errorf("primary files are %s, want %s", got, want)
	}
	if got, want := strings.Join(override, " "), "a_override.tofu override.tf z_override.tf.json"; got != want {
		t.Errorf("override files are %s, want %s", got, want)
	}
	primary, override = Select(names, dialect.Terraform)
	if got, want := strings.Join(append(primary, override...), " "), "b.tf both.tf.json main.tf only.tf.json a_override.tf override.tf z_override.tf.json"; got != want {
		t.Errorf("Terraform's files are %s, want %s", got, want)
	}
}

func TestOverrides(t *testing.T) {
	src, diags := Load(Memory{
		"m/main.tf": []byte(`variable "v" {
  default     = "main"
  description = "kept"
}
provider "p" {
  alias = "a"
  x     = 1
}
output "o" { value = 1 }
`),
		"m/a_override.tf": []byte(`variable "v" { default = "first" }
provider "p" {
  alias = "a"
  y     = 2
}
provider "p" { z = 3 }
resource "x" "y" {}
output "o" { depends_on = [] }
check "c" {}
locals { l = 1 }`),
		"m/override.tf.json": []byte(`{"variable": {"v": {"default": "last"}}}`),
	}, "m", dialect.OpenTofu)
	var got []string
	for _, b := range src.Blocks {
		attrs, _ := b.Body.JustAttributes()
		var names []string
		for _, name := range []string{"default", "description", "x", "y", "z", "value", "l"} {
			if attr := attrs[name]; attr != nil {
				v, _ := attr.Expr.Value(nil)
				names = append(names, fmt.Sprintf("%s=%#v", name, v))
			}
		}
		got = append(got, b.Type+" "+strings.Join(b.Labels, ".")+" "+strings.Join(names, " "))
	}
	want := []string{
		`variable v default=cty.StringVal("last") description=cty.StringVal("kept")`,
		`provider p x=cty.NumberIntVal(1) y=cty.NumberIntVal(2)`,
		`output o value=cty.NumberIntVal(1)`,
		`provider p z=cty.NumberIntVal(3)`,
		`locals  l=cty.NumberIntVal(1)`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("blocks are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	checkSummaries(t, diags, "Missing resource to override", "Unsupported override", "Can't override check blocks")
}

func checkSummaries(t *testing.T, diags diag.List, want ...string) {
	t.Helper()
	var got []string
	for _, d := range diags {
		got = append(got, d.Summary)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("diagnostics are %q, want %q", got, want)
	}
}

func TestLoadMissingDirectory(t *testing.T) {
	src, diags := Load(Disk{}, filepath.Join(t.TempDir(), "nosuch"), dialect.OpenTofu)
	if src == nil {
		t.Fatal("no source")
	}
	checkSummaries(t, diags, "Failed to read module directory")
}

func TestParseVariables(t *testing.T) {
	for name, text := range map[string]string{
		"a.tfvars":      "b = [1, \"x\"]\na = { k = null }\n",
		"a.tfvars.json": `{"b": [1, "x"], "a": {"k": null}}`,
	} {
		values, diags := ParseVariables(name, []byte(text))
		if len(diags) > 0 {
			t.Error(diags)
		}
		var got []string
		for _, v := range values {
			got = append(got, fmt.Sprintf("%s %#v", v.Name, v.Value))
		}
		want := `b cty.TupleVal([]cty.Value{cty.NumberIntVal(1), cty.StringVal("x")}) a cty.ObjectVal(map[string]cty.Value{"k":cty.NullVal(cty.DynamicPseudoType)})`
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %s", name, got)
		}
	}
	for text, want := range map[string]string{
		"a = var.x":         "Variables not allowed",
		"a = file(\"b\")":   "Function calls not allowed",
		"variable \"a\" {}": "Variable declaration in .tfvars file",
		"b {}":              `Unexpected "b" block`,
		"a = ":              "Missing expression",
	} {
		_, diags := ParseVariables("a.tfvars", []byte(text))
		checkSummaries(t, diags, want)
	}
	if v, diags := ParseValue(Origin("x"), `["a", 1]`); len(diags) > 0 || v.LengthInt() != 2 {
		t.Errorf("value is %#v, %v", v, diags)
	}
	if _, diags := ParseValue(Origin("x"), `["a"`); !diags.HasErrors() {
		t.Error("no error for a broken value")
	}
}

type fakeFetcher struct {
	calls []string
	err   error
}

func (f *fakeFetcher) Fetch(_ context.Context, source, constraint, dir string) (string, string, error) {
	f.calls = append(f.calls, source+" "+constraint+" "+dir)
	return dir, "1.2.3", f.err
}

func TestInstall(t *testing.T) {
	files := Memory{".data/modules/r/sub/main.tf": nil, ".data/modules/other/main.tf": nil, "m/main.tf": nil, "m/sub/main.tf": nil, "empty/x.txt": nil, "main.tf": nil, ".data/modules/r/main.tf": nil, ".data/modules/bad/x": nil}
	fetcher := &fakeFetcher{}
	in := &Installer{Files: files, DataDir: ".data", Fetcher: fetcher, Manifest: Manifest{}}
	tests := []struct {
		request Request
		dir     string
		summary []string
	}{
		{Request{Key: "m", ParentDir: ".", Source: "./m"}, "m", nil},
		{Request{Key: "m.s", ParentDir: "m", Source: "./sub/../sub"}, "m/sub", nil},
		{Request{Key: "e", ParentDir: ".", Source: "./empty"}, "", []string{"Unreadable module directory"}},
		{Request{Key: "n", ParentDir: ".", Source: "./nosuch"}, "", []string{"Unreadable module directory"}},
		{Request{Key: "b", ParentDir: ".", Source: "bare"}, "", []string{"Module not found"}},
		{Request{Key: "m.up", ParentDir: "m", Source: "../", Ancestors: []string{".", "m"}}, "", []string{"Module includes itself"}},
		{Request{Key: "r", ParentDir: ".", Source: "ns/name/prov", Constraint: "~> 1.0"}, ".data/modules/r", nil},
		{Request{Key: "r", ParentDir: ".", Source: "ns/name/prov", Constraint: "~> 1.2"}, ".data/modules/r", nil},
		{Request{Key: "r.s", ParentDir: ".data/modules/r", Source: "./sub"}, ".data/modules/r/sub", nil},
		{Request{Key: "r.o", ParentDir: ".data/modules/r", Source: "../other"}, "", []string{"Local module path escapes module package"}},
		{Request{Key: "r.s.o", ParentDir: ".data/modules/r/sub", Source: "../../../../m"}, "", []string{"Local module path escapes module package"}},
		{Request{Key: "bad", ParentDir: ".", Source: "git::https://x/y.git"}, "", []string{"Unreadable module directory"}},
	}
	for _, tt := range tests {
		dir, diags := in.Install(t.Context(), tt.request)
		if dir != tt.dir {
			t.Errorf("%s: directory is %q, want %q", tt.request.Key, dir, tt.dir)
		}
		checkSummaries(t, diags, tt.summary...)
	}
	want := "registry.opentofu.org/ns/name/prov ~> 1.0 .data/modules/r, git::https://x/y.git  .data/modules/bad"
	if got := strings.Join(fetcher.calls, ", "); got != want {
		t.Errorf("fetched %s, want %s", got, want)
	}
	fetcher.err = errors.New("no network")
	in.Upgrade = true
	upgraded := maps.Clone(in.Manifest)
	_, diags := in.Install(t.Context(), tests[6].request)
	checkSummaries(t, diags, "Failed to download module")
	if _, ok := in.Manifest["r.s"]; ok {
		t.Error("what a module called that is replaced is still noted")
	}
	fetcher.err = fmt.Errorf("wrapped: %w", &Problem{"Module has no versions", "None."})
	_, diags = in.Install(t.Context(), tests[6].request)
	checkSummaries(t, diags, "Module has no versions")
	const file = `{"Modules":[{"Key":"m","Source":"./m","Dir":"m"},{"Key":"m.s","Source":"./sub","Dir":"m/sub"},{"Key":"r","Source":"registry.opentofu.org/ns/name/prov","Version":"1.2.3","Dir":".data/modules/r"},{"Key":"r.s","Source":"./sub","Dir":".data/modules/r/sub"}]}`
	if got := string(upgraded.Bytes()); got != file {
		t.Errorf("manifest is %s", got)
	}
}

func TestManifest(t *testing.T) {
	dir := t.TempDir()
	m, err := ReadManifest(Disk{}, dir)
	if err != nil || len(m) != 0 {
		t.Fatal(m, err)
	}
	m["a"] = Record{Key: "a", Source: "registry.opentofu.org/ns/name/prov", Version: "1.2.3", Dir: "x/y"}
	if err := m.Write(dir); err != nil {
		t.Fatal(err)
	}
	if m, err = ReadManifest(Disk{}, dir); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ key, source, constraint, dir, summary string }{
		{"a", "ns/name/prov", "~> 1.2", "x/y", ""},
		{"a", "ns/name/prov", "", "x/y", ""},
		{"a", "ns/name/prov", "~> 2.0", "", "Module version requirements have changed"},
		{"a", "./x", "", "", "Module source has changed"},
		{"b", "./x", "", "", "Module not installed"},
		{"b", "x", "", "", "Module not found"},
		{"b", "", "", "", "Invalid module source address"},
	} {
		got, diags := m.Find(tt.key, tt.source, tt.constraint, addr.OpenTofu, hcl.Range{})
		if got != tt.dir || len(diags) > 0 != (tt.summary != "") || len(diags) > 0 && diags[0].Summary != tt.summary {
			t.Errorf("%v: got %q, %v", tt, got, diags)
		}
	}
	for _, text := range []string{"{", `{"Modules":[{"Key":"a"},{"Key":"a"}]}`} {
		if _, err := ParseManifest([]byte(text)); err == nil {
			t.Errorf("no error for %s", text)
		}
	}
}
