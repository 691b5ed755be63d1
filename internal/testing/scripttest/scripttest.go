// Package scripttest runs scripts of several plans and applies, with a scripted provider and a
// state in memory.
//
// It owns the commands of such scripts and what they print. It doesn't know which package a
// story is about: each keeps its own in testdata.
package scripttest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/incremental/freshness"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/plan/planfile"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/builtin"
	"weir.dev/weir/internal/provider/fake"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/testing/txtar"
	"weir.dev/weir/internal/ui/view"
)

var update = flag.Bool("update", false, "rewrite the goldens in testdata")

var sim = addr.OpenTofu.Provider("sim")

// A story is one configuration through several plans and applies, as a script reports it. Each
// line of the script is a command:
//
//	use DIR                 configuration is what stands below DIR, "." at first
//	state FILE              the prior state is that of the file
//	var NAME=VALUE          sets a root variable for what follows; VALUE is HCL
//	program                 print the root program
//	validate                validate
//	plan OPTION…            plan; see planOptions
//	graph                   print the execution graph of the last plan
//	why ADDRESS OPTION…     plan and explain what becomes of the address
//	generate                print configuration for imports without one
//	save                    write the last plan to a plan file and read it back
//	apply [stop=INSTANCE]   apply the last plan; stop when that instance begins
//	remote ID NAME=VALUE…   what exists under that id has changed so
//	gone ID                 what had the id exists no more
//	fail CALL TYPE TEXT…    calls fail from now on; without TEXT they don't; "-" is any type
//	stuck NAME              objects of that name can't be deleted
//	calls                   how often the provider was called since the last time
//	show                    print the state
type story struct {
	t       *testing.T
	archive *txtar.Archive
	out     strings.Builder

	dir    string
	inputs map[string]module.VariableInput
	prior  *state.Snapshot
	plan   *plan.Plan
	fake   *fake.Provider
	object *fake.Type
	ids    int
	stuck  string

	mu     sync.Mutex
	events []string
	sink   func(event.Event)
}

func newStory(t *testing.T, archive *txtar.Archive) *story {
	p := fake.New()
	p.Config = fake.NewType("region string")
	object := fake.NewType(
		"name string required", "zone string replace", "parent string", "tags map(string)",
		"secret string optional sensitive", "wo string optional writeonly", "size number optional computed", "id string computed",
	)
	p.Resources["sim_object"] = object
	p.DataSources["sim_lookup"] = fake.NewType("key string required", "found string computed")
	p.Ephemerals["sim_token"] = fake.NewType("scope string", "value string computed")
	p.Actions["sim_note"] = noteType()
	p.Functions["join"] = fake.Function{
		Function: provider.Function{Parameters: []provider.Parameter{{Name: "a", Type: cty.String}, {Name: "b", Type: cty.String}}, Return: cty.String},
		Call: func(args []cty.Value) (cty.Value, error) {
			return cty.StringVal(args[0].AsString() + "+" + args[1].AsString()), nil
		},
	}
	s := &story{t: t, archive: archive, dir: ".", inputs: map[string]module.VariableInput{}, fake: p, object: object}
	// Ids tell the name.
	object.Apply = func(r provider.ApplyRequest) provider.ApplyResponse {
		if r.Planned.IsNull() {
			out := provider.ApplyResponse{New: r.Planned}
			if r.Prior.GetAttr("name").AsString() == s.stuck {
				out.New = r.Prior
				out.Diags.Add(provider.Reported.As("Stuck").New(diag.Error, "It is in use."))
			}
			return out
		}
		v := r.Planned.AsValueMap()
		if !v["id"].IsKnown() {
			s.ids++
			v["id"] = cty.StringVal(fmt.Sprintf("%s-%d", v["name"].AsString(), s.ids))
		}
		if !v["size"].IsKnown() {
			v["size"] = cty.NumberIntVal(1)
		}
		return provider.ApplyResponse{New: cty.ObjectVal(v), Private: r.PlannedPrivate}
	}
	return s
}

// A catalog has the fake provider and the built-in one.
type catalog struct {
	fake.Catalog
	s *story
}

func (c catalog) Schemas(ctx context.Context, a addr.Provider) (*provider.Schemas, diag.List) {
	if a == builtin.Address {
		return builtin.Schemas(builtin.Options{}), nil
	}
	return c.Catalog.Schemas(ctx, a)
}

