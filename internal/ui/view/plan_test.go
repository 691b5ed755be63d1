package view

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/ui/view/ansi"
)

var update = flag.Bool("update", false, "rewrite golden files")

var (
	sim   = addr.Provider{Host: "example.com", Namespace: "acme", Type: "sim"}
	rule  = &schema.Block{Attributes: map[string]*schema.Attribute{"port": {Type: cty.Number}, "from": {Type: cty.String}, "id": {Type: cty.String, Computed: true}}}
	inner = map[string]*schema.Attribute{"x": {Type: cty.String, Optional: true}, "y": {Type: cty.Number, Optional: true}}
	block = &schema.Block{
		Attributes: map[string]*schema.Attribute{
			"id":     {Type: cty.String, Computed: true},
			"name":   {Type: cty.String, Required: true},
			"size":   {Type: cty.Number, Optional: true},
			"on":     {Type: cty.Bool, Optional: true},
			"secret": {Type: cty.String, Optional: true, Sensitive: true},
			"token":  {Type: cty.String, Optional: true, WriteOnly: true},
			"policy": {Type: cty.String, Optional: true},
			"script": {Type: cty.String, Optional: true},
			"tags":   {Type: cty.Map(cty.String), Optional: true},
			"list":   {Type: cty.List(cty.String), Optional: true},
			"set":    {Type: cty.Set(cty.String), Optional: true},
			"any":    {Type: cty.DynamicPseudoType, Optional: true},
			"many":   {Nested: &schema.Object{Attributes: inner, Nesting: schema.List}, Optional: true},
			"named":  {Nested: &schema.Object{Attributes: inner, Nesting: schema.Map}, Optional: true},
			"one":    {Nested: &schema.Object{Attributes: inner, Nesting: schema.Single}, Optional: true},
		},
		Blocks: map[string]*schema.NestedBlock{
			"rule":  {Block: rule, Nesting: schema.List},
			"tier":  {Block: rule, Nesting: schema.Set},
			"by":    {Block: rule, Nesting: schema.Map},
			"limit": {Block: rule, Nesting: schema.Single},
		},
	}
	schemas = map[addr.Provider]*provider.Schemas{sim: {
		Resources:   provider.AllKnown(map[string]*schema.Schema{"sim_object": {Block: block}}),
		DataSources: provider.AllKnown(map[string]*schema.Schema{"sim_object": {Block: block}}),
	}}
)

// short ways to write values
func text(s string) cty.Value { return cty.StringVal(s) }
func texts(all ...string) cty.Value {
	vs := []cty.Value{}
	for _, s := range all {
		vs = append(vs, text(s))
	}
	if len(vs) == 0 {
		return cty.ListValEmpty(cty.String)
	}
	return cty.ListVal(vs)
}
func later() cty.Value { return cty.UnknownVal(cty.String) }

type values = map[string]cty.Value

func ruleOf(port int64, from string) cty.Value {
	return cty.ObjectVal(values{"port": cty.NumberIntVal(port), "from": text(from), "id": text("r")})
}

func xy(x string, y int64) cty.Value {
	return cty.ObjectVal(values{"x": text(x), "y": cty.NumberIntVal(y)})
}

// object is the empty object with some attributes set.
func object(set values) cty.Value {
	vs := block.EmptyValue().AsValueMap()
	for name, v := range set {
		vs[name] = v
	}
	return cty.ObjectVal(vs)
}

func with(base cty.Value, set values) cty.Value {
	vs := base.AsValueMap()
	for name, v := range set {
		vs[name] = v
	}
	return cty.ObjectVal(vs)
}

func change(t testing.TB, address string, action plan.Action, before, after cty.Value, more ...func(*plan.Change)) *plan.Change {
	t.Helper()
	i, err := addr.ParseInstance(address)
	if err != nil {
		t.Fatal(err)
	}
	none := cty.NullVal(block.ImpliedType())
	if before == cty.NilVal {
		before = none
	}
	if after == cty.NilVal {
		after = none
	}
	c := &plan.Change{Addr: addr.Object{Instance: i}, Provider: &addr.ProviderConfig{Provider: sim}, Action: action, Before: before, After: after}
	for _, f := range more {
		f(c)
	}
	return c
}

func because(r plan.Reason) func(*plan.Change) { return func(c *plan.Change) { c.Reason = r } }
func forced(paths ...cty.Path) func(*plan.Change) {
	return func(c *plan.Change) { c.ReplacePaths = paths }
}
func from(t *testing.T, address string) func(*plan.Change) {
	i, err := addr.ParseInstance(address)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *plan.Change) { c.From = &i }
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s", name, got)
	}
}

