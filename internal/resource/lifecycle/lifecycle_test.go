package lifecycle_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/fake"
	"weir.dev/weir/internal/resource/contract"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/state"
)

var source = addr.OpenTofu.Provider("sim")

// setting is one object with its type, to be scripted by the test.
type setting struct {
	typ  *fake.Type
	fake *fake.Provider
	lifecycle.Subject
	data lifecycle.Subject
	find *fake.Type
}

func set(t *testing.T) *setting {
	t.Helper()
	p := fake.New()
	typ := fake.NewType(
		"name string required", "zone string replace", "tags map(string)",
		"secret string optional writeonly", "size number optional computed", "id string computed",
	)
	find := fake.NewType("key string required", "found string computed")
	p.Resources["sim_object"], p.DataSources["sim_find"] = typ, find
	i := p.Start()
	if diags := i.Configure(t.Context(), cty.EmptyObjectVal); diags != nil {
		t.Fatal(diags)
	}
	subject := func(mode addr.Mode, typ, name string, s *schema.Schema) lifecycle.Subject {
		a := addr.Resource{Name: addr.Name{Mode: mode, Type: typ, Name: name}}.Instance(addr.NoKey)
		return lifecycle.Subject{Addr: a, Provider: i, Source: source, Schema: s}
	}
	return &setting{
		typ: typ, fake: p, find: find,
		Subject: subject(addr.Managed, "sim_object", "a", typ.Schema),
		data:    subject(addr.Data, "sim_find", "d", find.Schema),
	}
}

type values = map[string]cty.Value

// object has the given attributes, and null for others.
func (s *setting) object(set values) cty.Value {
	v := s.Schema.Block.EmptyValue().AsValueMap()
	for name, value := range set {
		v[name] = value
	}
	return cty.ObjectVal(v)
}

func text(s string) cty.Value { return cty.StringVal(s) }

// old is an object that exists.
func (s *setting) old() lifecycle.Object {
	return lifecycle.Object{
		Value:   s.object(values{"name": text("old"), "zone": text("z"), "size": cty.NumberIntVal(1), "id": text("id-0")}),
		Private: []byte("old private"),
	}
}

var (
	other  = cty.ObjectVal(values{"name": cty.True})
	nobody = cty.NilVal
)

// breach is one answer that breaks the contract, and what is said of it.
type breach struct {
	name    string
	call    func(t *testing.T, s *setting) diag.List
	summary string
	detail  string // a part
}

func (s *setting) planOf(t *testing.T, prior lifecycle.Object, config values) diag.List {
	_, diags := s.Plan(t.Context(), lifecycle.PlanInput{Prior: prior, Config: s.object(config)})
	return diags
}

