package fake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/provider"
)

func sim() (*Provider, *Type) {
	p := New()
	object := NewType(
		"name string required",
		"zone string replace",
		"tags map(string)",
		"any any",
		"secret string optional writeonly sensitive",
		"size number optional computed",
		"ready bool computed",
		"id string computed",
	)
	p.Resources["sim_object"] = object
	p.DataSources["sim_lookup"] = NewType("key string required", "found string computed", "n number computed")
	p.Ephemerals["sim_token"] = NewType("value string computed sensitive")
	return p, object
}

func with(t *Type, set map[string]cty.Value) cty.Value {
	v := t.Schema.Block.EmptyValue().AsValueMap()
	for name, value := range set {
		v[name] = value
	}
	return cty.ObjectVal(v)
}

func configured(t *testing.T, p *Provider) provider.Provider {
	t.Helper()
	i := p.Start()
	if diags := i.Configure(t.Context(), cty.EmptyObjectVal); diags != nil {
		t.Fatal(diags)
	}
	return i
}

// life takes an object from its creation to its end.
func TestLife(t *testing.T) {
	p, object := sim()
	i := configured(t, p)
	gone := cty.NullVal(object.Schema.Block.ImpliedType())
	config := with(object, map[string]cty.Value{"name": cty.StringVal("a"), "secret": cty.StringVal("s")})

	plan := i.Plan(t.Context(), provider.PlanRequest{Type: "sim_object", Prior: gone, ProposedNew: config, Config: config})
	if plan.Diags != nil || plan.Planned.GetAttr("id").IsKnown() || plan.Planned.GetAttr("size").IsKnown() || !plan.Planned.GetAttr("secret").IsNull() {
		t.Fatalf("%v %#v", plan.Diags, plan.Planned)
	}
	apply := i.Apply(t.Context(), provider.ApplyRequest{Type: "sim_object", Prior: gone, Planned: plan.Planned, Config: config})
	want := with(object, map[string]cty.Value{
		"name": cty.StringVal("a"), "id": cty.StringVal("id-1"), "size": cty.NumberIntVal(1), "ready": cty.True,
	})
	if apply.Diags != nil || !apply.New.RawEquals(want) {
		t.Fatalf("%v %#v", apply.Diags, apply.New)
	}

	read := func(want cty.Value) {
		t.Helper()
		r := i.Read(t.Context(), provider.ReadRequest{Type: "sim_object", Current: apply.New})
		if r.Diags != nil || !r.New.RawEquals(want) {
			t.Fatalf("%v %#v", r.Diags, r.New)
		}
	}
	read(want)
	drifted := with(object, map[string]cty.Value{"name": cty.StringVal("drifted"), "id": cty.StringVal("id-1")})
	p.SetRemote("id-1", drifted)
	read(drifted)
	imported := i.Import(t.Context(), provider.ImportRequest{Type: "sim_object", ID: "id-1"})
	if len(imported.Objects) != 1 || !imported.Objects[0].State.RawEquals(drifted) {
		t.Errorf("imported %#v", imported)
	}
	p.SetRemote("id-1", cty.NullVal(cty.DynamicPseudoType))
	read(gone)
	if imported := i.Import(t.Context(), provider.ImportRequest{Type: "sim_object", ID: "id-1"}); len(imported.Objects) != 0 {
		t.Errorf("imported %#v", imported)
	}

	moved := with(object, map[string]cty.Value{"name": cty.StringVal("a"), "zone": cty.StringVal("z"), "id": cty.StringVal("id-1")})
	plan = i.Plan(t.Context(), provider.PlanRequest{Type: "sim_object", Prior: want, ProposedNew: moved, Config: moved})
	if len(plan.RequiresReplace) != 1 || !plan.RequiresReplace[0].Equals(cty.GetAttrPath("zone")) {
		t.Errorf("replace %v", plan.RequiresReplace)
	}
	end := i.Apply(t.Context(), provider.ApplyRequest{Type: "sim_object", Prior: want, Planned: gone})
	if end.Diags != nil || !end.New.IsNull() {
		t.Errorf("%v %#v", end.Diags, end.New)
	}

	if err := errors.Join(i.Stop(t.Context()), i.Close()); err != nil {
		t.Error(err)
	}
	if got := p.Counts(); got != "Apply 2, Close 1, Configure 1, Import 2, Plan 2, Read 3, Start 1, Stop 1" {
		t.Error(got)
	}
	if want := []string{"Plan sim_object", "Apply sim_object", "Read sim_object"}; !slices.Equal(p.Log()[:3], want) {
		t.Error(p.Log())
	}
	if p.Running() != 0 || !p.Stopped() || len(p.Configs()) != 1 || p.Count("Plan") != 2 {
		t.Errorf("running %d, stopped %v, configured %v", p.Running(), p.Stopped(), p.Configs())
	}
	p.Reset()
	if p.Counts() != "" || len(p.Log()) != 0 {
		t.Error("not reset")
	}
}

