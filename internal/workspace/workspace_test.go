package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/fake"
	"weir.dev/weir/internal/state/storage/inmem"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/planoptions"
	"weir.dev/weir/internal/workspace/statebackend"
	"weir.dev/weir/internal/workspace/statemgr"
)

var sim = addr.OpenTofu.Provider("sim")

// A bench is a directory with a scripted provider and its state in memory.
type bench struct {
	*Directory
	provider *fake.Provider
	told     []string // events by name
	mu       sync.Mutex
}

func newBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b := &bench{provider: fake.New()}
	b.provider.Resources["sim_object"] = fake.NewType("name string required", "zone string replace", "id string computed")
	b.Directory = New(environment.Options{
		Dir: dir, OriginalDir: dir, Environ: map[string]string{}, Dialect: dialect.OpenTofu, Program: "weir",
		Now:     func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) },
		Catalog: provider.Catalog(fake.Catalog{sim: b.provider}),
		Backend: &statebackend.Backend{Backend: inmem.New(), Kind: "inmem", Config: cty.EmptyObjectVal},
		Reports: environment.Reports{Problem: func(l diag.List) { t.Error(l.Err()) }},
	})
	t.Cleanup(b.Close)
	return b
}

func (b *bench) opening(operation string) Opening {
	return Opening{Operation: operation, Loading: Loading{Sink: func(e event.Event) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.told = append(b.told, fmt.Sprint(e.Kind, " ", e.Addr))
	}}}
}

