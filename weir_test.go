package weir_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"weir.dev/weir"
	"weir.dev/weir/weirtest"
)

const requires = `
terraform {
  required_providers { sim = { source = "example/sim" } }
}
`

const two = requires + `
resource "sim_server" "a" { name = "a" }
resource "sim_server" "b" { name = "b of ${sim_server.a.id}" }
output "b" {
  value     = sim_server.b.name
  sensitive = true
}
`

// A bench is a workspace without disk, with what is behind it.
type bench struct {
	*weir.Workspace
	cloud *weirtest.Cloud
	store *weirtest.Store
}

func newBench(t *testing.T, config string, change func(*weir.Options)) *bench {
	t.Helper()
	b := &bench{cloud: weirtest.NewCloud().Type("sim_server", "name string required", "zone string replace"), store: weirtest.NewStore()}
	o := weir.Options{Store: b.store, Providers: []weir.ProviderSource{b.cloud.Source("example/sim")}}
	if change != nil {
		change(&o)
	}
	var err error
	if b.Workspace, err = weir.OpenFS(fstest.MapFS{"main.tf": {Data: []byte(config)}}, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func (b *bench) apply(t *testing.T) *weir.Result {
	t.Helper()
	r, err := b.PlanAndApply(t.Context(), weir.PlanOptions{}, weir.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// summaries are those of an error's diagnostics.
func summaries(err error) (list []string) {
	var e *weir.Error
	if errors.As(err, &e) {
		for _, d := range e.Diagnostics {
			list = append(list, d.Summary)
		}
	}
	return list
}

func TestLocked(t *testing.T) {
	b := newBench(t, two, nil)
	if err := b.store.Lock(t.Context(), "default", weir.LockInfo{ID: "7", Who: "ann", Operation: "apply"}); err != nil {
		t.Fatal(err)
	}
	_, err := b.Plan(t.Context(), weir.PlanOptions{})
	var held *weir.LockedError
	if !errors.Is(err, weir.ErrLocked) || !errors.As(err, &held) || held.Holder.Who != "ann" || held.Holder.ID != "7" {
		t.Errorf("%v", err)
	}
	if err := b.store.Unlock(t.Context(), "default", "7"); err != nil {
		t.Fatal(err)
	}
	b.apply(t)
}

func TestStale(t *testing.T) {
	b := newBench(t, two, nil)
	p, err := b.Plan(t.Context(), weir.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.apply(t)
	if _, err := b.Apply(t.Context(), p, weir.ApplyOptions{}); !errors.Is(err, weir.ErrStalePlan) || !slices.Equal(summaries(err), []string{"Saved plan is stale"}) {
		t.Errorf("%v", err)
	}
	if n := len(b.cloud.Objects()); n != 2 {
		t.Errorf("%d objects", n)
	}
}

// TestDoubt: what may exist isn't made again, what depends on it waits, and settling it either
// way continues from there.
func TestDoubt(t *testing.T) {
	for _, exists := range []bool{true, false} {
		b := newBench(t, two, func(o *weir.Options) { o.DataDir = t.TempDir() })
		b.cloud.After(func(_ context.Context, c weirtest.Call) error {
			if c.Method == "Create" && c.Object["id"] == "sim_server-1" {
				return weir.ErrUnanswered
			}
			return nil
		})
		p, err := b.Plan(t.Context(), weir.PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Apply(t.Context(), p, weir.ApplyOptions{}); !errors.Is(err, weir.ErrUnanswered) || !slices.Contains(summaries(err), "Object may exist") {
			t.Fatalf("%v", err)
		}
		if _, err := b.PlanAndApply(t.Context(), weir.PlanOptions{}, weir.ApplyOptions{}); !errors.Is(err, weir.ErrInDoubt) || !slices.Contains(summaries(err), "Objects in doubt") {
			t.Errorf("%v", err)
		}
		if _, err := b.Apply(t.Context(), p, weir.ApplyOptions{}); !errors.Is(err, weir.ErrInDoubt) && !errors.Is(err, weir.ErrStalePlan) {
			t.Errorf("%v", err)
		}
		doubts, err := b.Recover(t.Context(), weir.RecoverOptions{})
		if err != nil || len(doubts) != 1 || doubts[0].Address != "sim_server.a" {
			t.Fatalf("%+v, %v", doubts, err)
		}
		o, want := weir.RecoverOptions{Import: map[string]string{"sim_server.a": "sim_server-1"}}, 2
		if !exists {
			b.cloud.Remove("sim_server-1")
			o = weir.RecoverOptions{ForgetAll: true}
		}
		if doubts, err = b.Recover(t.Context(), o); err != nil || len(doubts) != 0 {
			t.Fatalf("%+v, %v", doubts, err)
		}
		b.apply(t)
		if n := len(b.cloud.Objects()); n != want {
			t.Errorf("exists %v: %d objects", exists, n)
		}
	}
}

// TestObjectInDoubt: a plan that was made before is rejected.
func TestObjectInDoubt(t *testing.T) {
	b := newBench(t, requires+`resource "sim_server" "a" { name = "a" }`, func(o *weir.Options) { o.DataDir = t.TempDir() })
	first, err := b.Plan(t.Context(), weir.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.cloud.After(func(context.Context, weirtest.Call) error { return weir.ErrUnanswered })
	b.store.Before(func(call, _ string) error {
		if call == "Write" {
			return errors.New("the store is down")
		}
		return nil
	})
	if _, err := b.Apply(t.Context(), first, weir.ApplyOptions{}); err == nil {
		t.Fatal("no answer, and nothing was saved")
	}
	b.store.Before(nil)
	_, err = b.Apply(t.Context(), first, weir.ApplyOptions{})
	if !errors.Is(err, weir.ErrInDoubt) || !slices.Contains(summaries(err), "Objects in doubt") {
		t.Errorf("%v", err)
	}
	if n := len(b.cloud.Objects()); n != 1 {
		t.Errorf("%d objects", n)
	}
}

// TestStop: what is under way ends, nothing is started after it. TestCancel: calls are cut
// short. Either way the state knows.
func TestStop(t *testing.T) {
	b := newBench(t, two, nil)
	stop := make(chan struct{})
	b.cloud.Before(func(_ context.Context, c weirtest.Call) error {
		if c.Method == "Create" {
			close(stop)
		}
		return nil
	})
	if _, err := b.PlanAndApply(t.Context(), weir.PlanOptions{}, weir.ApplyOptions{Stop: stop}); err == nil {
		t.Error("it claims that everything was done")
	}
	s, err := b.State(t.Context())
	if err != nil || len(s.Resources) != 1 || s.Resources[0].Address != "sim_server.a" || len(b.cloud.Objects()) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if err := b.store.Lock(t.Context(), "default", weir.LockInfo{}); err != nil {
		t.Errorf("the lock is still held: %v", err)
	}
}

func TestCancel(t *testing.T) {
	b := newBench(t, two, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.cloud.Before(func(ctx context.Context, c weirtest.Call) error {
		if c.Method != "Create" {
			return nil
		}
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if _, err := b.PlanAndApply(ctx, weir.PlanOptions{}, weir.ApplyOptions{}); err == nil {
		t.Error("it claims that everything was done")
	}
	b.cloud.Before(nil)
	b.apply(t)
	if n := len(b.cloud.Objects()); n != 2 {
		t.Errorf("%d objects", n)
	}
}

func TestApproval(t *testing.T) {
	b := newBench(t, two, nil)
	var asked *weir.Plan
	_, err := b.PlanAndApply(t.Context(), weir.PlanOptions{}, weir.ApplyOptions{Approve: func(_ context.Context, p *weir.Plan) bool {
		asked = p
		return false
	}})
	if !errors.Is(err, weir.ErrNotApproved) || asked.Summary() != (weir.Summary{Add: 2}) || len(b.cloud.Objects()) != 0 {
		t.Errorf("%v", err)
	}
}

// TestPlan looks at all that a plan reports, and takes it through a file.
func TestPlan(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b := newBench(t, two, func(o *weir.Options) { o.Now = func() time.Time { return now } })
	path := filepath.Join(t.TempDir(), "p.plan")
	made, err := b.Plan(t.Context(), weir.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Save(path); err != nil {
		t.Fatal(err)
	}
	p, err := b.LoadPlan(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*weir.Plan{made, p} {
		changes := p.Changes()
		if len(changes) != 2 || changes[0].Address != "sim_server.a" || changes[0].Action != weir.Create || changes[0].Provider != "registry.opentofu.org/example/sim" || !strings.Contains(string(changes[0].After), `"name":"a"`) || !strings.Contains(string(changes[0].AfterUnknown), `"id":true`) {
			t.Errorf("%+v", changes)
		}
		if out := p.Outputs(); len(out) != 1 || out[0] != (weir.OutputChange{Name: "b", Action: weir.Create, Sensitive: true}) {
			t.Errorf("%+v", out)
		}
		last := map[string]int{}
		for i, s := range p.Steps() {
			last[s.Kind+" "+s.Address] = i
		}
		if i, ok := last["apply sim_server.b"]; !ok || last["apply sim_server.a"] >= i {
			t.Errorf("%v", last)
		}
		var doc struct {
			Timestamp time.Time
			Changes   []json.RawMessage `json:"resource_changes"`
		}
		if text, err := p.JSON(); err != nil || json.Unmarshal(text, &doc) != nil || len(doc.Changes) != 2 || !doc.Timestamp.Equal(now) {
			t.Errorf("%v %+v", err, doc)
		}
	}
	if _, err := b.Apply(t.Context(), p, weir.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	out, err := b.Outputs(t.Context())
	var name string
	if err != nil || out["b"].Decode(&name) != nil || name != "b of sim_server-1" || !out["b"].Sensitive {
		t.Errorf("%+v %v", out, err)
	}
	b.cloud.Change("sim_server-1", weir.Object{"name": "other"})
	list, err := b.Explain(t.Context(), weir.PlanOptions{}, "sim_server.a")
	if err != nil || len(list) != 1 || list[0].Action != weir.Update || !strings.Contains(list[0].Causes[0][len(list[0].Causes[0])-1].Kind, "drift") {
		t.Errorf("%+v %v", list, err)
	}
}

// TestChanged: a state that somebody else wrote meanwhile isn't written over.
func TestChanged(t *testing.T) {
	b := newBench(t, two, func(o *weir.Options) { o.DataDir = t.TempDir() })
	b.cloud.Before(func(_ context.Context, c weirtest.Call) error {
		if c.Method != "Create" || c.Object["name"] != "a" {
			return nil
		}
		_, err := b.store.Write(t.Context(), "default", []byte("theirs"), "")
		return err
	})
	if _, err := b.PlanAndApply(t.Context(), weir.PlanOptions{}, weir.ApplyOptions{}); !slices.Contains(summaries(err), "Failed to persist state to backend") {
		t.Errorf("it claims that the state was saved: %v", err)
	}
	if text, _, err := b.store.Read(t.Context(), "default"); err != nil || string(text) != "theirs" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestProcesses applies in a directory that isn't the process's, with processes: a
// provider from a mirror, and commands of provisioners.
func TestProcesses(t *testing.T) {
	mirror := os.Getenv("WEIR_MIRROR")
	if mirror == "" {
		t.Skip("WEIR_MIRROR names no directory with providers")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"sub/main.tf": `
terraform {
  required_providers { local = { source = "hashicorp/local" } }
}
variable "word" {}
resource "local_file" "f" {
  filename = "made/by-provider"
  content  = var.word
  provisioner "local-exec" { command = "echo $GREETING ${var.word} > made/by-command && pwd > where" }
}
`,
		"sub/words.auto.tfvars": "word = \"hello\"\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	sub := filepath.Join(dir, "sub")
	ws, err := weir.Open(sub, weir.Options{
		Environ:   []string{"PATH=" + os.Getenv("PATH"), "GREETING=good day"},
		Providers: []weir.ProviderSource{weir.Mirror(mirror)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	if err := ws.Init(t.Context(), weir.InitOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := ws.PlanAndApply(t.Context(), weir.PlanOptions{}, weir.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(sub)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"made/by-provider": "hello", "made/by-command": "good day hello\n", "where": real + "\n"} {
		if got, err := os.ReadFile(filepath.Join(sub, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"terraform.tfstate", ".terraform.lock.hcl"} {
		if _, err := os.Stat(filepath.Join(sub, name)); err != nil {
			t.Error(err)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("something is beside the directory: %v %v", names, err)
	}
}

// TestInstalled installs a provider for a configuration that isn't on the disk.
func TestInstalled(t *testing.T) {
	mirror := os.Getenv("WEIR_MIRROR")
	if mirror == "" {
		t.Skip("WEIR_MIRROR names no directory with providers")
	}
	files := fstest.MapFS{"main.tf": {Data: []byte(`
terraform {
  required_providers { random = { source = "hashicorp/random" } }
}
resource "random_pet" "p" { length = 3 }
output "name" { value = random_pet.p.id }
`)}}
	ws, err := weir.OpenFS(files, weir.Options{
		DataDir: t.TempDir(), Store: weirtest.NewStore(), Providers: []weir.ProviderSource{weir.Mirror(mirror)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	if _, err := ws.Plan(t.Context(), weir.PlanOptions{}); !slices.Contains(summaries(err), "Inconsistent dependency lock file") {
		t.Errorf("nothing is installed, but %v", err)
	}
	if err := ws.Init(t.Context(), weir.InitOptions{}); err != nil {
		t.Fatal(err)
	}
	p, err := ws.Plan(t.Context(), weir.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := ws.Apply(t.Context(), p, weir.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var name string
	if err := r.State.Outputs["name"].Decode(&name); err != nil || strings.Count(name, "-") != 2 {
		t.Errorf("%q, %v", name, err)
	}
}

// TestMistakes in what a program gives.
func TestMistakes(t *testing.T) {
	if _, err := weir.Open(filepath.Join(t.TempDir(), "none"), weir.Options{}); err == nil {
		t.Error("there is no such directory")
	}
	files := fstest.MapFS{}
	for _, o := range []weir.Options{
		{Variables: map[string]any{"f": func() {}}},
		{Providers: []weir.ProviderSource{weir.InProcess("a/b/c/d", &weir.Provider{})}},
		{Providers: []weir.ProviderSource{weir.InProcess("a/b", &weir.Provider{Resources: map[string]weir.ResourceType{"b_c": {Attributes: map[string]weir.Attribute{"x": {Type: "any"}}}}})}},
		{Providers: []weir.ProviderSource{weir.InProcess("a/b", &weir.Provider{Resources: map[string]weir.ResourceType{"b_c": {}}})}},
		{Providers: []weir.ProviderSource{weir.Attach("a/b", weir.Attachment{Network: "carrier pigeon", Protocol: 6})}},
		{Providers: []weir.ProviderSource{{}}},
	} {
		if _, err := weir.OpenFS(files, o); err == nil {
			t.Errorf("%+v", o)
		}
	}
	b := newBench(t, two, nil)
	if _, err := b.Plan(t.Context(), weir.PlanOptions{Destroy: true, RefreshOnly: true}); err == nil {
		t.Error("both cannot be")
	}
	if _, err := b.Plan(t.Context(), weir.PlanOptions{Targets: []string{"no address!"}}); err == nil {
		t.Error("that is no address")
	}
	if _, err := newBench(t, "", nil).PlanAndApply(t.Context(), weir.PlanOptions{}, weir.ApplyOptions{}); err != nil {
		t.Error(err) // a file without blocks is a configuration
	}
}

// TestDoubtHolds: what an object that may exist needs is neither destroyed nor
// replaced, nor is what that needs; the rest is. Destroying isn't done then.
// noting is a store with room for notes.
type noting struct {
	*weirtest.Store
	mu    sync.Mutex
	notes map[string][]byte
}

func (n *noting) ReadNote(_ context.Context, workspace string) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.notes[workspace], nil
}

func (n *noting) WriteNote(_ context.Context, workspace string, note []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notes[workspace] = note
	return nil
}

// TestDoubtWherever: a cancelled apply says what it leaves in doubt, and nothing of that is
// created again, wherever states and journals are. Another workspace, as after a crash, knows of it
// unless the error says that it won't.
func TestDoubtWherever(t *testing.T) {
	const memoryOnly = "Objects in doubt are recorded in memory only"
	for _, tt := range []struct {
		name         string
		store, notes bool
		data, lasts  bool
		backend      string
	}{
		{name: "store", store: true},
		{name: "store with notes", store: true, notes: true, lasts: true},
		{name: "store and data directory", store: true, data: true, lasts: true},
		{name: "store with notes and data directory", store: true, notes: true, data: true, lasts: true},
		{name: "data directory", data: true, lasts: true},
		{name: "backend", backend: "terraform {\n  backend \"local\" {\n    path = \"PATH\"\n  }\n}\n"},
		{name: "backend and data directory", backend: "terraform {\n  backend \"local\" {\n    path = \"PATH\"\n  }\n}\n", data: true, lasts: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, own := t.TempDir(), &noting{Store: weirtest.NewStore(), notes: map[string][]byte{}}
			config := requires + "resource \"sim_server\" \"a\" { name = \"a\" }\n" + strings.ReplaceAll(tt.backend, "PATH", filepath.Join(dir, "own.tfstate"))
			var cloud *weirtest.Cloud
			open := func() *bench {
				b := newBench(t, config, func(o *weir.Options) {
					o.Store = nil
					switch {
					case tt.notes:
						o.Store = own
					case tt.store:
						o.Store = own.Store
					}
					if tt.data {
						o.DataDir = dir
					}
					if cloud != nil {
						o.Providers = []weir.ProviderSource{cloud.Source("example/sim")}
					}
				})
				if err := b.Init(t.Context(), weir.InitOptions{}); tt.backend != "" && err != nil {
					t.Fatal(err)
				}
				return b
			}
			b := open()
			cloud = b.cloud
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("enough")
			cloud.After(func(_ context.Context, c weirtest.Call) error {
				if c.Method != "Create" {
					return nil
				}
				cancel(why)
				return weir.ErrUnanswered
			})
			_, err := b.PlanAndApply(ctx, weir.PlanOptions{}, weir.ApplyOptions{})
			for _, kind := range []error{weir.ErrInDoubt, weir.ErrUnanswered, context.Canceled, why} {
				if !errors.Is(err, kind) {
					t.Errorf("it isn't %v: %v", kind, err)
				}
			}
			if got := slices.Contains(summaries(err), memoryOnly); got == tt.lasts {
				t.Errorf("it says %q", summaries(err))
			}
			cloud.After(nil)
			again := func(b *bench, known bool) {
				t.Helper()
				doubts, err := b.Recover(t.Context(), weir.RecoverOptions{})
				if err != nil || known != (len(doubts) == 1 && doubts[0].Address == "sim_server.a") {
					t.Errorf("in doubt %+v, %v", doubts, err)
				}
				if !known {
					return
				}
				if _, err := b.PlanAndApply(t.Context(), weir.PlanOptions{}, weir.ApplyOptions{}); !errors.Is(err, weir.ErrInDoubt) || len(cloud.Objects()) != 1 {
					t.Errorf("%v, %d objects", err, len(cloud.Objects()))
				}
			}
			again(b, true)
			next := open()
			again(next, tt.lasts)
			b = map[bool]*bench{true: next, false: b}[tt.lasts]
			if _, err := b.Recover(t.Context(), weir.RecoverOptions{Import: map[string]string{"sim_server.a": "sim_server-1"}}); err != nil {
				t.Fatal(err)
			}
			b.apply(t)
			if doubts, err := b.Recover(t.Context(), weir.RecoverOptions{}); err != nil || len(doubts) > 0 || len(cloud.Objects()) != 1 {
				t.Errorf("left are %+v, %v, %d objects", doubts, err, len(cloud.Objects()))
			}
			if note, _ := own.ReadNote(t.Context(), "default"); note != nil {
				t.Errorf("the note is left: %s", note)
			}
		})
	}
}

func TestDoubtHolds(t *testing.T) {
	const three = requires + `
variable "zone" { default = "a" }
resource "sim_server" "base" {
  name = "base"
  zone = var.zone
}
resource "sim_server" "middle" { name = "on ${sim_server.base.id}" }
resource "sim_server" "aside" { name = "aside" }
resource "sim_server" "lost" { name = "lost on ${sim_server.middle.id}" }
`
	begin := func() *bench {
		b := newBench(t, three, func(o *weir.Options) { o.DataDir = t.TempDir() })
		b.cloud.After(func(_ context.Context, c weirtest.Call) error {
			if name, _ := c.Object["name"].(string); c.Method == "Create" && strings.HasPrefix(name, "lost") {
				return weir.ErrUnanswered
			}
			return nil
		})
		if _, err := b.PlanAndApply(t.Context(), weir.PlanOptions{}, weir.ApplyOptions{}); !errors.Is(err, weir.ErrUnanswered) {
			t.Fatalf("%v", err)
		}
		b.cloud.After(nil)
		return b
	}
	names := func(b *bench) (list []string) {
		for _, o := range b.cloud.Objects() {
			name, _ := o["name"].(string)
			list = append(list, strings.Fields(name)[0])
		}
		slices.Sort(list)
		return list
	}
	left := []string{"base", "lost", "on"}
	b := begin()
	if _, err := b.PlanAndApply(t.Context(), weir.PlanOptions{Destroy: true}, weir.ApplyOptions{}); !errors.Is(err, weir.ErrInDoubt) {
		t.Errorf("%v", err)
	}
	if got := names(b); !slices.Equal(got, left) {
		t.Errorf("destroying leaves %q", got)
	}
	b.cloud.Remove(lastOf(b))
	if _, err := b.Recover(t.Context(), weir.RecoverOptions{ForgetAll: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.PlanAndApply(t.Context(), weir.PlanOptions{Destroy: true}, weir.ApplyOptions{}); err != nil || len(b.cloud.Objects()) > 0 {
		t.Errorf("%v, %q", err, names(b))
	}

	b = begin()
	before := b.cloud.Objects()
	_, err := b.PlanAndApply(t.Context(), weir.PlanOptions{Replace: []string{"sim_server.base"}}, weir.ApplyOptions{})
	if !errors.Is(err, weir.ErrInDoubt) || len(b.cloud.Objects()) != len(before) {
		t.Errorf("%v: %q", err, names(b))
	}
	for id := range before {
		if b.cloud.Objects()[id] == nil {
			t.Errorf("%s was replaced", id)
		}
	}
}

// lastOf is the object that was made last.
func lastOf(b *bench) (last string) {
	for id := range b.cloud.Objects() {
		last = max(last, id)
	}
	return last
}

// A provider's error message has no secrets, wherever it got them from.
func TestSecrets(t *testing.T) {
	b := newBench(t, requires+`
variable "password" {
  default   = "hunter2222"
  sensitive = true
}
resource "sim_server" "a" { name = var.password }
`, nil)
	b.cloud.Before(func(_ context.Context, c weirtest.Call) error {
		return errors.New("can't " + c.Method + " " + c.Object["name"].(string))
	})
	_, err := b.PlanAndApply(t.Context(), weir.PlanOptions{}, weir.ApplyOptions{})
	if err == nil || strings.Contains(err.Error(), "hunter2222") || !strings.Contains(err.Error(), "can't Create (sensitive value)") {
		t.Error(err)
	}
}

// TestGroups: secrets aren't in groups, and what differs among their objects is reported.
func TestGroups(t *testing.T) {
	config := func(text string) string {
		return requires + `
variable "s" {
  sensitive = true
  default   = "` + text + `"
}
resource "sim_server" "a" {
  for_each = toset(["x", "y"])
  name     = "${each.key} ` + text + `"
}
resource "sim_server" "b" { name = var.s }
`
	}
	store, cloud := weirtest.NewStore(), weirtest.NewCloud().Type("sim_server", "name string required", "zone string replace")
	open := func(text string) *bench {
		return newBench(t, config(text), func(o *weir.Options) {
			o.Store, o.Providers = store, []weir.ProviderSource{cloud.Source("example/sim")}
		})
	}
	open("one").apply(t)
	p, err := open("two").Plan(t.Context(), weir.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%+v", p.Groups())
	want := fmt.Sprintf("%+v", []weir.Group{
		{Label: `sim_server.a["x", "y"]`, Addresses: []string{`sim_server.a["x"]`, `sim_server.a["y"]`}, Action: weir.Update,
			Differences: []weir.Difference{{Path: "name", Before: `"x one"`, After: `"x two"`, Various: true}}},
		{Label: "sim_server.b", Addresses: []string{"sim_server.b"}, Action: weir.Update,
			Differences: []weir.Difference{{Path: "name", Before: "(sensitive value)", After: "(sensitive value)"}}},
	})
	if got != want {
		t.Errorf("groups %s\nwant %s", got, want)
	}
}

// TestImpact: a plan that was saved reports the same, and an address of nothing is rejected.
func TestImpact(t *testing.T) {
	b := newBench(t, two, func(o *weir.Options) { o.DataDir = t.TempDir() })
	p, err := b.Plan(t.Context(), weir.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "plan")
	if err := p.Save(path); err != nil {
		t.Fatal(err)
	}
	saved, err := b.LoadPlan(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*weir.Plan{p, saved} {
		list, err := p.Impact("sim_server.a")
		if err != nil || len(list) != 2 || !slices.Equal(list[0].Objects, []string{"sim_server.b"}) ||
			list[1].Address != "output.b" || list[1].Kind != "output" || len(list[1].Way) != 2 || list[1].Way[0].To != list[1].Way[1].From {
			t.Errorf("%+v, %v", list, err)
		}
		if list, err := p.Impact("output.b"); err != nil || list != nil {
			t.Errorf("nothing depends on an output of the root: %+v, %v", list, err)
		}
		if _, err := p.Impact("sim_server.c"); !slices.Equal(summaries(err), []string{"Nothing of that address"}) {
			t.Errorf("%v", err)
		}
	}
}
