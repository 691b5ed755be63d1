package execgraph

import (
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
)

func object(t *testing.T, text string) addr.Object {
	t.Helper()
	i, err := addr.ParseInstance(text)
	if err != nil {
		t.Fatal(err)
	}
	return addr.Object{Instance: i}
}

// sample has a step of every kind.
func sample(t *testing.T) *Graph {
	p := addr.ProviderConfig{Provider: addr.OpenTofu.Provider("sim")}
	aliased := addr.ProviderConfig{Module: addr.Root.Child(addr.Mod("m"), addr.IntKey(0)), Provider: p.Provider, Alias: "b", Key: addr.StringKey("k")}
	a, d, e := object(t, `a_b.c["x"]`), object(t, "module.m[0].data.d_e.f"), object(t, "ephemeral.e_f.g")
	f, forgotten := object(t, "a_b.d"), object(t, "a_b.forgotten")
	old := a
	old.Deposed = "0123abcd"
	return &Graph{Steps: []Step{
		0:  {Kind: OpenProvider, Provider: &p},
		1:  {Kind: OpenProvider, Provider: &aliased},
		2:  {Kind: OpenEphemeral, Object: &e, Provider: &p, After: []ID{0}},
		3:  {Kind: Gate, After: []ID{1, 2}},
		4:  {Kind: Gate, Name: "joined", After: []ID{3}},
		5:  {Kind: ReadData, Object: &d, Provider: &aliased, After: []ID{4}},
		6:  {Kind: Finalize, Object: &a, Provider: &p, Change: 1, After: []ID{0, 5}},
		7:  {Kind: Depose, Object: &a, Provider: &p, Change: 1, After: []ID{6}},
		8:  {Kind: Apply, Object: &a, Provider: &p, Change: 1, After: []ID{7}, Takes: []ID{6}},
		9:  {Kind: RestoreDeposed, Object: &a, Provider: &p, Change: 1, After: []ID{8}, When: OnFailure, Of: 8, Takes: []ID{7, 8}},
		10: {Kind: Provision, Object: &a, Change: 1, After: []ID{8}, Takes: []ID{8}},
		11: {Kind: Condition, Name: "check.c", After: []ID{10}},
		12: {Kind: Destroy, Object: &old, Provider: &p, Change: 1, After: []ID{8, 10}},
		13: {Kind: Forget, Object: &forgotten, Change: 2},
		14: {Kind: ProvisionDestroy, Object: &f, Change: 3},
		15: {Kind: Output, Name: "o", After: []ID{8}},
		16: {Kind: CloseEphemeral, Object: &e, Provider: &p, After: []ID{12}, When: Always, Takes: []ID{2}},
		17: {Kind: CloseProvider, Provider: &p, After: []ID{12, 16}, When: Always},
	}}
}