// objects are what the state has, with the values of an attribute.
func (b *bench) objects(t *testing.T) string {
	t.Helper()
	s, diags := b.States.Present(t.Context(), statemgr.Options{})
	if s == nil {
		t.Fatal(diags.Err())
	}
	var lines []string
	for at, o := range s.Snapshot().Objects {
		var text bytes.Buffer
		if err := json.Compact(&text, o.JSON); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %s", at, &text))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// An approver says the same of every plan, and remembers what it saw.
type approver struct {
	approved bool
	limits   Limits
	plans    int
	outcome  *Outcome
	problems diag.List
	rounds   int
}

func (a *approver) Opened(diag.List) {}

func (a *approver) Planned(_ context.Context, _ *Work, p *plan.Plan, found diag.List) (diag.List, bool) {
	a.plans++
	a.problems.Append(found)
	return nil, p != nil && a.approved
}

func (a *approver) Limits() (Limits, func()) { return a.limits, func() {} }

func (a *approver) Applied(_ *plan.Plan, o *Outcome, found diag.List) {
	a.outcome = o
	a.problems.Append(found)
}

func (a *approver) Problem(l diag.List) { a.problems.Append(l) }

func (a *approver) Again(int) { a.rounds++ }

const config = `
variable "zone" { default = "z" }
resource "sim_object" "a" {
  name = trimspace(file("${path.module}/name.txt"))
  zone = var.zone
}
module "m" {
  source = "./m"
  of     = sim_object.a.id
}
output "id" { value = sim_object.a.id }
`

const inner = `
variable "of" {}
resource "sim_object" "b" { name = "b of ${var.of}" }
`

func estate(name string) map[string]string {
	return map[string]string{
		"main.tf": config, "m/m.tf": inner, "name.txt": name + "\n",
		".terraform/modules/modules.json": `{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"m","Source":"./m","Dir":"m"}]}`,
	}
}

// apply plans and applies once.
func (b *bench) apply(ctx context.Context, p Plan, by Approver) bool {
	p.Dir, p.Opening = b.Directory, b.opening("apply")
	return Apply{Plan: p}.Run(ctx, by)
}

// TestApply: what is approved is done and kept, and nothing else.
func TestApply(t *testing.T) {
	b := newBench(t, estate("first"))
	no := &approver{}
	if b.apply(t.Context(), Plan{}, no) || no.plans != 1 || no.outcome != nil {
		t.Errorf("refused, but: %+v", no)
	}
	if got := b.provider.Count("Apply"); got != 0 {
		t.Errorf("refused, but %d calls", got)
	}
	yes := &approver{approved: true}
	if !b.apply(t.Context(), Plan{}, yes) {
		t.Fatal(yes.problems.Err())
	}
	if got := yes.outcome.State.Outputs["id"].Value; got != cty.StringVal("id-1") {
		t.Errorf("output %#v", got)
	}
	want := `module.m.sim_object.b {"id":"id-2","name":"b of id-1","zone":null}` + "\n" + `sim_object.a {"id":"id-1","name":"first","zone":"z"}`
	if got := b.objects(t); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(b.told) == 0 {
		t.Error("nothing was told")
	}
	again := &approver{}
	if b.apply(t.Context(), Plan{Options: planoptions.Planning{Mode: plan.Destroy}}, again); again.plans != 1 {
		t.Errorf("the lock is still held: %v", again.problems.Err())
	}
}

// TestSaved: a saved plan is applied with the files and the values that it was
// made with, once.
func TestSaved(t *testing.T) {
	b := newBench(t, estate("first"))
	o := b.opening("plan")
	o.Record, o.Vars = true, []environment.Var{{Value: "zone=other"}}
	w, made, diags := Plan{Dir: b.Directory, Opening: o}.Run(t.Context())
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if err := w.Save(t.Context(), "p.plan", "1", made); err != nil {
		t.Fatal(err)
	}
	w.Unlock()
	if err := os.WriteFile(filepath.Join(b.Place.Dir, "name.txt"), []byte("later"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"", "Saved plan is stale"} {
		content, diags := b.ReadPlan("p.plan")
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		a := &approver{approved: true}
		done := b.apply(t.Context(), Plan{Subject: b.Saved(content)}, a)
		if done != (want == "") || want != "" && a.problems[0].Summary != want {
			t.Errorf("want %q, got %v: %v", want, done, a.problems.Err())
		}
	}
	if got := b.objects(t); !strings.Contains(got, `"name":"first","zone":"other"`) {
		t.Error(got)
	}
}

// TestLocked: of two who want the same state one is rejected.
func TestLocked(t *testing.T) {
	b := newBench(t, estate("x"))
	w, _, diags := Plan{Dir: b.Directory, Opening: b.opening("plan")}.Run(t.Context())
	if w == nil {
		t.Fatal(diags.Err())
	}
	other, _, diags := Plan{Dir: b.Directory, Opening: b.opening("plan")}.Run(t.Context())
	if other != nil || len(diags) != 1 || diags[0].Summary != "Error acquiring the state lock" {
		t.Errorf("got %v", diags)
	}
	w.Unlock()
	if s, diags := b.States.State(t.Context(), statemgr.Options{Locking: lockedstate.Locking{}}, "state-rm"); s == nil {
		t.Error(diags.Err())
	}
}

// TestStop: what is under way ends, nothing is started after it, and the state has what was
// done.
func TestStop(t *testing.T) {
	b := newBench(t, estate("x"))
	gate := b.provider.Block("Apply")
	stop := make(chan struct{})
	go func() {
		<-gate.Arrived
		close(stop)
		gate.Open()
	}()
	a := &approver{approved: true, limits: Limits{Stop: stop}}
	if b.apply(t.Context(), Plan{}, a) {
		t.Error("it claims that everything was done")
	}
	if got := b.objects(t); got != `sim_object.a {"id":"id-1","name":"x","zone":"z"}` {
		t.Error(got)
	}
}

// TestImport brings an object in, and only where there is a place for it.
func TestImport(t *testing.T) {
	b := newBench(t, estate("x"))
	b.provider.SetRemote("id-7", cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("seven"), "zone": cty.NullVal(cty.String), "id": cty.StringVal("id-7")}))
	for _, c := range []struct{ address, want, detail string }{
		{"sim_object.none", "resource address \"sim_object.none\" does not exist in the configuration.", "create its configuration in the root module."},
		{"module.m.sim_object.none", "resource address \"module.m.sim_object.none\" does not exist in the configuration.", "create its configuration in the module module.m."},
		{"module.none.sim_object.a", "Import to non-existent module", ""},
		{"sim_object.a", "", ""},
		{"sim_object.a", "Resource already managed by weir", ""},
	} {
		target, err := addr.ParseTarget(c.address)
		if err != nil {
			t.Fatal(err)
		}
		diags := Import{Dir: b.Directory, Opening: b.opening("import"), Objects: []planoptions.Import{{Target: target, ID: "id-7"}}}.Run(t.Context())
		if got := diags.Only(diag.Error); c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || got[0].Summary != c.want || !strings.Contains(got[0].Detail, c.detail)) {
			t.Errorf("%s: %v", c.address, diags)
		}
	}
	if got := b.objects(t); got != `sim_object.a {"id":"id-7","name":"seven","zone":null}` {
		t.Error(got)
	}
}

