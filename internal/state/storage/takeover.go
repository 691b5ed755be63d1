package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Operations of locks under which nothing is journalled: a plan changes nothing, and a move between
// states has its record in the states.
const (
	Plans = "plan"
	Moves = "move"
)

// KeepsNothing reports whether only the states know what was done under a lock.
func KeepsNothing(operation string) bool { return operation == Plans || operation == Moves }

// How often Acquire tries: soon at first, as most runs are short.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// A Taking says how a lock is taken.
type Taking struct {
	Timeout   time.Duration // how long to wait while someone else holds it
	Processes Processes     // nil for System
	// Refuse says why a lock that was left behind must stay, nil for no reason. The
	// nil function has none.
	Refuse func(left LockInfo) error
	// Inherit continues with a lock that was left behind, without a request, where that is
	// known to be safe; else the lock is released and taken again. The error is that somebody
	// else continues with it. The nil function knows nothing.
	Inherit func(left LockInfo) (done bool, err error)
	// Waiting is reported before each wait who holds the lock, if that is known, and how long
	// waiting may still take. The nil function isn't.
	Waiting func(holder *LockInfo, rest time.Duration)
}

// Acquire takes the lock. The error is that of the last try. A lock whose holder was a process
// of this machine that has ended without releasing it is taken over, unless that is rejected:
// that one is then returned as left, and nil otherwise.
func Acquire(ctx context.Context, s Store, info LockInfo, t Taking) (id string, left *LockInfo, err error) {
	if t.Processes == nil {
		t.Processes = System
	}
	deadline := time.Now().Add(t.Timeout)
	for wait := firstRetry; ; wait = min(wait*2, lastRetry) {
		id, left, err = finished(ctx, s, info, t)
		if err == nil || !errors.As(err, new(*LockError)) {
			return id, left, err
		}
		rest := time.Until(deadline)
		if rest <= 0 {
			return "", nil, err
		}
		if held := (*LockError)(nil); t.Waiting != nil && errors.As(err, &held) {
			t.Waiting(held.Holder, rest)
		}
		select {
		case <-ctx.Done():
			return "", nil, err
		case <-time.After(min(wait, rest)):
		}
	}
}

// lastMoment is how long a try may still take after an interrupt.
const lastMoment = 5 * time.Second

// finished ends a try that was started also after an interrupt, so that no lock is left behind
// whose id nobody knows, but doesn't wait for long for a server that doesn't answer.
func finished(ctx context.Context, s Store, info LockInfo, t Taking) (id string, left *LockInfo, err error) {
	trying, giveUp := Finish(ctx)
	defer giveUp()
	id, left, err = try(trying, s, info, t)
	if err != nil && trying.Err() != nil {
		err = fmt.Errorf("the server didn't answer before the interrupt: %w; if it has taken the lock, its ID is %s", err, info.ID)
	}
	return id, left, err
}

// Finish returns a context for what must be tried even when ctx has ended: it ends a moment
// later. A caller that calls it sees to the end.
func Finish(ctx context.Context) (context.Context, context.CancelFunc) {
	trying, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	off := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(lastMoment):
			giveUp()
		case <-trying.Done():
		}
	})
	return trying, func() { off(); giveUp() }
}

// A RefusedError says why a lock that was left behind was not taken over.
type RefusedError struct {
	Left *LockInfo
	Err  error
}

func (e *RefusedError) Error() string { return e.Err.Error() + "\n\n" + e.Left.String() }

func (e *RefusedError) Unwrap() error { return e.Err }

// try takes the lock if nobody holds it, or nobody who is still there.
func try(ctx context.Context, s Store, info LockInfo, t Taking) (string, *LockInfo, error) {
	id, err := s.Lock(ctx, info)
	left := leftBehind(err, t.Processes)
	if left == nil {
		return id, nil, err
	}
	if t.Refuse != nil {
		if why := t.Refuse(*left); why != nil {
			return "", nil, &RefusedError{left, why}
		}
	}
	// When it can't be taken over, that they hold it is what counts.
	id, taken, used := takeOver(ctx, s, info, left, t)
	switch {
	case taken:
		return id, left, nil
	case used != nil:
		err = &LockError{Holder: left, Err: used}
	}
	return "", nil, err
}

// leftBehind is the holder of the lock if it has ended.
func leftBehind(err error, processes Processes) *LockInfo {
	var held *LockError
	if errors.As(err, &held) && held.Holder != nil && held.Holder.ID != "" && processes.Gone(held.Holder.Info) {
		return held.Holder
	}
	return nil
}

// takeOver replaces the lock of a run that has ended. Servers need not look at
// the id of a lock that they release, so of several runs on this machine one
// does it after the other, and each looks again who has the lock.
func takeOver(ctx context.Context, s Store, info LockInfo, left *LockInfo, t Taking) (id string, ok bool, used error) {
	sum := sha256.Sum256([]byte(left.ID))
	end, err := t.Processes.Exclude(ctx, hex.EncodeToString(sum[:])[:16])
	if err != nil {
		return "", false, nil
	}
	defer end()
	// If this run ends first, their results are still unknown. A
	// plan has done nothing, and then it is this run that nobody would know of.
	if !KeepsNothing(left.Operation) {
		info.Operation = left.Operation
	}
	id, err = s.Lock(ctx, info)
	if err == nil {
		return id, true, nil
	}
	if still := leftBehind(err, t.Processes); still == nil || still.ID != left.ID {
		return "", false, nil
	}
	if t.Inherit != nil {
		if done, err := t.Inherit(*left); done || err != nil {
			return left.ID, done, err
		}
	}
	if s.Unlock(ctx, left.ID) != nil {
		return "", false, nil
	}
	id, err = s.Lock(ctx, info)
	return id, err == nil, nil
}
