package eval_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/testing/txtar"
)

// Keys in states are expanded beside those of the configuration, as far as the keys are
// of its kind.
func TestStoredKeys(t *testing.T) {
	root, _, diags := run(newHost(t, source(`
resource "thing" "single" {}
resource "thing" "perhaps" {
  lifecycle { enabled = false }
}
resource "thing" "counted" { count = 1 }
resource "thing" "keyed" { for_each = { b = 2 } }
`)))
	if diags != nil {
		t.Fatal(diags)
	}
	all := []addr.Key{addr.NoKey, addr.IntKey(3), addr.StringKey("a"), addr.StringKey("b")}
	for _, test := range []struct {
		name  string
		keys  []addr.Key
		count int
		named string
	}{
		{"single", nil, 1, ""},
		{"perhaps", nil, 0, ""},
		{"perhaps", all, 1, ""},
		{"counted", all, 4, ""},
		{"keyed", all, 0, "a b"},
	} {
		r := root.Program.ResourceByName[addr.Name{Mode: addr.Managed, Type: "thing", Name: test.name}]
		e := eval.Block{Frame: root, Resource: r}.Stored(test.keys)
		if e.Count != test.count || strings.Join(e.Keys, " ") != test.named {
			t.Errorf("%s with %v: %d instances, keys %v", test.name, test.keys, e.Count, e.Keys)
		}
	}
	keyed := root.Program.ResourceByName[addr.Name{Mode: addr.Managed, Type: "thing", Name: "keyed"}]
	_, e, known := root.Lookup(keyed, addr.StringKey("b"))
	if more := e.WithKeys(all); !known || !more.Values["b"].RawEquals(cty.NumberIntVal(2)) || !more.Values["a"].RawEquals(cty.DynamicVal) {
		t.Errorf("values %v", more.Values)
	}
}

// An instance that a plan leaves out and that the state doesn't have is a gap only where
// a number is missing among others.
func TestMissingInstance(t *testing.T) {
	root, _, diags := run(newHost(t, source(`
resource "thing" "perhaps" {
  lifecycle { enabled = true }
}
resource "thing" "counted" { count = 2 }
resource "thing" "keyed" { for_each = { b = 2 } }
`)))
	if diags != nil {
		t.Fatal(diags)
	}
	missing := func(name string, n int, there ...addr.Key) cty.Value {
		r := root.Program.ResourceByName[addr.Name{Mode: addr.Managed, Type: "thing", Name: name}]
		return root.Expanded(r)[n].Missing(cty.String, there)
	}
	if v := missing("perhaps", 0); !v.RawEquals(cty.NullVal(cty.String)) {
		t.Errorf("what isn't enabled is %#v", v)
	}
	if v := missing("counted", 0, addr.IntKey(1)); v.IsKnown() {
		t.Errorf("a gap is %#v", v)
	}
	if v := missing("counted", 1, addr.IntKey(0)); v != cty.NilVal {
		t.Errorf("after the last is %#v", v)
	}
	if v := missing("keyed", 0, addr.StringKey("c")); v != cty.NilVal {
		t.Errorf("a key is %#v", v)
	}
}

// After an evaluation its results are asked for by name.
func TestResults(t *testing.T) {
	root, rt, diags := run(newHost(t, []txtar.File{
		{Name: "main.tf", Data: []byte(`
variable "size" {
  default = 2
  validation {
    condition     = var.size > 0
    error_message = "Too small."
  }
}
locals {
  a = var.size
}
module "m" {
  source   = "./m"
  for_each = { x = 1, y = 2 }
  given    = each.value
}
resource "thing" "all" {
  count = local.a
  value = module.m["x"].o
}
resource "thing" "user" { value = [thing.all[1].id, thing.gone_key] }
resource "thing" "gone_key" {}
`)},
		{Name: "m/main.tf", Data: []byte(`
variable "given" {}
output "o" {
  value = var.given
  precondition {
    condition     = var.given != 2
    error_message = "Not two."
  }
}
`)},
	}))
	if len(diags) != 1 || diags[0].Summary != "Module output value precondition failed" {
		t.Fatal(diags)
	}
	if v, ok := root.LocalValue(root.Program.Locals[0]); !ok || !v.RawEquals(cty.NumberIntVal(2)) {
		t.Errorf("the local is %#v", v)
	}
	size := root.Program.Variables[0]
	if outcomes := root.VariableOutcomes(size); len(outcomes) != 1 || outcomes[0].Status != eval.Pass || outcomes[0].Missing() {
		t.Errorf("outcomes %v", outcomes)
	}
	if root.VariableNode(size).Failed() {
		t.Error("the variable has failed")
	}
	call := root.Program.Calls[0]
	if got := root.Children(call); len(got) != 2 || got[0].Gone() {
		t.Fatalf("children %v", got)
	}
	y := addr.Root.Child(call.Call, addr.StringKey("y"))
	for _, f := range []*eval.Frame{
		root.Within(addr.Step{Call: call.Call, Key: addr.StringKey("y")}),
		eval.Placed(root, y),
		task(rt, func(t *promise.Task) *eval.Frame { return root.Child(t, call, addr.StringKey("y")) }),
	} {
		if f == nil || f.Addr != y {
			t.Fatalf("found %v", f)
		}
		if outcomes := f.OutputOutcomes(f.Program.Outputs[0]); len(outcomes) != 1 || outcomes[0].Status != eval.Fail {
			t.Errorf("outcomes %v", outcomes)
		}
	}
	if !eval.Claims(root, call, y) || eval.Claims(root, call, addr.Root) {
		t.Error("claims are wrong")
	}
	for _, k := range []addr.Key{addr.NoKey, addr.IntKey(0), addr.StringKey("z")} {
		if f := root.Within(addr.Step{Call: call.Call, Key: k}); f != nil {
			t.Errorf("%v is %s", k, f.Addr)
		}
	}
}