func TestOthers(t *testing.T) {
	p, object := sim()
	p.Functions["twice"] = Function{Call: func(args []cty.Value) (cty.Value, error) { return args[0].Add(args[0]), nil }}
	i := configured(t, p)
	config := with(p.DataSources["sim_lookup"], map[string]cty.Value{"key": cty.StringVal("k")})
	data := i.ReadData(t.Context(), provider.ReadDataRequest{Type: "sim_lookup", Config: config})
	if v := data.New; data.Diags != nil || v.GetAttr("found") != cty.StringVal("found-1") || !v.GetAttr("n").RawEquals(cty.NumberIntVal(1)) {
		t.Errorf("%v %#v", data.Diags, data.New)
	}
	token := i.OpenEphemeral(t.Context(), "sim_token", with(p.Ephemerals["sim_token"], nil))
	if token.Diags != nil || token.Result.GetAttr("value") != cty.StringVal("value-1") {
		t.Errorf("%v %#v", token.Diags, token.Result)
	}
	if r := i.RenewEphemeral(t.Context(), "sim_token", []byte("p")); r.Diags != nil || string(r.Private) != "p" {
		t.Errorf("%+v", r)
	}
	if diags := i.CloseEphemeral(t.Context(), "sim_token", nil); diags != nil {
		t.Error(diags)
	}
	if v, _, err := i.CallFunction(t.Context(), "twice", []cty.Value{cty.NumberIntVal(2)}); err != nil || !v.RawEquals(cty.NumberIntVal(4)) {
		t.Errorf("%v %#v", err, v)
	}
	imported := i.Import(t.Context(), provider.ImportRequest{Type: "sim_object", ID: "x"})
	if !imported.Objects[0].State.RawEquals(with(object, map[string]cty.Value{"id": cty.StringVal("x")})) {
		t.Errorf("%#v", imported)
	}
	v, diags := i.UpgradeState(t.Context(), provider.UpgradeRequest{Type: "sim_object", JSON: []byte(`{"name":"a"}`)})
	if diags != nil || !v.RawEquals(with(object, map[string]cty.Value{"name": cty.StringVal("a")})) {
		t.Errorf("%v %#v", diags, v)
	}
	object.Plan = func(r provider.PlanRequest) provider.PlanResponse {
		out := object.DefaultPlan(r)
		out.Private = []byte("mine")
		return out
	}
	plan := i.Plan(t.Context(), provider.PlanRequest{Type: "sim_object", ProposedNew: v, Prior: v, Config: v})
	if string(plan.Private) != "mine" {
		t.Errorf("%+v", plan)
	}
}

