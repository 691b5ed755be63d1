package orphans

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/providerproxy"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/journal"
)

// Answers is where guards keep what providers answer to creations of the apply under
// way; empty without guards.
func (k *State) Answers() string {
	if k.guards == "" {
		return ""
	}
	dir, err := filepath.Abs(filepath.Join(k.dir, answers))
	if err != nil {
		return ""
	}
	return dir
}

// forgetAnswers removes those of an earlier apply.
func (k *State) forgetAnswers() error {
	dir := k.Answers()
	if dir == "" {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Mkdir(dir, 0o700)
}

// Await waits until the guards of the process that the state is left of have ended.
func (k *State) Await(ctx context.Context, tell func()) error {
	if k.guards == "" {
		return nil
	}
	return providerproxy.Wait(ctx, k.guards, tell)
}

// Answer is what became of asking for an object in doubt: the bytes that its
// provider has answered, nil where nobody was asked. Known is false where the answer
// isn't known.
func (k *State) Answer(i addr.Instance) (data []byte, known bool, err error) {
	dir := k.Answers()
	if dir == "" {
		return nil, false, nil
	}
	data, answered, asked, err := providerproxy.Answer(provider.AnswerFile(dir, i))
	return data, answered || !asked, err
}

// Adopt takes objects that were found into the state, and lets go of the doubts that are
// resolved.
func (k *State) Adopt(ctx context.Context, found map[addr.Object]*state.Object, settled []addr.Object) error {
	next := k.session.Snapshot().Clone()
	for at, o := range found {
		next.Objects[at] = o
	}
	if err := k.session.Adopt(ctx, next); err != nil {
		return err
	}
	return k.session.Settle(slices.DeleteFunc(k.session.Doubts(), func(o journal.Operation) bool { return slices.Contains(settled, o.Object) }))
}
