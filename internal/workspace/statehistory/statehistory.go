// Package statehistory lists the history of a state: who wrote it by which command, what that
// changed, and which earlier states can be restored. It doesn't ask anybody.
package statehistory

import (
	"context"
	"maps"
	"slices"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/edit"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/statemgr"
)

// Of is the past of a state.
type Of struct{ Session *lockedstate.Session }

// A State is one of the history: the present one, one that was kept, or one of which only
// the run is recorded.
type State struct {
	Serial uint64
	Now    bool             // it is the present one
	Kept   bool             // one may go back to it
	Until  time.Time        // when it was replaced; zero where that isn't known
	Run    *lockedstate.Run // that wrote it; nil where none is recorded
	// Objects are how many it has.
	Objects int
	// Changes are what differs from the state before; nil where that wasn't kept.
	Changes []edit.Difference
	// Differences are what going back to it would change in the state.
	Differences []edit.Difference
	Problems    diag.List // why it can't be read
}

// Any reports whether there is a history: a present state at least.
func (s Of) Any() bool { return s.Session.Base() != nil }

// Serials are those of the states that one may try to go back to, the latest first.
func (s Of) Serials() []uint64 {
	var list []uint64
	if s.Session.Base() == nil {
		return nil
	}
	for _, k := range s.Session.History() {
		if k.Serial < s.Session.Base().Serial {
			list = append(list, k.Serial)
		}
	}
	return list
}

// List reads the history, the latest state first. Of a state that isn't kept it has what the
// record of its run has.
func (s Of) List() []State {
	all, snapshots := map[uint64]*State{}, map[uint64]*state.Snapshot{}
	at := func(serial uint64) *State {
		if all[serial] == nil {
			all[serial] = &State{Serial: serial}
		}
		return all[serial]
	}
	now := s.Session.Base()
	for _, r := range s.Session.Runs() {
		one := at(r.Serial)
		one.Run, one.Objects = &r, r.Objects
	}
	for _, k := range s.Session.History() {
		one := at(k.Serial)
		one.Until, one.Kept = k.Until, now != nil && k.Serial < now.Serial
		if snapshots[k.Serial], one.Problems = k.Read(); snapshots[k.Serial] != nil {
			one.Objects = len(snapshots[k.Serial].Objects)
			if now != nil {
				one.Differences = edit.Differences(now, snapshots[k.Serial])
			}
		}
	}
	if now != nil {
		one := at(now.Serial)
		one.Now, one.Objects, snapshots[now.Serial] = true, len(now.Objects), now
	}
	var list []State
	for _, serial := range slices.Backward(slices.Sorted(maps.Keys(all))) {
		one := all[serial]
		before := snapshots[serial-1]
		if serial == 1 {
			before = state.Empty()
		}
		if this := snapshots[serial]; this != nil && before != nil {
			one.Changes = edit.Differences(before, this)
		}
		list = append(list, *one)
	}
	return list
}

// Find reads the state to go back to: that with a serial, or with 0 the last one before the
// present one, which there has to be. Program is how people call this one.
func (s Of) Find(serial uint64, program string) (*state.Snapshot, diag.List) {
	list := s.Session.History()
	at := slices.IndexFunc(list, func(k lockedstate.Earlier) bool {
		return k.Serial == serial || serial == 0 && k.Serial < s.Session.Base().Serial
	})
	if at >= 0 {
		earlier, diags := list[at].Read()
		if moved := s.moved(list[:at+1]); moved != nil && earlier != nil {
			return nil, append(diags, diag.StateUnreadable.As("Objects were moved to or from another state").List("Since the state with serial %d, objects were moved between this state and that of the root in %s. Going back would leave them in both states or in none. Take the move back first, with the option -undo:\n    %s", earlier.Serial, moved.Dir, diag.Command{Program: program, Name: "move", Args: "-undo -from=ROOT -to=ROOT ADDRESS"})...)
		}
		if now := s.Session.Base(); earlier != nil && earlier.Lineage != now.Lineage {
			return nil, append(diags, diag.StateUnreadable.As("Earlier state of another lineage").List("The state with serial %d has lineage %q, and the present one has lineage %q: they are about different things.", earlier.Serial, earlier.Lineage, now.Lineage)...)
		}
		return earlier, diags
	}
	none := diag.StateUnreadable.As("No earlier state")
	if why := s.Session.NoHistory(); why != "" {
		return nil, none.List("%s", why)
	}
	return nil, none.List("There is no such state to go back to. To see which there are, run:\n    %s", diag.Command{Program: program, Name: "state history"})
}

// moved is a move to or from another state that one of several earlier states was written in; nil for
// none.
func (s Of) moved(list []lockedstate.Earlier) *state.Transfer {
	for _, k := range list {
		if earlier, _ := k.Read(); earlier != nil && earlier.Transfer != nil {
			return earlier.Transfer
		}
	}
	return nil
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
