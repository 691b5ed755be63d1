package stream

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/resource/ratelimit"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/ui/view/ansi"
)

var update = flag.Bool("update", false, "rewrite golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s", name, got)
	}
}

func object(t *testing.T, text string) addr.Object {
	t.Helper()
	i, err := addr.ParseInstance(text)
	if err != nil {
		t.Fatal(err)
	}
	return addr.Object{Instance: i}
}

// play sends a story of events, with pauses between them.
func play(t *testing.T, p Progress) {
	a, data := object(t, `module.m["k"].sim_object.a[0]`), object(t, "data.sim_object.d")
	deposed := object(t, "sim_object.old")
	deposed.Deposed = "0011aabb"
	send := func(pause time.Duration, e event.Event) {
		time.Sleep(pause)
		synctest.Wait()
		p.Event(e)
	}
	id := func(e event.Event) event.Event {
		e.IDKey, e.IDValue = "id", "i-1"
		return e
	}
	send(0, id(event.Event{Kind: event.RefreshStart, Addr: a}))
	send(0, id(event.Event{Kind: event.RefreshComplete, Addr: a}))
	send(0, event.Event{Kind: event.ReadStart, Addr: data})
	send(1200*time.Millisecond, id(event.Event{Kind: event.ReadComplete, Addr: data}))
	send(0, event.Event{Kind: event.EphemeralStart, Addr: object(t, "ephemeral.sim_token.t"), Text: "opening"})
	send(0, event.Event{Kind: event.EphemeralComplete, Addr: object(t, "ephemeral.sim_token.t"), Text: "opening"})
	send(0, event.Event{Kind: event.ApplyStart, Addr: a, Action: plan.Create})
	send(300*time.Millisecond, id(event.Event{Kind: event.ApplyStart, Addr: deposed, Action: plan.Delete}))
	send(25*time.Second, id(event.Event{Kind: event.ApplyComplete, Addr: deposed, Action: plan.Delete}))
	send(0, event.Event{Kind: event.ProvisionStart, Addr: a, Provisioner: "local-exec"})
	send(0, event.Event{Kind: event.ProvisionOutput, Addr: a, Provisioner: "local-exec", Text: "10%\r20%\r\n\ndone \x1b[31mred\n"})
	send(0, event.Event{Kind: event.ProvisionComplete, Addr: a, Provisioner: "local-exec"})
	send(time.Second, id(event.Event{Kind: event.ApplyComplete, Addr: a, Action: plan.Create}))
	send(0, id(event.Event{Kind: event.ApplyStart, Addr: a, Action: plan.Update}))
	send(0, event.Event{Kind: event.ApplyErrored, Addr: a, Action: plan.Update})
	send(0, event.Event{Kind: event.ApplyStart, Addr: a, Action: plan.NoOp})
	send(0, event.Event{Kind: event.ApplyComplete, Addr: a, Action: plan.NoOp})
	slowed := &ratelimit.Slowed{Subject: ratelimit.Subject{Provider: addr.OpenTofu.Provider("sim"), Mode: addr.Managed, Type: "sim_object"}, PerSecond: 47.4}
	send(0, event.Event{Kind: event.Slowed, Slowed: slowed})
	of := ratelimit.Subject{Provider: addr.OpenTofu.Provider("sim")}
	send(0, event.Event{Kind: event.Slowed, Slowed: &ratelimit.Slowed{Subject: of, Budget: true, PerSecond: 0.25}})
	send(0, event.Event{Kind: event.Slowed, Slowed: &ratelimit.Slowed{Subject: slowed.Subject, Budget: true, AtOnce: 2}})
	send(30*time.Second, event.Event{Kind: event.Stopping})
	synctest.Wait()
	p.Close()
	p.Event(event.Event{Kind: event.RefreshStart, Addr: a})
	p.Close()
}

func TestHuman(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		play(t, Human(&out, Options{}))
		golden(t, "human.txt", out.String())
	})
	synctest.Test(t, func(t *testing.T) {
		var plain, painted bytes.Buffer
		play(t, Multi(Human(&plain, Options{}), Human(&painted, Options{Pen: ansi.Pen{On: true}})))
		got := painted.String()
		for _, seq := range ansi.Sequences {
			got = strings.ReplaceAll(got, seq, "")
		}
		if got != plain.String() {
			t.Errorf("colours change the text:\n%s", got)
		}
	})
}

// TestCount: while an apply continues, a line says every ten seconds how far it is.
func TestCount(t *testing.T) {
	p := &plan.Plan{Graph: &execgraph.Graph{Steps: []execgraph.Step{{Kind: execgraph.OpenProvider}, {Kind: execgraph.Apply}, {Kind: execgraph.Apply}, {Kind: execgraph.Output}}}}
	for amount, want := range map[Amount]string{
		Everything: "sim_object.a: Creating...\n0 of 2 done, 1 running\nsim_object.a: Still creating... [10s elapsed]\n" +
			"sim_object.a: Creation complete after 12s\n1 of 2 done\n",
		Ends:    "sim_object.a: Creation complete after 12s\n",
		Concise: "",
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			h := Human(&out, Options{Shown: amount})
			a := object(t, "sim_object.a")
			h.Event(event.Event{Kind: event.ApplyBegin, Plan: p})
			h.Event(event.Event{Kind: event.StepEnd, Step: 0})
			time.Sleep(500 * time.Millisecond)
			h.Event(event.Event{Kind: event.ApplyStart, Addr: a, Action: plan.Create})
			time.Sleep(12 * time.Second)
			h.Event(event.Event{Kind: event.ApplyComplete, Addr: a, Action: plan.Create})
			h.Event(event.Event{Kind: event.StepEnd, Step: 1})
			time.Sleep(10 * time.Second)
			h.Event(event.Event{Kind: event.ApplyEnd})
			time.Sleep(20 * time.Second)
			h.Close()
			if out.String() != want {
				t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		j := NewJSON(&out, dialect.OpenTofu, nil)
		play(t, j)
		golden(t, "events.jsonl", out.String())
		readable(t, out.String())
	})
}