// The referents of a reference are the instances that it names, one or all.
func TestReferents(t *testing.T) {
	root, rt, diags := run(newHost(t, source(`
resource "thing" "all" { count = 2 }
locals {
  one   = thing.all[1].id
  every = thing.all
  none  = thing.all[local.n].id
  n     = 1 + 1
  other = local.n
}
`)))
	if len(diags) != 1 {
		t.Fatal(diags)
	}
	for name, want := range map[string]string{"one": "thing.all[1]", "every": "thing.all[0] thing.all[1]", "none": "!", "other": ""} {
		local := root.Program.Locals[slices.IndexFunc(root.Program.Locals, func(l *program.Local) bool { return l.Name == name })]
		ok := false
		list := task(rt, func(t *promise.Task) (list []*eval.Instance) {
			list, ok = root.Referents(t, local.Expr.Refs[0], root.Context(t, nil, cty.NilVal))
			return list
		})
		var got []string
		for _, i := range list {
			got = append(got, i.String())
		}
		if !ok {
			got = append(got, "!")
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %q, not %q", name, text, want)
		}
	}
}

// Where the instances aren't known, one stands for all that a reference names, whatever its key.
func TestReferentsUnknown(t *testing.T) {
	h := newHost(t, source(`
resource "thing" "late" { late = true }
resource "thing" "all" { for_each = toset([thing.late.id]) }
locals {
  one = thing.all[thing.late.id].id
}
`))
	h.unknownKeys = true
	root, rt, diags := run(h)
	if diags != nil {
		t.Fatal(diags)
	}
	ref := root.Program.Locals[0].Expr.Refs[0]
	ok := false
	list := task(rt, func(t *promise.Task) (list []*eval.Instance) {
		list, ok = root.Referents(t, ref, root.Context(t, nil, cty.NilVal))
		return list
	})
	if len(list) != 1 || list[0].String() != "thing.all[*]" || !ok {
		t.Errorf("%v, %v", list, ok)
	}
}

// A reference names exactly one instance where its key is known: without a context, where it is
// constant. Else it may be any of them.
func TestNamed(t *testing.T) {
	root, rt, diags := run(newHost(t, []txtar.File{
		{Name: "main.tf", Data: []byte(`
resource "thing" "late" { late = true }
module "m" {
  source = "./m"
  count  = 1
}
locals {
  whole    = module.m
  constant = module.m[0].o
  computed = module.m[1 - 1].o
  another  = module.m[local.n].o
  unknown  = module.m[length(thing.late.id)].o
  loop     = [for i in [0] : module.m[true ? 0 : i].o]
  n        = 0
}
`)},
		{Name: "m/main.tf", Data: []byte(`
output "o" { value = 1 }
`)},
	}))
	if diags != nil {
		t.Fatal(diags)
	}
	for name, want := range map[string]string{
		"whole": "1, false, false", "constant": "1, true, true", "computed": "1, true, true", "another": "1, true, false", "unknown": "1, false, false", "loop": "1, true, false",
	} {
		local := root.Program.Locals[slices.IndexFunc(root.Program.Locals, func(l *program.Local) bool { return l.Name == name })]
		ref := local.Expr.Refs[slices.IndexFunc(local.Expr.Refs, func(r *program.Ref) bool { return r.Kind == program.RefCall })]
		got := task(rt, func(t *promise.Task) string {
			list, exact := root.NamedCalls(t, root.Context(t, nil, cty.NilVal), ref)
			return fmt.Sprintf("%d, %t, %t", len(list), exact, root.NamedCall(t, ref) != nil)
		})
		if got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
	}
}

