package planner_test

import (
	"context"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/testing/testkit"
)

// TestUpstreamIsOutside: calls that are made together don't wait for a data source that waits for
// another plan.
func TestUpstreamIsOutside(t *testing.T) {
	const text = "resource \"sim_object\" \"a\" {\n  count = 5\n  name  = \"a\"\n}\ndata \"sim_lookup\" \"d\" { key = \"k\" }\n"
	b := testkit.New(t)
	b.Batches = provider.Batches{Read: 10}
	if diags := b.Apply(text, engine.PlanOptions{}); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	config, diags := b.Load(text)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	config.World.Parallelism = 10 // else each call is made by itself
	read := make(chan struct{})
	b.Before = func(_ context.Context, call, _ string, _ cty.Value) error {
		if call == "ReadMany" {
			close(read)
		}
		return nil
	}
	done := make(chan diag.List, 1)
	go func() {
		_, diags := engine.Plan(t.Context(), config, b.State, engine.PlanOptions{Upstream: func(*eval.Instance, addr.Provider, cty.Value) (cty.Value, diag.List) {
			<-read
			return cty.NilVal, nil
		}})
		done <- diags
	}()
	select {
	case diags := <-done:
		if diags.HasErrors() {
			t.Error(diags.Err())
		}
	case <-time.After(10 * time.Second):
		t.Error("the objects aren't read while the data source waits")
	}
}
