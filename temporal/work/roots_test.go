package work

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/roots"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/temporal/depot"
	"weir.dev/weir/temporal/rounds"
)

// rootIn is a root module whose state is at an address, and which reads the states of others.
func rootIn(address, name, more string, reads ...string) string {
	text := fmt.Sprintf("terraform {\n  backend \"http\" {\n    address        = %[1]q\n    lock_address   = %[1]q\n    unlock_address = %[1]q\n  }\n}\n", address+name)
	input := fmt.Sprintf("%q", name)
	for _, r := range reads {
		local := filepath.Base(r)
		text += fmt.Sprintf("data \"terraform_remote_state\" %q {\n  backend = \"http\"\n  config  = { address = %q }\n}\n", local, address+r)
		input += ", data.terraform_remote_state." + local + ".outputs.id"
	}
	return text + "resource \"terraform_data\" \"x\" {\n  input = [" + input + "]\n" + more + "}\noutput \"id\" {\n  value = terraform_data.x.id\n}\n"
}

// estate is three roots, each of which reads the one before it, and one by itself, with a store.
func estate(t *testing.T) (dir, address string, d *depot.Dir) {
	d = &depot.Dir{Root: t.TempDir()}
	server := httptest.NewServer(depot.States(d, ""))
	t.Cleanup(server.Close)
	address = server.URL + depot.StatesPath + "estate/"
	return write(t, filepath.Join(t.TempDir(), "estate"), map[string]string{
		"net/main.tf":         rootIn(address, "net", ""),
		"cluster/main.tf":     rootIn(address, "cluster", "", "net"),
		"apps/web/main.tf":    rootIn(address, "apps/web", "", "cluster") + "module \"m\" {\n  source = \"../../../shared\"\n  name   = var.name\n}\nvariable \"name\" {}\n",
		"alone/main.tf":       rootIn(address, "alone", ""),
		"../shared/main.tf":   module,
		"web.tfvars":          "name = \"web\"\n",
		roots.SettingsFile:    "root \"apps/web\" {\n  var_files = [\"../../web.tfvars\"]\n}\n",
		".terraform/x/unused": "",
	}), address, d
}

