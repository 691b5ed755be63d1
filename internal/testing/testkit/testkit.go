// Package testkit plans and applies configurations for tests of single packages, with a
// scripted provider and a state in memory.
//
// It owns how the stages are put together. It doesn't say what comes of them.
package testkit

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider/fake"
	"weir.dev/weir/internal/state"
)

// Sim is the scripted provider's address.
var Sim = addr.OpenTofu.Provider("sim")

// A Bench has a provider, and the state of what was applied.
type Bench struct {
	*fake.Provider
	State *state.Snapshot
	// Programs are kept between loads; nil for nothing.
	Programs *engine.Programs
	t        *testing.T
}

// New is a bench without any objects. Its provider has the resource type sim_object
// (name, zone, which replaces, parent, size, id), the data source sim_lookup (key, found)
// and the ephemeral resource sim_token (scope, value).
func New(t *testing.T) *Bench {
	p := fake.New()
	p.Config = fake.NewType("region string")
	p.Resources["sim_object"] = fake.NewType("name string required", "zone string replace", "parent string", "secret string optional sensitive", "size number optional computed", "id string computed")
	p.DataSources["sim_lookup"] = fake.NewType("key string required", "found string computed")
	p.Ephemerals["sim_token"] = fake.NewType("scope string", "value string computed")
	return &Bench{Provider: p, t: t}
}

// Load loads a configuration: one file, and those of modules below, each after a line
// that names it between "--" and "--". Query files are read, too.
func (b *Bench) Load(text string) (*engine.Config, diag.List) {
	b.t.Helper()
	files := module.Memory{}
	name := "main.tf"
	for line := range strings.Lines(text) {
		if marked := strings.TrimSpace(line); strings.HasPrefix(marked, "-- ") && strings.HasSuffix(marked, " --") {
			name = strings.TrimSpace(strings.Trim(marked, "-"))
			continue
		}
		files[name] = append(files[name], line...)
	}
	return engine.Load(b.t.Context(), engine.LoadOptions{
		Dir: ".", Files: files, Programs: b.Programs, Queries: true, Inputs: map[string]module.VariableInput{},
		World: engine.World{
			Catalog: fake.Catalog{Sim: b.Provider}, WorkDir: ".", OriginalDir: "/", Workspace: "default", Parallelism: 1,
			Now: func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC) },
		},
		Resolve: func(_ context.Context, r module.Request) (string, diag.List) {
			return path.Join(r.ParentDir, r.Source), nil
		},
	})
}

// Plan plans a configuration against the state.
func (b *Bench) Plan(text string, o engine.PlanOptions) (*engine.Config, *plan.Plan, diag.List) {
	b.t.Helper()
	c, diags := b.Load(text)
	if diags.HasErrors() {
		return c, nil, diags
	}
	p, more := engine.Plan(b.t.Context(), c, b.State, o)
	return c, p, append(diags, more...)
}

// Apply plans and applies, and keeps the state.
func (b *Bench) Apply(text string, o engine.PlanOptions) diag.List {
	b.t.Helper()
	c, p, diags := b.Plan(text, o)
	if diags.HasErrors() {
		return diags
	}
	next, more := engine.Apply(b.t.Context(), c, p, engine.ApplyOptions{})
	b.State = next
	return append(diags, more...)
}

// Changes are what a plan does, by address: an action and an address each, and the
// reason where there is one.
func Changes(p *plan.Plan) string {
	var lines []string
	if p == nil {
		return ""
	}
	for _, c := range p.Changes {
		if c.Action == plan.NoOp && !c.Moved() && c.Importing == nil {
			continue
		}
		line := c.Action.String() + " " + c.Addr.String()
		if c.Moved() {
			line += " from " + c.Previous().String()
		}
		if c.Reason != "" {
			line += " " + string(c.Reason)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Objects are what a state has, by address, with the dependencies that are kept.
func Objects(s *state.Snapshot) string {
	if s == nil {
		return ""
	}
	var lines []string
	for _, a := range s.Addresses() {
		o := s.Objects[a]
		line := a.String()
		if o.Tainted {
			line += " tainted"
		}
		for _, d := range o.Dependencies {
			line += " needs " + d.String()
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Problems are the summaries of errors.
func Problems(l diag.List) string { return summaries(l, diag.Error) }

// Warnings are the summaries of warnings.
func Warnings(l diag.List) string { return summaries(l, diag.Warning) }

func summaries(l diag.List, severity diag.Severity) string {
	var lines []string
	for _, d := range l {
		if d.Severity == severity {
			lines = append(lines, d.Summary)
		}
	}
	return strings.Join(lines, "\n")
}

// Outputs are the root outputs that a state has, by name.
func Outputs(s *state.Snapshot) string {
	if s == nil {
		return ""
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(s.Outputs)) {
		lines = append(lines, fmt.Sprintf("%s = %#v", name, s.Outputs[name].Value))
	}
	return strings.Join(lines, "\n")
}
