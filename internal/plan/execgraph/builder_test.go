package execgraph

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/word/addr"
)

func provider(alias string) addr.ProviderConfig {
	return addr.ProviderConfig{Provider: addr.OpenTofu.Provider("sim"), Alias: alias}
}

func printed(t *testing.T, g *Graph) string {
	t.Helper()
	var b strings.Builder
	if err := g.Print(&b); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), `provider["registry.opentofu.org/hashicorp/sim"]`, "provider")
}

// Openings that nobody needs are left out, others are waited for and closed.
func TestBuild(t *testing.T) {
	b := NewBuilder(0)
	a, c, d := object(t, "s_o.a"), object(t, "s_o.c"), object(t, "data.s_d.d")
	created := b.Create(a, provider(""), nil)
	provisioned := b.Provision(created)
	b.OpenProvider(provider("unused"), []Ref{provisioned})
	b.OpenProvider(provider("late"), []Ref{provisioned})
	secret := b.OpenEphemeral(object(t, "ephemeral.s_e.e"), provider(""), nil)
	b.OpenEphemeral(object(t, "ephemeral.s_e.unused"), provider(""), nil)
	b.Keep(b.OpenEphemeral(object(t, "ephemeral.s_e.kept"), provider(""), nil))
	replaced := b.Replace(c, provider("late"), []Ref{secret})
	b.Output("o", []Ref{replaced.Step()})
	b.ReadCheckData(d, provider(""), nil)
	b.CheckData(addr.Root, "check.last", nil)
	b.Check(addr.Root, "check.plain", []Ref{provisioned})
	g, circle := b.Build()
	if circle != nil {
		t.Fatal(circle)
	}
	if err := g.Verify(); err != nil {
		t.Fatal(err)
	}
	want := `0 open-provider provider
1 apply s_o.a after 0
2 open-ephemeral ephemeral.s_e.e after 0
3 open-ephemeral ephemeral.s_e.kept after 0
4 provision s_o.a after 1
5 depose s_o.c after 2
6 open-provider provider.late after 4
7 condition check.plain after 4
8 apply s_o.c after 5 6
9 restore-deposed s_o.c after 8 if 8 fails
10 output o after 8
11 gate after 1 4 8
12 close-provider provider.late after 6 8 always
13 gate after 3 7 10 always
14 read-data data.s_d.d after 0 11 13
15 condition check.last after 11 13 14
16 gate after 0 1 2 3 4 7 10 12 14 15 always
17 close-ephemeral ephemeral.s_e.kept after 16 always
18 close-ephemeral ephemeral.s_e.e after 16 always
19 close-provider provider after 17 18 always
`
	if got := printed(t, g); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// An ephemeral resource stays open until those are closed that were opened with
// its help, and many of them share what they wait for.
func TestEphemeralsClose(t *testing.T) {
	b := NewBuilder(0)
	session := b.OpenEphemeral(object(t, "ephemeral.s_e.session"), provider(""), nil)
	for _, name := range []string{"a", "b", "c"} {
		secret := b.OpenEphemeral(object(t, "ephemeral.s_e."+name), provider(""), []Ref{session})
		b.Update(object(t, "s_o."+name), provider(""), []Ref{secret})
	}
	g, circle := b.Build()
	if circle != nil {
		t.Fatal(circle)
	}
	want := `8 gate after 0 1 2 3 4 5 6 7 always
9 close-ephemeral ephemeral.s_e.c after 8 always
10 close-ephemeral ephemeral.s_e.b after 8 always
11 close-ephemeral ephemeral.s_e.a after 8 always
12 close-ephemeral ephemeral.s_e.session after 9 10 11 always
13 close-provider provider after 9 10 11 12 always
`
	if got := printed(t, g); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant at the end\n%s", got, want)
	}
}