func TestFailures(t *testing.T) {
	p, object := sim()
	i := configured(t, p)
	prior := with(object, map[string]cty.Value{"id": cty.StringVal("id-1")})
	apply := provider.ApplyRequest{Type: "sim_object", Prior: prior, Planned: prior}
	p.Fail("Apply", "sim_object", "out of order")
	r := i.Apply(t.Context(), apply)
	if got := fmt.Sprint(r.Diags); got != "[error: Scripted failure; Apply sim_object: out of order]" || !r.New.RawEquals(prior) {
		t.Error(got)
	}
	p.Fail("Apply", "sim_object", "")
	if r := i.Apply(t.Context(), apply); r.Diags != nil {
		t.Error(r.Diags)
	}
	p.Fail("Read", "", "all")
	if r := i.Read(t.Context(), provider.ReadRequest{Type: "sim_object", Current: prior}); !r.Diags.HasErrors() {
		t.Error("no failure")
	}
	p.Before = func(_ context.Context, call, typ string, about cty.Value) error {
		return fmt.Errorf("%s %s %s", call, typ, about.GetAttr("id").AsString())
	}
	if r := i.Plan(t.Context(), provider.PlanRequest{Type: "sim_object", ProposedNew: prior}); fmt.Sprint(r.Diags) != "[error: Scripted failure; Plan sim_object: Plan sim_object id-1]" {
		t.Error(r.Diags)
	}
}

func TestGate(t *testing.T) {
	p, object := sim()
	i := configured(t, p)
	v := with(object, nil)
	gate := p.Block("Apply")
	apply := func(ctx context.Context) chan bool {
		done := make(chan bool)
		go func() {
			r := i.Apply(ctx, provider.ApplyRequest{Type: "sim_object", Prior: v, Planned: v})
			done <- r.Diags.HasErrors()
		}()
		if typ := <-gate.Arrived; typ != "sim_object" {
			t.Errorf("arrived %s", typ)
		}
		return done
	}
	ctx, cancel := context.WithCancel(t.Context())
	cut := apply(ctx)
	first := apply(t.Context())
	cancel()
	if !<-cut {
		t.Error("no error when the context ended")
	}
	gate.Open()
	if <-first {
		t.Error("failed after the gate was opened")
	}
	gate = p.Block("Apply")
	second := apply(t.Context())
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if <-second {
		t.Error("failed after Stop")
	}
}

// The fake insists on the order of calls that the contract allows.
func TestOrder(t *testing.T) {
	p, object := sim()
	catalog := Catalog{addr.OpenTofu.Provider("sim"): p}
	if _, diags := catalog.Start(t.Context(), addr.OpenTofu.Provider("other")); !diags.HasErrors() {
		t.Error("a provider was made up")
	}
	s, diags := catalog.Schemas(t.Context(), addr.OpenTofu.Provider("sim"))
	if diags != nil || s.Resource(addr.Managed, "sim_object") != object.Schema || s.Resource(addr.Data, "sim_lookup") == nil {
		t.Errorf("%v %v", diags, s)
	}
	i, diags := catalog.Start(t.Context(), addr.OpenTofu.Provider("sim"))
	if diags != nil {
		t.Fatal(diags)
	}
	v := with(object, nil)
	plan := provider.PlanRequest{Type: "sim_object", Prior: v, ProposedNew: v, Config: v}
	if diags := i.ValidateResource(t.Context(), addr.Managed, "sim_object", v); diags != nil {
		t.Error(diags)
	}
	if !i.Plan(t.Context(), plan).Diags.HasErrors() {
		t.Error("planned before Configure")
	}
	if diags := i.Configure(t.Context(), cty.EmptyObjectVal); diags != nil {
		t.Error(diags)
	}
	if !i.Configure(t.Context(), cty.EmptyObjectVal).HasErrors() {
		t.Error("configured twice")
	}
	plan.Type = "sim_other"
	if !i.Plan(t.Context(), plan).Diags.HasErrors() {
		t.Error("planned an unknown type")
	}
	if err := i.Close(); err != nil || p.Running() != 0 {
		t.Errorf("%v, %d running", err, p.Running())
	}
	if i.Close() == nil {
		t.Error("closed twice")
	}
	plan.Type = "sim_object"
	if !i.Plan(t.Context(), plan).Diags.HasErrors() {
		t.Error("planned after Close")
	}
	defer func() {
		if recover() == nil {
			t.Error("a bad type was accepted")
		}
	}()
	NewType("x strong")
}