// TestBreaches: each breach is one error that names the provider and the
// object and says whose bug it is.
func TestBreaches(t *testing.T) {
	planned := func(change func(s *setting, r provider.PlanRequest, out *provider.PlanResponse)) func(*testing.T, *setting) diag.List {
		return func(t *testing.T, s *setting) diag.List {
			s.typ.Plan = func(r provider.PlanRequest) provider.PlanResponse {
				out := s.typ.DefaultPlan(r)
				change(s, r, &out)
				return out
			}
			return s.planOf(t, s.old(), values{"name": text("new"), "zone": text("z")})
		}
	}
	applied := func(change func(s *setting, r provider.ApplyRequest, out *provider.ApplyResponse)) func(*testing.T, *setting) diag.List {
		return func(t *testing.T, s *setting) diag.List {
			s.typ.Apply = func(r provider.ApplyRequest) provider.ApplyResponse {
				out := s.typ.DefaultApply(r, func() int { return 1 })
				change(s, r, &out)
				return out
			}
			p := s.object(values{"name": text("new"), "id": cty.UnknownVal(cty.String)})
			_, diags := s.Apply(t.Context(), lifecycle.ApplyInput{Prior: s.None(), Planned: p, Config: p})
			return diags
		}
	}
	read := func(v func(s *setting) cty.Value) func(*testing.T, *setting) diag.List {
		return func(t *testing.T, s *setting) diag.List {
			s.typ.Read = func(r provider.ReadRequest) provider.ReadResponse {
				return provider.ReadResponse{New: v(s)}
			}
			_, _, diags := s.Refresh(t.Context(), s.old())
			return diags
		}
	}
	upgraded := func(v cty.Value) func(*testing.T, *setting) diag.List {
		return func(t *testing.T, s *setting) diag.List {
			s.typ.Upgrade = func(provider.UpgradeRequest) (cty.Value, diag.List) { return v, nil }
			_, diags := s.Upgrade(t.Context(), &state.Object{JSON: []byte("{}")})
			return diags
		}
	}
	found := func(v cty.Value) func(*testing.T, *setting) diag.List {
		return func(t *testing.T, s *setting) diag.List {
			s.find.ReadData = func(provider.ReadDataRequest) provider.ReadDataResponse {
				return provider.ReadDataResponse{New: v}
			}
			_, _, diags := s.data.ReadData(t.Context(), cty.ObjectVal(values{"key": text("k"), "found": cty.NullVal(cty.String)}))
			return diags
		}
	}
	imported := func(objects ...provider.ImportedObject) func(*testing.T, *setting) diag.List {
		return func(t *testing.T, s *setting) diag.List {
			s.typ.Import = func(provider.ImportRequest) provider.ImportResponse {
				return provider.ImportResponse{Objects: objects}
			}
			_, _, diags := s.Import(t.Context(), "id-0", cty.NilVal)
			return diags
		}
	}
	moved := func(v cty.Value) func(*testing.T, *setting) diag.List {
		return func(t *testing.T, s *setting) diag.List {
			s.typ.Move = func(provider.MoveRequest) provider.MoveResponse { return provider.MoveResponse{Target: v} }
			_, diags := s.Move(t.Context(), s.Addr, &state.Object{})
			return diags
		}
	}
	const plan, apply, result = "Provider produced invalid plan", "Provider produced inconsistent result after apply", "Provider returned invalid result object after apply"
	const object = "Provider produced invalid object"
	for _, b := range []breach{
		{"plan/nothing", planned(func(_ *setting, _ provider.PlanRequest, out *provider.PlanResponse) { out.Planned = nobody }), plan, "planned nothing"},
		{"plan/type", planned(func(_ *setting, _ provider.PlanRequest, out *provider.PlanResponse) { out.Planned = other }), plan, "planned an invalid value"},
		{"plan/config", planned(func(s *setting, _ provider.PlanRequest, out *provider.PlanResponse) {
			out.Planned = s.object(values{"name": text("mine"), "zone": text("z")})
		}), plan, "name: "},
		{"plan/unset", planned(func(s *setting, _ provider.PlanRequest, out *provider.PlanResponse) {
			out.Planned = s.object(values{"name": text("new"), "zone": text("z"), "tags": cty.MapValEmpty(cty.String)})
		}), plan, "tags: "},
		{"plan/null", planned(func(s *setting, r provider.PlanRequest, out *provider.PlanResponse) {
			out.Planned = s.None().Value
		}), plan, "planned"},
		{"plan/write-only", planned(func(s *setting, _ provider.PlanRequest, out *provider.PlanResponse) {
			out.Planned = s.object(values{"name": text("new"), "zone": text("z"), "secret": text("x")})
		}), plan, "write-only"},
		{"plan/replace", planned(func(_ *setting, _ provider.PlanRequest, out *provider.PlanResponse) {
			out.RequiresReplace = []cty.Path{cty.GetAttrPath("nothing")}
		}), plan, "an attribute that doesn't exist"},
		{"plan/destroy", func(t *testing.T, s *setting) diag.List {
			s.typ.Plan = func(r provider.PlanRequest) provider.PlanResponse {
				return provider.PlanResponse{Planned: r.Prior}
			}
			_, _, diags := s.PlanDestroy(t.Context(), s.old())
			return diags
		}, plan, "non-null destroy value"},

		{"apply/nothing", applied(func(_ *setting, _ provider.ApplyRequest, out *provider.ApplyResponse) { out.New = nobody }), object, "returned nothing after apply"},
		{"apply/type", applied(func(_ *setting, _ provider.ApplyRequest, out *provider.ApplyResponse) { out.New = other }), object, "after apply"},
		{"apply/unknown", applied(func(_ *setting, r provider.ApplyRequest, out *provider.ApplyResponse) { out.New = r.Planned }), result, "unknown values"},
		{"apply/null", applied(func(s *setting, _ provider.ApplyRequest, out *provider.ApplyResponse) { out.New = s.None().Value }), apply, "no object"},
		{"apply/other", applied(func(s *setting, _ provider.ApplyRequest, out *provider.ApplyResponse) {
			out.New = s.object(values{"name": text("mine"), "id": text("id-1")})
		}), apply, "name: "},
		{"apply/write-only", applied(func(s *setting, _ provider.ApplyRequest, out *provider.ApplyResponse) {
			out.New = s.object(values{"name": text("new"), "id": text("id-1"), "secret": text("x")})
		}), object, "write-only"},
		{"apply/delete", func(t *testing.T, s *setting) diag.List {
			s.typ.Apply = func(r provider.ApplyRequest) provider.ApplyResponse {
				return provider.ApplyResponse{New: r.Prior}
			}
			_, diags := s.Apply(t.Context(), lifecycle.ApplyInput{Prior: s.old(), Planned: s.None().Value, Config: s.None().Value})
			return diags
		}, result, "other than null after deletion"},

		{"read/nothing", read(func(*setting) cty.Value { return nobody }), object, "returned nothing"},
		{"read/type", read(func(*setting) cty.Value { return other }), object, "during refresh"},
		{"read/unknown", read(func(s *setting) cty.Value { return s.object(values{"id": cty.UnknownVal(cty.String)}) }), object, "unknown parts"},
		{"read/write-only", read(func(s *setting) cty.Value { return s.object(values{"secret": text("x")}) }), object, "write-only"},

		{"upgrade/nothing", upgraded(nobody), "Invalid resource state upgrade", "upgrading the state"},
		{"upgrade/null", upgraded(set(t).None().Value), "Invalid resource state upgrade", "returned nothing"},
		{"upgrade/type", upgraded(other), "Invalid resource state upgrade", "another type"},
		{"upgrade/write-only", upgraded(set(t).object(values{"secret": text("x")})), "Invalid resource state upgrade", "write-only"},
		{"upgrade/newer", func(t *testing.T, s *setting) diag.List {
			_, diags := s.Upgrade(t.Context(), &state.Object{SchemaVersion: 3, JSON: []byte("{}")})
			return diags
		}, "Resource instance managed by newer provider version", "Upgrade the sim provider"},

		{"data/nothing", found(nobody), "Provider produced null object", "null object"},
		{"data/null", found(cty.NullVal(cty.Object(map[string]cty.Type{"key": cty.String, "found": cty.String}))), "Provider produced null object", "null object"},
		{"data/type", found(other), object, "invalid value"},
		{"data/unknown", found(cty.ObjectVal(values{"key": text("k"), "found": cty.UnknownVal(cty.String)})), object, "unknown parts"},

		{"import/none", imported(), "Import returned no resources", "sim_object.a"},
		{"import/two", imported(provider.ImportedObject{Type: "sim_object"}, provider.ImportedObject{Type: "sim_object"}), "Multiple import states not supported", "returned 2 objects"},
		{"import/type", imported(provider.ImportedObject{Type: "sim_other"}), "Unexpected import result", `of type "sim_other"`},
		{"import/null", imported(provider.ImportedObject{Type: "sim_object"}), "Import returned null resource", "id-0"},
		{"import/object", imported(provider.ImportedObject{Type: "sim_object", State: other}), object, "for an import"},
		{"import/write-only", imported(provider.ImportedObject{Type: "sim_object", State: set(t).object(values{"secret": text("x")})}), "Import returned a non-null value for a write-only attribute", "secret"},
		{"import/gone", func(t *testing.T, s *setting) diag.List {
			s.typ.Read = func(provider.ReadRequest) provider.ReadResponse {
				return provider.ReadResponse{New: s.None().Value}
			}
			_, _, diags := s.Import(t.Context(), "id-0", cty.NilVal)
			return diags
		}, "Cannot import non-existent remote object", "id-0"},

		{"move/nothing", moved(nobody), object, "returned nothing when moving"},
		{"move/type", moved(other), object, "for a move"},
		{"move/write-only", moved(set(t).object(values{"secret": text("x")})), object, "write-only"},

		{"same", func(t *testing.T, s *setting) diag.List {
			return s.Same(s.object(values{"name": text("a")}), lifecycle.Planned{Value: s.object(values{"name": text("b")})})
		}, "Provider produced inconsistent final plan", "name: "},
	} {
		t.Run(b.name, func(t *testing.T) {
			s := set(t)
			diags := b.call(t, s)
			if len(diags) != 1 || diags[0].Severity != diag.Error {
				t.Fatalf("problems: %v", diags)
			}
			d := diags[0]
			if d.Summary != b.summary || !strings.Contains(d.Detail, b.detail) {
				t.Errorf("got %q: %q", d.Summary, d.Detail)
			}
			bug := strings.HasPrefix(b.summary, "Provider ") || b.summary == "Invalid resource state upgrade"
			if bug && (!strings.Contains(d.Detail, `"registry.opentofu.org/hashicorp/sim"`) || !strings.Contains(d.Detail, "sim_") || !strings.Contains(d.Detail, "This is a bug in the provider")) {
				t.Errorf("whose bug? %q", d.Detail)
			}
		})
	}
}

