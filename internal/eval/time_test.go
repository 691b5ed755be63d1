package eval_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
)

// A ticking host does something in each call of a provider's function.
type ticking struct {
	*host
	tick func()
}

func (h ticking) Call(*promise.Task, *eval.Frame, *program.ProviderFunction, []cty.Value) (cty.Value, error) {
	h.tick()
	return cty.Zero, nil
}

// timed evaluates a configuration that may call slow(), which does work.
func timed(t *testing.T, text string, ctx context.Context, work, tick func()) diag.List {
	f := facts
	f.Context = ctx
	f.Functions = facts.Functions.NewChild()
	f.Functions.Functions = map[string]function.Function{"slow": function.New(&function.Spec{
		Type: function.StaticReturnType(cty.Number),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) { work(); return cty.Zero, nil },
	})}
	h := newHost(t, source(text+"terraform {\n  required_providers {\n    time = { source = \"hashicorp/time\" }\n  }\n}\n"))
	ev := &eval.Evaluator{Host: ticking{h, tick}, Facts: f}
	root := ev.NewRoot(h.compile("."))
	if h.diags.HasErrors() {
		t.Fatal(h.diags)
	}
	rt := promise.NewRuntime(4)
	root.Walk(rt)
	rt.Wait()
	return root.Diagnostics()
}

// TestInterrupted: nothing continues or begins that nobody waits for.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var calls atomic.Int64
	tick := func() {
		if calls.Add(1) == 20 {
			cancel()
		}
	}
	diags := timed(t, `
output "x" {
  value = [for a in range(1000) : [for b in range(1000) : provider::time::tick(b)]]
}
output "y" {
  value = upper("y") == "Y" ? one([for a in range(100000) : provider::time::tick(a)]...) : 0
}
`, ctx, func() {}, tick)
	if n := calls.Load(); n > 20+2*64 {
		t.Errorf("%d calls, the 20th of which was the end", n)
	}
	if len(diags) != 2 || !diag.Interrupted.Is(diags[0]) || !diag.Interrupted.Is(diags[1]) || diags[0].Subject == nil {
		t.Errorf("%v", diags)
	}
	calls.Store(100)
	diags = timed(t, "locals {\n  x = upper(\"x\")\n  y = provider::time::tick(1)\n}\n", ctx, func() {}, tick)
	if len(diags) != 2 || !diag.Interrupted.Is(diags[0]) || calls.Load() != 100 {
		t.Errorf("begun afterwards: %v", diags)
	}
}

// TestTime: a for expression ends when it takes too long itself, whatever it waits for.
func TestTime(t *testing.T) {
	for text, late := range map[string]bool{
		"[for a in range(1000) : slow()]":                                               true,
		"[for a in range(1000) : { for b in range(3) : b => [for c in [1] : slow()] }]": true,
		"[for a in range(9) : slow()]":                                                  false,
		"[for a in range(1000) : local.slow]":                                           false,
		"[for a in range(1000) : provider::time::tick(a)]":                              false,
	} {
		synctest.Test(t, func(t *testing.T) {
			var worked atomic.Int64 // the local and the output work at the same time
			work := func() { worked.Add(1); time.Sleep(time.Minute) }
			diags := timed(t, "locals {\n  slow = [for a in range(9) : slow()]\n}\noutput \"x\" {\n  value = "+text+"\n}\n", t.Context(), work, func() { time.Sleep(time.Hour) })
			switch {
			case !late && len(diags) > 0:
				t.Errorf("%s: %v", text, diags)
			case late && (len(diags) != 1 || diags[0].Summary != "Evaluation takes too long" || diags[0].Subject.Start.Line != 5 || worked.Load() > 9+30):
				t.Errorf("%s: %d minutes: %v", text, worked.Load(), diags)
			}
		})
	}
}