func (c catalog) Start(ctx context.Context, a addr.Provider) (provider.Provider, diag.List) {
	if a == builtin.Address {
		return builtin.New(builtin.Options{NewID: func() string {
			c.s.ids++
			return fmt.Sprintf("data-%d", c.s.ids)
		}}), nil
	}
	return c.Catalog.Start(ctx, a)
}

func (s *story) load() (*engine.Config, diag.List) {
	files := module.Memory{}
	for _, f := range s.archive.Files {
		if name, err := filepath.Rel(s.dir, f.Name); err == nil && !strings.HasPrefix(name, "..") {
			files[name] = f.Data
		}
	}
	return engine.Load(s.t.Context(), engine.LoadOptions{
		Dir: ".", Files: files, Inputs: s.inputs,
		World: engine.World{
			Catalog: catalog{fake.Catalog{sim: s.fake}, s}, WorkDir: ".", OriginalDir: "/", Workspace: "default",
			Parallelism: 1, Now: func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC) },
			Sink: s.tell,
		},
		Resolve: func(_ context.Context, r module.Request) (string, diag.List) {
			dir := path.Join(r.ParentDir, r.Source)
			if _, within := strings.CutPrefix(path.Clean(r.ParentDir)+"/", dir+"/"); within || dir == "." {
				return "", module.Circle.List("There would be no end of %s.", dir)
			}
			return dir, nil
		},
	})
}

// noteType is an action that says its text, and may be deferred or fail.
func noteType() *fake.Type {
	note := fake.NewType("text string required", "fails bool", "waits bool", "key string optional sensitive")
	note.PlanAction = func(config cty.Value) (r provider.PlanActionResponse) {
		if w := config.GetAttr("waits"); w.IsKnown() && !w.IsNull() && w.True() {
			r.Deferred = provider.AbsentPrerequisite
		}
		return r
	}
	note.Invoke = func(config cty.Value, progress func(string)) diag.List {
		progress("says " + config.GetAttr("text").AsString())
		if f := config.GetAttr("fails"); !f.IsNull() && f.True() {
			return provider.Reported.As("Can't note").List("The pen is empty.")
		}
		return nil
	}
	return note
}

// tell keeps an event.
func (s *story) tell(e event.Event) {
	names := map[event.Kind]string{
		event.RefreshStart: "refresh", event.ReadStart: "read", event.ApplyStart: "start", event.ApplyComplete: "done",
		event.ApplyErrored: "failed", event.ProvisionStart: "provision", event.ProvisionOutput: "  output", event.ProvisionErrored: "provision failed",
		event.EphemeralStart: "ephemeral", event.Stopping: "stopping",
		event.ActionStart: "invoke", event.ActionProgress: "  progress", event.ActionComplete: "invoked", event.ActionErrored: "invocation failed",
	}
	s.mu.Lock()
	if name := names[e.Kind]; name != "" {
		text := name
		if e.Kind == event.ApplyStart {
			text += " " + e.Action.String()
		}
		switch {
		case e.Invocation != nil:
			text += " " + e.Invocation.Label()
		case e.Kind != event.Stopping:
			text += " " + e.Addr.String()
		}
		for _, part := range []string{e.Provisioner, e.Text, e.IDValue} {
			if part != "" {
				text += " " + part
			}
		}
		s.events = append(s.events, text)
	}
	sink := s.sink
	s.mu.Unlock()
	if sink != nil {
		sink(e)
	}
}

// takeEvents prints what happened; sorted where the order is free.
func (s *story) takeEvents(ordered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !ordered {
		slices.Sort(s.events)
	}
	for _, e := range s.events {
		s.printf("  %s\n", e)
	}
	s.events = nil
}