// TestPassedOn: a provider's own errors are passed on as they are, and
// nothing is said of the answer beside them.
func TestPassedOn(t *testing.T) {
	s := set(t)
	s.fake.Fail("", "", "")
	for _, call := range []string{"Plan", "Read", "UpgradeState", "Import", "Move", "ReadData", "Apply"} {
		s.fake.Fail(call, "", "no way")
	}
	null := s.None()
	calls := map[string]func() diag.List{
		"Plan":         func() diag.List { return s.planOf(t, null, values{"name": text("a")}) },
		"Read":         func() diag.List { _, _, d := s.Refresh(t.Context(), s.old()); return d },
		"UpgradeState": func() diag.List { _, d := s.Upgrade(t.Context(), &state.Object{JSON: []byte("{}")}); return d },
		"Import":       func() diag.List { _, _, d := s.Import(t.Context(), "x", cty.NilVal); return d },
		"Move":         func() diag.List { _, d := s.Move(t.Context(), s.Addr, &state.Object{}); return d },
		"ReadData":     func() diag.List { _, _, d := s.data.ReadData(t.Context(), cty.EmptyObjectVal); return d },
		"Apply": func() diag.List {
			_, d := s.Apply(t.Context(), lifecycle.ApplyInput{Prior: null, Planned: s.old().Value, Config: s.old().Value})
			return d
		},
	}
	for name, call := range calls {
		if diags := call(); len(diags) != 1 || diags[0].Summary != "Scripted failure" {
			t.Errorf("%s: %v", name, diags)
		}
	}
	if _, _, diags := s.PlanDestroy(t.Context(), s.old()); len(diags) != 1 {
		t.Errorf("PlanDestroy: %v", diags)
	}
}

