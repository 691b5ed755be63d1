package dot

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/edges"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/state"
)

var update = flag.Bool("update", false, "rewrite golden files")

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

func TestConfiguration(t *testing.T) {
	sim := addr.Provider{Host: "example.com", Namespace: "acme", Type: "sim"}
	resource := func(name, alias string, refs ...*program.Ref) *program.Resource {
		return &program.Resource{
			Name: addr.Name{Type: "sim_object", Name: name}, Config: &program.Body{Refs: refs},
			Provider: program.ProviderUse{LocalName: "sim", Alias: alias, Provider: sim},
		}
	}
	refer := func(r *program.Resource) *program.Ref { return &program.Ref{Kind: program.RefResource, Resource: r} }
	expr := func(refs ...*program.Ref) *program.Expr { return &program.Expr{Refs: refs} }

	x := &program.Variable{Name: "x"}
	in := resource("in", "", &program.Ref{Kind: program.RefVariable, Variable: x})
	child := &program.Tree{Program: &program.Program{
		Variables: []*program.Variable{x}, Resources: []*program.Resource{in},
		Outputs: []*program.Output{{Name: "id", Expr: expr(refer(in))}},
	}}
	v, l := &program.Variable{Name: "v"}, &program.Local{Name: "l"}
	l.Expr = expr(&program.Ref{Kind: program.RefVariable, Variable: v})
	a := resource("a", "", &program.Ref{Kind: program.RefLocal, Local: l})
	b := resource("b", "west", refer(a))
	b.Repeat.Count = expr(&program.Ref{Kind: program.RefVariable, Variable: v})
	m := &program.Call{
		Call: addr.Mod("m"), Inputs: []*program.Input{{Name: "x", Expr: expr(refer(b))}},
		Providers: []*program.PassedProvider{{LocalName: "sim", Outer: program.ProviderUse{LocalName: "sim", Alias: "west"}}},
	}
	root := &program.Tree{
		Program: &program.Program{
			Variables: []*program.Variable{v}, Locals: []*program.Local{l}, Resources: []*program.Resource{b, a}, Calls: []*program.Call{m},
			Providers: []*program.Provider{{LocalName: "sim", Alias: "west", Provider: sim}},
			Outputs:   []*program.Output{{Name: "o", Expr: expr(&program.Ref{Kind: program.RefCall, Call: m, Attr: "id"})}},
			Observers: []program.Observer{&program.Check{Name: "c", Asserts: []*program.Condition{{Condition: expr(refer(a))}}}},
		},
		Children: map[addr.Call]*program.Tree{addr.Mod("m"): child},
	}
	for name, l := range map[string]Language{"configuration.dot": DOT, "configuration.mmd": Mermaid} {
		var out bytes.Buffer
		if err := Configuration(&out, l, root); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.String())
	}
	for name, l := range map[string]Language{"resources.dot": DOT, "resources.mmd": Mermaid} {
		var out bytes.Buffer
		if err := Resources(&out, l, root); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.String())
	}
}

func TestExecution(t *testing.T) {
	i, err := addr.ParseInstance(`sim_object.a["k"]`)
	if err != nil {
		t.Fatal(err)
	}
	provider := addr.ProviderConfig{Provider: addr.OpenTofu.Provider("sim")}
	g := &execgraph.Graph{Steps: []execgraph.Step{
		{Kind: execgraph.OpenProvider, Provider: &provider},
		{Kind: execgraph.Apply, Object: &addr.Object{Instance: i}, After: []execgraph.ID{0}},
		{Kind: execgraph.Gate, After: []execgraph.ID{1}},
		{Kind: execgraph.Gate, After: []execgraph.ID{1}},
		{Kind: execgraph.Output, Name: "o", After: []execgraph.ID{2, 3}},
		{Kind: execgraph.CloseProvider, Provider: &provider, After: []execgraph.ID{1}, When: execgraph.Always},
	}}
	for name, l := range map[string]Language{"execution.dot": DOT, "execution.mmd": Mermaid} {
		var out bytes.Buffer
		if err := Execution(&out, l, g, edges.Without(&plan.Plan{Graph: g, Previous: state.Empty()})); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.String())
	}
}
