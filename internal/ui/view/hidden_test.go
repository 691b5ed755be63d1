package view

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider"
)

// TestHidden: what providers repeat of a secret is hidden, and what the configuration shows of
// one isn't.
func TestHidden(t *testing.T) {
	text := func(computed, optional bool) *schema.Attribute {
		return &schema.Attribute{Type: cty.String, Computed: computed, Optional: optional}
	}
	block := &schema.Block{
		Attributes: map[string]*schema.Attribute{
			"password": text(false, true), "shown": text(false, true), "echo": text(true, false), "both": text(true, true),
			"tags_all": {Type: cty.Map(cty.String), Computed: true, Optional: true},
			"nested":   {Optional: true, Nested: &schema.Object{Nesting: schema.List, Attributes: map[string]*schema.Attribute{"set": text(false, true), "seen": text(true, false)}}},
		},
		Blocks: map[string]*schema.NestedBlock{"part": {Nesting: schema.List, Block: &schema.Block{Attributes: map[string]*schema.Attribute{"set": text(false, true), "seen": text(true, false)}}}},
	}
	inner := func(kind string) cty.Value {
		return cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"set": cty.StringVal("correct-horse " + kind + "-set"), "seen": cty.StringVal("correct-horse " + kind + "-seen")})})
	}
	after := cty.ObjectVal(map[string]cty.Value{
		"password": cty.StringVal("correct-horse").Mark(value.Sensitive), "shown": cty.StringVal("correct-horse shown"), "echo": cty.StringVal("correct-horse echo"), "both": cty.StringVal("correct-horse both"),
		"tags_all": cty.MapVal(map[string]cty.Value{"a": cty.StringVal("correct-horse tag"), "b": cty.StringVal("plain tag")}),
		"nested":   inner("nested"), "part": inner("part"),
	})
	i, err := addr.ParseInstance("sim_object.o")
	if err != nil {
		t.Fatal(err)
	}
	p := &plan.Plan{
		Schemas: map[addr.Provider]*provider.Schemas{{}: {Resources: provider.AllKnown(map[string]*schema.Schema{"sim_object": {Block: block}})}},
		Changes: []*plan.Change{{Addr: addr.Object{Instance: i}, Provider: &addr.ProviderConfig{}, Action: plan.Create, Before: cty.NullVal(after.Type()), After: after}},
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"plan":     func(b *bytes.Buffer) error { return Plan(b, p, Options{}) },
		"details":  func(b *bytes.Buffer) error { return Details(b, p, Options{}) },
		"overview": func(b *bytes.Buffer) error { return Overview(b, p, Options{Width: 500}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		for _, text := range []string{"correct-horse echo", "correct-horse both", "correct-horse tag", "nested-seen", "part-seen"} {
			if strings.Contains(got, text) {
				t.Errorf("%s shows %q:\n%s", name, text, got)
			}
		}
		for _, text := range []string{"correct-horse shown", "plain tag"} {
			if name != "overview" && !strings.Contains(got, text) {
				t.Errorf("%s hides %q:\n%s", name, text, got)
			}
		}
	}
	if got := p.Changes[0].After.GetAttr("echo"); got.IsMarked() {
		t.Error("the plan has changed")
	}
}
