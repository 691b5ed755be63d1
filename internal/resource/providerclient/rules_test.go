package providerclient_test

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/fake"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/testing/testkit"
)

// TestRules is about opening providers and ephemeral resources, and calling functions.
func TestRules(t *testing.T) {
	const one = "resource \"sim_object\" \"a\" { name = \"a\" }\n"
	functions := func(b *testkit.Bench) {
		b.Functions["join"] = fake.Function{
			Function: provider.Function{Parameters: []provider.Parameter{{Name: "a", Type: cty.String}}, Variadic: &provider.Parameter{Name: "more", Type: cty.String, AllowNull: true}, Return: cty.String},
			Call: func(args []cty.Value) (cty.Value, error) {
				text := ""
				for _, a := range args {
					if !a.IsNull() {
						text += a.AsString()
					}
				}
				return cty.StringVal(text), nil
			},
		}
	}
	call := func(args string) string {
		return "terraform {\n  required_providers {\n    sim = { source = \"hashicorp/sim\" }\n  }\n}\noutput \"o\" { value = provider::sim::join(" + args + ") }\n"
	}
	output := func(want string) func(*testing.T, *engine.Config, *plan.Plan) {
		return func(t *testing.T, _ *engine.Config, p *plan.Plan) {
			if got := p.Outputs[0].After; !got.RawEquals(cty.StringVal(want)) {
				t.Errorf("got %#v, want %q", got, want)
			}
		}
	}
	testkit.Rules(t, []testkit.Rule{
		{Rule: "a configuration fits the schema", After: "provider \"sim\" { land = \"x\" }\n" + one, Problems: "Unsupported argument"},
		{Rule: "a provider that refuses its configuration is told", After: "provider \"sim\" { region = \"x\" }\n" + one,
			Outside: func(b *testkit.Bench) { b.Fail("Configure", "", "no way") }, Problems: "Scripted failure"},
		{Rule: "a provider that finds it wrong is told", After: "provider \"sim\" { region = \"x\" }\n" + one,
			Outside: func(b *testkit.Bench) { b.Fail("ValidateConfig", "", "no way") }, Problems: "Scripted failure"},
		{Rule: "an ephemeral resource that can't be opened is told", After: "ephemeral \"sim_token\" \"t\" { scope = \"s\" }",
			Outside: func(b *testkit.Bench) { b.Fail("OpenEphemeral", "sim_token", "no way") }, Problems: "Scripted failure"},
		{Rule: "functions are called", After: call(`"a", "b", null`), Outside: functions, See: output("ab")},
		{Rule: "functions take what can be converted", After: call(`1`), Outside: functions, See: output("1")},
		{Rule: "an argument has the parameter's type", After: call(`[]`), Outside: functions, Problems: "Invalid function argument"},
		{Rule: "an argument isn't null", After: call(`null`), Outside: functions, Problems: "Invalid function argument"},
		{Rule: "there are enough arguments", After: call(``), Outside: functions, Problems: "Error in function call"},
		{Rule: "the provider has the function", After: call(`"a"`), Problems: "Error in function call"},
	})
}

// TestLocate: a provider says which attribute it means, people see the place.
func TestLocate(t *testing.T) {
	file, diags := hclsyntax.ParseConfig([]byte("name = 1\n"), "main.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	body := &program.Body{Body: file.Body, Range: hcl.Range{Filename: "main.tf", Start: hcl.Pos{Line: 7}}}
	own := hcl.Range{Filename: "own.tf"}
	list := diag.List{{Path: cty.GetAttrPath("name")}, {}, {Subject: &own}}
	got := providerclient.Locate(list, body, "sim_object.a")
	if got[0].Subject.Start.Line != 1 || got[1].Subject.Start.Line != 7 || got[2].Subject.Filename != "own.tf" {
		t.Errorf("got %v", got)
	}
	for _, d := range got {
		if d.Address != "sim_object.a" {
			t.Errorf("address %q", d.Address)
		}
	}
	if got := providerclient.Locate(diag.List{{}}, nil, "x"); got[0].Subject != nil {
		t.Errorf("without a body: %v", got)
	}
}

// TestStop: a provider that runs is instructed to stop, and then ended.
func TestStop(t *testing.T) {
	p := fake.New()
	pool := providerclient.NewPool(t.Context(), fake.Catalog{testkit.Sim: p}, 1)
	first, diags := pool.Bare(testkit.Sim)
	again, more := pool.Bare(testkit.Sim)
	if diags.HasErrors() || more.HasErrors() || first != again || p.Running() != 1 {
		t.Fatalf("%d providers run: %v %v", p.Running(), diags, more)
	}
	pool.Stop(t.Context())
	if !p.Stopped() {
		t.Error("the provider wasn't told")
	}
	pool.Close()
	if p.Running() != 0 {
		t.Error("the provider runs on")
	}
	if _, diags := pool.Bare(testkit.Sim); diags.HasErrors() {
		t.Log(diags)
	}
}
