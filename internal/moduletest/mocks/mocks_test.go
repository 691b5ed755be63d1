package mocks_test

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/moduletest/mocks"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/contract"
)

var schemas = &provider.Schemas{
	Resources: provider.AllKnown(map[string]*schema.Schema{"thing": {Block: &schema.Block{
		Attributes: map[string]*schema.Attribute{
			"name":   {Type: cty.String, Required: true},
			"note":   {Type: cty.String, Optional: true},
			"id":     {Type: cty.String, Computed: true},
			"size":   {Type: cty.Number, Optional: true, Computed: true},
			"on":     {Type: cty.Bool, Computed: true},
			"list":   {Type: cty.List(cty.String), Computed: true},
			"object": {Type: cty.Object(map[string]cty.Type{"a": cty.String, "n": cty.Number}), Computed: true},
			"nested": {Optional: true, Nested: &schema.Object{Nesting: schema.List, Attributes: map[string]*schema.Attribute{
				"k": {Type: cty.String, Optional: true}, "v": {Type: cty.String, Computed: true},
			}}},
			"secret": {Type: cty.String, Optional: true, WriteOnly: true},
		},
		Blocks: map[string]*schema.NestedBlock{"rule": {Nesting: schema.Set, Block: &schema.Block{
			Attributes: map[string]*schema.Attribute{"port": {Type: cty.Number, Required: true}, "id": {Type: cty.String, Computed: true}},
		}}},
	}}}),
}

type values = map[string]cty.Value

func config(with values) cty.Value {
	block := schemas.Resources.Schema("thing").Block
	v := block.EmptyValue().AsValueMap()
	v["name"] = cty.StringVal("n")
	for name, given := range with {
		v[name] = given
	}
	return cty.ObjectVal(v)
}

func instance(key int) addr.Instance {
	return addr.Resource{Name: addr.Name{Type: "thing", Name: "a"}}.Instance(addr.IntKey(key))
}

// make plans and applies an object of a stand-in as the engine would.
func makeObject(t *testing.T, o mocks.Options, at addr.Instance, config cty.Value) (planned, object cty.Value, problems string) {
	t.Helper()
	block := schemas.Resources.Schema("thing").Block
	null := cty.NullVal(block.ImpliedType())
	o.Schemas = schemas
	p := mocks.New(o)
	plan := p.Plan(t.Context(), provider.PlanRequest{Addr: at, Type: "thing", Prior: null, Config: config, ProposedNew: contract.ProposedNew(block, null, config)})
	if err := plan.Diags.Err(); err != nil {
		return plan.Planned, cty.NilVal, err.Error()
	}
	if errs := contract.PlanValid(block, null, config, plan.Planned); len(errs) > 0 {
		t.Errorf("the plan breaks the contract: %v", errs)
	}
	applied := p.Apply(t.Context(), provider.ApplyRequest{Addr: at, Type: "thing", Prior: null, Config: config, Planned: plan.Planned})
	if err := applied.Diags.Err(); err != nil {
		return plan.Planned, applied.New, err.Error()
	}
	if errs := contract.Conforms(applied.New, block.ImpliedType()); len(errs) > 0 || !applied.New.IsWhollyKnown() {
		t.Errorf("the object breaks the contract: %v, %#v", errs, applied.New)
	}
	if errs := contract.Compatible(block, plan.Planned, applied.New); len(errs) > 0 {
		t.Errorf("the object isn't as planned: %v", errs)
	}
	return plan.Planned, applied.New, ""
}

func given(g mocks.Given) func(addr.Instance) (mocks.Given, bool) {
	return func(addr.Instance) (mocks.Given, bool) { return g, true }
}

func TestMadeUpValues(t *testing.T) {
	conf := config(values{
		"nested": cty.ListVal([]cty.Value{cty.ObjectVal(values{"k": cty.StringVal("x"), "v": cty.NullVal(cty.String)})}),
		"rule":   cty.SetVal([]cty.Value{cty.ObjectVal(values{"port": cty.NumberIntVal(1), "id": cty.NullVal(cty.String)})}),
		"secret": cty.StringVal("s"),
	})
	planned, first, _ := makeObject(t, mocks.Options{Given: given(mocks.Given{})}, instance(0), conf)
	if planned.GetAttr("id").IsKnown() {
		t.Error("what is computed is known when planning, though nobody said so")
	}
	early, _, _ := makeObject(t, mocks.Options{Given: given(mocks.Given{Planned: true})}, instance(0), conf)
	if !early.RawEquals(first) {
		t.Errorf("planned %#v, and later it is %#v", early, first)
	}
	if v := first.GetAttr("nested").Index(cty.Zero).GetAttr("v"); v.IsNull() {
		t.Error("nested attributes aren't computed")
	}
	if !first.GetAttr("secret").IsNull() || !first.GetAttr("note").IsNull() {
		t.Errorf("what isn't computed has values: %#v", first)
	}
	_, other, _ := makeObject(t, mocks.Options{Given: given(mocks.Given{})}, instance(1), conf)
	_, seeded, _ := makeObject(t, mocks.Options{Given: given(mocks.Given{}), Seed: 1}, instance(0), conf)
	for what, v := range map[string]cty.Value{"instance": other, "seed": seeded} {
		if v.GetAttr("id").RawEquals(first.GetAttr("id")) {
			t.Errorf("another %s has the same id", what)
		}
	}
}

func TestGivenValues(t *testing.T) {
	g := mocks.Given{Planned: true, Values: cty.ObjectVal(values{
		"id": cty.NumberIntVal(5), "rule": cty.ObjectVal(values{"id": cty.StringVal("r")}),
	})}
	rule := values{"rule": cty.SetVal([]cty.Value{cty.ObjectVal(values{"port": cty.NumberIntVal(1), "id": cty.NullVal(cty.String)})})}
	_, v, problems := makeObject(t, mocks.Options{Given: given(g), Strict: true}, instance(0), config(rule))
	if problems != "" {
		t.Fatal(problems)
	}
	if got := v.GetAttr("id"); !got.RawEquals(cty.StringVal("5")) {
		t.Errorf("id is %#v", got)
	}
	for it := v.GetAttr("rule").ElementIterator(); it.Next(); {
		if _, rule := it.Element(); rule.GetAttr("id").AsString() != "r" {
			t.Errorf("the block has %#v", rule)
		}
	}

	for name, tt := range map[string]struct {
		values values
		config values
		want   string // empty: left out without a problem, when it isn't strict
		always bool
	}{
		"not computed": {values{"note": cty.StringVal("x")}, nil, "Non-computed field `note`", false},
		"configured":   {values{"size": cty.NumberIntVal(1)}, values{"size": cty.NumberIntVal(2)}, "Invalid mock/override field `size`", false},
		"unknown":      {values{"nope": cty.StringVal("x")}, nil, "Invalid override for block field `nope`", false},
		"no block":     {values{"rule": cty.EmptyObjectVal}, nil, "Invalid override for block field `rule`", false},
		"wrong type":   {values{"on": cty.StringVal("x")}, nil, "Invalid mock/override field `on`", true},
	} {
		g := mocks.Given{Planned: true, Values: cty.ObjectVal(tt.values)}
		if _, _, problems := makeObject(t, mocks.Options{Given: given(g), Strict: true}, instance(0), config(tt.config)); !strings.Contains(problems, tt.want) {
			t.Errorf("%s: want %q, got %q", name, tt.want, problems)
		}
		if _, _, problems := makeObject(t, mocks.Options{Given: given(g)}, instance(0), config(tt.config)); (problems != "") != tt.always {
			t.Errorf("%s, not strict: %q", name, problems)
		}
	}
}
