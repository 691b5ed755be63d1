package eval_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/testing/txtar"
)

// A block that is repeated over another one has the same instances and values whether or not
// its keys come from the other block's keys. If they do, each instance reads only the instance
// with its key.
func TestSource(t *testing.T) {
	const key, all = `thing.a["x"]`, `thing.a["x"] thing.a["y"]`
	calls := `module.m["x"].thing.o module.m["y"].thing.o`
	tests := []struct{ name, argument, reads string }{
		{"direct", `for_each = thing.a`, key},
		{"parentheses", `for_each = (thing.a)`, key},
		{"local", `for_each = local.a`, key},
		{"two_locals", `for_each = local.same`, key},
		{"loop", `for_each = { for k, o in thing.a : k => { id = o.id } }`, key},
		{"loop_of_local", `for_each = local.ids`, key},
		{"loop_without_value", `for_each = { for k, o in thing.a : k => k }`, key},
		{"loop_with_more", `for_each = { for k, o in thing.a : k => thing.b.id }`, key + " thing.b"},
		{"keys", `for_each = toset(keys(thing.a))`, key},
		{"module", `for_each = module.m`, `module.m["x"].thing.o`},
		{"length", `count = length(thing.c)`, `thing.c[0]`},
		{"length_of_keyed", `count = length(thing.a)`, all},
		{"length_of_module", `count = length(module.m)`, calls},

		// The values decide about the keys.
		{"condition", `for_each = { for k, o in thing.a : k => o if o.id != "" }`, all},
		{"other_keys", `for_each = { for k, o in thing.a : "${k}-" => o }`, all},
		{"keys_of_values", `for_each = { for o in thing.a : o.value => o }`, all},
		{"by_index", `for_each = { for i, o in thing.c : i => o }`, "thing.c[0] thing.c[1]"},
		{"merged", `for_each = merge(thing.a, {})`, all},
		{"set", `for_each = toset([for o in thing.a : o.value])`, all},
		{"length_of_more", `count = length(thing.a) + 1`, all},
		{"modules", `for_each = merge(module.m, {})`, calls},
	}
	var text strings.Builder
	text.WriteString(`
resource "thing" "a" {
  for_each = toset(["y", "x"])
  value    = each.key
}
resource "thing" "b" {}
resource "thing" "c" { count = 2 }
module "m" {
  source   = "./m"
  for_each = toset(["x", "y"])
}
locals {
  a    = thing.a
  same = local.a
  ids  = { for k, o in local.a : k => [o.id, o.value] }
}
module "inside" {
  source   = "./m"
  for_each = thing.a
}
`)
	for _, test := range tests {
		value := "each.value"
		if strings.HasPrefix(test.argument, "count") {
			value = "count.index"
		}
		text.WriteString("resource \"thing\" \"" + test.name + "\" {\n  " + test.argument + "\n  value = " + value + "\n}\n")
	}
	evaluate := func(creates bool) (values map[string]cty.Value, reads map[string]string) {
		h := newHost(t, []txtar.File{
			{Name: "main.tf", Data: []byte(text.String())},
			{Name: "m/main.tf", Data: []byte("resource \"thing\" \"o\" {}\noutput \"id\" { value = thing.o.id }\n")},
		})
		root := (&eval.Evaluator{Host: h, Facts: facts, Creates: creates}).NewRoot(h.compile("."))
		rt := promise.NewRuntime(4)
		root.Walk(rt)
		rt.Wait()
		if diags := slices.Concat(h.diags, rt.Diagnostics(), root.Diagnostics()); len(diags) > 0 {
			t.Fatal(diags)
		}
		values, reads = map[string]cty.Value{}, map[string]string{}
		rt.Do(func(task *promise.Task) {
			for _, f := range root.Frames() {
				for _, r := range f.Program.Resources {
					for _, i := range f.Instances(task, r, nil) {
						values[i.String()], _ = i.Value(task, nil)
						reads[i.String()] = strings.Join(instancesBelow(i.Node()), " ")
					}
				}
			}
		})
		return values, reads
	}
	before, _ := evaluate(false)
	values, reads := evaluate(true)
	if !slices.Equal(slices.Sorted(maps.Keys(values)), slices.Sorted(maps.Keys(before))) {
		t.Fatalf("instances %v, not %v", slices.Sorted(maps.Keys(values)), slices.Sorted(maps.Keys(before)))
	}
	for name, v := range values {
		if !v.RawEquals(before[name]) {
			t.Errorf("%s is %#v, not %#v", name, v, before[name])
		}
	}
	for _, test := range tests {
		at := "thing." + test.name + `["x"]`
		switch {
		case strings.HasPrefix(test.argument, "count"), test.name == "by_index":
			at = "thing." + test.name + "[0]"
			if test.name == "by_index" {
				at = "thing." + test.name + `["0"]`
			}
		case test.name == "other_keys":
			at = "thing." + test.name + `["x-"]`
		}
		if reads[at] != test.reads {
			t.Errorf("%s reads %q, not %q", at, reads[at], test.reads)
		}
	}
	if got := reads[`module.inside["x"].thing.o`]; got != key {
		t.Errorf("an instance in a module reads %q, not %q", got, key)
	}
}

// instancesBelow are the instances that a cell has read, directly or through other cells.
func instancesBelow(n *promise.Node) []string {
	found, seen := map[string]bool{}, map[*promise.Node]bool{}
	var walk func(*promise.Node)
	walk = func(n *promise.Node) {
		for _, dep := range n.Deps() {
			if seen[dep] {
				continue
			}
			seen[dep] = true
			if i, ok := dep.Subject.(*eval.Instance); ok {
				found[i.String()] = true
			}
			walk(dep)
		}
	}
	walk(n)
	return slices.Sorted(maps.Keys(found))
}
