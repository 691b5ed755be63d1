package flags

import (
	"flag"
	"strings"
	"testing"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/diag"
)

// parsed has flags of a group read from a command line.
func parsed(t *testing.T, line string, register func(*flag.FlagSet)) {
	t.Helper()
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	register(fs)
	if err := fs.Parse(strings.Fields(line)); err != nil {
		t.Fatalf("%s: %s", line, err)
	}
}

// summary is that of the only problem, "" for none.
func summary(t *testing.T, diags diag.List) string {
	t.Helper()
	switch len(diags) {
	case 0:
		return ""
	case 1:
		return diags[0].Summary
	}
	t.Errorf("%d problems", len(diags))
	return diags[0].Summary
}

func TestPlan(t *testing.T) {
	for line, want := range map[string]string{
		"":                                    "",
		"-destroy -refresh-only":              "Incompatible plan mode options",
		"-refresh-only -refresh=false":        "Incompatible refresh options",
		"-minimal-refresh":                    "",
		"-minimal-refresh -refresh-only":      "Incompatible refresh options",
		"-minimal-refresh -refresh=false":     "Incompatible refresh options",
		"-minimal-refresh -invoke=action.a.b": "Incompatible refresh options",
		"-refresh":                            "",
		"-refresh=auto":                       "",
		"-refresh=auto -refresh-only":         "",
		"-refresh=auto -destroy":              "",
		"-refresh=auto -minimal-refresh":      "Incompatible refresh options",
		"-target=a.b -exclude=c.d":            "Invalid combination of arguments",
		"-target=a":                           `Invalid target "a"`,
		"-replace=module.a":                   `Invalid force-replace address "module.a"`,
		"-replace=data.a.b":                   `Invalid force-replace address "data.a.b"`,
	} {
		var o Plan
		parsed(t, line, o.Register)
		p, diags := o.Choose()
		if got := summary(t, diags); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
		if p.SkipRefresh != strings.Contains(line, "-refresh=false") && want == "" {
			t.Errorf("%s: refreshing is left out: %v", line, p.SkipRefresh)
		}
		if p.AutoRefresh != strings.Contains(line, "-refresh=auto") {
			t.Errorf("%s: refreshing what is old: %v", line, p.AutoRefresh)
		}
	}
}

func TestState(t *testing.T) {
	var f State
	parsed(t, "-lock=false -lock-timeout=30s -state=a -state-out=b -backup=-", f.Register)
	o := f.Options()
	if !o.Locking.Off || o.Locking.Timeout.String() != "30s" || o.Files.State != "a" || o.Files.StateOut != "b" || o.Files.Backup != "-" {
		t.Errorf("got %+v", o)
	}
}

func TestVars(t *testing.T) {
	var v Vars
	parsed(t, "-var=a=1 -var-file=f -var=a=2", v.Register)
	if len(v) != 3 || v[0].File || !v[1].File || v[1].Value != "f" || v[2].Value != "a=2" {
		t.Errorf("got %+v", v)
	}
}

func TestInit(t *testing.T) {
	for line, want := range map[string]string{
		"":                              "",
		"-migrate-state -reconfigure":   "Wrong combination of options",
		"-force-copy -reconfigure":      "Wrong combination of options",
		"-migrate-state":                "Wrong combination of options", // asks
		"-force-copy":                   "",
		"-lockfile=all":                 "Failed to parse command-line flags",
		"-lockfile=readonly":            "",
		"-lockfile=readonly -upgrade":   "Invalid init options",
		"-cloud=false":                  "",
		"-backend=false -reconfigure":   "",
		"-backend-config=a=b -get=true": "",
	} {
		var i Init
		parsed(t, line, i.Register)
		if got := summary(t, i.Choose(true)); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
		if off := strings.Contains(line, "=false"); i.Backend == off {
			t.Errorf("%s: backend is %v", line, i.Backend)
		}
		if strings.Contains(line, "-force-copy") && !i.MigrateState {
			t.Errorf("%s doesn't migrate", line)
		}
	}
	var i Init
	parsed(t, "-migrate-state", i.Register)
	if diags := i.Choose(false); diags != nil {
		t.Errorf("-migrate-state for people: %s", diags[0].Detail)
	}
}

func TestPackages(t *testing.T) {
	for line, want := range map[string]string{
		"":                               "",
		"-fs-mirror=a":                   "",
		"-net-mirror=https://a.example/": "",
		"-net-mirror=http://a.example/":  "Invalid network mirror URL",
		"-oci-mirror=a":                  "Invalid OCI mirror repository template",
		"-oci-mirror=a/${hostname}/${namespace}/${type}": "",
		"-fs-mirror=a -net-mirror=https://b/c":           "Invalid installation method options",
	} {
		var p Packages
		parsed(t, line, func(fs *flag.FlagSet) { p.Register(fs); p.RegisterMirrors(fs) })
		from, diags := p.Source()
		if got := summary(t, diags); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
		if (from != nil) != (line != "" && want == "") {
			t.Errorf("%s: got %+v", line, from)
		}
		if line == "-fs-mirror=a" && (from.Kind != cliconfig.FilesystemMirror || from.Location != "a") {
			t.Errorf("%s: got %+v", line, from)
		}
	}
}

func TestTest(t *testing.T) {
	const together = "exclude one another"
	for line, want := range map[string]string{
		"":                      "",
		"-cloud-run=a":          "by a service",
		"-forget":               "has no meaning without",
		"-forget -cleanup":      "",
		"-repair":               "has no meaning without",
		"-repair -cleanup":      "",
		"-watch -mutate":        together,
		"-watch -cleanup":       together,
		"-mutate -cleanup":      together,
		"-mutate -update":       together,
		"-cleanup -junit-xml=a": together,
		"-mutate -coverage":     together,
		"-watch -coverage":      "",
	} {
		var o Test
		parsed(t, line, o.Register)
		got := o.Check()
		if want == "" && got != nil || want != "" && (len(got) != 1 || !strings.Contains(got[0].Detail, want)) {
			t.Errorf("%q: got %v, want %q", line, got, want)
		}
	}
}

func TestGraph(t *testing.T) {
	for line, want := range map[string]string{
		"":                "",
		"-type=plan":      "",
		"-type=eval":      "Graph type no longer available",
		"-type=x":         "Unsupported graph type",
		"-format=dot":     "",
		"-format=mermaid": "",
		"-format=x":       "Unsupported graph format",
	} {
		var g Graph
		parsed(t, line, g.Register)
		if got := summary(t, g.Check()); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

func TestConsole(t *testing.T) {
	for line, want := range map[string]string{
		"":                        "",
		"-plan":                   "",
		`-scope=module.a["b"]`:    "module.a[\"b\"]",
		"-scope=module":           "Invalid module instance address",
		"-scope=terraform_data.a": "Invalid module instance address",
	} {
		var c Console
		parsed(t, line, c.Register)
		got := summary(t, c.Check())
		if got == "" {
			got = c.Scope.String()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}
