package view

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/actiontrigger"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider"
)

// TestInvocations: actions are shown beside the change that they are for, or by
// themselves where somebody has asked for them.
func TestInvocations(t *testing.T) {
	at, err := addr.ParseInstance("sim_object.a")
	if err != nil {
		t.Fatal(err)
	}
	action, err := addr.ParseInstance(`action.sim_note.n["x"]`)
	if err != nil {
		t.Fatal(err)
	}
	source := addr.Provider{Host: "example.org", Namespace: "weir", Type: "sim"}
	text := func(names ...string) *schema.Schema {
		b := &schema.Block{Attributes: map[string]*schema.Attribute{}}
		for _, name := range names {
			b.Attributes[name] = &schema.Attribute{Type: cty.String, Optional: true}
		}
		return &schema.Schema{Block: b}
	}
	p := &plan.Plan{
		Schemas: map[addr.Provider]*provider.Schemas{source: {
			Resources: provider.AllKnown(map[string]*schema.Schema{"sim_object": text("name")}),
			Actions:   provider.AllKnown(map[string]*schema.Schema{"sim_note": text("key", "text")}),
		}},
		Changes: []*plan.Change{{
			Addr: addr.Object{Instance: at}, Provider: &addr.ProviderConfig{Provider: source}, Action: plan.Create,
			Before: cty.NullVal(cty.Object(map[string]cty.Type{"name": cty.String})), After: cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("a")}),
		}},
		Invocations: []*plan.Invocation{{
			Addr: action, Provider: addr.ProviderConfig{Provider: source}, Object: at, Event: actiontrigger.AfterCreate,
			Config: cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal("k").Mark(value.Sensitive), "text": cty.UnknownVal(cty.String)}),
		}},
	}
	shown := func() string {
		var b strings.Builder
		if err := Plan(&b, p, Options{Width: 80}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	want := `
    # Actions to be invoked after this change in order:
    # action.sim_note.n["x"] (after_create)
    action "sim_note" "n" {
        config {
            key  = (sensitive value)
            text = (known after apply)
        }
    }

Plan: 1 to add, 0 to change, 0 to destroy. Actions: 1 to invoke.
`
	if got := shown(); !strings.HasSuffix(got, want) {
		t.Errorf("shown is %s", got)
	}
	var b strings.Builder
	if err := Overview(&b, p, Options{Width: 80}); err != nil || !strings.Contains(b.String(), "\n  Actions to be invoked:\n    action.sim_note.n after_create\n") {
		t.Errorf("the overview is %s, %v", b.String(), err)
	}
	p.Mode, p.Changes = plan.RefreshOnly, nil
	p.Invocations[0].Event = 0
	if got := shown(); !strings.Contains(got, "    # action.sim_note.n[\"x\"] for sim_object.a\n") {
		t.Errorf("shown is %s", got)
	}
	if what, _, _ := Approval(p, "default"); what != "Invoke" {
		t.Errorf("what is approved is %s", what)
	}
}