// selected is a signed request for root modules.
func selected(t *testing.T, d depot.Depot, dir string, c roots.Choice, o rounds.Options) rounds.Whole {
	t.Helper()
	s, err := Select(t.Context(), dir, c, o.Destroy, dialect.OpenTofu, nil, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := Pack(dir, s.Outside)
	if err != nil {
		t.Fatal(err)
	}
	w := rounds.Whole{ID: t.Name() + time.Now().String(), Stack: s.Name, Deployments: s.Roots, After: s.After, States: s.States, Options: o}
	if w.Bundle, err = d.Put(t.Context(), bundle); err != nil {
		t.Fatal(err)
	}
	w = signed(t, d, w)
	if err := Note(t.Context(), d, "test", w, nil); err != nil {
		t.Fatal(err)
	}
	return w
}

// changed reports whether a root has changes when it is planned by itself.
func changed(t *testing.T, dir string, vars ...environment.Var) bool {
	t.Helper()
	d := workspace.New(environment.Options{Dir: dir, OriginalDir: dir, Environ: map[string]string{}, Home: t.TempDir(), Program: "weir", Now: time.Now, Random: strings.NewReader(strings.Repeat("random", 1000)), Reports: environment.Reports{Log: t.Output()}})
	defer d.Close()
	if diags := (workspace.Init{Dir: d, Vars: vars, Backend: true, Modules: true}).Run(t.Context(), quiet{}); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	o := workspace.Opening{Operation: storage.Plans}
	o.Vars = vars
	p, _ := Asked(rounds.Options{})
	w, made, diags := workspace.Plan{Dir: d, Opening: o, Options: p}.Run(t.Context())
	if w != nil {
		defer w.Unlock()
	}
	if made == nil || diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return made.HasChanges()
}

// TestRoots: roots are applied in their order with the values that upstream roots have by then.
// Afterwards each of them has no changes, also when it is planned by itself.
func TestRoots(t *testing.T) {
	dir, _, d := estate(t)
	w := newWorker(t, d)
	all := selected(t, d, dir, roots.Choice{}, rounds.Options{AutoApprove: true})
	if slices.Index(all.Deployments, "net") > slices.Index(all.Deployments, "cluster") || !slices.Equal(all.After["apps/web"], []string{"cluster"}) {
		t.Errorf("the order is %v, %v", all.Deployments, all.After)
	}
	over, last := run(t, w, all, nil)
	if !over[0].OK() || last["estate/apps/web"].Applied.Add != 2 || last["estate/cluster"].Applied.Add != 1 {
		t.Fatalf("it came to %+v %+v", over, last)
	}
	if last["estate/cluster"].Round != 1 {
		t.Errorf("the plan of cluster wasn't final: %+v", last["estate/cluster"])
	}
	for _, name := range all.Deployments {
		var vars []environment.Var
		if name == "apps/web" {
			vars = []environment.Var{{Value: "name=web"}}
		}
		if changed(t, filepath.Join(dir, name), vars...) {
			t.Errorf("%s has changes by itself", name)
		}
		if files, err := d.Files(t.Context(), "estate/"+name); err != nil || files[depot.JournalFile] != nil {
			t.Errorf("%s has a journal, %v", name, err)
		}
	}
	if over, last = run(t, newWorker(t, d), selected(t, d, dir, roots.Choice{}, rounds.Options{}), nil); !over[0].OK() || last["estate/net"].Changed {
		t.Errorf("the second time: %+v", over)
	}
	// A chosen root is done without the others.
	if one := selected(t, d, dir, roots.Choice{Patterns: []string{"cluster"}}, rounds.Options{}); !slices.Equal(one.Deployments, []string{"cluster"}) || len(one.After) > 0 {
		t.Errorf("cluster by itself: %+v", one)
	}
	// A failure skips what comes after it, and nothing else.
	write(t, dir, map[string]string{"cluster/main.tf": strings.Replace(read(t, dir, "cluster/main.tf"), "input = [", "triggers_replace = [\n    1,\n  ]\n  lifecycle {\n    postcondition {\n      condition     = self.input == null\n      error_message = \"no\"\n    }\n  }\n  input = [", 1)})
	over, last = run(t, w, selected(t, d, dir, roots.Choice{}, rounds.Options{AutoApprove: true}), nil)
	want := map[string]rounds.Phase{"net": rounds.Done, "alone": rounds.Done, "cluster": rounds.Failed, "apps/web": rounds.Skipped}
	for name, p := range want {
		if over[0].Over[name] != p {
			t.Errorf("%s is %s, want %s: %+v", name, over[0].Over[name], p, last["estate/"+name])
		}
	}
	if !slices.Contains(over[0].Lines, "skipped apps/web, which comes after cluster (failed)") {
		t.Errorf("it says %v", over[0].Lines)
	}
	// To destroy, the order is the other way round.
	gone := selected(t, d, dir, roots.Choice{}, rounds.Options{AutoApprove: true, Destroy: true})
	if !slices.Equal(gone.After["net"], []string{"cluster"}) {
		t.Errorf("the order is %v", gone.After)
	}
	if over, _ = run(t, w, gone, nil); !over[0].OK() {
		t.Errorf("destroyed: %+v", over)
	}
}

// TestRootFenced: a worker that lost the lease of a root writes neither its state nor its journal.
func TestRootFenced(t *testing.T) {
	dir, _, real := estate(t)
	now := time.Now()
	d := &depot.Dir{Root: real.Root, Now: func() time.Time { return now }}
	w := newWorker(t, d)
	r := selected(t, d, dir, roots.Choice{Patterns: []string{"net"}}, rounds.Options{AutoApprove: true}).Each()[0]
	w.Depot = stolen{d, func() { now = now.Add(time.Hour) }}
	if a, err := w.Apply(t.Context(), r, rounds.Planned{}, false); err == nil && a.Problem == "" {
		t.Errorf("it went on: %+v", a)
	}
	if files, err := d.Files(context.Background(), "estate/net"); err != nil || len(files) > 0 {
		t.Errorf("there are %v, %v", files, err)
	}
}

// TestRootLocked: a root that a person has locked isn't done, and the person is named. Others don't
// get the lock while the journal of a worker is there.
func TestRootLocked(t *testing.T) {
	dir, _, d := estate(t)
	w := newWorker(t, d)
	r := selected(t, d, dir, roots.Choice{Patterns: []string{"net"}}, rounds.Options{AutoApprove: true}).Each()[0]
	lease, err := d.Acquire(t.Context(), "estate/net", string(storage.LockInfo{ID: "1", Who: "ana@laptop", Operation: "apply"}.JSON()), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := w.Plan(t.Context(), r); err != nil || !strings.Contains(p.Problem, "ana@laptop") || !strings.Contains(p.Problem, "force-unlock 1") {
		t.Errorf("planned %+v, %v", p, err)
	}
	if err := d.Release(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	for _, states := range []string{"", "http://evil/states/"} {
		forged := r
		forged.States = states
		if p, err := w.Plan(t.Context(), forged); err != nil || !strings.Contains(p.Problem, "Nobody with the token") {
			t.Errorf("with states at %q: %+v, %v", states, p, err)
		}
	}
	stack := signed(t, d, rounds.Whole{ID: "2", Stack: "estate"})
	if err := Note(t.Context(), d, "test", stack, nil); err == nil || !strings.Contains(err.Error(), "same name") {
		t.Errorf("a stack of the same name: %v", err)
	}
}

// TestSelect: what workers can't run is named, with a way out.
func TestSelect(t *testing.T) {
	dir, address, _ := estate(t)
	for name, test := range map[string]struct {
		files   map[string]string
		choice  roots.Choice
		problem string
	}{
		"another backend": {map[string]string{"net/main.tf": "terraform {\n  backend \"local\" {}\n}\n"}, roots.Choice{}, "/states/NAME/net\""},
		"without a lock":  {map[string]string{"net/main.tf": strings.Replace(rootIn(address, "net", ""), "lock_address", "# lock_address", 1)}, roots.Choice{}, "lock_address   = \"" + address + "net\""},
		"another name":    {map[string]string{"net/main.tf": rootIn(strings.Replace(address, "estate", "other", 1), "net", "")}, roots.Choice{}, "states/other"},
		"another root's":  {map[string]string{"net/main.tf": rootIn(address, "x", "")}, roots.Choice{}, "init -migrate-state"},
		"no such root":    {nil, roots.Choice{Patterns: []string{"ne"}}, `Did you mean "net"`},
		"unknown order":   {map[string]string{"net/main.tf": rootIn(address, "net", "") + "data \"terraform_remote_state\" \"late\" {\n  backend = \"http\"\n  config  = { address = terraform_data.x.id }\n}\n"}, roots.Choice{}, "isn't known before a plan"},
	} {
		copied := filepath.Join(t.TempDir(), "estate")
		for _, file := range []string{"net/main.tf", "cluster/main.tf", "apps/web/main.tf", "alone/main.tf", "web.tfvars", roots.SettingsFile} {
			write(t, copied, map[string]string{file: read(t, dir, file)})
		}
		write(t, copied, map[string]string{"../shared/main.tf": module})
		write(t, copied, test.files)
		if _, err := Select(t.Context(), copied, test.choice, false, dialect.OpenTofu, nil, t.TempDir()); err == nil || !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// read is the text of a file.
func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
