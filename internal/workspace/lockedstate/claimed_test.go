package lockedstate

import (
	"reflect"
	"slices"
	"testing"
)

// TestClaimed: what changes a state, or ends what an earlier run has left, can be asked for
// only of a session that has the lock or was instructed to do without.
func TestClaimed(t *testing.T) {
	methods := func(v any) (names []string) {
		for m := range reflect.TypeOf(v).Methods() {
			names = append(names, m.Name)
		}
		return names
	}
	free, claimed := methods(&Session{}), methods(&Claimed{})
	var more []string
	for _, name := range claimed {
		if !slices.Contains(free, name) {
			more = append(more, name)
		}
	}
	if want := []string{"Adopt", "Keep", "LockParts", "Put", "Record", "Save", "Settle", "Unlock"}; !slices.Equal(more, want) {
		t.Errorf("only a claimed session has %v, want %v", more, want)
	}
	for _, name := range []string{"Backend", "Workspace", "Lock", "Read", "Verify", "History", "ForceUnlock"} {
		if !slices.Contains(free, name) {
			t.Errorf("a session has no %s", name)
		}
	}
}
