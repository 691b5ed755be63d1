package prior

import (
	"testing"

	"weir.dev/weir/internal/core/addr"
)

// TestOwner: an address whose objects nobody claimed has no owner, and each is claimed once.
func TestOwner(t *testing.T) {
	instance := func(text string) addr.Instance {
		i, err := addr.ParseInstance(text)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	p := New(nil)
	a, b, c := instance("x.a"), instance("x.b"), instance("x.c")
	if owner, ok := p.Owner(a); ok || owner != (addr.Instance{}) {
		t.Errorf("nobody claimed it, and its owner is %s", owner)
	}
	if !p.claim(a, a) || !p.claim(b, c) {
		t.Fatal("a free object can't be claimed")
	}
	if p.claim(a, c) || p.claim(b, b) {
		t.Error("an object is claimed twice")
	}
	for from, want := range map[addr.Instance]addr.Instance{a: a, b: c} {
		if owner, ok := p.Owner(from); !ok || owner != want {
			t.Errorf("%s belongs to %s, %v; want %s", from, owner, ok, want)
		}
	}
}
