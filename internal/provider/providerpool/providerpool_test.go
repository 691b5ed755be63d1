package providerpool_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/fake"
	"weir.dev/weir/internal/provider/providerpool"
)

var sim = addr.Provider{Host: "registry.test", Namespace: "t", Type: "sim"}

func shared(addr.Provider) bool { return false }

func config(zone string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"zone": cty.StringVal(zone)})
}

func start(t *testing.T, g *providerpool.Guest, zone string) provider.Provider {
	t.Helper()
	p, diags := g.Start(t.Context(), sim)
	if p == nil {
		t.Fatal(diags)
	}
	if diags := p.Configure(t.Context(), config(zone)); diags.HasErrors() {
		t.Fatal(diags)
	}
	return p
}

func zoned() *fake.Provider {
	p := fake.New()
	p.Config = fake.NewType("zone string")
	return p
}

// TestAlike: who configures a provider alike has the same process, one after the other
// and at once; another configuration has another one.
func TestAlike(t *testing.T) {
	p := zoned()
	k := providerpool.New(fake.Catalog{sim: p}, 0)
	for _, zone := range []string{"a", "b", "a"} {
		g := k.Enter(shared)
		one, two := start(t, g, zone), start(t, g, zone)
		one.Close()
		two.Close()
		g.Leave()
	}
	if got := p.Counts(); got != "Configure 2, Start 2" {
		t.Error(got)
	}
	k.Close()
	if p.Running() != 0 {
		t.Error(p.Running())
	}
}

// TestShrink: of processes that nobody has, those end that were given back first.
func TestShrink(t *testing.T) {
	p := zoned()
	k := providerpool.New(fake.Catalog{sim: p}, 0)
	defer k.Close()
	g := k.Enter(shared)
	kept := start(t, g, "kept")
	for _, zone := range []string{"a", "b", "c"} {
		start(t, g, zone).Close()
	}
	if left := k.Shrink(2); left != 2 || p.Running() != 2 {
		t.Errorf("%d, %d are left", left, p.Running())
	}
	start(t, g, "c").Close()
	if n := p.Count("Start"); n != 4 {
		t.Errorf("the last one has ended: %d were started", n)
	}
	if left := k.Shrink(0); left != 1 || p.Running() != 1 {
		t.Errorf("%d, %d are left while one is in use", left, p.Running())
	}
	kept.Close()
	if left := k.Shrink(0); left != 0 {
		t.Errorf("%d are left", left)
	}
}

// TestSpare: with as many spare processes as that, others end when nobody has them. One that was
// started to check a configuration is configured, and doesn't end before.
func TestSpare(t *testing.T) {
	for spare, left := range []int{0, 1, 2} {
		p := zoned()
		k := providerpool.NewSpare(fake.Catalog{sim: p}, spare)
		for _, zone := range []string{"a", "b", "c"} {
			one := k.Lend(sim)
			if diags := one.ValidateConfig(t.Context(), config(zone)); diags.HasErrors() {
				t.Fatal(diags)
			}
			if diags := one.Configure(t.Context(), config(zone)); diags.HasErrors() {
				t.Fatal(diags)
			}
			one.Close()
		}
		if n := p.Count("Start"); n != 3 || p.Running() != left {
			t.Errorf("%d were started, and %d of them wait where %d may", n, p.Running(), spare)
		}
		k.Close()
		if p.Running() != 0 {
			t.Error(p.Running())
		}
	}
}

// TestUnknown: what isn't known is like nothing else.
func TestUnknown(t *testing.T) {
	p := zoned()
	k := providerpool.New(fake.Catalog{sim: p}, 0)
	defer k.Close()
	g := k.Enter(shared)
	for range 2 {
		one, _ := g.Start(t.Context(), sim)
		one.Configure(t.Context(), cty.ObjectVal(map[string]cty.Value{"zone": cty.UnknownVal(cty.String)}))
	}
	if n := p.Count("Start"); n != 2 {
		t.Error(n)
	}
}

// TestLimit: guests that need two processes each, all of them different, end with two in all.
func TestLimit(t *testing.T) {
	p := zoned()
	var mu sync.Mutex
	most := 0
	p.Before = func(_ context.Context, call, _ string, _ cty.Value) error {
		mu.Lock()
		defer mu.Unlock()
		most = max(most, p.Running())
		return nil
	}
	k := providerpool.New(fake.Catalog{sim: p}, 2)
	defer k.Close()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			g := k.Enter(shared)
			defer g.Leave()
			one := start(t, g, fmt.Sprint("one-", i))
			two := start(t, g, fmt.Sprint("two-", i))
			one.Close()
			two.Close()
		})
	}
	all.Wait()
	// The first guest may have one more than the limit while others have all there are.
	if most > 4 {
		t.Error("there were", most, "processes at once")
	}
	if n := p.Count("Start"); n != 40 {
		t.Error(n)
	}
}

