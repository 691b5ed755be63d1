package workspace

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/workspace/providersource"
)

// A Verdict is how bad a finding is.
type Verdict string

// The verdicts. A Warning needs somebody's attention, a Problem makes commands fail.
const (
	Fine    Verdict = "ok"
	Warning Verdict = "warning"
	Problem Verdict = "problem"
)

// A Checkup is one thing that was checked: what it is like, and what to do about it.
type Checkup struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"status"`
	Text    string  `json:"text"`
	Advice  string  `json:"advice,omitempty"`
}

// ofProblems is a checkup of which problems say all.
func ofProblems(name string, l diag.List) Checkup {
	c := Checkup{Name: name, Verdict: Warning, Text: l[0].Summary, Advice: l[0].Detail}
	if i := slices.IndexFunc(l, func(d diag.Diagnostic) bool { return d.Severity == diag.Error }); i >= 0 {
		c.Verdict, c.Text, c.Advice = Problem, l[i].Summary, l[i].Detail
	}
	if len(l) > 1 {
		c.Text += fmt.Sprintf(" (and %d more)", len(l)-1)
	}
	return c
}

// Doctor checks what commands in a directory depend on. It changes nothing, takes no lock, and
// asks no provider.
type Doctor struct{ Dir *Directory }

// Run returns what it checked, in the order of a run.
func (c Doctor) Run(ctx context.Context) []Checkup {
	list := []Checkup{c.mode(ctx)}
	list = append(list, c.settings()...)
	config, diags := c.Dir.Load(ctx, Loading{})
	if diags.HasErrors() || config == nil || config.Tree == nil {
		list = append(list, ofProblems("configuration", diags))
	} else {
		list = append(list, Checkup{"configuration", Fine, "can be loaded", ""})
		reqs := providersource.Requirements(config.Tree, nil)
		list = append(list, c.providers(slices.SortedFunc(maps.Keys(reqs), addr.Provider.Compare)))
	}
	return append(list, c.state(ctx)...)
}

func (c Doctor) mode(ctx context.Context) Checkup {
	d := c.Dir
	m := Checkup{Name: "mode", Verdict: Fine, Text: "works as " + d.Place.Dialect.Product() + " " + d.Place.Dialect.Version()}
	if d.Place.Unchosen {
		m.Text += ", by default"
	}
	if d.modeUnchosen() {
		if sign := d.TerraformSign(ctx); sign != "" {
			m.Verdict, m.Text = Problem, sign
			m.Advice = "Set WEIR_COMPAT=terraform to work as Terraform, or WEIR_COMPAT=opentofu to move the directory to OpenTofu."
		}
	}
	return m
}

// settings are about the user's settings: mirrors and credentials.
func (c Doctor) settings() []Checkup {
	d := c.Dir
	config, _, diags := d.Place.UserSettings()
	if len(diags) > 0 {
		return []Checkup{ofProblems("settings", diags)}
	}
	text := "the defaults"
	if len(config.Files) > 0 {
		text = strings.Join(config.Files, ", ")
	}
	list := []Checkup{{"settings", Fine, text, ""}}
	if config.Installation != nil {
		for _, m := range config.Installation.Methods {
			c := Checkup{"mirror", Fine, strings.TrimSpace(string(m.Kind) + " " + m.Location), ""}
			if m.Kind == cliconfig.FilesystemMirror {
				if _, err := os.Stat(d.Place.Path(m.Location)); err != nil {
					c.Verdict, c.Text, c.Advice = Problem, "filesystem_mirror "+m.Location+" can't be read", "Create the directory, or change provider_installation in the CLI configuration."
				}
			}
			list = append(list, c)
		}
	}
	hosts := slices.Collect(maps.Keys(config.Tokens))
	for name, token := range d.Place.Environ {
		if host, is := strings.CutPrefix(name, "TF_TOKEN_"); is && token != "" {
			hosts = append(hosts, strings.ReplaceAll(strings.ReplaceAll(host, "__", "-"), "_", "."))
		}
	}
	slices.Sort(hosts)
	text = "no tokens for hosts"
	if hosts = slices.Compact(hosts); len(hosts) > 0 {
		text = "tokens for " + strings.Join(hosts, ", ")
	}
	return append(list, Checkup{"credentials", Fine, text, ""})
}

// providers says whether providers are locked and installed.
func (c Doctor) providers(needed []addr.Provider) Checkup {
	d := c.Dir
	reqs := providersource.RequirementsOf(needed)
	missing, diags := d.Providers.FillFound(&providersource.Late{}, reqs)
	locks, more := lockfile.Read(d.Place.Path(lockfile.Name))
	if more.HasErrors() {
		return ofProblems("providers", more)
	}
	var parts []string
	for _, p := range needed {
		switch lock, is := locks.Get(p); {
		case p.IsBuiltin():
		case is:
			parts = append(parts, p.ForDisplay()+" "+lock.Version.String())
		default:
			parts = append(parts, p.ForDisplay())
		}
	}
	if len(missing) > 0 {
		names := make([]string, len(missing))
		for i, p := range missing {
			names[i] = p.ForDisplay()
		}
		return Checkup{"providers", Problem, "not installed: " + strings.Join(names, ", "), "Run \"" + d.Place.Program + " init\"."}
	}
	if diags.HasErrors() {
		return ofProblems("providers", diags)
	}
	if len(parts) == 0 {
		return Checkup{"providers", Fine, "none needed beside the built-in one", ""}
	}
	return Checkup{"providers", Fine, strings.Join(parts, ", "), ""}
}

// state is about the backend, the state, and what is kept beside it.
func (c Doctor) state(ctx context.Context) []Checkup {
	d := c.Dir
	b, diags := d.Settings.CurrentBackend()
	if b == nil || diags.HasErrors() {
		return []Checkup{ofProblems("backend", diags)}
	}
	name, diags := d.Place.Workspace()
	if diags.HasErrors() {
		return []Checkup{ofProblems("workspace", diags)}
	}
	list := []Checkup{{"backend", Fine, b.Kind + ", workspace " + name, ""}}
	found, diags := Verify{Dir: d}.Run(ctx)
	if diags.HasErrors() {
		return append(list, ofProblems("state", diags))
	}
	for _, f := range found {
		c := Checkup{f.What, Fine, f.Said, ""}
		switch {
		case len(f.Problems) > 0:
			c = ofProblems(f.What, f.Problems)
		case f.Unfinished:
			c.Verdict, c.Advice = Warning, "Run \""+d.Place.Program+" recover\"."
		case f.Held:
			c.Verdict, c.Advice = Warning, "Wait for that run, or let commands wait with -lock-timeout=5m."
		}
		list = append(list, c)
	}
	return list
}
