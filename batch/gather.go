package batch

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
)

// A Gatherer makes one call of what the requests of a batch ask for one by one. The provider's
// own code asks by [Gatherer.Get] and needs to know nothing of batches.
type Gatherer[K comparable, V any] struct {
	// Fetch returns what it finds by the keys, each of which is there once.
	Fetch func(ctx context.Context, keys []K) (map[K]V, error)
	// Most limits the keys of one call; 0 is no limit.
	Most int
}

// Get is what Fetch finds by a key; ok is false for nothing. In a batch it waits until every other request
// of the batch waits too, or has ended, and then all keys are fetched. An ordinary call fetches its own key.
func (g *Gatherer[K, V]) Get(ctx context.Context, key K) (found V, ok bool, err error) {
	r, inBatch := ctx.Value(roundKey{}).(*round)
	if !inBatch {
		all, err := g.Fetch(ctx, []K{key})
		found, ok = all[key]
		return found, ok, err
	}
	r.mu.Lock()
	q, _ := r.questions[g].(*question[K, V])
	if q == nil {
		q = &question[K, V]{done: make(chan struct{})}
		r.questions[g] = q
		r.answers = append(r.answers, func() { g.answer(ctx, q) })
	}
	if !slices.Contains(q.keys, key) {
		q.keys = append(q.keys, key)
	}
	r.waiting++
	r.next() // unlocks
	select {
	case <-q.done:
	case <-ctx.Done():
		return found, false, ctx.Err()
	}
	found, ok = q.found[key]
	return found, ok, q.err
}

// answer fetches the keys of a question. A panic is an error of all who wait for it.
func (g *Gatherer[K, V]) answer(ctx context.Context, q *question[K, V]) {
	defer close(q.done)
	defer func() {
		if v := recover(); v != nil {
			q.err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	found := map[K]V{}
	most := g.Most
	if most < 1 {
		most = len(q.keys)
	}
	for keys := range slices.Chunk(q.keys, most) {
		some, err := g.Fetch(ctx, keys)
		if err != nil {
			q.err = err
			return
		}
		for k, v := range some {
			found[k] = v
		}
	}
	q.found = found
}

// A question is what the requests of a batch ask one gatherer for at the same time.
type question[K comparable, V any] struct {
	keys  []K
	done  chan struct{} // closed when the rest is final
	found map[K]V
	err   error
}

// A round is the requests of a batch that are worked on.
type round struct {
	mu        sync.Mutex
	left      int // requests that haven't ended
	atOnce    int // so many of them are worked on
	waiting   int // so many of these wait for an answer
	questions map[any]any
	answers   []func()
}

type roundKey struct{}

// ended notes that a request has ended.
func (r *round) ended() {
	r.mu.Lock()
	r.left--
	r.next()
}

// next answers all questions if nobody is left who could ask more. It unlocks the round.
func (r *round) next() {
	if r.waiting == 0 || r.waiting < min(r.left, r.atOnce) {
		r.mu.Unlock()
		return
	}
	answers := r.answers
	r.questions, r.answers, r.waiting = map[any]any{}, nil, 0
	r.mu.Unlock()
	for _, answer := range answers {
		answer()
	}
}