// TestCancelled: waiting for a process ends with its context.
func TestCancelled(t *testing.T) {
	p := zoned()
	k := providerpool.New(fake.Catalog{sim: p}, 1)
	defer k.Close()
	first, second := k.Enter(shared), k.Enter(shared)
	defer first.Leave()
	defer second.Leave()
	start(t, first, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	waiting, _ := second.Start(ctx, sim)
	if diags := waiting.Configure(ctx, config("b")); !diags.HasErrors() {
		t.Error("it got a process")
	}
	waiting.Close()
}

// TestStop: the calls of a process are aborted when all who have it want that: one who ends by
// itself leaves the others only.
func TestStop(t *testing.T) {
	p := zoned()
	k := providerpool.New(fake.Catalog{sim: p}, 0)
	defer k.Close()
	one, two := start(t, k.Enter(shared), "a"), start(t, k.Enter(shared), "a")
	one.Stop(t.Context())
	one.Stop(t.Context())
	if p.Stopped() {
		t.Error("stopped for both")
	}
	two.Stop(t.Context())
	if !p.Stopped() {
		t.Error("not stopped though both want it")
	}
	one.Close()
	two.Close()
	if p.Count("Start") != 1 || p.Running() != 0 {
		t.Error(p.Counts())
	}

	p = zoned()
	k = providerpool.New(fake.Catalog{sim: p}, 0)
	defer k.Close()
	one, two = start(t, k.Enter(shared), "a"), start(t, k.Enter(shared), "a")
	one.Stop(t.Context())
	one.Close()
	if p.Stopped() || p.Running() != 1 {
		t.Errorf("the one that goes on has none any more: %s", p.Counts())
	}
	two.Close()
	if p.Running() != 0 {
		t.Error("it is given to others")
	}
}

// TestFailure: a process that can't be configured serves nobody else and is ended, and
// one that was stopped as well.
func TestFailure(t *testing.T) {
	p := zoned()
	k := providerpool.New(fake.Catalog{sim: p}, 0)
	defer k.Close()
	g := k.Enter(shared)
	p.Fail("Configure", "", "no")
	bad, _ := g.Start(t.Context(), sim)
	if diags := bad.Configure(t.Context(), config("a")); !diags.HasErrors() {
		t.Error("no problem")
	}
	bad.Close()
	p.Fail("Configure", "", "")
	if p.Running() != 0 {
		t.Error(p.Running())
	}
	stopped := start(t, g, "a")
	stopped.Stop(t.Context())
	again := start(t, g, "a")
	stopped.Close()
	again.Close()
	if got := p.Count("Start"); got != 3 || p.Running() != 1 {
		t.Error(got, p.Running())
	}
}

// TestInside: providers within this process are started for each who asks.
func TestInside(t *testing.T) {
	p := zoned()
	k := providerpool.New(fake.Catalog{sim: p}, 1)
	defer k.Close()
	g := k.Enter(func(addr.Provider) bool { return true })
	for range 3 {
		one, _ := g.Start(t.Context(), sim)
		one.Close()
	}
	if n := p.Count("Start"); n != 3 {
		t.Error(n)
	}
}

// TestUnavailable: where nothing can be started, every call says so.
func TestUnavailable(t *testing.T) {
	k := providerpool.New(fake.Catalog{}, 0)
	defer k.Close()
	one := k.Lend(sim)
	if diags := one.ValidateConfig(t.Context(), config("a")); !diags.HasErrors() {
		t.Error("ValidateConfig")
	}
	if diags := one.Configure(t.Context(), config("a")); !diags.HasErrors() {
		t.Error("Configure")
	}
	if r := one.Apply(t.Context(), provider.ApplyRequest{}); !r.Unsent || !r.Diags.HasErrors() {
		t.Error(r)
	}
	if _, _, err := one.CallFunction(t.Context(), "f", nil); err == nil {
		t.Error("CallFunction")
	}
	for name, diags := range map[string]interface{ HasErrors() bool }{
		"Read": one.Read(t.Context(), provider.ReadRequest{}).Diags, "Plan": one.Plan(t.Context(), provider.PlanRequest{}).Diags,
		"Import": one.Import(t.Context(), provider.ImportRequest{}).Diags, "Move": one.Move(t.Context(), provider.MoveRequest{}).Diags,
		"ReadData": one.ReadData(t.Context(), provider.ReadDataRequest{}).Diags, "Open": one.OpenEphemeral(t.Context(), "t", cty.NilVal).Diags,
		"Renew": one.RenewEphemeral(t.Context(), "t", nil).Diags, "CloseEphemeral": one.CloseEphemeral(t.Context(), "t", nil),
		"ValidateResource": one.ValidateResource(t.Context(), addr.Managed, "t", cty.NilVal),
	} {
		if !diags.HasErrors() {
			t.Error(name)
		}
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
}