// TestActions goes through what a plan may come to.
func TestActions(t *testing.T) {
	s := set(t)
	same := values{"name": text("old"), "zone": text("z")}
	tainted := s.old()
	tainted.Tainted = true
	for _, c := range []struct {
		name   string
		in     lifecycle.PlanInput
		want   contract.Change
		value  string // name/zone/id of the planned object
		paths  int
		asked  int
		priors string // what the provider saw as prior, call by call
	}{
		{"create", lifecycle.PlanInput{Prior: s.None(), Config: s.object(values{"name": text("a")})}, contract.Create, "a null unknown", 0, 1, "null"},
		{"force on nothing", lifecycle.PlanInput{Prior: s.None(), Config: s.object(values{"name": text("a")}), Force: true}, contract.Create, "a null unknown", 0, 1, "null"},
		{"no change", lifecycle.PlanInput{Prior: s.old(), Config: s.object(same)}, contract.None, "old z id-0", 0, 1, "id-0"},
		{"update", lifecycle.PlanInput{Prior: s.old(), Config: s.object(values{"name": text("a"), "zone": text("z")})}, contract.Update, "a z id-0", 0, 1, "id-0"},
		{"replace", lifecycle.PlanInput{Prior: s.old(), Config: s.object(values{"name": text("a"), "zone": text("y")})}, contract.Replace, "a y unknown", 1, 2, "id-0 null"},
		{"force", lifecycle.PlanInput{Prior: s.old(), Config: s.object(same), Force: true}, contract.Replace, "old z unknown", 0, 2, "id-0 null"},
		{"tainted", lifecycle.PlanInput{Prior: tainted, Config: s.object(same)}, contract.Replace, "old z unknown", 0, 1, "null"},
		{"ignored", lifecycle.PlanInput{Prior: s.old(), Config: s.object(values{"name": text("a"), "zone": text("y")}), Ignore: []cty.Path{cty.GetAttrPath("zone")}}, contract.Update, "a z id-0", 0, 1, "id-0"},
		{"all ignored", lifecycle.PlanInput{Prior: s.old(), Config: s.object(values{"name": text("a"), "zone": text("y")}), IgnoreAll: true}, contract.None, "old z id-0", 0, 1, "id-0"},
		// Anything that is ignored counts for the new object of a replacement.
		{"ignored but forced", lifecycle.PlanInput{Prior: s.old(), Config: s.object(values{"name": text("a"), "zone": text("y")}), IgnoreAll: true, Force: true}, contract.Replace, "a y unknown", 0, 2, "id-0 null"},
		{"nothing to ignore yet", lifecycle.PlanInput{Prior: s.None(), Config: s.object(values{"name": text("a"), "zone": text("y")}), IgnoreAll: true}, contract.Create, "a y unknown", 0, 1, "null"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var priors []string
			s.typ.Plan = func(r provider.PlanRequest) provider.PlanResponse {
				priors = append(priors, id(r.Prior))
				// The second plan of a replacement is given what the first noted.
				want := ""
				if len(priors) == 2 {
					want = "first plan"
				} else if !r.Prior.IsNull() {
					want = "old private"
				}
				// Only the first one is the plan that was made earlier.
				if earlier := string(r.PlannedPrivate); (earlier == "earlier") != (len(priors) == 1) {
					t.Errorf("call %d was given the private data %q of an earlier plan", len(priors), earlier)
				}
				if string(r.PriorPrivate) != want {
					t.Errorf("call %d was given the private data %q", len(priors), r.PriorPrivate)
				}
				out := s.typ.DefaultPlan(r)
				out.Private = []byte("first plan")
				return out
			}
			c.in.Earlier = []byte("earlier")
			p, diags := s.Plan(t.Context(), c.in)
			if diags != nil {
				t.Fatal(diags)
			}
			got := fmt.Sprintf("%s %s %s", part(p.Value, "name"), part(p.Value, "zone"), id(p.Value))
			if p.Change != c.want || got != c.value || len(p.ReplacePaths) != c.paths || len(priors) != c.asked || strings.Join(priors, " ") != c.priors {
				t.Errorf("change %v, %s, replaces by %v, asked about %q", p.Change, got, p.ReplacePaths, priors)
			}
		})
	}
}

func id(v cty.Value) string {
	if v.IsNull() {
		return "null"
	}
	return part(v, "id")
}

