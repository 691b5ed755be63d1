package jsonplan_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	tfjson "github.com/hashicorp/terraform-json"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/ui/view/jsonplan"
)

var (
	sim   = addr.Provider{Host: "example.com", Namespace: "acme", Type: "sim"}
	block = &schema.Block{Attributes: map[string]*schema.Attribute{
		"id":     {Type: cty.String, Computed: true},
		"name":   {Type: cty.String, Required: true},
		"secret": {Type: cty.String, Optional: true, Sensitive: true},
		"tags":   {Type: cty.Map(cty.String), Optional: true},
	}}
	schemas = map[addr.Provider]*provider.Schemas{sim: {
		Resources:   provider.AllKnown(map[string]*schema.Schema{"sim_object": {Version: 1, Block: block, IdentityVersion: 4}}),
		DataSources: provider.AllKnown(map[string]*schema.Schema{"sim_object": {Block: block}}),
	}}
)

func object(id, name, secret cty.Value) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"id": id, "name": name, "secret": secret, "tags": cty.NullVal(cty.Map(cty.String))})
}

func change(t *testing.T, address string, action plan.Action, before, after cty.Value) *plan.Change {
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
	return &plan.Change{Addr: addr.Object{Instance: i}, Provider: &addr.ProviderConfig{Provider: sim}, Action: action, Before: before, After: after}
}

func example(t *testing.T) *plan.Plan {
	text := cty.StringVal
	known := object(text("i"), text("n"), text("s"))
	planned := object(cty.UnknownVal(cty.String), text("new").Mark(value.Sensitive), cty.NullVal(cty.String))
	replaced := change(t, `module.m["x"].sim_object.b[1]`, plan.DeleteThenCreate, known, planned)
	replaced.Reason = plan.ReplaceCannotUpdate
	replaced.ReplacePaths = []cty.Path{cty.GetAttrPath("tags").Index(text("k")), cty.GetAttrPath("name")}
	was := replaced.Addr.Instance
	was.Key = addr.IntKey(0)
	replaced.From = &was
	imported := change(t, "sim_object.c", plan.NoOp, known, known)
	imported.Importing = &plan.Importing{Identity: cty.ObjectVal(map[string]cty.Value{"id": text("i")})}
	imported.GeneratedConfig = "resource {}"
	imported.AfterIdentity = imported.Importing.Identity
	deposed := change(t, "sim_object.c", plan.Delete, known, cty.NilVal)
	deposed.Addr.Deposed = "00000001"
	refreshed := state.Empty()
	refreshed.Objects[imported.Addr] = &state.Object{Provider: addr.ProviderConfig{Provider: sim}, SchemaVersion: 1, JSON: []byte(`{"id":"i","name":"n","secret":"s","tags":null}`)}
	moved := change(t, "sim_object.moved", plan.NoOp, known, known)
	return &plan.Plan{
		Changes: []*plan.Change{
			replaced, imported, deposed,
			change(t, "sim_object.a", plan.Create, cty.NilVal, planned),
			change(t, "sim_object.gone", plan.Delete, known, cty.NilVal),
			change(t, "data.sim_object.read", plan.Read, cty.NilVal, planned),
			change(t, "data.sim_object.old", plan.Delete, known, cty.NilVal),
			change(t, "data.sim_object.done", plan.NoOp, known, known),
		},
		Drift: []*plan.Change{change(t, "sim_object.c", plan.Update, known, planned), moved},
		Outputs: []*plan.OutputChange{
			{Name: "known", Action: plan.Create, Before: cty.NullVal(cty.DynamicPseudoType), After: cty.TupleVal([]cty.Value{cty.True})},
			{Name: "later", Action: plan.Update, Before: text("x"), After: cty.UnknownVal(cty.String), Sensitive: true},
			{Name: "old", Action: plan.Delete, Before: text("x"), After: cty.NullVal(cty.DynamicPseudoType)},
		},
		Deferred:  []*plan.Deferred{{Change: change(t, "sim_object.d[*]", plan.Create, cty.NilVal, planned), Reason: "instance_count_unknown"}},
		Checks:    []state.CheckResult{{Kind: "check", Address: "check.c", Status: "pass"}},
		Refreshed: refreshed,
		Variables: map[string]*plan.Variable{"v": {Value: text("x"), Given: true}, "e": {Value: text("ephemeral value"), Ephemeral: true}},
		Relevant:  []plan.Attribute{{Resource: imported.Addr.Instance, Path: cty.GetAttrPath("tags").Index(text("k"))}},
		Timestamp: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Schemas:   schemas,
	}
}

