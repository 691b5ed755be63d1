package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/testing/testkit"
)

func objects(n int) string {
	return fmt.Sprintf("resource \"sim_object\" \"a\" {\n  count = %d\n  name  = \"n${count.index}\"\n}\n", n)
}

// bench has n objects that are as the configuration has them.
func bench(t *testing.T, n int) *testkit.Bench {
	b := testkit.New(t)
	if diags := b.Apply(objects(n), engine.PlanOptions{}); diags.HasErrors() {
		t.Fatal(diags)
	}
	b.Reset()
	return b
}

func planned(t *testing.T, b *testkit.Bench, text string, parallelism int) (*plan.Plan, diag.List) {
	t.Helper()
	config, diags := b.Load(text)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	config.World.Parallelism = parallelism
	return engine.Plan(t.Context(), config, b.State, engine.PlanOptions{})
}

// shown is all that a plan says of objects.
func shown(p *plan.Plan) string {
	var b strings.Builder
	for _, list := range [][]*plan.Change{p.Changes, p.Drift} {
		list = slices.Clone(list)
		slices.SortFunc(list, func(a, b *plan.Change) int { return a.Addr.Compare(b.Addr) })
		for _, c := range list {
			fmt.Fprintf(&b, "%s %s %#v -> %#v %q\n", c.Action, c.Addr, c.Before, c.After, c.Private)
		}
	}
	for _, a := range p.Refreshed.Addresses() {
		fmt.Fprintf(&b, "%s %s\n", a, p.Refreshed.Objects[a].JSON)
	}
	return b.String()
}

// TestManyObjectsTakeFewCalls: reads and plans go a hundred at a time, those of the first
// object by themselves, and give the same result.
func TestManyObjectsTakeFewCalls(t *testing.T) {
	b := bench(t, 2000)
	gone := cty.NullVal(b.Resources["sim_object"].Schema.Block.ImpliedType())
	b.SetRemote("sim_object-17", gone)
	alone, diags := planned(t, b, objects(2001), 0)
	if diags.HasErrors() || b.Count("ReadMany") > 0 {
		t.Fatal(diags, b.Counts())
	}
	b.Reset()
	b.Batches = provider.Batches{Read: 100, Plan: 100}
	var many *plan.Plan
	counts := metrics.Count(func() { many, diags = planned(t, b, objects(2001), 0) })
	if diags.HasErrors() || shown(many) != shown(alone) {
		t.Errorf("in batches it is another plan: %v\n%.2000s", diags, shown(many))
	}
	// An upgrade and a check of each, and 1,999 reads and 2,000 plans a hundred at a time,
	// one of each by itself.
	if r, p := b.Count("ReadMany"), b.Count("PlanMany"); r != 20 || p < 20 || p > 22 || counts["calls"] > 4_001+21+23 {
		t.Errorf("%s; %v", b.Counts(), counts)
	}
}

// TestFewObjects: one object asks nobody whether there are batches, and with one call at a
// time none exist.
func TestFewObjects(t *testing.T) {
	for _, test := range []struct{ n, parallelism, reads, plans int }{{1, 0, 0, 0}, {2, 0, 0, 0}, {3, 0, 1, 1}, {20, 1, 0, 0}, {20, 2, 1, 1}} {
		b := bench(t, test.n)
		b.Batches = provider.Batches{Read: 100, Plan: 100}
		if test.parallelism != 1 {
			firstReadLeads(b)
		}
		p, diags := planned(t, b, objects(test.n), test.parallelism)
		if diags.HasErrors() || testkit.Changes(p) != "" {
			t.Error(diags, testkit.Changes(p))
		}
		if b.Count("ReadMany") != test.reads || b.Count("PlanMany") != test.plans || b.Count("Read") != test.n || b.Count("Plan") != test.n {
			t.Errorf("%v: %s", test, b.Counts())
		}
	}
}

