package lockedstate

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/plan"
)

// Planned values of any shape have a length, also with elements that aren't
// known yet.
func TestLength(t *testing.T) {
	for _, v := range []cty.Value{
		cty.NilVal,
		cty.NullVal(cty.Set(cty.String)),
		cty.SetVal([]cty.Value{cty.UnknownVal(cty.String), cty.StringVal("a")}),
		cty.SetVal([]cty.Value{cty.NullVal(cty.String)}),
		cty.ListVal([]cty.Value{cty.UnknownVal(cty.String).Mark("m")}),
		cty.DynamicVal,
	} {
		length(v)
	}
	short, long := cty.MapVal(map[string]cty.Value{"k": cty.True}), cty.MapVal(map[string]cty.Value{"key": cty.True})
	if length(long) != length(short)+2 {
		t.Errorf("the names in a map don't count: %d, %d", length(short), length(long))
	}
}

// TestExpectedSize: what is written of objects makes the state longer, and what goes doesn't.
func TestExpectedSize(t *testing.T) {
	v := cty.StringVal("value")
	for action, grows := range map[plan.Action]bool{plan.Create: true, plan.Update: true, plan.DeleteThenCreate: true, plan.Delete: false, plan.Forget: false, plan.NoOp: false} {
		if n := expected(&plan.Plan{Changes: []*plan.Change{{Action: action, After: v}}}); (n > length(v)) != grows {
			t.Errorf("%s: %d", action, n)
		}
	}
}