func TestMarshalIsReadable(t *testing.T) {
	tree := &program.Tree{Program: &program.Program{Variables: []*program.Variable{
		{Name: "v", Default: cty.StringVal("d")}, {Name: "other", Default: cty.NumberIntVal(3)}, {Name: "e", Ephemeral: true, Default: cty.StringVal("ephemeral value")},
	}}}
	text, err := jsonplan.Marshal(example(t), tree, nil, dialect.OpenTofu)
	if err != nil {
		t.Fatal(err)
	}
	var read tfjson.Plan
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if err := read.Validate(); err != nil {
		t.Error(err)
	}
	if strings.Contains(string(text), "hidden") {
		t.Errorf("an ephemeral variable is shown:\n%s", text)
	}
	if read.Variables["v"].Value != "x" || read.Variables["other"].Value != 3.0 || read.Timestamp != "2026-01-02T03:04:05Z" {
		t.Errorf("head:\n%s", text)
	}
	var got []string
	for _, c := range read.ResourceChanges {
		got = append(got, c.Address+" "+string(c.Change.Actions[0]))
	}
	want := "data.sim_object.read read,sim_object.a create,sim_object.c no-op,sim_object.c delete,sim_object.gone delete,module.m[\"x\"].sim_object.b[1] delete"
	if strings.Join(got, ",") != want {
		t.Errorf("changes %q", got)
	}
	b := read.ResourceChanges[5]
	if b.PreviousAddress != `module.m["x"].sim_object.b[0]` || b.ModuleAddress != `module.m["x"]` || b.Index != 1.0 || b.ActionReason != "replace_because_cannot_update" || !b.Change.Actions.DestroyBeforeCreate() {
		t.Errorf("replaced: %+v", b)
	}
	for what, pair := range map[string][2]any{
		"replace_paths":    {b.Change.ReplacePaths, `[["name"],["tags","k"]]`},
		"after":            {b.Change.After, `{"name":"new","secret":null,"tags":null}`},
		"after_unknown":    {b.Change.AfterUnknown, `{"id":true}`},
		"before_sensitive": {b.Change.BeforeSensitive, `{"secret":true}`},
		"after_sensitive":  {b.Change.AfterSensitive, `{"name":true,"secret":true}`},
		"of no object":     {read.ResourceChanges[1].Change.BeforeSensitive, `false`},
		"of deleted":       {read.ResourceChanges[4].Change.AfterUnknown, `{}`},
		"output":           {read.OutputChanges["known"], `{"actions":["create"],"before":null,"after":[true],"after_unknown":false,"before_sensitive":false,"after_sensitive":false}`},
		"unknown output":   {read.OutputChanges["later"].AfterUnknown, `true`},
		"importing":        {read.ResourceChanges[2].Change.Importing, `{"identity":{"id":"i"}}`},
	} {
		if raw, _ := json.Marshal(pair[0]); string(raw) != pair[1] {
			t.Errorf("%s is %s, want %s", what, raw, pair[1])
		}
	}
	if len(read.ResourceDrift) != 1 || len(read.DeferredChanges) != 1 || read.DeferredChanges[0].ResourceChange.Address != "sim_object.d[*]" {
		t.Errorf("drift or deferred:\n%s", text)
	}
	values := read.PlannedValues
	if len(values.RootModule.Resources) != 3 || values.RootModule.ChildModules[0].Resources[0].AttributeValues["name"] != "new" ||
		values.Outputs["old"] != nil || !values.Outputs["later"].Sensitive || *values.RootModule.Resources[2].IdentitySchemaVersion != 4 {
		t.Errorf("planned values:\n%s", text)
	}
	if prior := read.PriorState.Values.RootModule.Resources[0]; prior.Address != "sim_object.c" || string(prior.SensitiveValues) != `{"secret":true}` {
		t.Errorf("prior state: %+v", prior)
	}
	if r := read.RelevantAttributes[0]; r.Resource != "sim_object.c" || string(r.Attribute[1]) != `"k"` {
		t.Errorf("relevant: %+v", r)
	}
}

func TestDriftOfRefreshOnly(t *testing.T) {
	p := example(t)
	p.Mode = plan.RefreshOnly
	if got := len(jsonplan.Drift(p)); got != 2 {
		t.Errorf("%d objects drifted", got)
	}
	if len(p.Drift) != 2 {
		t.Error("the plan was changed")
	}
}