func part(v cty.Value, name string) string {
	switch a := v.GetAttr(name); {
	case !a.IsKnown():
		return "unknown"
	case a.IsNull():
		return "null"
	default:
		return a.AsString()
	}
}

// TestWarnings: those of the second plan of a replacement aren't repeated.
func TestWarnings(t *testing.T) {
	s := set(t)
	s.typ.Plan = func(r provider.PlanRequest) provider.PlanResponse {
		out := s.typ.DefaultPlan(r)
		out.Diags.Add(diag.Diagnostic{Severity: diag.Warning, Summary: "Hm"})
		return out
	}
	if diags := s.planOf(t, s.old(), values{"name": text("a"), "zone": text("y")}); len(diags) != 1 {
		t.Error(diags)
	}
	// Its errors are reported.
	s.typ.Plan = func(r provider.PlanRequest) provider.PlanResponse {
		out := s.typ.DefaultPlan(r)
		if r.Prior.IsNull() {
			out.Diags.Add(provider.Reported.As("No").New(diag.Error, "Not again."))
		}
		return out
	}
	if diags := s.planOf(t, s.old(), values{"name": text("a"), "zone": text("y")}); len(diags) != 1 || diags[0].Summary != "No" {
		t.Error(diags)
	}
}

// TestLegacy: providers on the old SDK may plan and return what others may
// not, and can't change what is ignored.
func TestLegacy(t *testing.T) {
	s := set(t)
	s.typ.Plan = func(r provider.PlanRequest) provider.PlanResponse {
		return provider.PlanResponse{Planned: s.object(values{"name": text("mine"), "zone": text("w"), "id": text("id-0")}), Legacy: true}
	}
	in := lifecycle.PlanInput{Prior: s.old(), Config: s.object(values{"name": text("a"), "zone": text("z")})}
	p, diags := s.Plan(t.Context(), in)
	if diags != nil || part(p.Value, "name") != "mine" {
		t.Errorf("%v %#v", diags, p.Value)
	}
	in.Ignore = []cty.Path{cty.GetAttrPath("zone")}
	if p, diags = s.Plan(t.Context(), in); diags != nil || part(p.Value, "zone") != "z" {
		t.Errorf("%v %#v", diags, p.Value)
	}
	in.IgnoreAll = true
	if p, diags = s.Plan(t.Context(), in); diags != nil || p.Change != contract.None {
		t.Errorf("%v %v %#v", diags, p.Change, p.Value)
	}
	s.typ.Apply = func(r provider.ApplyRequest) provider.ApplyResponse {
		return provider.ApplyResponse{New: s.object(values{"name": text("else"), "id": text("i")}), Legacy: true}
	}
	o, diags := s.Apply(t.Context(), lifecycle.ApplyInput{Prior: s.None(), Planned: s.old().Value, Config: s.old().Value})
	if diags != nil || part(o.Value, "name") != "else" {
		t.Errorf("%v %#v", diags, o.Value)
	}
}

// TestLegacyBlocks: only what such a provider reads has its blocks repaired.
// Unknown blocks of a plan are shown and given back as they are: one block of
// unknown values would be another order.
func TestLegacyBlocks(t *testing.T) {
	s := set(t)
	disks := &schema.NestedBlock{Nesting: schema.List, Block: &schema.Block{
		Attributes: map[string]*schema.Attribute{"gb": {Type: cty.Number, Optional: true, Computed: true}},
	}}
	s.Schema.Block.Blocks = map[string]*schema.NestedBlock{"disk": disks}
	ty := disks.ImpliedType()
	with := func(disk cty.Value) cty.Value { return s.object(values{"name": text("a"), "disk": disk}) }
	s.typ.Plan = func(r provider.PlanRequest) provider.PlanResponse {
		return provider.PlanResponse{Planned: with(cty.UnknownVal(ty)), Legacy: true}
	}
	p, diags := s.Plan(t.Context(), lifecycle.PlanInput{Prior: s.None(), Config: with(cty.ListValEmpty(ty.ElementType()))})
	if diags != nil || !p.Value.RawEquals(with(cty.UnknownVal(ty))) {
		t.Errorf("%v, planned %#v", diags, p.Value)
	}
	s.typ.Apply = func(r provider.ApplyRequest) provider.ApplyResponse {
		if !r.Planned.RawEquals(with(cty.UnknownVal(ty))) {
			t.Errorf("applied %#v", r.Planned)
		}
		return provider.ApplyResponse{New: with(cty.NullVal(ty)), Legacy: true}
	}
	o, diags := s.Apply(t.Context(), lifecycle.ApplyInput{Prior: s.None(), Planned: p.Value, Config: p.Value})
	if diags != nil || !o.Value.RawEquals(with(cty.NullVal(ty))) {
		t.Errorf("%v, made %#v", diags, o.Value)
	}
	s.typ.Read = func(provider.ReadRequest) provider.ReadResponse {
		return provider.ReadResponse{New: with(cty.NullVal(ty))}
	}
	if o, _, diags = s.Refresh(t.Context(), o); diags != nil || !o.Value.RawEquals(with(cty.ListValEmpty(ty.ElementType()))) {
		t.Errorf("%v, read %#v", diags, o.Value)
	}
}

