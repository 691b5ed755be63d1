package state

import (
	"slices"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
)

func instance(t *testing.T, text string) addr.Instance {
	t.Helper()
	i, err := addr.ParseInstance(text)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// object is one at an address, with what it depends on.
func object(t *testing.T, s *Snapshot, at string, needs ...string) {
	o := &Object{Provider: addr.ProviderConfig{Provider: addr.OpenTofu.Provider(at[:1])}}
	for _, n := range needs {
		o.Dependencies = append(o.Dependencies, instance(t, n).Resource)
	}
	s.Objects[addr.Object{Instance: instance(t, at)}] = o
}

func TestSnapshot(t *testing.T) {
	var none *Snapshot
	s := Empty()
	if !none.IsEmpty() || !s.IsEmpty() {
		t.Error("a state without anything isn't empty")
	}
	s.Outputs["o"] = Output{Value: cty.True}
	if s.IsEmpty() {
		t.Error("a state with an output is empty")
	}
	object(t, s, "b_x.b")
	object(t, s, "a_x.a[1]")
	object(t, s, "a_x.a[0]")
	var got []string
	for _, a := range s.Addresses() {
		got = append(got, a.String())
	}
	if want := []string{"a_x.a[0]", "a_x.a[1]", "b_x.b"}; !slices.Equal(got, want) {
		t.Errorf("addresses %v, want %v", got, want)
	}
	if got := s.Providers(); len(got) != 2 || got[0].Type != "a" || got[1].Type != "b" {
		t.Errorf("providers %v", got)
	}
}

// TestClone: a copy can be changed, and the original stays.
func TestClone(t *testing.T) {
	s := Empty()
	object(t, s, "a_x.a")
	c := s.Clone()
	object(t, c, "b_x.b")
	c.Outputs["o"] = Output{}
	if len(s.Objects) != 1 || len(s.Outputs) != 0 || len(c.Objects) != 2 {
		t.Errorf("original %v, copy %v", s.Objects, c.Objects)
	}
	if c = (&Snapshot{}).Clone(); c.Objects == nil || c.Outputs == nil {
		t.Error("the copy of nothing can't be written to")
	}
}

func TestJoinDependencies(t *testing.T) {
	a, b, c := instance(t, "t_x.a").Resource, instance(t, "t_x.b").Resource, instance(t, "t_x.c").Resource
	if got := JoinDependencies([]addr.Resource{c, a}, []addr.Resource{b, a}); !slices.Equal(got, []addr.Resource{a, b, c}) {
		t.Errorf("got %v", got)
	}
}

// TestBehind: what has to stay is all that is depended on, by whatever instance.
func TestBehind(t *testing.T) {
	s := Empty()
	object(t, s, "t_x.a")
	object(t, s, "t_x.b[0]", "t_x.a")
	object(t, s, "t_x.b[1]", "t_x.other")
	object(t, s, "t_x.c", "t_x.b")
	object(t, s, "t_x.d", "t_x.c", "t_x.d")
	behind := s.Behind([]addr.Resource{instance(t, "t_x.c").Resource})
	for at, want := range map[string]bool{"t_x.a": true, "t_x.b": true, "t_x.other": true, "t_x.c": true, "t_x.d": false} {
		if behind[instance(t, at).Resource] != want {
			t.Errorf("%s: %t", at, !want)
		}
	}
	if len(s.Behind(nil)) != 0 || len((*Snapshot)(nil).Behind([]addr.Resource{{}})) != 0 {
		t.Error("something is behind nothing")
	}
}

// TestKeys: deposed objects are no instances, but what they are in is there.
func TestKeys(t *testing.T) {
	s := Empty()
	object(t, s, "t_x.a[1]")
	object(t, s, "t_x.a[0]")
	object(t, s, `module.m["k"].t_x.b`)
	old := addr.Object{Instance: instance(t, `module.m["l"].module.n.t_x.b`), Deposed: "00000001"}
	s.Objects[old] = &Object{}
	k := s.Keys()
	if got := k.Resource(instance(t, "t_x.a").Resource); !slices.Equal(got, []addr.Key{addr.IntKey(0), addr.IntKey(1)}) {
		t.Errorf("keys of t_x.a: %v", got)
	}
	if got := k.Resource(old.Resource); got != nil {
		t.Errorf("keys of what is deposed: %v", got)
	}
	if got := k.Call(addr.Root, addr.Mod("m")); !slices.Equal(got, []addr.Key{addr.StringKey("k"), addr.StringKey("l")}) {
		t.Errorf("keys of module.m: %v", got)
	}
	if got := k.Call(addr.Root.Child(addr.Mod("m"), addr.StringKey("l")), addr.Mod("n")); !slices.Equal(got, []addr.Key{addr.NoKey}) {
		t.Errorf("keys of module.n: %v", got)
	}
}

// uses narrows one dependency: to the instance with the object's own key, or to those named.
func uses(t *testing.T, resource string, sameKey bool, instances ...string) Uses {
	u := Uses{Resource: instance(t, resource).Resource, SameKey: sameKey}
	for _, i := range instances {
		u.Instances = append(u.Instances, instance(t, i))
	}
	return u
}

func TestSameUses(t *testing.T) {
	first := []Uses{uses(t, "a_x.a", false, "a_x.a[1]")}
	for _, other := range [][]Uses{
		nil,
		{},
		{uses(t, "a_x.a", true, "a_x.a[1]")},
		{uses(t, "a_x.a", false, "a_x.a[2]")},
		{uses(t, "b_x.a", false, "a_x.a[1]")},
	} {
		if SameUses(first, other) {
			t.Errorf("%v equals %v", first, other)
		}
	}
	if SameUses(nil, []Uses{}) {
		t.Error("all instances equal none")
	}
	if !SameUses(first, []Uses{uses(t, "a_x.a", false, "a_x.a[1]")}) {
		t.Error("equal lists differ")
	}
}

// TestJoinUses: what one object doesn't narrow stays wide for both.
func TestJoinUses(t *testing.T) {
	s := Empty()
	object(t, s, "c_x.c", "a_x.a", "b_x.b")
	object(t, s, "d_x.d", "a_x.a", "e_x.e")
	c, d := s.Objects[addr.Object{Instance: instance(t, "c_x.c")}], s.Objects[addr.Object{Instance: instance(t, "d_x.d")}]
	both, left, right := uses(t, "a_x.a", true), uses(t, "b_x.b", false, "b_x.b[0]"), uses(t, "e_x.e", false)
	c.Uses, d.Uses = []Uses{both, left}, []Uses{both, right}
	if got, want := JoinUses(c, d), []Uses{both, left, right}; !SameUses(got, want) {
		t.Errorf("joined %v, want %v", got, want)
	}
	d.Uses = []Uses{right}
	if got, want := JoinUses(c, d), []Uses{left, right}; !SameUses(got, want) {
		t.Errorf("joined %v with a wide dependency, want %v", got, want)
	}
}

// TestForgetUses: an object that moved, and one that names a moved instance, depend on all
// instances again. Others keep what they have, and the old object isn't changed.
func TestForgetUses(t *testing.T) {
	for moved, kept := range map[string]bool{"a_x.a": false, "b_x.b": false, "c_x.c": true} {
		s := Empty()
		object(t, s, "b_x.b[0]", "a_x.a")
		at := addr.Object{Instance: instance(t, "b_x.b[0]")}
		before := s.Objects[at]
		before.Uses = []Uses{uses(t, "a_x.a", true)}
		s.ForgetUses(map[addr.Resource]bool{instance(t, moved).Resource: true})
		if got := s.Objects[at].Uses != nil; got != kept || before.Uses == nil {
			t.Errorf("%s moved: narrowed %t, want %t; the object before has %v", moved, got, kept, before.Uses)
		}
	}
}

func TestTransferString(t *testing.T) {
	for want, transfer := range map[string]Transfer{
		"1 object to the root in ../b":                       {Sends: true, Dir: "../b", Workspace: "default", Moves: make([]Move, 1)},
		"2 objects from the root in ../a, workspace staging": {Dir: "../a", Workspace: "staging", Moves: make([]Move, 2)},
	} {
		if got := transfer.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
