package apply_test

import (
	"context"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/testing/testkit"
)

// Nothing starts in an apply that was stopped before.
func TestStoppedBefore(t *testing.T) {
	b := testkit.New(t)
	c, p, diags := b.Plan(two, engine.PlanOptions{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	stop := make(chan struct{})
	close(stop)
	after, diags := engine.Apply(context.Background(), c, p, engine.ApplyOptions{Stop: stop})
	if got := testkit.Problems(diags); got != "Execution halted" || len(after.Objects) > 0 {
		t.Errorf("problems %q, objects %s", got, testkit.Objects(after))
	}
}

// Each root output is given when its step has ended, also if others fail; none is given that isn't known.
func TestOutputs(t *testing.T) {
	b := testkit.New(t)
	c, p, diags := b.Plan(`resource "sim_object" "a" { name = "a" }
resource "sim_object" "b" {
  name = "b"
  lifecycle {
    precondition {
      condition     = sim_object.a.id == "other"
      error_message = "No."
    }
  }
}
output "a" { value = sim_object.a.name }
output "b" { value = sim_object.b.name }
output "none" { value = null }
`, engine.PlanOptions{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var mu sync.Mutex
	given := map[string]*state.Output{}
	_, diags = engine.Apply(context.Background(), c, p, engine.ApplyOptions{Output: func(name string, o *state.Output) {
		mu.Lock()
		defer mu.Unlock()
		given[name] = o
	}})
	if !diags.HasErrors() || len(given) != 2 || given["a"] == nil || !given["a"].Value.RawEquals(cty.StringVal("a")) || given["none"] != nil {
		t.Errorf("given are %v, problems %v", given, diags)
	}
}
