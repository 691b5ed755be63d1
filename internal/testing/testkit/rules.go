package testkit

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
)

// A Rule is one rule of planning with what shows it: what was applied before, what is
// planned then, and which changes or problems that makes.
type Rule struct {
	Rule          string
	Before, After string
	Outside       func(*Bench) // what happens in between
	Options       engine.PlanOptions
	Want          string // Changes
	Problems      string // Problems
	Warnings      string // Warnings; a rule without any is held to none
	// See looks at more of the plan than its changes.
	See func(*testing.T, *engine.Config, *plan.Plan)
}

// Rules plans for each rule on a bench of its own.
func Rules(t *testing.T, rules []Rule) {
	for _, r := range rules {
		t.Run(strings.ReplaceAll(r.Rule, " ", "_"), func(t *testing.T) {
			b := New(t)
			if r.Before != "" {
				if diags := b.Apply(r.Before, engine.PlanOptions{}); diags.HasErrors() {
					t.Fatal(diags.Err())
				}
			}
			if r.Outside != nil {
				r.Outside(b)
			}
			c, p, diags := b.Plan(r.After, r.Options)
			if got := Problems(diags); got != r.Problems {
				t.Errorf("problems %q, want %q", got, r.Problems)
			}
			if got := Warnings(diags); got != r.Warnings {
				t.Errorf("warnings %q, want %q", got, r.Warnings)
			}
			if got := Changes(p); r.Problems == "" && got != r.Want {
				t.Errorf("changes\n%s\nwant\n%s", got, r.Want)
			}
			if r.See != nil && p != nil {
				r.See(t, c, p)
			}
		})
	}
}

// Targets reads addresses, as of -target. It panics at what isn't one.
func Targets(texts ...string) (list []addr.Target) {
	for _, text := range texts {
		t, err := addr.ParseTarget(text)
		if err != nil {
			panic(err)
		}
		list = append(list, t)
	}
	return list
}

// ID is what the object at an address is known by.
func (b *Bench) ID(address string) string {
	o := b.State.Objects[addr.Object{Instance: Targets(address)[0].Instance()}]
	_, rest, _ := strings.Cut(string(o.JSON), `"id":`)
	return strings.Trim(strings.SplitN(strings.TrimSpace(rest), ",", 2)[0], "\"} \n")
}

// Object is one of the provider's objects.
func Object(name, id string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"name": cty.StringVal(name), "id": cty.StringVal(id), "size": cty.NumberIntVal(1),
		"zone": cty.NullVal(cty.String), "parent": cty.NullVal(cty.String), "secret": cty.NullVal(cty.String),
	})
}
