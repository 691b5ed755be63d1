package lockfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/provider/version"
)

const normal = `# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "example.com/a/b" {
  version = "1.0.0"
}

provider "registry.opentofu.org/hashicorp/null" {
  version     = "3.2.1"
  constraints = ">= 3.0.0, < 4.0.0"
  hashes = [
    "h1:AAAA",
    "zh:0123",
  ]
}
`

func TestRoundTrip(t *testing.T) {
	locks, diags := Parse([]byte(normal), Name)
	if diags != nil {
		t.Fatal(diags)
	}
	if got := string(locks.Bytes("tofu")); got != normal {
		t.Errorf("written again:\n%s", got)
	}
	lock, ok := locks.Get(addr.OpenTofu.Provider("null"))
	if !ok || lock.Version.String() != "3.2.1" || len(lock.Hashes) != 2 {
		t.Errorf("%+v", lock)
	}
	clone := locks.Clone()
	constrained := lock
	constrained.Constraints = version.Constraints{}
	clone.Set(constrained)
	if locks.Equal(clone) || !locks.SamePackages(clone) {
		t.Errorf("only a constraint differs:\n%s", clone.Bytes("tofu"))
	}
	lock.Hashes = []string{"zh:1", "h1:2", "h1:2"}
	clone.Set(lock)
	if locks.Equal(clone) || locks.SamePackages(clone) || !locks.SameProviders(clone) || !strings.Contains(string(clone.Bytes("tofu")), "\"h1:2\",\n    \"zh:1\",") {
		t.Errorf("changed clone:\n%s", clone.Bytes("tofu"))
	}
	clone.Remove(lock.Provider)
	if locks.SameProviders(clone) {
		t.Error("a lock was removed from the clone only")
	}
}

func TestParseProblems(t *testing.T) {
	for text, want := range map[string]string{
		`provider "a" {`:                "error: Unclosed configuration block",
		`provider "a b" {}`:             "Invalid provider source address",
		`provider "a/b" {}`:             "Non-normalized provider source address",
		`provider "example.com/a/b" {}`: "Missing required argument",
		`thing "x" {}`:                  "Unsupported block type",
		`module "x" {}`:                 "warning: Dependency locks for modules",
		`provider "terraform.io/builtin/terraform" {}`:                                                                       "built-in provider",
		"provider \"example.com/a/b\" {\n  version = 1\n}":                                                                   ":2,13-14: error: Unsuitable value type",
		"provider \"example.com/a/b\" {\n  version = \"x\"\n}":                                                               "Invalid provider version number",
		"provider \"example.com/a/b\" {\n  version = \"v1.0.0\"\n}":                                                          "Invalid provider version number",
		"provider \"example.com/a/b\" {\n  version = \"1.0.0\"\n  constraints = \"x\"\n}":                                    "Invalid provider version constraints",
		"provider \"example.com/a/b\" {\n  version = \"1.0.0\"\n  constraints = \">=1\"\n}":                                  `normalized form: ">= 1.0.0"`,
		"provider \"example.com/a/b\" {\n  version = \"1.0.0\"\n  hashes = []\n}":                                            "Invalid provider hash set",
		"provider \"example.com/a/b\" {\n  version = \"1.0.0\"\n  hashes = [\"x\"]\n}":                                       "Invalid provider hash string",
		"provider \"example.com/a/b\" {\n  version = \"1.0.0\"\n}\nprovider \"example.com/a/b\" {\n  version = \"1.0.0\"\n}": "Duplicate provider lock",
	} {
		_, diags := Parse([]byte(text), Name)
		var got string
		for _, d := range diags {
			got += d.String() + "\n"
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s\ngives %s\nwithout %s", text, got, want)
		}
	}
}

func TestWriteOnlyChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	if err := (&Locks{}).Write(path, "tofu"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was made for no locks")
	}
	locks, _ := Parse([]byte(normal), Name)
	for range 2 {
		if err := locks.Write(path, "tofu"); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	info, _ := os.Stat(path)
	if info.Mode().Perm() != 0o444 {
		t.Error("the file was written again though nothing changed")
	}
	again, diags := Read(path)
	if diags != nil || !again.Equal(locks) {
		t.Errorf("%v\n%s", diags, again.Bytes("tofu"))
	}
	if err := locks.Write(filepath.Join(path, "below a file"), "tofu"); err == nil {
		t.Error("no error")
	}
}

func TestAdopt(t *testing.T) {
	for _, own := range []addr.Registry{addr.OpenTofu, addr.Terraform} {
		locks, _ := Parse([]byte(strings.ReplaceAll(normal, "registry.opentofu.org", string(own.Other()))), Name)
		if added := locks.Adopt(own); len(added) != 1 || added[0] != own.Provider("null") {
			t.Errorf("added %v to %s", added, own)
		}
		lock, _ := locks.Get(own.Provider("null"))
		if lock.Version.String() != "3.2.1" || lock.Hashes != nil || lock.Constraints.Empty() {
			t.Errorf("%+v", lock)
		}
		if added := locks.Adopt(own); added != nil {
			t.Errorf("added again: %v", added)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(normal)
	f.Fuzz(func(t *testing.T, text string) {
		locks, diags := Parse([]byte(text), Name)
		if diags.HasErrors() {
			return
		}
		again, diags := Parse(locks.Bytes("tofu"), Name)
		if diags.HasErrors() || !again.Equal(locks) {
			t.Errorf("%v\n%s", diags, locks.Bytes("tofu"))
		}
	})
}