// A provider that is configured with what replaces the object that its own
// objects depend on: these are deleted late, but before whatever comes after.
func TestUntie(t *testing.T) {
	b := NewBuilder(0)
	cluster, app, next := object(t, "s_o.cluster"), object(t, "s_o.app"), object(t, "s_o.next")
	gone := b.Destroy(app, provider("inner"), nil)
	final := b.Finalize(cluster, provider(""), nil)
	old := b.Destroy(cluster, provider(""), []Ref{gone, final})
	fresh := b.Create(cluster, provider(""), []Ref{old})
	b.OpenProvider(provider("inner"), []Ref{fresh.Step()})
	b.Create(next, provider(""), []Ref{fresh.Step()})
	g, circle := b.Build()
	if circle != nil {
		t.Fatal(circle)
	}
	want := `0 open-provider provider
1 finalize s_o.cluster after 0
2 destroy s_o.cluster after 0 1
3 apply s_o.cluster after 0 2
4 open-provider provider.inner after 3
5 destroy s_o.app after 4
6 gate after 5
7 apply s_o.next after 0 3 6
8 close-provider provider.inner after 4 5 6 always
9 close-provider provider after 0 1 2 3 6 7 always
`
	if got := printed(t, g); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A provider that is configured with an object that is updated: what it deletes comes
// after that, and what else needs the update doesn't wait for the deletion.
func TestUntieUpdate(t *testing.T) {
	b := NewBuilder(0)
	gone := b.Destroy(object(t, "s_o.app"), provider("inner"), nil)
	update := b.Update(object(t, "s_o.cluster"), provider(""), []Ref{gone})
	b.OpenProvider(provider("inner"), []Ref{update})
	b.Update(object(t, "s_o.beside"), provider(""), []Ref{update})
	g, circle := b.Build()
	if circle != nil {
		t.Fatal(circle)
	}
	want := `0 open-provider provider
1 apply s_o.cluster after 0
2 open-provider provider.inner after 1
3 apply s_o.beside after 0 1
4 destroy s_o.app after 2
5 gate after 4
6 close-provider provider after 0 1 3 5 always
7 close-provider provider.inner after 2 4 5 always
`
	if got := printed(t, g); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A circle that isn't about deletions through a provider is reported.
func TestCircle(t *testing.T) {
	b := NewBuilder(0)
	first := b.Update(object(t, "s_o.a"), provider("x"), nil)
	b.OpenProvider(provider("x"), []Ref{first})
	if g, circle := b.Build(); g != nil || len(circle) < 2 {
		t.Errorf("%v, %v", g, circle)
	}
}

// TestRandomBuilds: every call of a provider is between its opening and its
// closing, what is asked for is there, and nothing asked for is lost.
func TestRandomBuilds(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := NewBuilder(0)
		var refs []Ref
		asked, used := 0, map[addr.ProviderConfig]bool{}
		some := func() []Ref {
			var after []Ref
			for range r.IntN(3) {
				if len(refs) > 0 {
					after = append(after, refs[r.IntN(len(refs))])
				}
			}
			return after
		}
		for n := range 1 + r.IntN(25) {
			o := object(t, fmt.Sprintf("s_o.o[%d]", n))
			p := provider(string("abc"[r.IntN(3)]))
			if !used[p] && r.IntN(3) == 0 {
				b.OpenProvider(p, some())
			}
			used[p] = true
			var ref Ref
			asked++
			switch r.IntN(9) {
			case 0:
				ref = b.Update(o, p, some())
			case 1:
				ref = b.Destroy(o, p, some())
			case 2:
				c := b.Replace(o, p, some())
				ref = b.Provision(c)
			case 3:
				ref = b.ReadData(o, p, some())
			case 4:
				ref = b.Gate(some())
				asked--
			case 5:
				ref = b.Output(fmt.Sprint("o", n), some())
				asked--
			case 6:
				ref = b.OpenEphemeral(o, p, some())
				asked--
			case 7:
				b.ReadCheckData(o, p, some())
				b.CheckData(addr.Root, fmt.Sprint("check.c", n), some())
				continue
			default:
				ref = b.Create(o, p, some()).Step()
			}
			refs = append(refs, ref)
		}
		g, circle := b.Build()
		if circle != nil {
			t.Fatalf("seed %d: %v", seed, circle)
		}
		if err := g.Verify(); err != nil {
			t.Fatalf("seed %d: %s", seed, err)
		}
		calls := 0
		for id, s := range g.Steps {
			if !s.Kind.Calls() {
				continue
			}
			if s.Kind != OpenEphemeral {
				calls++
			}
			if !slices.ContainsFunc(s.After, func(a ID) bool { return g.Steps[a].Kind == OpenProvider && g.Steps[a].Provider == s.Provider }) {
				t.Errorf("seed %d: step %d doesn't wait for its provider", seed, id)
			}
			if !closedAfter(g, ID(id)) {
				t.Errorf("seed %d: the provider isn't closed after step %d", seed, id)
			}
		}
		if calls != asked {
			t.Errorf("seed %d: %d calls of %d", seed, calls, asked)
		}
		if t.Failed() {
			t.Fatal(printed(t, g))
		}
	}
}

// closedAfter reports whether the provider of a step is closed, whatever
// happens, when the step has ended.
func closedAfter(g *Graph, id ID) bool {
	later := make([]bool, len(g.Steps))
	later[id] = true
	for n := int(id) + 1; n < len(g.Steps); n++ {
		s := &g.Steps[n]
		later[n] = slices.ContainsFunc(s.After, func(a ID) bool { return later[a] })
		if later[n] && s.Kind == CloseProvider && s.Provider == g.Steps[id].Provider {
			return s.When == Always
		}
	}
	return false
}