// TestFailedApply: beside errors there is what exists afterwards.
func TestFailedApply(t *testing.T) {
	s := set(t)
	old := s.old()
	partial := s.object(values{"name": text("half"), "id": cty.UnknownVal(cty.String), "secret": text("x")})
	for _, c := range []struct {
		name    string
		prior   lifecycle.Object
		planned cty.Value
		answer  cty.Value
		want    string // name of the resulting object
		errors  int
	}{
		{"create, nothing", s.None(), old.Value, s.None().Value, "null", 1},
		{"create, no answer", s.None(), old.Value, nobody, "null", 1},
		{"create, a part", s.None(), old.Value, partial, "half", 2},
		{"create, another type", s.None(), old.Value, other, "null", 2},
		{"update, no answer", old, old.Value, nobody, "old", 1},
		{"update, null", old, old.Value, s.None().Value, "old", 1},
		{"update, a part", old, old.Value, partial, "half", 2},
		{"delete, still there", old, s.None().Value, old.Value, "old", 1},
		{"delete, gone all the same", old, s.None().Value, s.None().Value, "null", 1},
		{"delete, no answer", old, s.None().Value, nobody, "old", 1},
	} {
		s.typ.Apply = func(provider.ApplyRequest) provider.ApplyResponse {
			out := provider.ApplyResponse{New: c.answer, Private: []byte("new private")}
			out.Diags.Add(provider.Reported.As("No").New(diag.Error, "Not now."))
			return out
		}
		o, diags := s.Apply(t.Context(), lifecycle.ApplyInput{Prior: c.prior, Planned: c.planned, Config: c.planned})
		got := "null"
		if o.Exists() {
			got = part(o.Value, "name")
			if !o.Value.IsWhollyKnown() || !o.Value.GetAttr("secret").IsNull() {
				t.Errorf("%s: %#v can't be stored", c.name, o.Value)
			}
			if _, err := s.Store(o, addr.ProviderConfig{Provider: source}, nil); err != nil {
				t.Errorf("%s: %s", c.name, err)
			}
		}
		if got != c.want || len(diags) != c.errors {
			t.Errorf("%s: there is %s, problems %v", c.name, got, diags)
		}
		// Anything that is kept of the prior object keeps its private data.
		if wantPrivate := "new private"; got != "null" {
			if got == "old" && (c.answer == nobody || c.answer.IsNull()) {
				wantPrivate = "old private"
			}
			if string(o.Private) != wantPrivate {
				t.Errorf("%s: private data %q", c.name, o.Private)
			}
		}
	}
}

// TestStored: an object comes back from the state as it was, without what
// the schema no longer has.
func TestStored(t *testing.T) {
	s := set(t)
	s.Schema.Identity = &schema.Object{Attributes: map[string]*schema.Attribute{"key": {Type: cty.String, Required: true}}, Nesting: schema.Single}
	o := s.old()
	o.Tainted, o.Identity = true, cty.ObjectVal(values{"key": text("k")})
	paths := []cty.Path{cty.GetAttrPath("name")}
	stored, err := s.Store(o, addr.ProviderConfig{Provider: source}, paths)
	if err != nil {
		t.Fatal(err)
	}
	if !stored.Tainted || string(stored.Private) != "old private" || string(stored.IdentityJSON) != `{"key":"k"}` || !slices.EqualFunc(stored.Sensitive, paths, cty.Path.Equals) {
		t.Errorf("%+v", stored)
	}
	back, diags := s.Upgrade(t.Context(), stored)
	if diags != nil || !back.Value.RawEquals(o.Value) || !back.Tainted || string(back.Private) != "old private" || !back.Identity.RawEquals(o.Identity) {
		t.Errorf("%v %+v", diags, back)
	}
	stored.JSON = []byte(`{"name":"n","gone":[1],"tags":{"a":"b"}}`)
	v, err := s.Decode(stored)
	if err != nil || part(v, "name") != "n" || !v.GetAttr("id").IsNull() {
		t.Errorf("%v %#v", err, v)
	}
	if back, diags = s.Upgrade(t.Context(), stored); diags != nil || part(back.Value, "name") != "n" {
		t.Errorf("%v %+v", diags, back)
	}
	stored.JSON = []byte(`[]`)
	if _, err := s.Decode(stored); err == nil {
		t.Error("a list was read as an object")
	}
	if _, diags = s.Upgrade(t.Context(), stored); !diags.HasErrors() {
		t.Error("a list was upgraded")
	}
	// An identity of an older version goes through the provider.
	stored.JSON, stored.IdentityVersion = []byte(`{"name":"n"}`), 9
	if _, diags = s.Upgrade(t.Context(), stored); !diags.HasErrors() || diags[0].Summary != "Resource identity managed by newer provider version" {
		t.Errorf("an identity of a newer version: %v", diags)
	}
	stored.IdentityVersion, s.Schema.IdentityVersion = 7, 8
	if _, diags = s.Upgrade(t.Context(), stored); diags != nil || s.fake.Count("UpgradeIdentity") != 1 {
		t.Errorf("%v, asked %d times", diags, s.fake.Count("UpgradeIdentity"))
	}
	stored.IdentityVersion, stored.IdentityJSON = 8, []byte(`{"key":[]}`)
	if _, diags = s.Upgrade(t.Context(), stored); !diags.HasErrors() {
		t.Error("an identity of another type was read")
	}
	s.typ.UpgradeIdentity = func(int64, []byte) (cty.Value, diag.List) {
		return cty.ObjectVal(values{"key": cty.UnknownVal(cty.String)}), nil
	}
	if _, diags = s.Upgrade(t.Context(), stored); !diags.HasErrors() || diags[0].Summary != "Provider produced invalid identity" {
		t.Errorf("an identity that isn't known: %v", diags)
	}
	// An object from before its type had an identity has none.
	stored.IdentityJSON = nil
	if back, diags = s.Upgrade(t.Context(), stored); diags != nil || back.Identity != cty.NilVal {
		t.Errorf("%v, identity %#v", diags, back.Identity)
	}
}