// run does one line of the script.
func (s *story) run(line string) {
	words := strings.Fields(line)
	if len(words) == 0 || strings.HasPrefix(line, "#") {
		return
	}
	s.printf("> %s\n", line)
	args := words[1:]
	switch words[0] {
	case "use":
		s.dir = args[0]
	case "state":
		prior, diags := statefile.Read(s.file(args[0]), args[0])
		s.problems(diags)
		s.prior = prior
	case "var":
		name, text, _ := strings.Cut(args[0], "=")
		s.inputs[name] = module.VariableInput{Value: s.value(text), From: "argument"}
	case "program":
		if c, diags := s.load(); diags.HasErrors() {
			s.problems(diags)
		} else if err := c.Tree.Program.Print(&s.out); err != nil {
			s.t.Fatal(err)
		}
	case "validate":
		c, diags := s.load()
		if !diags.HasErrors() {
			diags = append(diags, engine.Validate(s.t.Context(), c)...)
		}
		s.problems(diags)
	case "plan":
		s.makePlan(args)
	case "graph":
		if s.plan == nil || s.plan.Graph == nil {
			s.printf("no graph\n")
		} else if err := errors.Join(s.plan.Graph.Verify(len(s.plan.Changes)), s.plan.Graph.Print(&s.out)); err != nil {
			s.t.Fatal(err)
		}
	case "why":
		s.why(args)
	case "generate":
		s.generate()
	case "save":
		s.save()
	case "apply":
		s.apply(args)
	case "remote", "gone":
		s.change(words[0] == "gone", args)
	case "fail":
		s.fake.Fail(args[0], strings.TrimPrefix(args[1], "-"), strings.Join(args[2:], " "))
	case "stuck":
		s.stuck = args[0]
	case "calls":
		s.printf("%s\n", s.fake.Counts())
		s.fake.Reset()
	case "show":
		s.show()
	default:
		s.t.Fatalf("no command %q", words[0])
	}
}

func (s *story) file(name string) []byte {
	for _, f := range s.archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	s.t.Fatalf("no file %q", name)
	return nil
}

func (s *story) value(text string) cty.Value {
	expr, diags := hclsyntax.ParseExpression([]byte(text), "script", hcl.InitialPos)
	if !diags.HasErrors() {
		var v cty.Value
		if v, diags = expr.Value(nil); !diags.HasErrors() {
			return v
		}
	}
	s.t.Fatalf("%s: %s", text, diags)
	return cty.NilVal
}

