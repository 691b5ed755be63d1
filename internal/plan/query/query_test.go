package query_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/fake"
	"weir.dev/weir/internal/testing/testkit"
)

// bench has a list resource that finds objects a0, a1 and so on without end.
func bench(t *testing.T) *testkit.Bench {
	b := testkit.New(t)
	of := b.Resources["sim_object"].Schema
	of.Identity = &schema.Object{Attributes: map[string]*schema.Attribute{"id": {Type: cty.String, Required: true}}}
	of.IdentityVersion = 3
	list := fake.NewType("prefix string", "token string sensitive")
	list.List = func(r provider.ListRequest, found func(provider.ListResult) bool) diag.List {
		for n := 0; ; n++ {
			name := fmt.Sprintf("%s%d", r.Config.GetAttr("prefix").AsString(), n)
			result := provider.ListResult{Name: name, Identity: cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("id-" + name)})}
			if r.Objects {
				result.Object = cty.ObjectVal(map[string]cty.Value{
					"name": cty.StringVal(name), "zone": cty.NullVal(cty.String), "parent": cty.NullVal(cty.String),
					"secret": cty.StringVal("hunter2"), "size": cty.NumberIntVal(int64(n)), "id": cty.StringVal("id-" + name),
				})
			}
			if !found(result) {
				return nil
			}
		}
	}
	b.Lists["sim_object"] = list
	return b
}

// query asks what a query file says.
func query(t *testing.T, b *testkit.Bench, text string, generate bool, tell event.Sink) ([]*plan.Listing, diag.List) {
	t.Helper()
	c, diags := b.Load(text)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	c.World.Sink = tell
	return engine.Query(t.Context(), c, b.State, generate)
}

