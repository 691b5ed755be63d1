package jsonplan

import (
	"encoding/json"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/plan"
)

// Programs learn whether a plan can be applied, and whether it is all that there
// is to do.
func TestApplyableAndComplete(t *testing.T) {
	target, err := addr.ParseTarget("sim_object.a")
	if err != nil {
		t.Fatal(err)
	}
	output := []*plan.OutputChange{{Name: "o", Action: plan.Create, Before: cty.NullVal(cty.String), After: cty.StringVal("x")}}
	for name, test := range map[string]struct {
		p                   plan.Plan
		applyable, complete bool
	}{
		"nothing to do": {plan.Plan{}, false, true},
		"an output":     {plan.Plan{Outputs: output}, true, true},
		"targeted":      {plan.Plan{Outputs: output, Targets: []addr.Target{target}}, true, false},
		"errored":       {plan.Plan{Outputs: output, Errored: true}, false, false},
	} {
		text, err := Marshal(&test.p, nil, nil, dialect.OpenTofu)
		if err != nil {
			t.Fatal(err)
		}
		var read struct{ Applyable, Complete bool }
		if err := json.Unmarshal(text, &read); err != nil || read.Applyable != test.applyable || read.Complete != test.complete {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}