// TestIgnoreAllSets: ignore_changes = all plans no change of an object whose sets have parts that
// the provider computes, also where elements differ only in these.
func TestIgnoreAllSets(t *testing.T) {
	s := set(t)
	disk := &schema.Block{Attributes: map[string]*schema.Attribute{
		"gb": {Type: cty.String, Optional: true}, "id": {Type: cty.String, Computed: true},
		"parts": {Optional: true, Computed: true, Nested: &schema.Object{Nesting: schema.Set, Attributes: map[string]*schema.Attribute{"n": {Type: cty.String, Optional: true}, "id": {Type: cty.String, Computed: true}}}},
	}}
	s.Schema.Block = &schema.Block{
		Attributes: map[string]*schema.Attribute{"name": {Type: cty.String, Required: true}, "id": {Type: cty.String, Computed: true}},
		Blocks:     map[string]*schema.NestedBlock{"disk": {Nesting: schema.Set, Block: disk}},
	}
	s.typ.Plan = func(r provider.PlanRequest) provider.PlanResponse {
		return provider.PlanResponse{Planned: r.ProposedNew}
	}
	parts := func(ids ...string) cty.Value {
		var list []cty.Value
		for _, id := range ids {
			list = append(list, cty.ObjectVal(values{"n": text("n"), "id": text(id)}))
		}
		return cty.SetVal(list)
	}
	one := func(gb, id string, parts cty.Value) cty.Value {
		return cty.ObjectVal(values{"gb": text(gb), "id": text(id), "parts": parts})
	}
	for name, disks := range map[string]cty.Value{
		"nested":  cty.SetVal([]cty.Value{one("1", "a", parts("x")), one("2", "b", parts("y", "z"))}),
		"similar": cty.SetVal([]cty.Value{one("1", "a", parts("x")), one("1", "b", parts("x"))}),
	} {
		prior := lifecycle.Object{Value: cty.ObjectVal(values{"name": text("n"), "id": text("i"), "disk": disks})}
		config := cty.ObjectVal(values{"name": text("other"), "id": cty.NullVal(cty.String), "disk": cty.SetValEmpty(disks.Type().ElementType())})
		p, diags := s.Plan(t.Context(), lifecycle.PlanInput{Prior: prior, Config: config, IgnoreAll: true})
		if diags != nil || p.Change != contract.None || !p.Value.RawEquals(prior.Value) {
			t.Errorf("%s: %v %v\n%#v", name, diags, p.Change, p.Value)
		}
	}
}