func render(t *testing.T, p *plan.Plan, o Options) string {
	t.Helper()
	p.Schemas = schemas
	var b bytes.Buffer
	if err := Plan(&b, p, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func full() cty.Value {
	return object(values{
		"id": text("i-1"), "name": text("full"), "size": cty.NumberIntVal(3), "on": cty.True, "secret": text("hunter2"),
		"policy": text(`{"Version":"1","Statement":[{"Effect":"Allow","Action":"a"}]}`), "script": text("#!/bin/sh\necho one\necho two\n"),
		"tags": cty.MapVal(values{"Name": text("n"), "env": text("test")}), "list": texts("a", "b", "c", "d", "e"), "set": cty.SetVal([]cty.Value{text("x"), text("y")}),
		"any":   cty.ObjectVal(values{"k": cty.TupleVal([]cty.Value{cty.True, text("t")})}),
		"many":  cty.ListVal([]cty.Value{xy("a", 1), xy("b", 2)}),
		"named": cty.MapVal(values{"k": xy("a", 1)}), "one": xy("o", 1),
		"rule": cty.ListVal([]cty.Value{ruleOf(80, "a"), ruleOf(81, "b")}),
		"tier": cty.SetVal([]cty.Value{ruleOf(1, "a"), ruleOf(2, "b")}),
		"by":   cty.MapVal(values{"k": ruleOf(9, "k")}), "limit": ruleOf(5, "l"),
	})
}

func TestPlanOfEveryKindOfChange(t *testing.T) {
	created := with(full(), values{"id": later(), "list": cty.UnknownVal(cty.List(cty.String)), "tier": cty.SetVal([]cty.Value{ruleOf(1, "a").Mark(value.Sensitive)})})
	small := object(values{"id": text("i-2"), "name": text("small"), "tags": cty.MapVal(values{"a": text("1")})})
	p := &plan.Plan{Changes: []*plan.Change{
		change(t, "sim_object.created", plan.Create, cty.NilVal, created),
		change(t, "data.sim_object.read", plan.Read, cty.NilVal, object(values{"id": later(), "name": text("r")}), because(plan.ReadConfigUnknown)),
		change(t, "sim_object.destroyed", plan.Delete, full(), cty.NilVal, because(plan.DeleteNoResourceConfig)),
		change(t, "sim_object.index[3]", plan.Delete, small, cty.NilVal, because(plan.DeleteCountIndex)),
		change(t, `module.a["x"].sim_object.key["k"]`, plan.Delete, small, cty.NilVal, because(plan.DeleteEachKey), func(c *plan.Change) { c.Addr.Deposed = "00ab12cd" }),
		change(t, "sim_object.replaced", plan.DeleteThenCreate, small, with(small, values{"id": later(), "name": text("other")}), because(plan.ReplaceCannotUpdate), forced(cty.GetAttrPath("name"))),
		change(t, "sim_object.tainted", plan.CreateThenDelete, small, with(small, values{"id": later()}), because(plan.ReplaceTainted)),
		change(t, "sim_object.asked", plan.DeleteThenCreate, small, with(small, values{"id": later()}), because(plan.ReplaceRequested)),
		change(t, "sim_object.triggered", plan.ForgetThenCreate, small, with(small, values{"id": later()}), because(plan.ReplaceTriggered)),
		change(t, "sim_object.forgotten", plan.Forget, small, cty.NilVal, because(plan.ForgotDestroyFalse)),
		change(t, "sim_object.moved", plan.NoOp, small, small, from(t, "sim_object.old[0]")),
		change(t, "sim_object.moved_too", plan.Update, small, with(small, values{"size": cty.NumberIntVal(1)}), from(t, "module.m.sim_object.old")),
		change(t, "sim_object.imported", plan.NoOp, small, small, func(c *plan.Change) { c.Importing = &plan.Importing{ID: "i-2"}; c.GeneratedConfig = "x" }),
		change(t, "sim_object.same", plan.NoOp, small, small),
	}, Outputs: []*plan.OutputChange{
		{Name: "a", Action: plan.Create, After: cty.MapVal(values{"k": text("v"), "odd key": cty.NullVal(cty.String)}), Before: cty.NullVal(cty.String)},
		{Name: "longer", Action: plan.Update, Before: text("x"), After: later()},
		{Name: "gone", Action: plan.Delete, Before: texts("x"), After: cty.NullVal(cty.String)},
		{Name: "hidden", Action: plan.Update, Before: text("hunter2"), After: text("hunter3"), Sensitive: true},
		{Name: "same", Action: plan.NoOp, Before: text("x"), After: text("x")},
	}}
	golden(t, "kinds.txt", render(t, p, Options{}))
	got := render(t, p, Options{Pen: ansi.Pen{On: true}})
	for _, seq := range ansi.Sequences {
		got = strings.ReplaceAll(got, seq, "")
	}
	if got != render(t, p, Options{}) {
		t.Error("colours change the text")
	}
	if strings.Contains(got, "hunter") {
		t.Error("a secret is shown")
	}
	if shown := render(t, p, Options{ShowSensitive: true}); !strings.Contains(shown, `"hunter2" -> "hunter3"`) {
		t.Error("secrets are asked for and not shown")
	}
}

func TestPlanOfUpdates(t *testing.T) {
	base := full()
	updated := func(name string, set values, more ...func(*plan.Change)) *plan.Change {
		return change(t, "sim_object."+name, plan.Update, base, with(base, set), more...)
	}
	p := &plan.Plan{Changes: []*plan.Change{
		updated("scalars", values{"size": cty.NumberFloatVal(3.5), "on": cty.NullVal(cty.Bool), "name": later(), "secret": text("other")}),
		updated("lists", values{"list": texts("a", "new", "b", "c", "d", "E"), "set": cty.SetVal([]cty.Value{text("y"), text("z")})}),
		updated("removed_collections", values{"list": cty.NullVal(cty.List(cty.String)), "tags": cty.NullVal(cty.Map(cty.String)), "set": cty.SetValEmpty(cty.String), "any": cty.NullVal(cty.DynamicPseudoType)}),
		updated("maps", values{"tags": cty.MapVal(values{"Name": text("m"), "owner": later(), "env": text("test")})}),
		updated("json", values{"policy": text(`{"Version":"1","Statement":[{"Effect":"Deny","Action":"a"},{"Effect":"Allow","Action":"b"}]}`)}),
		updated("json_space", values{"policy": text(`{"Version": "1", "Statement": [{"Effect":"Allow","Action":"a"}]}`)}),
		updated("lines", values{"script": text("#!/bin/sh\necho one\necho 2\necho \x1b[2Jthree\n")}),
		updated("dynamic", values{"any": cty.ObjectVal(values{"k": text("other type"), "l": cty.NumberIntVal(1)})}),
		updated("nested", values{"many": cty.ListVal([]cty.Value{xy("a", 1), xy("c", 2), xy("d", 3)}), "named": cty.MapVal(values{"k": xy("a", 2), "l": xy("b", 1)}), "one": cty.ObjectVal(values{"x": text("o"), "y": cty.UnknownVal(cty.Number)})}),
		updated("blocks", values{
			"rule": cty.ListVal([]cty.Value{ruleOf(80, "a"), ruleOf(8081, "b"), ruleOf(82, "c")}),
			"tier": cty.SetVal([]cty.Value{ruleOf(1, "a"), ruleOf(3, "b")}),
			"by":   cty.MapVal(values{"k": ruleOf(10, "k"), "l": ruleOf(1, "l")}), "limit": cty.NullVal(ruleOf(1, "").Type()),
		}),
		updated("newly_secret", values{"name": text("full").Mark(value.Sensitive), "rule": base.GetAttr("rule").Mark(value.Sensitive)}),
	}}
	c := change(t, "sim_object.forced", plan.DeleteThenCreate, base, with(base, values{
		"tags": cty.MapVal(values{"Name": text("other")}), "list": texts("z"), "rule": cty.ListVal([]cty.Value{ruleOf(1, "a")}), "one": xy("p", 1),
	}), forced(cty.GetAttrPath("tags"), cty.GetAttrPath("list"), cty.GetAttrPath("rule").IndexInt(0).GetAttr("port"), cty.GetAttrPath("one").GetAttr("x"), cty.GetAttrPath("token")))
	p.Changes = append(p.Changes, c)
	golden(t, "updates.txt", render(t, p, Options{}))
}

func TestPlanWithoutChanges(t *testing.T) {
	small := object(values{"id": text("i"), "name": text("n"), "size": cty.NumberIntVal(1)})
	moved := with(small, values{"name": text("drifted"), "size": cty.NumberIntVal(2)})
	drift := func() []*plan.Change {
		return []*plan.Change{change(t, "sim_object.a", plan.Update, small, moved), change(t, "sim_object.b", plan.Delete, small, cty.NilVal)}
	}
	var all strings.Builder
	for _, p := range []*plan.Plan{
		{},
		{Targets: make([]addr.Target, 1)},
		{Mode: plan.Destroy},
		{Mode: plan.RefreshOnly},
		{Errored: true},
		{Drift: drift()},
		{Mode: plan.RefreshOnly, Drift: drift()},
		{Drift: drift(), Relevant: []plan.Attribute{{Resource: drift()[0].Addr.Instance, Path: cty.GetAttrPath("size")}}, Changes: []*plan.Change{change(t, "sim_object.c", plan.Update, small, moved)}},
		{Outputs: []*plan.OutputChange{{Name: "o", Action: plan.Create, Before: cty.NullVal(cty.String), After: texts("a")}}},
		{Errored: true, Changes: []*plan.Change{change(t, "sim_object.c", plan.Create, cty.NilVal, small)}},
		{Deferred: []*plan.Deferred{{Change: change(t, "sim_object.c[*]", plan.Create, cty.NilVal, small), Reason: "instance_count_unknown"}}},
	} {
		all.WriteString("────── case\n" + render(t, p, Options{}))
	}
	golden(t, "quiet.txt", all.String())
}

func TestState(t *testing.T) {
	s := state.Empty()
	add := func(address, deposed, json string, tainted bool) {
		i, err := addr.ParseInstance(address)
		if err != nil {
			t.Fatal(err)
		}
		s.Objects[addr.Object{Instance: i, Deposed: deposed}] = &state.Object{Provider: addr.ProviderConfig{Provider: sim}, JSON: []byte(json), Tainted: tainted}
	}
	json := `{"id":"i","name":"n","size":1,"on":null,"secret":"hunter2","token":null,"policy":"[1]","script":"a\nb\n","tags":{"a":"1"},"list":["x","y"],"set":[],"any":null,"many":[{"x":"a","y":1}],"named":null,"one":null,"rule":[{"port":1,"from":"a","id":null}],"tier":[],"by":{},"limit":null}`
	add("sim_object.a", "", json, true)
	add("sim_object.a", "0011aabb", json, false)
	add(`data.sim_object.d["k"]`, "", json, false)
	add("module.m.other_thing.x", "", `{"no":{"schema":true}}`, false)
	s.Outputs["plain"] = state.Output{Value: cty.TupleVal([]cty.Value{text("a"), cty.NumberIntVal(1)})}
	s.Outputs["secret"] = state.Output{Value: text("hunter2"), Sensitive: true}
	var b bytes.Buffer
	if err := State(&b, s, schemas, Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "state.txt", b.String())
	b.Reset()
	if err := State(&b, state.Empty(), nil, Options{}); err != nil || !strings.Contains(b.String(), "empty") {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestOutputs(t *testing.T) {
	all := map[string]state.Output{
		"b": {Value: cty.MapVal(values{"k": text("v")})},
		"a": {Value: text("one\ntwo")},
		"s": {Value: text("hunter2"), Sensitive: true},
	}
	var b bytes.Buffer
	if err := OutputsAfterApply(&b, all, Options{}); err != nil {
		t.Fatal(err)
	}
	want := "\nOutputs:\n\na = <<EOT\none\ntwo\nEOT\nb = tomap({\n  \"k\" = \"v\"\n})\ns = <sensitive>\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	for _, test := range []struct {
		v    cty.Value
		want string
		ok   bool
	}{
		{text("a\nb"), "a\nb", true}, {cty.NumberFloatVal(1.5), "1.5", true}, {cty.True, "true", true},
		{texts("a"), "", false}, {cty.NullVal(cty.String), "", false}, {later(), "", false}, {text("s").Mark(value.Sensitive), "s", true},
	} {
		if got, diags := RawOutput("o", test.v); got != test.want || diags.HasErrors() == test.ok {
			t.Errorf("%#v: %q, %v", test.v, got, diags)
		}
	}
}

func TestValue(t *testing.T) {
	for want, v := range map[string]cty.Value{
		`"a\"b${c}\u202e"`:            text("a\"b${c}\u202e"),
		"12345678901234567890":        cty.MustParseNumberVal("12345678901234567890"),
		"tolist([])":                  texts(),
		"tolist([\n  \"a\",\n])":      texts("a"),
		"toset([\n  \"a\",\n])":       cty.SetVal([]cty.Value{text("a")}),
		"[\n  1,\n  [],\n]":           cty.TupleVal([]cty.Value{cty.NumberIntVal(1), cty.EmptyTupleVal}),
		"{\n  \"a\" = {}\n}":          cty.ObjectVal(values{"a": cty.EmptyObjectVal}),
		"(known after apply)":         later(),
		"(sensitive value)":           text("s").Mark(value.Sensitive),
		"tostring(null)":              cty.NullVal(cty.String),
		"null":                        cty.NullVal(cty.DynamicPseudoType),
		"tomap(null) /* of string */": cty.NullVal(cty.Map(cty.String)),
		"null /* object */":           cty.NullVal(cty.EmptyObject),
		"tomap({\n  \"a\" = <<-EOT\n  x\n  y\n  EOT\n})": cty.MapVal(values{"a": text("x\ny")}),
	} {
		if got := Value(v, 0); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
