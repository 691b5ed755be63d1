package summary

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
)

func change(t *testing.T, address string, action plan.Action, before, after cty.Value) *plan.Change {
	t.Helper()
	i, err := addr.ParseInstance(address)
	if err != nil {
		t.Fatal(err)
	}
	return &plan.Change{Addr: addr.Object{Instance: i}, Provider: &addr.ProviderConfig{}, Action: action, Before: before, After: after}
}

func object(attributes ...cty.Value) cty.Value {
	all := map[string]cty.Value{}
	for i, v := range attributes {
		all[string(rune('a'+i))] = v
	}
	return cty.ObjectVal(all)
}

// TestAddresses: one text names all instances of a row, and no others where it has
// no [*].
func TestAddresses(t *testing.T) {
	for _, test := range []struct {
		all  []string
		want string
	}{
		{[]string{"sim.x"}, "sim.x"},
		{[]string{"sim.x[2]"}, "sim.x[2]"},
		{[]string{"sim.x[0]", "sim.x[1]", "sim.x[2]"}, "sim.x[0…2]"},
		{[]string{"sim.x[0]", "sim.x[2]", "sim.x[3]"}, "sim.x[0, 2…3]"},
		{[]string{"sim.x[0]", "sim.x[2]", "sim.x[4]", "sim.x[6]", "sim.x[8]"}, "sim.x[*]"},
		{[]string{`sim.x["b"]`, `sim.x["a"]`}, `sim.x["a", "b"]`},
		{[]string{`sim.x["a"]`, `sim.x[1]`}, `sim.x[1, "a"]`},
		{[]string{"sim.x", "sim.x[0]"}, "sim.x[*]"},
		{[]string{`module.m["a"].sim.x[0]`, `module.m["a"].sim.x[1]`, `module.m["b"].sim.x[0]`}, `module.m["a", "b"].sim.x[0…1]`},
		{[]string{`module.m.module.n[0].sim.x`, `module.m.module.n[1].sim.x`}, `module.m.module.n[0…1].sim.x`},
		{[]string{`sim.x["` + strings.Repeat("long", 10) + `"]`, `sim.x["b"]`}, "sim.x[*]"},
	} {
		p := &plan.Plan{}
		for _, a := range test.all {
			p.Changes = append(p.Changes, change(t, a, plan.Delete, object(cty.True), cty.NilVal))
		}
		rows := Rows(p)
		if len(rows) != 1 || rows[0].Addresses() != test.want {
			t.Errorf("%q: %d rows, %s", test.all, len(rows), rows[0].Addresses())
		}
	}
}

// TestRows: what does something else, or something else of what it does, has a row of
// its own, and what is lost comes first.
func TestRows(t *testing.T) {
	a, b := object(cty.StringVal("1"), cty.StringVal("1")), object(cty.StringVal("2"), cty.StringVal("1"))
	both := object(cty.StringVal("2"), cty.StringVal("2"))
	p := &plan.Plan{Changes: []*plan.Change{
		change(t, "sim.x[0]", plan.Create, cty.NilVal, a),
		change(t, "sim.x[1]", plan.Update, a, b),
		change(t, "sim.x[2]", plan.Update, b, a),
		change(t, "sim.x[3]", plan.Update, a, both),
		change(t, "sim.x[4]", plan.Delete, a, cty.NilVal),
		change(t, "sim.y[5]", plan.Update, a, b),
		change(t, "sim.y[6]", plan.NoOp, a, a),
	}}
	var got []string
	for _, r := range Rows(p) {
		text := r.Action.String() + " " + r.Addresses()
		for _, d := range r.Differences {
			text += fmt.Sprintf(" %s %s %s %t", d.Path, d.Before, d.After, d.Various)
		}
		got = append(got, text)
	}
	want := []string{
		`delete sim.x[4]`,
		`update sim.x[1…2] a "1" "2" true`,
		`update sim.x[3] a "1" "2" false b "1" "2" false`,
		`update sim.y[5] a "1" "2" false`,
		`create sim.x[0]`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestDifferences(t *testing.T) {
	text := cty.StringVal
	secret := func(s string) cty.Value { return text(s).Mark(value.Sensitive) }
	for _, test := range []struct {
		before, after cty.Value
		want          string
	}{
		{text("a"), text("b"), `a "a" → "b"`},
		{cty.NumberIntVal(1), cty.NumberFloatVal(1.5), `a 1 → 1.5`},
		{cty.NullVal(cty.String), text("b"), `a unset → "b"`},
		{text("a"), cty.UnknownVal(cty.String), `a "a" → (known after apply)`},
		{secret("hunter2"), text("b"), `a (sensitive value) → (sensitive value)`},
		{text("a"), text("b").Mark(value.Ephemeral), `a (sensitive value) → (sensitive value)`},
		{cty.ListVal([]cty.Value{text("a"), text("b")}), cty.ListVal([]cty.Value{text("a"), text("c")}), `a[1] "b" → "c"`},
		{cty.ListVal([]cty.Value{text("a")}), cty.ListVal([]cty.Value{text("a"), text("c")}), `a 1 element → 2 elements`},
		{cty.ListVal([]cty.Value{secret("hunter2")}), cty.ListVal([]cty.Value{secret("hunter3")}), `a[0] (sensitive value) → (sensitive value)`},
		{cty.SetVal([]cty.Value{text("a")}), cty.SetVal([]cty.Value{text("b"), text("c")}), `a 2 elements: +2 −1 → 2 elements: +2 −1`},
		{cty.SetVal([]cty.Value{text("a")}), cty.SetVal([]cty.Value{text("b"), cty.UnknownVal(cty.String)}), `a 1 element → 2 elements`},
		{cty.MapVal(map[string]cty.Value{"k": text("1")}), cty.MapVal(map[string]cty.Value{"l": text("1")}), `a.k "1" → unset; a.l unset → "1"`},
		{text(`{"x":[1,{"y":2}]}`), text(`{"x":[1,{"y":3}]}`), `a.x[1].y 2 → 3`},
		{text(`{"x":1}`), text(`{ "x": 1 }`), `a "{\"x\":1}" → "{ \"x\": 1 }"`},
		{text("a\nb\nc\n"), text("a\nx\ny\nc\n"), `a 5 lines: +2 −1 → 5 lines: +2 −1`},
		{text("a\x1b[31m"), text("b"), `a "a␛[31m" → "b"`},
		{text("a"), text(strings.Repeat("x", 100)), `a "a" → "` + strings.Repeat("x", longest-1) + `…"`},
	} {
		p := &plan.Plan{Changes: []*plan.Change{change(t, "sim.x", plan.Update, object(test.before, cty.True), object(test.after, cty.True))}}
		var all []string
		for _, d := range Rows(p)[0].Differences {
			all = append(all, d.Path+" "+d.Before+" → "+d.After)
		}
		if got := strings.Join(all, "; "); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

// TestCreated: what is created is listed in the natural order of keys.
func TestCreated(t *testing.T) {
	tags := map[string]cty.Value{}
	for _, name := range []string{"tag-10", "tag-2", "tag-1"} {
		tags[name] = cty.True
	}
	p := &plan.Plan{Changes: []*plan.Change{change(t, "sim.x", plan.Create, cty.NullVal(cty.DynamicPseudoType), object(cty.MapVal(tags), cty.ObjectVal(tags)))}}
	var all []string
	for _, d := range Rows(p)[0].Attributes {
		all = append(all, d.Path)
	}
	if got := strings.Join(all, " "); got != "a.tag-1 a.tag-2 a.tag-10 b.tag-1 b.tag-2 b.tag-10" {
		t.Errorf("got %s", got)
	}
}
