// Package planfile_test writes and reads random plans.
package planfile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/persisted"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/plan/planfile"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
)

var text = rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-z]{1,8}`), rapid.SampledFrom([]string{"é", "${x}", "a\"b", "\n", "%{if}"}))

// values draws a value of any type, with unknown, null and marked parts.
func values(t *rapid.T, depth int) cty.Value {
	var v cty.Value
	kind := rapid.IntRange(0, 10).Draw(t, "kind")
	if depth == 0 && kind > 6 {
		kind -= 5
	}
	switch kind {
	case 0:
		v = cty.NumberIntVal(rapid.Int64().Draw(t, "int"))
	case 1:
		v = cty.BoolVal(rapid.Bool().Draw(t, "bool"))
	case 2:
		v = cty.NullVal(cty.String)
	case 3:
		v = cty.UnknownVal(cty.String).RefineNotNull()
	case 4:
		v = cty.DynamicVal
	case 5:
		v = cty.MustParseNumberVal("0.1")
	case 7:
		attrs := map[string]cty.Value{}
		for i := range rapid.IntRange(0, 3).Draw(t, "attrs") {
			attrs[fmt.Sprint("a", i)] = values(t, depth-1)
		}
		v = cty.ObjectVal(attrs)
	case 8:
		var elems []cty.Value
		for range rapid.IntRange(0, 3).Draw(t, "elems") {
			elems = append(elems, values(t, depth-1))
		}
		v = cty.TupleVal(elems)
	case 9:
		v = cty.ListVal([]cty.Value{cty.StringVal(text.Draw(t, "e")), cty.UnknownVal(cty.String)})
	case 10:
		v = cty.SetVal([]cty.Value{cty.StringVal(text.Draw(t, "e1")), cty.StringVal(text.Draw(t, "e2"))})
	default:
		v = cty.StringVal(text.Draw(t, "string"))
	}
	switch rapid.IntRange(0, 8).Draw(t, "mark") {
	case 0:
		v = v.Mark(value.Sensitive)
	case 1:
		v = v.Mark(value.Sensitive).Mark(value.Ephemeral)
	}
	return v
}

func instances(t *rapid.T) addr.Instance {
	key := func() addr.Key {
		switch rapid.IntRange(0, 3).Draw(t, "key") {
		case 0:
			return addr.IntKey(rapid.IntRange(0, 9).Draw(t, "n"))
		case 1:
			return addr.StringKey(text.Draw(t, "s"))
		case 2:
			return addr.AnyKey
		}
		return addr.NoKey
	}
	module := addr.Root
	for i := range rapid.IntRange(0, 2).Draw(t, "depth") {
		module = module.Child(addr.Mod(fmt.Sprint("m", i)), key())
	}
	mode := rapid.SampledFrom([]addr.Mode{addr.Managed, addr.Data}).Draw(t, "mode")
	return addr.Resource{Module: module, Name: addr.Name{Mode: mode, Type: "t_x", Name: "n"}}.Instance(key())
}

func objects(t *rapid.T) addr.Object {
	return addr.Object{Instance: instances(t), Deposed: rapid.SampledFrom([]string{"", "01abcdef"}).Draw(t, "deposed")}
}

func providers(t *rapid.T) addr.ProviderConfig {
	return addr.ProviderConfig{
		Module:   instances(t).Module.Erase(),
		Provider: addr.Provider{Host: "example.com", Namespace: "a", Type: "b"},
		Alias:    rapid.SampledFrom([]string{"", "east"}).Draw(t, "alias"),
		Key:      rapid.SampledFrom([]addr.Key{addr.NoKey, addr.StringKey("k")}).Draw(t, "provider key"),
	}
}

func changes(t *rapid.T) *plan.Change {
	at := providers(t)
	c := &plan.Change{
		Addr:          objects(t),
		Provider:      &at,
		Action:        plan.Action(rapid.IntRange(0, int(plan.ForgetThenCreate)).Draw(t, "action")),
		Reason:        plan.Reason(text.Draw(t, "reason")),
		Before:        values(t, 3),
		After:         values(t, 3),
		Private:       []byte(text.Draw(t, "private")),
		DeposedKey:    text.Draw(t, "deposed key"),
		Dependencies:  []int32{0},
		Settings:      persisted.Settings{SkipDestroy: rapid.Bool().Draw(t, "skip"), CreateBeforeDestroy: rapid.Bool().Draw(t, "first")},
		AfterIdentity: cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(text.Draw(t, "id"))}),
	}
	if rapid.Bool().Draw(t, "moved") {
		if was := instances(t); was != c.Addr.Instance {
			c.From = &was
		}
	}
	if rapid.Bool().Draw(t, "replaced") {
		c.ReplacePaths = []cty.Path{cty.GetAttrPath("a").IndexInt(1), cty.GetAttrPath("b").IndexString("k")}
	}
	if rapid.Bool().Draw(t, "imported") {
		c.Importing = &plan.Importing{ID: text.Draw(t, "import"), Unknown: rapid.Bool().Draw(t, "unknown")}
	}
	return c
}

func plans(t *rapid.T) *plan.Plan {
	p := &plan.Plan{
		Mode:      plan.Mode(rapid.IntRange(0, 2).Draw(t, "mode")),
		Changes:   rapid.SliceOfN(rapid.Custom(changes), 0, 3).Draw(t, "changes"),
		Drift:     rapid.SliceOfN(rapid.Custom(changes), 0, 1).Draw(t, "drift"),
		Timestamp: time.Unix(rapid.Int64Range(0, 1<<32).Draw(t, "time"), 0).UTC(),
		Errored:   rapid.Bool().Draw(t, "errored"),
		Resources: []addr.Resource{instances(t).Resource.Erase()},
		Variables: map[string]*plan.Variable{"v": {Value: values(t, 2), Given: true}, "e": {Ephemeral: true}},
		Relevant:  []plan.Attribute{{Resource: instances(t), Path: cty.GetAttrPath("a")}},
		Graph:     &execgraph.Graph{},
		Checks:    []state.CheckResult{{Kind: "check", Address: "check.a", Status: "fail", Objects: []state.CheckObject{{Address: "check.a", Status: "fail", Messages: []string{"m"}}}}},
	}
	p.Variables["v"].Value, _ = p.Variables["v"].Value.UnmarkDeep()
	steps := 0
	if len(p.Changes) > 0 {
		steps = rapid.IntRange(0, 4).Draw(t, "steps")
	}
	for i := range steps {
		object, provider := objects(t), providers(t)
		s := execgraph.Step{Kind: execgraph.Finalize, Object: &object, Provider: &provider, Change: rapid.IntRange(1, len(p.Changes)).Draw(t, "change")}
		if i > 0 {
			s.Kind, s.Object = execgraph.Apply, p.Graph.Steps[0].Object
			s.After, s.When, s.Of, s.Takes = []execgraph.ID{0}, execgraph.OnFailure, 0, []execgraph.ID{0}
		}
		p.Graph.Steps = append(p.Graph.Steps, s)
	}
	p.Outputs = append(p.Outputs, &plan.OutputChange{Name: "o", Action: plan.Update, Before: values(t, 2), After: values(t, 2), Sensitive: true})
	target, err := addr.ParseTarget(`module.a["x"].t_x.n[1]`)
	if err != nil {
		t.Fatal(err)
	}
	p.Targets = []addr.Target{target}
	p.Previous = &state.Snapshot{
		Lineage: "11111111-2222-3333-4444-555555555555", Serial: 3, Version: "1.12.6",
		Objects: map[addr.Object]*state.Object{}, Outputs: map[string]state.Output{"o": {Value: cty.StringVal("x"), Sensitive: true}},
	}
	at := addr.Object{Instance: addr.Resource{Name: addr.Name{Type: "t_x", Name: "n"}}.Instance(addr.StringKey("é"))}
	p.Previous.Objects[at] = &state.Object{
		Provider: addr.ProviderConfig{Provider: addr.Provider{Host: "example.com", Namespace: "a", Type: "b"}},
		JSON:     []byte(`{"id":"x"}`), SchemaVersion: 2, Settings: persisted.Settings{CreateBeforeDestroy: true}, Private: []byte("p"),
	}
	p.Refreshed = p.Previous.Clone()
	return p
}

var options = cmp.Options{
	cmp.Comparer(func(a, b cty.Value) bool {
		return a == cty.NilVal && b == cty.NilVal || a != cty.NilVal && b != cty.NilVal && a.RawEquals(b)
	}),
	cmp.Comparer(func(a, b cty.Type) bool {
		return a == cty.NilType && b == cty.NilType || a != cty.NilType && b != cty.NilType && a.Equals(b)
	}),
	cmp.Comparer(func(a, b cty.Path) bool { return a.Equals(b) }),
	cmp.Comparer(func(a, b addr.Target) bool { return a == b }),
	cmpopts.EquateComparable(addr.Key{}, addr.Object{}, addr.Instance{}, addr.ProviderConfig{}),
	cmpopts.EquateEmpty(),
	cmp.Transformer("schema", func(t *provider.Type) *schema.Schema { return t.Schema() }),
	// State files are indented, so attributes may come back with other spaces.
	cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".JSON" },
		cmp.Comparer(func(a, b []byte) bool { return compact(a) == compact(b) })),
	cmpopts.IgnoreUnexported(schema.Block{}),
}

func compact(data []byte) string {
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		return err.Error()
	}
	return b.String()
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := planfile.Content{
			Engine:  "1.2.3",
			Plan:    plans(t),
			Files:   map[string][]byte{"main.tf": []byte(text.Draw(t, "file")), "m/x.tf": []byte("locals {}")},
			Modules: []byte(`{"Modules":[]}`),
			Lock:    []byte("# locks"),
			Backend: planfile.Backend{Type: "local", Config: []byte(`{"path":"x"}`), Workspace: "default"},
		}
		want.Plan.Schemas = map[addr.Provider]*provider.Schemas{{Host: "example.com", Namespace: "a", Type: "b"}: someSchemas()}
		data, err := planfile.Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := planfile.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		// Only types that something has are kept.
		delete(want.Plan.Schemas[addr.Provider{Host: "example.com", Namespace: "a", Type: "b"}].Resources, "t_unused")
		if diff := cmp.Diff(want, got, options); diff != "" {
			t.Fatal(diff)
		}
		again, err := planfile.Encode(got)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(data, again) {
			t.Fatal("the same content made other bytes")
		}
	})
}

func someSchemas() *provider.Schemas {
	block := func() *schema.Block {
		return &schema.Block{
			Attributes: map[string]*schema.Attribute{
				"id":  {Type: cty.String, Computed: true},
				"tag": {Type: cty.Map(cty.DynamicPseudoType), Optional: true, Sensitive: true, Description: "d"},
				"obj": {Nested: &schema.Object{Nesting: schema.List, Attributes: map[string]*schema.Attribute{"x": {Type: cty.Number, Required: true}}}, Optional: true},
			},
			Blocks: map[string]*schema.NestedBlock{
				"rule": {Block: &schema.Block{Attributes: map[string]*schema.Attribute{"port": {Type: cty.Number, Required: true}}}, Nesting: schema.Set, Min: 1, Max: 2},
			},
		}
	}
	return &provider.Schemas{
		Provider:    &schema.Schema{Block: block()},
		Resources:   provider.AllKnown(map[string]*schema.Schema{"t_x": {Version: 2, Block: block()}, "t_unused": {Block: block()}}),
		PlanDestroy: true,
		Functions: map[string]*provider.Function{"f": {
			Parameters: []provider.Parameter{{Name: "a", Type: cty.String, AllowNull: true}},
			Variadic:   &provider.Parameter{Name: "rest", Type: cty.DynamicPseudoType},
			Return:     cty.List(cty.String),
			Summary:    "s",
		}},
	}
}
