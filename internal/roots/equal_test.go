package roots_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/roots"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/planoptions"
)

// A generated module is written as a root, which reads the states of others, and as a module of
// one large root.
type generated struct {
	seed     int
	count    int
	upstream []int
	reads    []string // the output that is read of each
}

// outputs are of a value that is known when planning, of one that isn't, and of an id.
var outputs = []string{"known", "later", "id"}

func generate(r *mathrand.Rand) []*generated {
	list := make([]*generated, 2+r.IntN(5))
	for i := range list {
		g := &generated{seed: r.IntN(3), count: 1 + r.IntN(2)}
		for up := range i {
			if r.IntN(2) == 0 {
				g.upstream, g.reads = append(g.upstream, up), append(g.reads, outputs[r.IntN(len(outputs))])
			}
		}
		list[i] = g
	}
	return list
}

// edit changes something that shows downstream.
func edit(r *mathrand.Rand, list []*generated) {
	g := list[r.IntN(len(list))]
	if r.IntN(3) == 0 {
		g.count = 1 + r.IntN(3)
		return
	}
	g.seed += 1 + r.IntN(3)
}

// text is the module with references to the modules that it reads.
func (g *generated) text(refer func(up int) string) string {
	input := []string{fmt.Sprint(g.seed)}
	for i, up := range g.upstream {
		input = append(input, refer(up)+"."+g.reads[i])
	}
	return fmt.Sprintf(`resource "terraform_data" "a" {
  count = %d
  input = { n = count.index, from = jsonencode([%s]) }
}
output "known" { value = "%[3]d" }
output "later" { value = terraform_data.a[0].output.from }
output "id" { value = terraform_data.a[0].id }
`, g.count, strings.Join(input, ", "), g.seed)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeBoth writes the estate and the large root.
func writeBoth(t *testing.T, dir string, list []*generated) {
	t.Helper()
	write(t, filepath.Join(dir, "estate", roots.SettingsFile), `root "m*" {}`)
	var calls strings.Builder
	for i, g := range list {
		root := g.text(func(up int) string { return fmt.Sprintf("data.terraform_remote_state.m%d.outputs", up) })
		module := g.text(func(up int) string { return fmt.Sprintf("var.m%d", up) })
		fmt.Fprintf(&calls, "module \"m%d\" {\n  source = \"./m%[1]d\"\n", i)
		for _, up := range g.upstream {
			root += fmt.Sprintf("data \"terraform_remote_state\" \"m%d\" {\n  backend = \"local\"\n  config = { path = \"../m%[1]d/terraform.tfstate\" }\n}\n", up)
			module += fmt.Sprintf("variable \"m%d\" {}\n", up)
			fmt.Fprintf(&calls, "  m%d = module.m%[1]d\n", up)
		}
		calls.WriteString("}\n")
		write(t, filepath.Join(dir, "estate", fmt.Sprintf("m%d", i), "main.tf"), root)
		write(t, filepath.Join(dir, "large", fmt.Sprintf("m%d", i), "main.tf"), module)
	}
	write(t, filepath.Join(dir, "large", "main.tf"), calls.String())
	write(t, filepath.Join(dir, "large", ".terraform", "modules", "modules.json"), manifest(len(list)))
}

func manifest(n int) string {
	entries := []string{`{"Key":"","Source":"","Dir":"."}`}
	for i := range n {
		entries = append(entries, fmt.Sprintf(`{"Key":"m%d","Source":"./m%[1]d","Dir":"m%[1]d"}`, i))
	}
	return `{"Modules":[` + strings.Join(entries, ",") + `]}`
}

func directory(t *testing.T, dir string) *workspace.Directory {
	d := workspace.New(environment.Options{
		Dir: dir, OriginalDir: dir, Environ: map[string]string{}, Home: t.TempDir(), Dialect: dialect.OpenTofu, Program: "weir", Now: time.Now, Random: rand.Reader,
		Who: func() string { return "test" }, Saving: context.Background,
	})
	t.Cleanup(d.Close)
	return d
}

// A follower approves everything, and keeps what was planned by address.
type follower struct {
	t     *testing.T
	run   *roots.Run // nil for the large root
	root  *roots.Root
	apply bool

	mu      *sync.Mutex
	changes map[string]string
	first   bool
	ok      bool
}

func (f *follower) Opened(diag.List) {}

func (f *follower) Planned(ctx context.Context, w *workspace.Work, p *plan.Plan, found diag.List) (diag.List, bool) {
	if p == nil || found.HasErrors() {
		f.t.Error(found)
		return nil, false
	}
	f.ok = true
	if !f.first {
		return found, true // a later round
	}
	f.first = false
	f.note(p)
	if f.run != nil {
		f.run.Planned(f.root, w, p)
		f.run.Turn(ctx, f.root)()
		if _, failed := f.run.All(ctx); len(failed) > 0 || !f.apply {
			return found, false
		}
		if failed := f.run.Await(ctx, f.root); len(failed) > 0 {
			f.t.Error(failed)
			return found, false
		}
	}
	return found, f.apply
}

// note keeps what a plan changes, and whether the new value is known.
func (f *follower) note(p *plan.Plan) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range p.Changes {
		if c.Addr.Name.Mode != addr.Managed || c.Action == plan.NoOp {
			continue
		}
		name := c.Addr.String()
		if f.root != nil {
			name = "module." + f.root.Name + "." + name
		}
		known := ""
		if !c.After.IsNull() && c.After.GetAttr("input").IsWhollyKnown() {
			known = " known"
		}
		f.changes[name] = c.Action.String() + known
	}
}

