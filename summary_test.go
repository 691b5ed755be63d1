package weir

import (
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
)

// TestSummaryOfActions: what is invoked counts beside what is done to objects.
func TestSummaryOfActions(t *testing.T) {
	at, err := addr.ParseInstance("sim_object.a")
	if err != nil {
		t.Fatal(err)
	}
	made := &plan.Change{Addr: addr.Object{Instance: at}, Action: plan.Create}
	p := &Plan{made: &plan.Plan{Invocations: []*plan.Invocation{{}, {}}, Changes: []*plan.Change{made}}}
	if got := p.Summary(); got != (Summary{Add: 1, Invoke: 2}) {
		t.Errorf("got %+v", got)
	}
}