// firstReadLeads has the object that is read by itself also be planned first: the others are
// read until then. Otherwise an object whose read takes longest is planned after the others,
// by itself.
func firstReadLeads(b *testkit.Bench) {
	var once sync.Once
	planning := make(chan struct{})
	b.Before = func(_ context.Context, call, _ string, _ cty.Value) error {
		switch call {
		case "ReadMany":
			<-planning
		case "Plan":
			once.Do(func() { close(planning) })
		}
		return nil
	}
}

// TestProblems: what is wrong with one object is its own, in a batch too.
func TestProblems(t *testing.T) {
	b := bench(t, 40)
	b.Batches = provider.Batches{Read: 10, Plan: 10}
	b.Before = func(_ context.Context, call, _ string, about cty.Value) error {
		if call == "Read" && about.GetAttr("name").AsString() == "n7" || call == "Plan" && about.GetAttr("name").AsString() == "nx8" {
			return errors.New("no " + call)
		}
		return nil
	}
	p, diags := planned(t, b, strings.Replace(objects(40), "${count", "x${count", 1), 0)
	if len(diags) != 2 || diags[0].Address != "sim_object.a[7]" || diags[1].Address != "sim_object.a[8]" {
		t.Errorf("%v", diags)
	}
	if got := strings.Count(testkit.Changes(p), "update"); got != 38 {
		t.Errorf("%d updates", got)
	}
}

// TestRefused: those of a batch that the service rejects are asked again, the others not.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bench(t, 60)
		b.Batches = provider.Batches{Read: 20}
		var mu sync.Mutex
		reads := map[string]int{}
		b.Before = func(_ context.Context, call, _ string, about cty.Value) error {
			if call != "Read" {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			name := about.GetAttr("name").AsString()
			if reads[name]++; reads[name] == 1 && strings.HasSuffix(name, "3") {
				return errors.New("ThrottlingException: Rate exceeded")
			}
			return nil
		}
		p, diags := planned(t, b, objects(60), 0)
		if diags.HasErrors() || testkit.Changes(p) != "" {
			t.Error(diags, testkit.Changes(p))
		}
		for name, n := range reads {
			if want := 1 + strings.Count(name[len(name)-1:], "3"); n != want {
				t.Errorf("%s was read %d times", name, n)
			}
		}
	})
}

// TestNothingWaitsForOthers: a batch goes as soon as nobody is at work who could join it,
// whatever calls of other types take.
func TestNothingWaitsForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := testkit.New(t)
		other := *b.Resources["sim_object"]
		b.Resources["sim_other"] = &other
		text := objects(30) + "resource \"sim_other\" \"b\" {\n  name = \"b\"\n}\nresource \"sim_object\" \"after\" {\n  name = sim_object.a[3].id\n}\n"
		if diags := b.Apply(text, engine.PlanOptions{}); diags.HasErrors() {
			t.Fatal(diags)
		}
		b.Reset()
		b.Batches = provider.Batches{Read: 100, Plan: 100}
		began := time.Now()
		var mu sync.Mutex
		ends := map[string]time.Duration{}
		b.Before = func(_ context.Context, call, typ string, _ cty.Value) error {
			switch {
			case call == "Read" && typ == "sim_other":
				time.Sleep(time.Hour)
			case call == "ReadMany":
				time.Sleep(time.Second)
			}
			mu.Lock()
			ends[call+" "+typ] = time.Since(began)
			mu.Unlock()
			return nil
		}
		if _, diags := planned(t, b, text, 0); diags.HasErrors() {
			t.Fatal(diags)
		}
		if got := ends["PlanMany sim_object"]; got != time.Second {
			t.Errorf("the batch was planned after %s; %v", got, ends)
		}
	})
}

// TestPanic: a provider that panics fails the objects that it was queried.
func TestPanic(t *testing.T) {
	b := bench(t, 5)
	b.Batches = provider.Batches{Read: 10}
	b.Before = func(_ context.Context, call, _ string, _ cty.Value) error {
		if call == "ReadMany" {
			panic("no cheese")
		}
		return nil
	}
	if _, diags := planned(t, b, objects(5), 0); !strings.Contains(fmt.Sprint(diags), "no cheese") {
		t.Error(diags)
	}
}
