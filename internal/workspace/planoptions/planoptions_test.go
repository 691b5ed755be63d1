package planoptions

import (
	"slices"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
)

// TestImports: an address ends at the first sign of equality that isn't part of an instance key.
func TestImports(t *testing.T) {
	for text, want := range map[string][2]string{
		`a.b=id`:             {"a.b", "id"},
		`a.b=x=y`:            {"a.b", "x=y"},
		`a.b["k"]=id`:        {`a.b["k"]`, "id"},
		`a.b["k=v"]=id`:      {`a.b["k=v"]`, "id"},
		`a.b["two"]=id`:      {`a.b["two"]`, "id"},
		`a.b["a\"=\"b"]=x=y`: {`a.b["a\"=\"b"]`, "x=y"},
	} {
		if got, err := Imports([]string{text}, ""); err != nil || !slices.Equal(got, [][2]string{want}) {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a.b", "=id", "a.b=", `a.b["k=v"]`} {
		if got, err := Imports([]string{text}, ""); err == nil {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// TestAgrees: a plan is the requested one unless something else is said of its mode, its
// targets or what it replaces.
func TestAgrees(t *testing.T) {
	targets := func(texts ...string) (list []addr.Target) {
		for _, text := range texts {
			target, err := addr.ParseTarget(text)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, target)
		}
		return list
	}
	made := &plan.Plan{Mode: plan.Normal, Targets: targets("a.b", "a.c"), Excludes: targets("a.d")}
	for _, test := range []struct {
		asked Plan
		want  bool
	}{
		{Plan{}, true},
		{Plan{Targets: []string{"a.c", "a.b", "a.c"}}, true},
		{Plan{Targets: []string{"a.b"}}, false},
		{Plan{Excludes: []string{"a.d"}}, true},
		{Plan{Excludes: []string{"a.b"}}, false},
		{Plan{Destroy: true}, false},
		{Plan{Replace: []string{"a.b"}}, false},
	} {
		if got, diags := test.asked.Agrees(made); got != test.want || diags.HasErrors() {
			t.Errorf("%+v: %v, %v", test.asked, got, diags)
		}
	}
}

// TestIsGiven: only what makes sense for a new plan alone is given.
func TestIsGiven(t *testing.T) {
	some := []string{"a.b"}
	for _, p := range []Plan{{Destroy: true}, {RefreshOnly: true}, {Targets: some}, {TargetFiles: some}, {Excludes: some}, {ExcludeFiles: some}, {Replace: some}, {Invoke: some}} {
		if !p.IsGiven() {
			t.Errorf("%+v isn't given", p)
		}
	}
	if p := (Plan{SkipRefresh: true, AutoRefresh: true}); p.IsGiven() {
		t.Errorf("%+v is given", p)
	}
}
