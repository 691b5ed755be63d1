package lockedstate

import (
	"maps"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
)

// TestChanges: a journal begins with the managed objects that refreshing and moving have changed,
// brought or taken away, and with no others.
func TestChanges(t *testing.T) {
	at := func(mode addr.Mode, name string) addr.Object {
		return addr.Object{Instance: addr.Instance{Resource: addr.Resource{Name: addr.Name{Mode: mode, Type: "t", Name: name}}}}
	}
	same, changed, left, come := at(addr.Managed, "same"), at(addr.Managed, "changed"), at(addr.Managed, "left"), at(addr.Managed, "come")
	kept, later := &state.Object{}, &state.Object{Tainted: true}
	copied := *kept // a saved plan has copies
	base, next := state.Empty(), state.Empty()
	base.Objects = map[addr.Object]*state.Object{same: kept, changed: kept, left: kept, at(addr.Data, "left"): kept}
	next.Objects = map[addr.Object]*state.Object{same: &copied, changed: later, come: later, at(addr.Data, "come"): later}
	if got := changes(base, next); !maps.Equal(got, map[addr.Object]*state.Object{changed: later, come: later, left: nil}) {
		t.Errorf("%v", got)
	}
	if got := changes(nil, next); len(got) != 3 || got[left] != nil {
		t.Errorf("without a state before: %v", got)
	}
}