// TestKeep: what says the same stays the very object that it was, however it
// was laid out; any other answer of the provider is taken.
func TestKeep(t *testing.T) {
	s := set(t)
	s.Schema.Identity = &schema.Object{Attributes: map[string]*schema.Attribute{"key": {Type: cty.String, Required: true}}, Nesting: schema.Single}
	o := s.old()
	o.Identity = cty.ObjectVal(values{"key": text("k")})
	p := addr.ProviderConfig{Provider: source}
	stored, err := s.Store(o, p, []cty.Path{cty.GetAttrPath("name"), cty.GetAttrPath("zone")})
	if err != nil {
		t.Fatal(err)
	}
	stored.Dependencies = []addr.Resource{s.Addr.Resource}
	stored.CreateBeforeDestroy, stored.SkipDestroy = true, true
	var wide bytes.Buffer
	if err := json.Indent(&wide, stored.JSON, "", "  "); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		was   func(*state.Object)
		is    func(*lifecycle.Object)
		kept  bool
		shown string // of what is stored in the end
	}{
		"the same":  {func(*state.Object) {}, func(*lifecycle.Object) {}, true, ""},
		"laid out":  {func(o *state.Object) { o.JSON = wide.Bytes() }, func(*lifecycle.Object) {}, true, ""},
		"reordered": {func(o *state.Object) { slices.Reverse(o.Sensitive) }, func(*lifecycle.Object) {}, true, ""},
		"version":   {func(o *state.Object) { o.SchemaVersion = -1 }, func(*lifecycle.Object) {}, false, "old private {\"key\":\"k\"} old"},
		"flat":      {func(o *state.Object) { o.JSON, o.Flat = nil, map[string]string{"name": "old"} }, func(*lifecycle.Object) {}, false, "old private {\"key\":\"k\"} old"},
		"value":     {func(*state.Object) {}, func(o *lifecycle.Object) { o.Value = s.object(values{"name": text("new")}) }, false, "old private {\"key\":\"k\"} new"},
		"private":   {func(*state.Object) {}, func(o *lifecycle.Object) { o.Private = []byte("new private") }, false, "new private {\"key\":\"k\"} old"},
		"identity":  {func(*state.Object) {}, func(o *lifecycle.Object) { o.Identity = cty.ObjectVal(values{"key": text("l")}) }, false, "old private {\"key\":\"l\"} old"},
		"anonymous": {func(*state.Object) {}, func(o *lifecycle.Object) { o.Identity = cty.NilVal }, false, "old private  old"},
	} {
		before, after := *stored, o
		before.Sensitive = slices.Clone(stored.Sensitive)
		c.was(&before)
		c.is(&after)
		kept, err := s.Keep(&before, after, p, stored.Sensitive)
		if err != nil {
			t.Fatal(err)
		}
		if (kept == &before) != c.kept {
			t.Errorf("%s: kept is %v", name, kept == &before)
		}
		v, err := s.Decode(kept)
		if got := fmt.Sprintf("%s %s %s", kept.Private, kept.IdentityJSON, part(v, "name")); !c.kept && (err != nil || got != c.shown) {
			t.Errorf("%s: %v, %s", name, err, got)
		}
		if len(kept.Dependencies) != 1 || !kept.CreateBeforeDestroy || !kept.SkipDestroy {
			t.Errorf("%s: what the engine noted is lost", name)
		}
	}
}

// TestDeferred: an answer that says not yet isn't judged.
func TestDeferred(t *testing.T) {
	s := set(t)
	s.typ.Plan = func(r provider.PlanRequest) provider.PlanResponse {
		return provider.PlanResponse{Planned: s.object(values{"name": text("mine")}), Deferred: provider.ProviderConfigUnknown}
	}
	p, diags := s.Plan(t.Context(), lifecycle.PlanInput{Prior: s.None(), Config: s.object(values{"name": text("a")})})
	if diags != nil || p.Deferred != provider.ProviderConfigUnknown {
		t.Errorf("%v %+v", diags, p)
	}
	s.typ.Read = func(provider.ReadRequest) provider.ReadResponse {
		return provider.ReadResponse{Deferred: provider.AbsentPrerequisite}
	}
	o, reason, diags := s.Refresh(t.Context(), s.old())
	if diags != nil || reason != provider.AbsentPrerequisite || !o.Value.RawEquals(s.old().Value) {
		t.Errorf("%v %v %#v", diags, reason, o)
	}
}

// TestDoubt: a creation that is answered without an object, or with something
// that is none, may have made one.
func TestDoubt(t *testing.T) {
	for name, answer := range map[string]func(*setting) cty.Value{
		"nothing": func(*setting) cty.Value { return cty.NilVal },
		"null":    func(s *setting) cty.Value { return s.None().Value },
		"type":    func(*setting) cty.Value { return cty.ObjectVal(values{"other": text("x")}) },
	} {
		s := set(t)
		s.typ.Apply = func(provider.ApplyRequest) provider.ApplyResponse {
			return provider.ApplyResponse{New: answer(s)}
		}
		planned := s.object(values{"name": text("new")})
		after, diags := s.Apply(t.Context(), lifecycle.ApplyInput{Prior: s.None(), Planned: planned, Config: planned})
		if !after.Unanswered || after.Exists() || !diags.HasErrors() {
			t.Errorf("%s: %+v %v", name, after, diags)
		}
	}
}

// The flatmap of a very old state goes to the provider as it is, and
// can't be decoded without it.
func TestFlat(t *testing.T) {
	s := set(t)
	stored := &state.Object{Flat: map[string]string{"name": "old"}}
	s.typ.Move = func(r provider.MoveRequest) provider.MoveResponse {
		if r.SourceJSON != nil || r.SourceFlat["name"] != "old" {
			t.Errorf("asked with %+v", r)
		}
		return provider.MoveResponse{Target: s.object(values{"name": text(r.SourceFlat["name"])})}
	}
	o, diags := s.Move(t.Context(), s.Addr, stored)
	if err := diags.Err(); err != nil || part(o.Value, "name") != "old" {
		t.Errorf("%v, %#v", err, o.Value)
	}
	if v, err := s.Decode(stored); err == nil {
		t.Errorf("decoded to %#v", v)
	}
}
