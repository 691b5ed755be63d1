package engine_test

import (
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/testing/testkit"
)

// TestWithoutLists: a query needs something that says what to look for.
func TestWithoutLists(t *testing.T) {
	b := testkit.New(t)
	c, diags := b.Load(`output "o" { value = 1 }`)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if _, diags := engine.Query(t.Context(), c, nil, false); len(diags) != 1 || diags[0].Code != engine.NoLists.Name {
		t.Errorf("%v", diags)
	}
}

// TestGenerate writes what an import has no configuration for, and says why an object
// changes.
func TestGenerate(t *testing.T) {
	b := testkit.New(t)
	c, diags := b.Load(`resource "sim_object" "a" { name = "a" }`)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	list, diags := engine.Generate(t.Context(), c, nil, engine.PlanOptions{})
	if diags.HasErrors() || len(list) != 0 {
		t.Errorf("%v %v", list, diags)
	}
	target, err := addr.ParseTarget("sim_object.a")
	if err != nil {
		t.Fatal(err)
	}
	made, told, diags := engine.Explain(t.Context(), c.With(c.World, map[string]module.VariableInput{}), nil, engine.PlanOptions{}, target)
	if diags.HasErrors() || len(made.Changes) != 1 || made.Changes[0].Action != plan.Create || len(told) != 1 {
		t.Errorf("%v %v %v", made, told, diags)
	}
}

// TestBeside: what is wrong with arguments is reported beside a reference to what isn't there,
// and a reference is reported once.
func TestBeside(t *testing.T) {
	b := testkit.New(t)
	c, loading := b.Load("resource \"sim_object\" \"a\" {\n  name = local.nothing\n  nme  = 1\n}")
	if !loading.HasErrors() {
		t.Fatal("the reference is to nothing")
	}
	provide := func(*engine.Config) ([]addr.Provider, diag.List) { return nil, nil }
	all := engine.ValidateBeside(t.Context(), c, loading, provide)
	if len(all) <= len(loading) {
		t.Errorf("%v", all)
	}
	missing := func(*engine.Config) ([]addr.Provider, diag.List) { return []addr.Provider{{Type: "sim"}}, nil }
	if got := engine.ValidateBeside(t.Context(), c, loading, missing); len(got) != len(loading) {
		t.Errorf("without providers: %v", got)
	}
}