func TestPrint(t *testing.T) {
	g := sample(t)
	if err := g.Verify(3); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := g.Print(&b); err != nil {
		t.Fatal(err)
	}
	want := `0 open-provider provider["registry.opentofu.org/hashicorp/sim"]
1 open-provider module.m[0].provider["registry.opentofu.org/hashicorp/sim"].b["k"]
2 open-ephemeral ephemeral.e_f.g after 0
3 gate after 1 2
4 gate joined after 3
5 read-data module.m[0].data.d_e.f after 4
6 finalize a_b.c["x"] after 0 5
7 depose a_b.c["x"] after 6
8 apply a_b.c["x"] after 7
9 restore-deposed a_b.c["x"] after 8 if 8 fails
10 provision a_b.c["x"] after 8
11 condition check.c after 10
12 destroy a_b.c["x"] (deposed object 0123abcd) after 8 10
13 forget a_b.forgotten
14 provision-destroy a_b.d
15 output o after 8
16 close-ephemeral ephemeral.e_f.g after 12 always
17 close-provider provider["registry.opentofu.org/hashicorp/sim"] after 12 16 always
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestLabels: steps that can be known apart have labels that can be.
func TestLabels(t *testing.T) {
	labels := map[string]int{}
	for id, s := range sample(t).Steps {
		if other, twice := labels[s.Label()]; twice {
			t.Errorf("steps %d and %d are both %q", other, id, s.Label())
		}
		labels[s.Label()] = id
	}
}

func TestKinds(t *testing.T) {
	seen := map[string]bool{}
	for k := Gate; k <= Output; k++ {
		name := k.String()
		if name == "" || seen[name] {
			t.Errorf("kind %d is called %q", k, name)
		}
		seen[name] = true
		if back, err := ParseKind(name); err != nil || back != k {
			t.Errorf("%q is read as %v, %v", name, back, err)
		}
	}
	for _, name := range []string{"", "nothing", "Apply", "apply "} {
		if k, err := ParseKind(name); err == nil {
			t.Errorf("%q is read as %v", name, k)
		}
	}
}

// TestVerify: whatever apply relies on is checked.
func TestVerify(t *testing.T) {
	for name, spoil := range map[string]func(g *Graph){
		"itself":                          func(g *Graph) { g.Steps[3].After = []ID{3} },
		"later":                           func(g *Graph) { g.Steps[3].After = []ID{4} },
		"far":                             func(g *Graph) { g.Steps[3].After = []ID{400} },
		"negative":                        func(g *Graph) { g.Steps[3].After = []ID{-1} },
		"twice":                           func(g *Graph) { g.Steps[3].After = []ID{1, 1} },
		"descending":                      func(g *Graph) { g.Steps[3].After = []ID{2, 1} },
		"no kind":                         func(g *Graph) { g.Steps[3].Kind = 0 },
		"a new kind":                      func(g *Graph) { g.Steps[3].Kind = Invoke + 1 },
		"a failure that isn't waited for": func(g *Graph) { g.Steps[9].Of = 2 },
		"nothing to work on":              func(g *Graph) { g.Steps[13].Object = nil },
		"no condition":                    func(g *Graph) { g.Steps[11].Name = "" },
		"no provider to open":             func(g *Graph) { g.Steps[0].Provider = nil },
		"no provider to call":             func(g *Graph) { g.Steps[5].Provider = nil },
		"no change":                       func(g *Graph) { g.Steps[8].Change = 0 },
		"a change that isn't there":       func(g *Graph) { g.Steps[8].Change = 4 },
		"a later one is taken up":         func(g *Graph) { g.Steps[8].Takes = []ID{9} },
		"another object's is taken up":    func(g *Graph) { g.Steps[8].Object = g.Steps[13].Object },
		"another kind is taken up":        func(g *Graph) { g.Steps[10].Takes = []ID{7} },
		"nothing is taken up":             func(g *Graph) { g.Steps[16].Takes = nil },
		"an unknown condition":            func(g *Graph) { g.Steps[9].When = OnFailure + 1 },
	} {
		g := sample(t)
		spoil(g)
		if err := g.Verify(3); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := (&Graph{}).Verify(0); err != nil {
		t.Error(err)
	}
}

func FuzzParseKind(f *testing.F) {
	for k := Gate; k <= Output; k++ {
		f.Add(k.String())
	}
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if k, err := ParseKind(text); err == nil && k.String() != text {
			t.Errorf("%q is read as %q", text, k)
		}
	})
}

// TestWhatKindsAre: only steps that call a provider count for people or give values, and
// what closes isn't counted.
func TestWhatKindsAre(t *testing.T) {
	g := sample(t)
	edges := 0
	for _, s := range g.Steps {
		k := s.Kind
		edges += len(s.After)
		if k.Counts() && !k.Calls() && k != Forget {
			t.Errorf("%s counts, and calls nobody", k)
		}
		if k.Gives() && !k.Calls() && k != Provision {
			t.Errorf("%s gives a value, and calls nobody", k)
		}
		if k.Closes() && (k.Counts() || k.Gives()) {
			t.Errorf("%s closes, and counts or gives a value", k)
		}
	}
	for k, counts := range map[Kind]bool{Apply: true, Destroy: true, Forget: true, ReadData: true, Invoke: true, Gate: false, Output: false, Provision: false} {
		if k.Counts() != counts {
			t.Errorf("%s counts: %t", k, !counts)
		}
	}
	if g.Edges() != edges || edges == 0 {
		t.Errorf("%d edges", g.Edges())
	}
}