// shown is a listing in a line, by identities.
func shown(list []*plan.Listing) string {
	var lines []string
	for _, l := range list {
		line := l.Addr.String() + ":"
		for _, f := range l.Found {
			line += " " + f.Identity.GetAttr("id").AsString()
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// TestFind: each instance asks for as many objects as it says, and what was found may say
// what others ask for.
func TestFind(t *testing.T) {
	list, diags := query(t, bench(t), `
data "sim_lookup" "prefix" { key = "p" }
resource "sim_object" "unasked" { name = "x" }
-- a.tfquery.hcl --
list "sim_object" "one" {
  provider = sim
  limit    = 1
  config { prefix = "a" }
}
list "sim_object" "next" {
  provider = sim
  limit    = length(list.sim_object.one.data) + 1
  config { prefix = "${list.sim_object.one.data[0].identity.id}-" }
}
list "sim_object" "each" {
  for_each = toset(["x", "y"])
  provider = sim
  limit    = 1
  config { prefix = each.key }
}
list "sim_object" "nothing" {
  provider = sim
  limit    = 0
  config { prefix = data.sim_lookup.prefix.key }
}
`, false, nil)
	want := "list.sim_object.one: id-a0\nlist.sim_object.next: id-id-a0-0 id-id-a0-1\n" +
		"list.sim_object.each[\"x\"]: id-x0\nlist.sim_object.each[\"y\"]: id-y0\nlist.sim_object.nothing:"
	if got := shown(list); got != want || diags.HasErrors() {
		t.Errorf("got\n%s\n%v", got, diags)
	}
	if f := list[0].Found[0]; !f.Object.IsNull() || f.IdentityVersion != 3 || f.Name != "a0" || f.Import != "" {
		t.Errorf("got %+v", f)
	}
}

// TestDefaultLimit: a provider that never ends is requested a hundred objects.
func TestDefaultLimit(t *testing.T) {
	list, diags := query(t, bench(t), "-- a.tfquery.hcl --\nlist \"sim_object\" \"a\" {\n  provider = sim\n  config { prefix = \"a\" }\n}\n", false, nil)
	if diags.HasErrors() || len(list) != 1 || len(list[0].Found) != 100 {
		t.Errorf("got %v, %v", shown(list), diags)
	}
}

// TestEndless: whatever limit a query has, what a provider says without end is bounded, objects as
// well as warnings.
func TestEndless(t *testing.T) {
	before := value.MaxSize
	defer func() { value.MaxSize = before }()
	value.MaxSize = 1 << 20
	ask := func(b *testkit.Bench) diag.List {
		_, diags := query(t, b, "-- a.tfquery.hcl --\nlist \"sim_object\" \"a\" {\n  provider         = sim\n  include_resource = true\n  limit            = 1000000000000\n  config { prefix = \"a\" }\n}\n", false, nil)
		return diags
	}
	warns := bench(t)
	warns.Lists["sim_object"].List = func(_ provider.ListRequest, found func(provider.ListResult) bool) diag.List {
		for found(provider.ListResult{Diags: diag.List{{Severity: diag.Warning, Summary: "nothing yet"}}}) {
		}
		return nil
	}
	for name, b := range map[string]*testkit.Bench{"objects": bench(t), "warnings": warns} {
		if diags := ask(b); !slices.ContainsFunc(diags, diag.TooLarge.Is) {
			t.Errorf("%s: %d problems, the last %v", name, len(diags), diags[max(0, len(diags)-1):])
		}
	}
}

// TestGenerate: names follow from block and instance, the provider is named, and what is
// sensitive isn't written.
func TestGenerate(t *testing.T) {
	var told []string
	list, diags := query(t, bench(t), `
provider "sim" { alias = "other" }
-- a.tfquery.hcl --
list "sim_object" "a" {
  count    = 2
  provider = sim.other
  limit    = 2
  config { prefix = "a${count.index}-" }
}
`, true, func(e event.Event) {
		if e.Addr.Instance.Key.String() == "[1]" {
			told = append(told, fmt.Sprint(e.Kind-event.ListStart, e.Found != nil))
		}
	})
	if diags.HasErrors() || len(list) != 2 {
		t.Fatalf("got %v, %v", shown(list), diags)
	}
	f := list[1].Found[1]
	if want := "import {\n  to       = sim_object.a_1_1\n  provider = sim.other\n  identity = {\n    id = \"id-a1-1\"\n  }\n}"; f.Import != want {
		t.Errorf("got %s", f.Import)
	}
	if !strings.HasPrefix(f.Resource, "resource \"sim_object\" \"a_1_1\" {\n  provider = sim.other\n") || strings.Contains(f.Resource, "hunter2") || !strings.Contains(f.Resource, `name     = "a1-1"`) {
		t.Errorf("got %s", f.Resource)
	}
	if got := strings.Join(told, " "); got != "0 false 1 true 1 true 2 false" {
		t.Errorf("told %s", got)
	}
}

// TestProblems: what is wrong with blocks and answers is reported, with what others found.
func TestProblems(t *testing.T) {
	b := bench(t)
	good := "list \"sim_object\" \"good\" {\n  provider = sim\n  limit = 1\n  config { prefix = \"a\" }\n}\n"
	for text, want := range map[string]string{
		"limit = -1":                "Invalid limit argument",
		"limit = 0.5":               "Invalid limit argument",
		"limit = []":                "Invalid limit argument",
		"include_resource = \"no\"": "Invalid include_resource argument",
		"config { prefix = sim_object.unmade.id }": "Query isn't known",
		"limit = sim_object.unmade.size":           "Query isn't known",
	} {
		list, diags := query(t, b, "resource \"sim_object\" \"unmade\" { name = \"n\" }\n-- a.tfquery.hcl --\n"+good+"list \"sim_object\" \"bad\" {\n  provider = sim\n  "+text+"\n}\n", false, nil)
		if got := testkit.Problems(diags); got != want || shown(list) != "list.sim_object.good: id-a0" {
			t.Errorf("%s: got %q, %s", text, got, shown(list))
		}
	}
	if _, diags := query(t, b, "", false, nil); testkit.Problems(diags) != "No resources to query" {
		t.Errorf("got %v", diags)
	}
	answers := map[string]provider.ListResult{
		"returned no identity": {Name: "a"},
		"returned attributes":  {Name: "a", Identity: cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("i")}), Object: cty.EmptyObjectVal},
		"said so":              {Diags: diag.List{{Severity: diag.Error, Summary: "said so", Detail: "It said so."}}},
	}
	for want, answer := range answers {
		b.Lists["sim_object"].List = func(_ provider.ListRequest, found func(provider.ListResult) bool) diag.List {
			found(answer)
			return nil
		}
		list, diags := query(t, b, "-- a.tfquery.hcl --\n"+good, false, nil)
		if len(list) != 0 || len(diags) != 1 || !strings.Contains(diags[0].Summary+" "+diags[0].Detail, want) {
			t.Errorf("%s: got %v", want, diags)
		}
	}
	b.Resources["sim_object"].Schema.Identity = nil
	if _, diags := query(t, b, "-- a.tfquery.hcl --\n"+good, false, nil); !diags.HasErrors() {
		t.Error("objects without identities are found")
	}
	delete(b.Lists, "sim_object")
	if _, diags := query(t, b, "-- a.tfquery.hcl --\n"+good, false, nil); testkit.Problems(diags) != "Invalid list resource" {
		t.Errorf("got %v", diags)
	}
}