// TestAtOnce: operations in one process know nothing of one another, neither of
// directories nor of files, variables or what is asked of providers. Each waits
// with an object under way until the others have got as far.
func TestAtOnce(t *testing.T) {
	const n = 4
	var all, arrived sync.WaitGroup
	arrived.Add(n)
	benches := make([]*bench, n)
	for i := range benches {
		b := newBench(t, estate(fmt.Sprint("of ", i)))
		benches[i] = b
		b.Place.Environ["TF_VAR_zone"] = fmt.Sprint("zone ", i)
		gate := b.provider.Block("Apply")
		go func() {
			<-gate.Arrived
			arrived.Done()
			arrived.Wait()
			gate.Open()
		}()
		all.Go(func() {
			a := &approver{approved: true}
			if !b.apply(t.Context(), Plan{}, a) {
				t.Error(a.problems.Err())
			}
		})
	}
	all.Wait()
	for i, b := range benches {
		want := fmt.Sprintf(`sim_object.a {"id":"id-1","name":"of %d","zone":"zone %[1]d"}`, i)
		if got := b.objects(t); !strings.HasSuffix(got, want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// TestGenerate: configuration that is generated counts at once, also where it is written to a
// folder that no module is read from.
func TestGenerate(t *testing.T) {
	for _, path := range []string{"new.tf", "new.txt", "sub/new.tf"} {
		b := newBench(t, map[string]string{"main.tf": "import {\n  to = sim_object.a\n  id = \"id-7\"\n}\n", "sub/other.txt": ""})
		b.provider.SetRemote("id-7", cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("seven"), "zone": cty.NullVal(cty.String), "id": cty.StringVal("id-7")}))
		a := &approver{approved: true}
		if !b.apply(t.Context(), Plan{Options: planoptions.Planning{Generate: path}}, a) {
			t.Errorf("%s: %v", path, a.problems.Err())
			continue
		}
		if got := b.objects(t); got != `sim_object.a {"id":"id-7","name":"seven","zone":null}` {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// TestCopyModule: a directory gets a copy of a module, or an error that says why not.
func TestCopyModule(t *testing.T) {
	from := t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "a.tf"), []byte("locals {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, nil)
	if diags := b.CopyModule(t.Context(), from); diags.HasErrors() {
		t.Error(diags.Err())
	}
	if got, err := os.ReadFile(filepath.Join(b.Place.Dir, "a.tf")); err != nil || string(got) != "locals {}\n" {
		t.Errorf("%q, %v", got, err)
	}
	b = newBench(t, nil)
	if diags := b.CopyModule(t.Context(), filepath.Join(from, "none")); !diags.HasErrors() {
		t.Error("a module that doesn't exist is copied")
	}
}

// TestDoctorMirrors: a folder of packages that is missing is a problem; a mirror elsewhere isn't
// looked at.
func TestDoctorMirrors(t *testing.T) {
	b := newBench(t, nil)
	settings := filepath.Join(b.Place.Dir, "settings")
	text := fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n  filesystem_mirror {\n    path = %q\n  }\n  network_mirror {\n    url = \"https://mirror.example.com/\"\n  }\n}\n", b.Place.Dir, filepath.Join(b.Place.Dir, "none"))
	if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	b.Place.Environ["TF_CLI_CONFIG_FILE"] = settings
	var got []string
	for _, c := range (Doctor{b.Directory}).settings() {
		if c.Name == "mirror" {
			got = append(got, fmt.Sprint(c.Verdict, " ", strings.ReplaceAll(c.Text, b.Place.Dir, "DIR")))
		}
	}
	want := []string{"ok filesystem_mirror DIR", "problem filesystem_mirror DIR/none can't be read", "ok network_mirror https://mirror.example.com/"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A quiet initializer reports nothing.
type quiet struct{ Initializer }

func (quiet) Begins(Part)   {}
func (quiet) Module(string) {}

// TestInstallModules: the modules that are used are brought and noted, and no others.
func TestInstallModules(t *testing.T) {
	b := newBench(t, map[string]string{"used/a.tf": "", "other/a.tf": ""})
	from := t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "a.tf"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	diags := b.InstallModules(false, quiet{}, func(resolve func(context.Context, module.Request) (string, diag.List)) ([]string, diag.List) {
		var diags diag.List
		for key, source := range map[string]string{"used": "./used", "other": "./other", "far": from} {
			_, more := resolve(t.Context(), module.Request{Key: key, ParentDir: ".", Source: source})
			diags.Append(more)
		}
		return []string{"used", "far"}, diags
	})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	noted, err := module.ReadManifest(b.Place.Files(), b.Place.DataName())
	if err != nil || len(noted) != 3 || noted[""].Dir != "." || noted["used"].Dir != "used" || !strings.HasSuffix(noted["far"].Source, from) {
		t.Errorf("%v, %v", noted, err)
	}
}

// TestNoSavedPlan: what can't be written as a plan, read as one or applied says so.
func TestNoSavedPlan(t *testing.T) {
	b := newBench(t, estate("first"))
	o := b.opening("plan")
	o.Record = true
	w, made, diags := Plan{Dir: b.Directory, Opening: o}.Run(t.Context())
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if err := w.Save(t.Context(), "p.plan", "1", made); err != nil {
		t.Fatal(err)
	}
	if err := w.Save(t.Context(), "none/p.plan", "1", made); err == nil {
		t.Error("a plan is written to a directory that doesn't exist")
	}
	w.Unlock()
	if _, diags := b.ReadPlan("m"); !diags.HasErrors() || !strings.Contains(diags.Err().Error(), "It is a directory.") {
		t.Errorf("a directory: %v", diags)
	}
	content, diags := b.ReadPlan("p.plan")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	content.Files["main.tf"] = []byte("resource {")
	damaged := &approver{approved: true}
	if b.apply(t.Context(), Plan{Subject: b.Saved(content)}, damaged) || !damaged.problems.HasErrors() {
		t.Errorf("a plan with configuration that can't be read: %v", damaged.problems)
	}
	// Only what is wrong is reported.
	if _, diags := b.savedInputs(made, []environment.Var{{Value: "other"}}); len(diags) != 1 || diags[0].Summary != "Invalid -var option" {
		t.Errorf("a variable without a value: %v", diags)
	}
}

// TestRecoverNothing: an object that isn't in doubt can't be forgotten, and nobody is led to think
// that it was.
func TestRecoverNothing(t *testing.T) {
	b := newBench(t, estate("first"))
	target, err := addr.ParseTarget("sim_object.a")
	if err != nil {
		t.Fatal(err)
	}
	forgotten, left, diags := Recover{Dir: b.Directory, Forget: []addr.Instance{target.Instance()}}.Run(t.Context())
	if len(forgotten)+len(left) > 0 || len(diags) != 1 || diags[0].Summary != "Nothing in doubt" {
		t.Errorf("%v, %v, %v", forgotten, left, diags)
	}
	if forgotten, left, diags = (Recover{Dir: b.Directory, ForgetAll: true}).Run(t.Context()); len(forgotten)+len(left) > 0 || diags.HasErrors() {
		t.Errorf("%v, %v, %v", forgotten, left, diags)
	}
}

// TestCheckEmpty: nothing is planned in a directory without configuration, unless everything is to
// be destroyed. Where only a stack is, its command is reported and nothing else.
func TestCheckEmpty(t *testing.T) {
	for _, test := range []struct {
		file string
		mode plan.Mode
		want string
	}{
		{"a.txt", plan.Normal, "No configuration files"}, {"a.txt", plan.Destroy, ""}, {"a.tf", plan.Normal, ""},
		{"a.tfcomponent.hcl", plan.Normal, "The directory has a stack"},
	} {
		var got []string
		for _, d := range newBench(t, map[string]string{test.file: ""}).Check(planoptions.Planning{Mode: test.mode}, "plan") {
			got = append(got, d.Summary)
		}
		if strings.Join(got, "; ") != test.want {
			t.Errorf("%s, %v: %q", test.file, test.mode, got)
		}
	}
}

// TestModeOfState: where nobody chose, objects of Terraform's providers in the state keep a run
// from going on as OpenTofu.
func TestModeOfState(t *testing.T) {
	b := newBench(t, estate("first"))
	if a := (&approver{approved: true}); !b.apply(t.Context(), Plan{}, a) {
		t.Fatal(a.problems.Err())
	}
	s, diags := b.States.State(t.Context(), statemgr.Options{}, "state-push")
	if s == nil {
		t.Fatal(diags.Err())
	}
	next := s.Snapshot().Clone()
	for at, o := range next.Objects {
		other := *o
		other.Provider.Provider = addr.Terraform.Provider("sim")
		next.Objects[at] = &other
	}
	if err := s.Save(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	s.Unlock()
	b.Place.Unchosen = true
	w, diags := b.Open(t.Context(), b.Configuration(), b.opening("plan"))
	if w != nil || len(diags) != 1 || !TerraformDirectory.Is(diags[0]) {
		t.Errorf("%v", diags)
	}
}
