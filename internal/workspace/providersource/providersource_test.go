package providersource

import (
	"os"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider/plugin"
	"weir.dev/weir/internal/workspace/backendinit"
	"weir.dev/weir/internal/workspace/environment"
)

// TestOverrideWarning: what isn't a released provider is named, in order.
func TestOverrideWarning(t *testing.T) {
	var s Sources
	if diags := overrideWarning(s); diags != nil {
		t.Error(diags)
	}
	s.overrides = map[addr.Provider]string{}
	for _, name := range []string{"c", "a", "b"} {
		p, err := addr.OpenTofu.ParseProvider("x/" + name)
		if err != nil {
			t.Fatal(err)
		}
		s.overrides[p] = "/dev/" + name + "/terraform-provider-" + name
	}
	diags := overrideWarning(s)
	want := "\n - x/a in /dev/a\n - x/b in /dev/b\n - x/c in /dev/c\n"
	if len(diags) != 1 || diags[0].Summary != "Provider development overrides are in effect" || !strings.Contains(diags[0].Detail, want) {
		t.Errorf("%v", diags)
	}
}

// TestAttached: init reminds of providers that run already, in their order.
func TestAttached(t *testing.T) {
	var s Sources
	if diags := attachedWarning(s); len(diags) > 0 {
		t.Error(diags)
	}
	s.reattach = map[addr.Provider]plugin.Reattach{}
	for _, name := range []string{"b", "a"} {
		p, err := addr.OpenTofu.ParseProvider("x/" + name)
		if err != nil {
			t.Fatal(err)
		}
		s.reattach[p] = plugin.Reattach{}
	}
	if diags := attachedWarning(s); len(diags) != 1 || diags[0].Severity != diag.Warning || !strings.Contains(diags[0].Detail, "\n - x/a\n - x/b\n") {
		t.Error(diags)
	}
}

// TestSwitches: what a provider declares may hang on switches in its environment,
// and on nothing that differs from run to run.
func TestSwitches(t *testing.T) {
	base := map[string]string{"PATH": "/bin", "ARM_BETA": "true", "HOME": "/root"}
	with := func(name, value string) string {
		environ := map[string]string{name: value}
		for k, v := range base {
			if _, ok := environ[k]; !ok {
				environ[k] = v
			}
		}
		return switches(environ)
	}
	if got := switches(base); got != "ARM_BETA=true" {
		t.Errorf("%q", got)
	}
	for _, other := range [][2]string{{"ARM_BETA", "false"}, {"ARM_BETA", ""}, {"TF_X_MORE", "1"}} {
		if with(other[0], other[1]) == switches(base) {
			t.Errorf("%s=%s makes no difference", other[0], other[1])
		}
	}
	for _, same := range [][2]string{{"AWS_SESSION_TOKEN", "abc"}, {"SHLVL", "1"}, {"TF_VAR_on", "true"}, {"PWD", "/x"}} {
		if with(same[0], same[1]) != switches(base) {
			t.Errorf("%s=%s makes a difference", same[0], same[1])
		}
	}
}

// TestExpected: the next run starts early what this one asked for, of what is still
// installed; without a run, or with a note that can't be read, all that is installed.
func TestExpected(t *testing.T) {
	dir := t.TempDir()
	d := New(backendinit.New(environment.New(environment.Options{Dir: dir, Environ: map[string]string{"TF_DATA_DIR": dir}})))
	name := func(s string) addr.Provider {
		p, err := addr.OpenTofu.ParseProvider("x/" + s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b, c := name("a"), name("b"), name("c")
	installed := map[addr.Provider]string{c: "c", a: "a", b: "b"}
	check := func(when string, want ...addr.Provider) {
		t.Helper()
		if got := d.expected(installed); !slices.Equal(got, want) {
			t.Errorf("%s: %v", when, got)
		}
	}
	check("before any run", a, b, c)
	d.expect([]addr.Provider{a, c})
	check("after a run", a, c)
	delete(installed, c)
	check("without one of them", a)
	d.expect(nil)
	check("after a run that asked for none")
	if err := os.WriteFile(d.noted(), []byte("["), 0o600); err != nil {
		t.Fatal(err)
	}
	check("with a damaged note", a, b)
}