func (s *story) planOptions(args []string) engine.PlanOptions {
	var o engine.PlanOptions
	for _, arg := range args {
		name, text, _ := strings.Cut(arg, "=")
		var err error
		var t addr.Target
		switch name {
		case "destroy":
			o.Mode = plan.Destroy
		case "refresh-only":
			o.Mode = plan.RefreshOnly
		case "skip-refresh":
			o.SkipRefresh = true
		case "minimal-refresh":
			o.Looks = freshness.Minimal()
		case "defer":
			o.AllowDeferral = true
		case "removed-destroys":
			o.RemovedDestroys = true
		case "target":
			t, err = addr.ParsePattern(text)
			o.Targets = append(o.Targets, t)
		case "exclude":
			t, err = addr.ParsePattern(text)
			o.Excludes = append(o.Excludes, t)
		case "invoke":
			t, err = addr.ParseTarget(text)
			o.Invoke, o.Mode = &t, plan.RefreshOnly
		case "replace":
			var i addr.Instance
			i, err = addr.ParseInstance(text)
			o.Replace = append(o.Replace, i)
		default:
			err = fmt.Errorf("no option %q", arg)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return o
}

func (s *story) makePlan(args []string) {
	s.plan = nil
	c, diags := s.load()
	if diags.HasErrors() {
		s.problems(diags)
		return
	}
	p, more := engine.Plan(s.t.Context(), c, s.prior, s.planOptions(args))
	s.takeEvents(false)
	s.problems(append(diags, more...))
	if p != nil && !more.HasErrors() {
		s.plan = p
		s.printPlan(p)
	}
	if n := s.fake.Running(); n != 0 {
		s.t.Errorf("%d providers are left running", n)
	}
}

func (s *story) why(args []string) {
	c, diags := s.load()
	target, err := addr.ParseTarget(args[0])
	if err != nil || diags.HasErrors() {
		s.t.Fatal(err, diags)
	}
	_, list, diags := engine.Explain(s.t.Context(), c, s.prior, s.planOptions(args[1:]), target)
	s.takeEvents(false)
	s.problems(diags)
	if err := view.Why(&s.out, list, view.Options{}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *story) generate() {
	c, diags := s.load()
	if diags.HasErrors() {
		s.t.Fatal(diags)
	}
	list, diags := engine.Generate(s.t.Context(), c, s.prior, engine.PlanOptions{})
	s.takeEvents(false)
	s.problems(diags)
	for _, g := range list {
		s.printf("%s\n", g.Text)
	}
}

// save goes through a plan file.
func (s *story) save() {
	data, err := planfile.Encode(planfile.Content{Engine: "test", Plan: s.plan})
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := planfile.Decode(data)
	if err != nil {
		s.t.Fatal(err)
	}
	again, err := planfile.Encode(c)
	if err != nil || !bytes.Equal(data, again) {
		s.t.Errorf("the plan file isn't the same when written again (%v)", err)
	}
	s.plan = c.Plan
}

func (s *story) apply(args []string) {
	if s.plan == nil {
		s.printf("nothing to apply\n")
		return
	}
	c, diags := s.load()
	if diags.HasErrors() {
		s.problems(diags)
		return
	}
	o := engine.ApplyOptions{Choose: func([]execgraph.ID) int { return 0 }}
	for _, arg := range args {
		at, ok := strings.CutPrefix(arg, "stop=")
		if !ok {
			s.t.Fatalf("no option %q", arg)
		}
		stop, stopped := make(chan struct{}), make(chan struct{})
		o.Stop = stop
		s.sink = func(e event.Event) {
			switch {
			case e.Kind == event.Stopping:
				close(stopped)
			case e.Kind == event.ApplyStart && e.Addr.String() == at:
				close(stop)
				<-stopped
			}
		}
	}
	after, more := engine.Apply(s.t.Context(), c, s.plan, o)
	s.sink = nil
	s.takeEvents(true)
	s.problems(append(diags, more...))
	if n := s.fake.Running(); n != 0 {
		s.t.Errorf("%d providers are left running", n)
	}
	if after == nil {
		return
	}
	stored, err := statefile.Bytes(after)
	if err != nil {
		s.t.Fatal(err)
	}
	again, diags := statefile.Read(stored, "state")
	if diags.HasErrors() || !statefile.Equal(again, after) {
		s.t.Errorf("the state isn't the same when read again (%v)", diags)
	}
	s.prior = after
}

// change makes what exists under an id other than the state has it.
func (s *story) change(gone bool, args []string) {
	ty := s.object.Schema.Block.ImpliedType()
	if gone {
		s.fake.SetRemote(args[0], cty.NullVal(ty))
		return
	}
	v := s.object.Schema.Block.EmptyValue().AsValueMap()
	v["id"] = cty.StringVal(args[0])
	if s.prior != nil {
		for _, o := range s.prior.Objects {
			if bytes.Contains(o.JSON, []byte(`"id":"`+args[0]+`"`)) {
				v = s.decode(o.JSON)
			}
		}
	}
	for _, arg := range args[1:] {
		name, text, _ := strings.Cut(arg, "=")
		a, err := value.Convert(s.value(text), ty.AttributeType(name))
		if err != nil {
			s.t.Fatal(err)
		}
		v[name] = a
	}
	s.fake.SetRemote(args[0], cty.ObjectVal(v))
}

// Run plays the stories in testdata and compares them with "want"; -update writes that again.
func Run(t *testing.T) {
	t.Helper()
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			last := len(archive.Files) - 1
			if last < 1 || archive.Files[0].Name != "script" || archive.Files[last].Name != "want" {
				t.Fatal("the first file has to be script, the last want")
			}
			script, want := string(archive.Files[0].Data), string(archive.Files[last].Data)
			s := newStory(t, &txtar.Archive{Files: archive.Files[1:last]})
			for line := range strings.Lines(script) {
				s.run(strings.TrimSpace(line))
			}
			got := s.text()
			if *update {
				archive.Files[last].Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

var deposedKey = regexp.MustCompile(`\b[0-9a-f]{8}\b`)

// text is the whole story; keys of deposed objects are numbered.
func (s *story) text() string {
	keys := map[string]string{}
	return deposedKey.ReplaceAllStringFunc(s.out.String(), func(key string) string {
		if keys[key] == "" {
			keys[key] = fmt.Sprintf("KEY-%d", len(keys)+1)
		}
		return keys[key]
	})
}

// sorted lists the keys of maps together.
func sorted[V any](all ...map[string]V) []string {
	keys := map[string]bool{}
	for _, m := range all {
		for k := range m {
			keys[k] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