func readable(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if at, err := time.Parse(time.RFC3339Nano, m["@timestamp"].(string)); err != nil || at.Location() != time.UTC {
			t.Errorf("bad time in %s", line)
		}
	}
}

func TestJSONOfPlanAndResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		j := NewJSON(&out, dialect.OpenTofu, nil)
		defer j.Close()
		change := func(address string, action plan.Action) *plan.Change {
			o := object(t, address)
			null := cty.NullVal(cty.EmptyObject)
			return &plan.Change{Addr: o, Provider: &addr.ProviderConfig{}, Action: action, Before: null, After: null}
		}
		moved := change("sim_object.new", plan.NoOp)
		was := object(t, "sim_object.old")
		moved.From = &was.Instance
		imported := change("sim_object.imported", plan.NoOp)
		imported.Importing = &plan.Importing{ID: "<i>"}
		replaced := change(`sim_object.r["k"]`, plan.CreateThenDelete)
		replaced.Reason = plan.ReplaceCannotUpdate
		j.Plan(&plan.Plan{
			Changes: []*plan.Change{
				replaced, moved, imported, change("sim_object.same", plan.NoOp), change("data.sim_object.d", plan.Read),
				change("data.sim_object.gone", plan.Delete), change("sim_object.f", plan.Forget), change("ephemeral.sim_token.t", plan.Create),
			},
			Drift:   []*plan.Change{change("sim_object.d", plan.Update), moved},
			Outputs: []*plan.OutputChange{{Name: "o", Action: plan.Create, Sensitive: true}},
		})
		j.Diagnostics(diag.List{
			{Severity: diag.Warning, Summary: "Careful", Detail: "d"},
			{Severity: diag.Error, Summary: "Bad", Subject: &hcl.Range{Filename: "main.tf", Start: hcl.Pos{Line: 1, Column: 1}, End: hcl.Pos{Line: 1, Column: 3, Byte: 2}}},
		}, map[string][]byte{"main.tf": []byte("ab = 1\n")})
		j.Applied(plan.Counts{Import: 1, Add: 2, Change: 3, Destroy: 4, Forget: 5}, false, false)
		j.Applied(plan.Counts{Destroy: 4}, true, false)
		j.Applied(plan.Counts{Add: 1}, false, true)
		if err := j.Outputs(map[string]state.Output{"o": {Value: cty.StringVal("hunter2"), Sensitive: true}, "p": {Value: cty.True}}); err != nil {
			t.Error(err)
		}
		j.Log("a <log> line")
		j.StateDump([]byte(`{"version":4}`))
		golden(t, "plan.jsonl", out.String())
		readable(t, out.String())
	})
}

// TestSavedChanges: what does nothing to an object isn't reported again in its apply, and a
// plan that only refreshes changes none.
func TestSavedChanges(t *testing.T) {
	var out bytes.Buffer
	j := NewJSON(&out, dialect.OpenTofu, nil)
	defer j.Close()
	change := func(address string, action plan.Action) *plan.Change {
		o := object(t, address)
		null := cty.NullVal(cty.EmptyObject)
		return &plan.Change{Addr: o, Provider: &addr.ProviderConfig{}, Action: action, Before: null, After: null}
	}
	imported := change("sim_object.imported", plan.NoOp)
	imported.Importing = &plan.Importing{ID: "i"}
	moved := change("sim_object.new", plan.NoOp)
	was := object(t, "sim_object.old")
	moved.From = &was.Instance
	changes := []*plan.Change{imported, moved, change("sim_object.made", plan.Create)}
	j.Changes(&plan.Plan{Changes: changes})
	if n := strings.Count(out.String(), "planned_change"); n != 1 || !strings.Contains(out.String(), "sim_object.made: Plan to create") {
		t.Errorf("a saved plan: %s", out.String())
	}
	out.Reset()
	j.Plan(&plan.Plan{Mode: plan.RefreshOnly, Changes: changes})
	if strings.Contains(out.String(), "planned_change") {
		t.Errorf("a plan that only refreshes: %s", out.String())
	}
}

func TestCounter(t *testing.T) {
	c := &Counter{}
	var wait sync.WaitGroup
	for _, action := range []plan.Action{plan.Create, plan.Create, plan.Update, plan.Delete, plan.Forget, plan.NoOp, plan.Read} {
		wait.Go(func() {
			c.Event(event.Event{Kind: event.ApplyStart, Addr: object(t, "sim_object.a"), Action: action})
			c.Event(event.Event{Kind: event.ApplyComplete, Addr: object(t, "sim_object.a"), Action: action})
			c.Event(event.Event{Kind: event.ApplyComplete, Addr: object(t, "data.sim_object.a"), Action: action})
		})
	}
	wait.Wait()
	if got, want := c.Counts(), (plan.Counts{Add: 2, Change: 1, Destroy: 1, Forget: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestShorten(t *testing.T) {
	for in, want := range map[string]string{"short": "short", "abcdefghijklmnop": "abc...mnop"} {
		if got := shorten(in, 10); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}
