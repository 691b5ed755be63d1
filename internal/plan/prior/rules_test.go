package prior_test

import (
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan/prior"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/testing/testkit"
)

// TestRules is about where objects of the state have moved.
func TestRules(t *testing.T) {
	const counted = "resource \"sim_object\" \"a\" {\n  count = 2\n  name  = \"a\"\n}\n"
	const keyed = "resource \"sim_object\" \"x\" {\n  for_each = toset([\"p\", \"q\"])\n  name     = \"a\"\n}\n"
	testkit.Rules(t, []testkit.Rule{
		{Rule: "keys of a move may come from each", Before: counted, After: keyed + `locals { from = { p = 0, q = 1 } }
moved {
  for_each = local.from
  from     = sim_object.a[each.value]
  to       = sim_object.x[each.key]
}`, Want: `no-op sim_object.x["p"] from sim_object.a[0]` + "\n" + `no-op sim_object.x["q"] from sim_object.a[1]`},
		{Rule: "keys of a move may come from variables", Before: counted, After: "variable \"k\" { default = \"p\" }\n" + keyed + `moved {
  from = sim_object.a[0]
  to   = sim_object.x[var.k]
}
moved {
  from = sim_object.a[1]
  to   = sim_object.x["q"]
}`, Want: `no-op sim_object.x["p"] from sim_object.a[0]` + "\n" + `no-op sim_object.x["q"] from sim_object.a[1]`},
		{Rule: "a module's moves are those of each of its instances", Before: "module \"m\" {\n  source = \"./m\"\n  count  = 2\n}\n-- m/main.tf --\nresource \"sim_object\" \"a\" { name = \"a\" }",
			After: "module \"m\" {\n  source = \"./m\"\n  count  = 2\n}\n-- m/main.tf --\nresource \"sim_object\" \"x\" { name = \"a\" }\nmoved {\n  for_each = toset([\"x\"])\n  from = sim_object.a\n  to   = sim_object.x\n}",
			Want:  "no-op module.m[0].sim_object.x from module.m[0].sim_object.a\nno-op module.m[1].sim_object.x from module.m[1].sim_object.a"},
		{Rule: "a key that is a list is refused", Before: counted, After: keyed + "moved {\n  from = sim_object.a[0]\n  to   = sim_object.x[toset([])]\n}", Problems: "Invalid instance key in a moved block"},
		{Rule: "for_each of a move may not hang on resources", Before: counted, After: keyed + "moved {\n  for_each = toset([sim_object.x[\"p\"].id])\n  from     = sim_object.a[0]\n  to       = sim_object.x[each.key]\n}", Problems: "Invalid for_each argument"},
		{Rule: "for_each of a move fits", Before: counted, After: keyed + "moved {\n  for_each = \"x\"\n  from     = sim_object.a[0]\n  to       = sim_object.x[each.key]\n}", Problems: "Invalid for_each argument"},
		{Rule: "count that goes takes object 0 along", Before: counted, After: "resource \"sim_object\" \"a\" { name = \"a\" }", Want: "delete sim_object.a[1] delete_because_wrong_repetition\nno-op sim_object.a from sim_object.a[0]"},
		{Rule: "count of a module that goes takes instance 0 along", Before: "module \"m\" {\n  source = \"./m\"\n  count  = 1\n}\n-- m/main.tf --\nresource \"sim_object\" \"a\" { name = \"a\" }",
			After: "module \"m\" { source = \"./m\" }\n-- m/main.tf --\nresource \"sim_object\" \"a\" { name = \"a\" }", Want: "no-op module.m.sim_object.a from module.m[0].sim_object.a"},
		{Rule: "what moves where something is stays", Warnings: "Unresolved resource instance address changes", Before: "resource \"sim_object\" \"a\" { name = \"a\" }\nresource \"sim_object\" \"b\" { name = \"b\" }", After: "resource \"sim_object\" \"b\" { name = \"b\" }\nmoved {\n  from = sim_object.a\n  to   = sim_object.b\n}",
			Want: "delete sim_object.a delete_because_no_resource_config"},
		{Rule: "moves in a circle are refused", Before: counted, After: "moved {\n  from = sim_object.a\n  to   = sim_object.b\n}\nmoved {\n  from = sim_object.b\n  to   = sim_object.a\n}", Problems: "Cyclic dependency in move statements"},
	})
}

func instance(t *testing.T, text string) addr.Instance {
	t.Helper()
	i, err := addr.ParseInstance(text)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestClaims: an object belongs to the caller that takes it first.
func TestClaims(t *testing.T) {
	s := state.Empty()
	a, b := instance(t, "sim_object.a"), instance(t, "sim_object.b")
	s.Objects[addr.Object{Instance: a}] = &state.Object{}
	p := prior.New(s)
	if _, owned := p.Owner(a); owned {
		t.Error("what nobody took has an owner")
	}
	if at, o := p.ClaimFor(a); at != a || o == nil {
		t.Errorf("got %v %v", at, o)
	}
	if owner, owned := p.Owner(a); !owned || owner != a {
		t.Errorf("owner %v %t", owner, owned)
	}
	if _, o := p.ClaimFor(a); o != nil {
		t.Error("the same object was taken twice")
	}
	if _, o := p.ClaimFor(b); o != nil {
		t.Error("an object that isn't there was taken")
	}
	if keys := p.KeysNow().Resource(a.Resource); len(keys) != 1 || p.Now(a) != a || p.Away(a) {
		t.Errorf("without moves: keys %v", keys)
	}
	if prior.New(nil).Current(a) != nil {
		t.Error("no state has an object")
	}
}