// While the key of a path to what is removed isn't known, one instance stands for all that may be gone.
func TestUnknownPath(t *testing.T) {
	h := newHost(t, []txtar.File{
		{Name: "main.tf", Data: []byte(`
resource "thing" "late" { late = true }
module "m" {
  source   = "./m"
  for_each = toset(["a"])
  in       = 1
}
module "gone" {
  source   = "./m"
  for_each = { known = "b", late = thing.late.id }
  in       = each.value
}
`)},
		{Name: "m/main.tf", Data: []byte(`
variable "in" {}
`)},
	})
	p := h.compile(".")
	gone := p.Calls[1]
	gone.Gone, gone.Path = true, []program.PathStep{{Call: p.Calls[0].Call, Key: gone.Inputs[0].Expr}}
	root, _, diags := run(h)
	if diags != nil {
		t.Fatal(diags)
	}
	for _, key := range []string{"known", "late"} {
		if _, known := root.ChildFrame(gone, addr.StringKey(key)); known {
			t.Errorf("%s is known", key)
		}
	}
	if list := root.Children(gone); len(list) != 1 || !list[0].Gone() {
		t.Errorf("children %v", list)
	}
}

// task computes something within a runtime that has come to rest.
func task[T any](rt *promise.Runtime, compute func(*promise.Task) T) (result T) {
	rt.Do(func(t *promise.Task) { result = compute(t) })
	return result
}

// A walk of what is repeated leaves single blocks only, but for those that are asked for.
func TestWalkRepeated(t *testing.T) {
	h := newHost(t, []txtar.File{
		{Name: "main.tf", Data: []byte(`
resource "thing" "single" {}
resource "thing" "wanted" {}
resource "thing" "many" { count = 2 }
module "one" { source = "./m" }
module "two" {
  source = "./m"
  count  = 1
}
`)},
		{Name: "m/main.tf", Data: []byte(`
resource "thing" "single" {}
resource "thing" "many" { for_each = { a = 1 } }
`)},
	})
	root := (&eval.Evaluator{Host: h, Facts: facts}).NewRoot(h.compile("."))
	rt := promise.NewRuntime(2)
	var whole []string
	root.WalkRepeated(rt, func(f *eval.Frame) { whole = append(whole, f.Addr.String()) }, func(r *program.Resource) bool { return r.Name.Name == "wanted" })
	rt.Wait()
	var asked []string
	for what := range h.asked {
		asked = append(asked, what)
	}
	slices.Sort(asked)
	want := []string{"module.one.thing.many[\"a\"]", "module.two[0].thing.many[\"a\"]", "module.two[0].thing.single", "thing.many[0]", "thing.many[1]", "thing.wanted"}
	if !slices.Equal(asked, want) || !slices.Equal(whole, []string{"module.two[0]"}) {
		t.Errorf("asked for %q, whole %q", asked, whole)
	}
	if bugs := eval.Bugs(rt); bugs != nil {
		t.Error(bugs)
	}
}

// Where each module is evaluated by itself, inputs are unknown and outputs of calls are their
// names: a wrong one is reported, also where its instances aren't known.
func TestModular(t *testing.T) {
	h := newHost(t, []txtar.File{
		{Name: "main.tf", Data: []byte(`
variable "n" { type = number }
module "single" { source = "./m" }
module "counted" {
  source = "./m"
  count  = var.n
}
module "keyed" {
  source   = "./m"
  for_each = toset(["a"])
}
locals {
  fine  = [module.single.o, module.counted[0].o, module.keyed["a"].o, module.counted[*].o, var.n]
  wrong = module.single.p
  index = module.keyed["a"].p
}
`)},
		{Name: "m/main.tf", Data: []byte(`
output "o" { value = 1 }
`)},
	})
	h.unknownKeys, h.vars["n"] = true, cty.UnknownVal(cty.Number)
	root := (&eval.Evaluator{Host: h, Facts: facts, Modular: true}).NewRoot(h.compile("."))
	rt := promise.NewRuntime(2)
	for _, l := range root.Program.Locals {
		rt.Do(func(t *promise.Task) { root.Local(t, l, nil) })
	}
	var got []string
	for _, d := range root.Diagnostics() {
		got = append(got, d.Summary+" "+d.Subject.String())
	}
	if want := []string{"Unsupported attribute main.tf:14,11-26", "Unsupported attribute main.tf:15,11-30"}; !slices.Equal(got, want) {
		t.Errorf("got %q, not %q", got, want)
	}
	if n := h.asked["var.n"]; n > 1 {
		t.Errorf("the variable was asked for %d times", n)
	}
}