func (f *follower) Limits() (workspace.Limits, func()) {
	return workspace.Limits{Saving: context.Background()}, func() {}
}

func (f *follower) Applied(_ *plan.Plan, o *workspace.Outcome, found diag.List) {
	if o == nil || found.HasErrors() {
		f.t.Error(found)
	} else if f.run != nil {
		f.run.Applied(f.root)
	}
}

func (f *follower) Problem(l diag.List) {
	if l.HasErrors() {
		f.t.Error(l)
	}
}

func (f *follower) Again(int) {}

// large plans the large root, and perhaps applies it.
func large(t *testing.T, dir string, apply bool) map[string]string {
	t.Helper()
	d := directory(t, dir)
	f := &follower{t: t, apply: apply, mu: new(sync.Mutex), changes: map[string]string{}, first: true}
	workspace.Apply{Plan: workspace.Plan{Dir: d, Opening: workspace.Opening{Operation: "apply"}}}.Run(t.Context(), f)
	d.Close()
	return f.changes
}

// all plans the estate, and perhaps applies it.
func all(t *testing.T, dir string, apply bool) map[string]string {
	t.Helper()
	estate, diags := roots.Find(t.Context(), directory(t, dir), environment.Reports{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	list, diags := estate.Choose(t.Context(), roots.Choice{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	run := roots.NewRun(estate, list, false)
	var mu sync.Mutex
	changes := map[string]string{}
	var wait sync.WaitGroup
	for _, root := range list {
		wait.Go(func() {
			run.Begin()
			d := root.Dir.With(environment.Reports{})
			defer d.Close()
			f := &follower{t: t, run: run, root: root, apply: apply, mu: &mu, changes: changes, first: true}
			done := workspace.Apply{Plan: workspace.Plan{Dir: d, Subject: run.Subject(root, d), Opening: workspace.Opening{Operation: "apply"}, Options: planoptions.Planning{AllowDeferral: true}}, Rounds: 10}.Run(t.Context(), f)
			run.End(root, done)
		})
	}
	wait.Wait()
	return changes
}

// TestEqualsOneRoot: roots that are planned together change what one large root with all of them
// would, know as much of it, and nothing is left after an apply.
func TestEqualsOneRoot(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := mathrand.New(mathrand.NewPCG(seed, 1)) // #nosec G404 -- a test is repeated by its seed
			dir := t.TempDir()
			list := generate(r)
			for round := range 3 {
				writeBoth(t, dir, list)
				want := large(t, filepath.Join(dir, "large"), false)
				got := all(t, filepath.Join(dir, "estate"), false)
				if !maps.Equal(got, want) {
					t.Fatalf("round %d: got %s\nwant %s", round, sorted(got), sorted(want))
				}
				large(t, filepath.Join(dir, "large"), true)
				all(t, filepath.Join(dir, "estate"), true)
				if left := all(t, filepath.Join(dir, "estate"), false); len(left) > 0 {
					t.Fatalf("round %d: left are %s", round, sorted(left))
				}
				edit(r, list)
			}
		})
	}
}

func sorted(m map[string]string) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		lines = append(lines, name+": "+m[name])
	}
	return strings.Join(lines, "\n")
}
