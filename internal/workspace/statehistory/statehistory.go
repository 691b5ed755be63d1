// Package statehistory lists earlier states, compares them with the present one, and checks which of
// them can be restored.
//
// It owns everything to say of them, and going back. It doesn't ask anybody.
package statehistory

import (
	"context"
	"slices"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/edit"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/statemgr"
)

// Of is the past of a state.
type Of struct{ *lockedstate.Session }

// A State is one that was kept.
type State struct {
	Serial  uint64
	Until   time.Time // when it was replaced
	Objects int
	// Differences are what going back to it would change in the state.
	Differences []edit.Difference
	Problems    diag.List // why it can't be read
}

// Serials are those of the states that one may try to go back to, the latest first.
func (s Of) Serials() []uint64 {
	var list []uint64
	if s.Base() == nil {
		return nil
	}
	for _, k := range s.History() {
		if k.Serial < s.Base().Serial {
			list = append(list, k.Serial)
		}
	}
	return list
}

// List reads the states that were kept, the latest first.
func (s Of) List() []State {
	var list []State
	for _, k := range s.History() {
		one := State{Serial: k.Serial, Until: k.Until}
		var snapshot *state.Snapshot
		if snapshot, one.Problems = k.Read(); snapshot != nil {
			one.Objects = len(snapshot.Objects)
			if s.Base() != nil {
				one.Differences = edit.Differences(s.Base(), snapshot)
			}
		}
		list = append(list, one)
	}
	return list
}

// Find reads the state to go back to: that with a serial, or with 0 the last one before the
// present one, which there has to be. Program is how people call this one.
func (s Of) Find(serial uint64, program string) (*state.Snapshot, diag.List) {
	list := s.History()
	at := slices.IndexFunc(list, func(k lockedstate.Earlier) bool {
		return k.Serial == serial || serial == 0 && k.Serial < s.Base().Serial
	})
	if at >= 0 {
		earlier, diags := list[at].Read()
		if now := s.Base(); earlier != nil && earlier.Lineage != now.Lineage {
			return nil, append(diags, diag.StateUnreadable.As("Earlier state of another lineage").List("The state with serial %d has lineage %q, and the present one has lineage %q: they are about different things.", earlier.Serial, earlier.Lineage, now.Lineage)...)
		}
		return earlier, diags
	}
	none := diag.StateUnreadable.As("No earlier state")
	if why := s.NoHistory(); why != "" {
		return nil, none.List("%s", why)
	}
	return nil, none.List("There is no such state to go back to. To see which there are, run:\n    %s", diag.Command{Program: program, Name: "state history"})
}

// GoBack gives the state of a directory the content of an earlier one.
func GoBack(ctx context.Context, k *statemgr.Keeper, o statemgr.Options, serial uint64, program string) diag.List {
	s, diags := k.State(ctx, o, "state-undo")
	if s == nil {
		return diags
	}
	defer s.Unlock()
	if s.Base() == nil {
		return append(diags, diag.Unreadable.As("No state file was found").List("There is no state that could go back to an earlier one.")...)
	}
	next, more := Of{s.Session}.Find(serial, program)
	if diags.Append(more); next == nil {
		return diags
	}
	return append(diags, k.Commit(ctx, s, next)...)
}
