// Package transfer moves objects from one locked state to another, so that every object is in
// exactly one of them afterwards, whatever ends the run and wherever the next one is.
//
// It owns the order of the writes and what a later run makes of them. It doesn't open or lock
// states, and doesn't know configurations.
//
// # The writes
//
// Both states are locked. Each write replaces a whole state at once:
//
//  1. The source gets a record of the move (state.Transfer).
//  2. The destination gets the objects and the record.
//  3. The source loses the objects and the record.
//  4. The destination loses the record.
//
// A run that ends after the first write is continued by the next one, wherever that is: the records
// have all that it needs. Until then a run that reads either state stops (lockedstate.Unfinished). So
// nothing plans with an object that is in both, or that is about to leave. Going on is safer than
// giving up: the configurations have what the user approved, and in the source the next apply would
// destroy what should have moved.
//
// The record is in the states because these are what every machine reaches, in every backend. A
// journal is on one machine, and not every backend has room for a note. OpenTofu and Terraform ignore
// the record, and lose it when they write. So a run that ends a move also compares the objects.
package transfer

import (
	"context"

	"github.com/google/uuid"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/edit"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/sys/failpoint"
	"weir.dev/weir/internal/workspace/lockedstate"
)

// An End is one of the two states, with its root as seen from the other one.
type End struct {
	State          *lockedstate.Claimed
	Dir, Workspace string
}

// Check reports why nothing can be moved between two states that were read.
func Check(from, to *lockedstate.Claimed) diag.List {
	var diags diag.List
	if from.Base() == nil {
		return edit.BadMove.As("No state to move from").List("The source has no state: nothing was applied there yet, or its state is in another workspace.")
	}
	if to.Base() != nil && from.Base().Lineage == to.Base().Lineage {
		diags.Append(edit.BadMove.As("States of one lineage").List("Both states have the lineage %q, so one is a copy of the other, and both have the same objects. Remove from one of them what the other one manages, with \"state rm\". To continue with a copy as a state of its own, push it with a lineage of its own.", from.Base().Lineage))
	}
	for _, s := range []*lockedstate.Claimed{from, to} {
		if list := s.Doubts(); len(list) > 0 {
			diags.Append(diag.InDoubt.List("An earlier run may have created %s, and the state in the %s backend doesn't have it. Resolve that with \"recover\" before you move objects.", list[0].Object, s.Backend().Kind))
		}
	}
	return diags
}

// Run moves objects. Providers are the configurations that the other root has for them, where these are
// known. A failure after the first write leaves a move that a later run ends.
func Run(ctx context.Context, from, to End, moves []state.Move, providers map[addr.Object]addr.ProviderConfig) diag.List {
	ctx = context.WithoutCancel(ctx) // the four writes belong together
	source, target := from.State.Snapshot(), to.State.Snapshot()
	record := state.Transfer{ID: uuid.NewString(), Moves: moves, Providers: providers}
	sent, received := record, record
	sent.Sends, sent.Dir, sent.Workspace, sent.Lineage = true, to.Dir, to.Workspace, to.State.Lineage()
	received.Dir, received.Workspace, received.Lineage = from.Dir, from.Workspace, from.State.Lineage()

	if diags := adopt(ctx, from.State, with(source, &sent), "Nothing was moved."); diags != nil {
		return diags
	}
	failpoint.At("move: noted")
	next := edit.Received(source, target, moves)
	for _, m := range moves {
		if o, p := next.Objects[m.To], providers[m.To]; o != nil && p != (addr.ProviderConfig{}) {
			o.Provider = p // the object is a copy of this state's own
		}
	}
	if diags := adopt(ctx, to.State, with(next, &received), unfinished); diags != nil {
		return diags
	}
	failpoint.At("move: received")
	if diags := adopt(ctx, from.State, with(edit.Sent(source, moves), nil), unfinished); diags != nil {
		return diags
	}
	failpoint.At("move: sent")
	if diags := adopt(ctx, to.State, with(next, nil), unfinished); diags != nil {
		return diags
	}
	failpoint.At("move: done")
	return nil
}

const unfinished = "The move isn't finished: the next run that locks one of the two states finishes it."

// with is a state with a record, nil for none.
func with(s *state.Snapshot, t *state.Transfer) *state.Snapshot {
	next := *s
	next.Transfer = t
	return &next
}

func adopt(ctx context.Context, s *lockedstate.Claimed, next *state.Snapshot, left string) diag.List {
	if err := s.Adopt(ctx, next); err != nil {
		return lockedstate.NotSaved.List("The state in the %s backend can't be written: %s. %s", s.Backend().Kind, err, left)
	}
	return nil
}

// Resume ends the move of a killed run. The state of here has its record, and there is the other root.
func Resume(ctx context.Context, here, there End) diag.List {
	ctx = context.WithoutCancel(ctx)
	t := here.State.Snapshot().Transfer
	from, to := here, there
	if !t.Sends {
		from, to = there, here
	}
	source, target := from.State.Snapshot(), to.State.Snapshot()
	received := target.Transfer != nil && target.Transfer.ID == t.ID
	noted := source.Transfer != nil && source.Transfer.ID == t.ID
	var left []state.Move // what the destination has, and the source still has too
	var taken []string
	for _, m := range t.Moves {
		o, arrived := source.Objects[m.From], target.Objects[m.To]
		same := o != nil && arrived != nil && journal.Tell(o) == journal.Tell(arrived)
		switch {
		case o != nil && (received && noted || same):
			left = append(left, m)
		case arrived != nil && !received:
			taken = append(taken, m.To.String())
		}
	}
	// The destination may not have had a state when the move was started.
	if other := there.State.Base(); (other == nil || other.Lineage != t.Lineage) && !(t.Sends && target.IsEmpty()) {
		return lockedstate.Unfinished.List("The state of the root in %s isn't the one that the move names, which has the lineage %q. If the root has its state elsewhere now, finish the move where both states are in their places.", t.Dir, t.Lineage)
	}
	if noted && !received && len(left) == 0 {
		if len(taken) > 0 {
			return lockedstate.Unfinished.List("A killed run was moving %s. Meanwhile something else got the address %s in that state. Give it another address with \"state mv\", or remove it with \"state rm\". Then run this command again.", t, taken[0])
		}
		return Run(ctx, from, to, t.Moves, t.Providers)
	}
	next := source
	if len(left) > 0 {
		next = edit.Sent(source, left)
	}
	if noted {
		next = with(next, nil)
	}
	if next != source {
		if diags := adopt(ctx, from.State, next, unfinished); diags != nil {
			return diags
		}
	}
	failpoint.At("move: resumed")
	if received {
		return adopt(ctx, to.State, with(target, nil), unfinished)
	}
	return nil
}
