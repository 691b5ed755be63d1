package plugin

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/provider"
)

func region(name string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"region": cty.StringVal(name)})
}

func ask(ctx context.Context, p provider.Provider, name string) provider.ReadResponse {
	return p.Read(ctx, provider.ReadRequest{Type: "test_thing", Current: thing(name)})
}

func apply(t *testing.T, p provider.Provider, name string) provider.ApplyResponse {
	t.Helper()
	return p.Apply(t.Context(), provider.ApplyRequest{Type: "test_thing", Prior: cty.NullVal(thingType), Planned: thing(name), Config: thing(name)})
}

// configured is a running plugin with a region.
func configured(t *testing.T, name string) provider.Provider {
	t.Helper()
	p, _ := startSelf(t, self(t, "6"))
	diags := p.Configure(t.Context(), region(name))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return p
}

// TestDeath: a process that ends takes the call with it, and the next call
// finds a new one that is configured alike.
func TestDeath(t *testing.T) {
	for name, c := range map[string]struct {
		end      func(t *testing.T, p provider.Provider) string // the detail of the error, if the call was under way
		contains []string
	}{
		"crash": {func(t *testing.T, p provider.Provider) string { return ask(t.Context(), p, "crash").Diags[0].Detail },
			[]string{"exit status 2", "panic: out of cheese"}},
		"exit": {func(t *testing.T, p provider.Provider) string { return ask(t.Context(), p, "exit").Diags[0].Detail },
			[]string{"exit status 3", "\n  no cheese\n  none \x1b[31mat\uFFFD all"}},
		"killed while idle": {func(t *testing.T, p provider.Provider) string { kill(t, p, true); return "" }, nil},
		"just killed":       {func(t *testing.T, p provider.Provider) string { kill(t, p, false); return "" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := configured(t, "north")
			before := read(t, p, "pid")
			detail := c.end(t, p)
			for _, part := range c.contains {
				if !strings.Contains(detail, part) {
					t.Errorf("%q isn't in %q", part, detail)
				}
			}
			if strings.Contains(detail, "of the log") {
				t.Errorf("the log is in %q", detail)
			}
			if name == "just killed" {
				waitGone(t, number(t, before)) // its connection may still look alive
			}
			if got := read(t, p, "region"); got != "north" {
				t.Errorf("configured with %q", got)
			}
			if after := read(t, p, "pid"); after == before {
				t.Error("it answers from the grave")
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// kill ends the process from outside.
func kill(t *testing.T, p provider.Provider, wait bool) {
	t.Helper()
	syscall.Kill(number(t, read(t, p, "pid")), syscall.SIGKILL)
	if wait {
		<-p.(*client).supervisor.now.process.exited
	}
}

// TestDeathAmongReads: only the call that ends processes fails.
func TestDeathAmongReads(t *testing.T) {
	p := configured(t, "north")
	for range 3 {
		var calls sync.WaitGroup
		for n := range 20 {
			calls.Go(func() {
				name := "region"
				if n == 10 {
					name = "crash"
				}
				r := ask(t.Context(), p, name)
				switch {
				case n == 10:
					if !strings.Contains(r.Diags.Err().Error(), "out of cheese") {
						t.Errorf("%+v", r.Diags)
					}
				case r.Diags != nil || r.New.GetAttr("id").AsString() != "north":
					t.Errorf("%+v", r)
				}
			})
		}
		calls.Wait()
	}
}

// TestDeathAmongChanges: no change is requested twice.
func TestDeathAmongChanges(t *testing.T) {
	p := configured(t, "north")
	log := filepath.Join(t.TempDir(), "log")
	var calls sync.WaitGroup
	for n := range 40 {
		calls.Go(func() {
			name := "log:" + log
			if n == 5 {
				name = "crash"
			}
			r := apply(t, p, name)
			if r.Unsent {
				t.Errorf("%+v", r)
			}
			for _, d := range r.Diags {
				if !strings.Contains(d.Detail, "out of cheese") {
					t.Errorf("%+v", d)
				}
			}
		})
	}
	calls.Wait()
	done, _ := os.ReadFile(log)
	if n := strings.Count(string(done), "\n"); n > 39 {
		t.Errorf("%d changes are made, 39 were asked for", n)
	}
	if r := apply(t, p, "fine"); r.Diags != nil {
		t.Error(r.Diags)
	}
}

// TestLastDeath: a provider that only dies isn't started for ever.
func TestLastDeath(t *testing.T) {
	p := configured(t, "north")
	for range maxCrashes {
		r := apply(t, p, "crash")
		if r.Unsent || !BadAnswer.Is(r.Diags[0]) {
			t.Fatalf("%+v", r)
		}
	}
	for range 2 {
		r := apply(t, p, "fine")
		if !r.Unsent || len(r.Diags) != 1 || !r.Diags[0].Once || r.Diags[0].Summary != "Provider is not available" ||
			!strings.Contains(r.Diags[0].Detail, "5 times in a row without an answer, the last time with exit status 2 (panic: out of cheese") {
			t.Fatalf("%+v", r)
		}
	}
}

// TestAnswersBreakTheRow: what answers in between is worth starting again.
func TestAnswersBreakTheRow(t *testing.T) {
	p := configured(t, "north")
	for range maxCrashes + 2 {
		ask(t.Context(), p, "crash")
		if read(t, p, "region") != "north" {
			t.Fatal("not configured")
		}
	}
}

// TestDeathWhileConfigured: one that can't be configured again is given up.
func TestDeathWhileConfigured(t *testing.T) {
	p := configured(t, "once:"+filepath.Join(t.TempDir(), "x"))
	ask(t.Context(), p, "crash")
	r := apply(t, p, "fine")
	if !r.Unsent || len(r.Diags) != 1 || r.Diags[0].Summary != "Provider is not available" || !strings.Contains(r.Diags[0].Detail, "it can't be started again: it ended by itself: exit status 2 (panic: configured twice") {
		t.Errorf("%+v", r)
	}
}

// TestHungUp: a process that can't be reached any more is ended.
func TestHungUp(t *testing.T) {
	t.Parallel()
	p := configured(t, "north")
	before := read(t, p, "pid")
	r := p.Apply(t.Context(), provider.ApplyRequest{Type: "test_thing", Prior: cty.NullVal(thingType), Planned: thing("hang up"), Config: thing("hang up")})
	if r.Unsent || len(r.Diags) != 1 || !strings.Contains(r.Diags[0].Detail, "signal: killed") {
		t.Errorf("%+v", r)
	}
	if after := read(t, p, "pid"); after == before || read(t, p, "region") != "north" {
		t.Errorf("%s answers after %s", after, before)
	}
}

// TestNoLifeAfterStop: who stops an operation wants no new processes.
func TestNoLifeAfterStop(t *testing.T) {
	p := configured(t, "north")
	p.Stop(t.Context())
	if got := read(t, p, "region"); got != "north" {
		t.Errorf("a stopped provider that lives can't answer: %q", got)
	}
	ask(t.Context(), p, "crash")
	r := apply(t, p, "fine")
	if !r.Unsent || len(r.Diags) != 1 || r.Diags[0].Summary != "Request cancelled" {
		t.Errorf("%+v", r)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Errorf("stopping what has ended: %v", err)
	}
}

// TestCloseWhileRising: nothing runs after Close, and nobody waits for ever.
func TestCloseWhileRising(t *testing.T) {
	for range 5 {
		p := configured(t, "north")
		kill(t, p, true)
		var calls sync.WaitGroup
		for range 4 {
			calls.Go(func() { ask(t.Context(), p, "pid") })
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		calls.Wait()
		l := p.(*client).supervisor
		if now := l.now; !now.process.ended() {
			t.Error("a process runs after Close")
		}
		if _, err := os.Stat(l.now.process.sockets); err == nil {
			t.Error("its sockets are left")
		}
	}
}

// TestGarbledAnswers: what can't be read of the answer to a creation is no object, and nothing
// says that the provider wasn't asked; the process continues.
func TestGarbledAnswers(t *testing.T) {
	p := configured(t, "north")
	for what, name := range map[string]string{
		"no value":       "garbled:c1",
		"cut off":        "garbled:85a2",
		"a long claim":   "garbled:dbffffffff61",
		"many claimed":   "garbled:dfffffffff",
		"another type":   "garbled:93010203",
		"deep":           "garbled:81a46e616d65" + strings.Repeat("91", 1<<16) + "c0",
		"another object": "garbled:81a178c0",
		"too large":      "huge",
	} {
		r := apply(t, p, name)
		if !r.Diags.HasErrors() || r.Unsent || r.New != cty.NilVal {
			t.Errorf("%s: %#v, unsent %v, %v", what, r.New, r.Unsent, r.Diags)
		}
	}
	if got := read(t, p, "region"); got != "north" {
		t.Errorf("configured with %q", got)
	}
}
