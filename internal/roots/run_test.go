package roots

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestAway: a root with two reads has one place. The read that can't give it back continues as
// soon as its own wait is over, and the place is taken again once.
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRun(nil, nil, false)
		r.Begin()
		first, second := make(chan struct{}), make(chan struct{})
		var over [2]bool
		for i, done := range []chan struct{}{first, second} {
			go func() { over[i] = r.away(context.Background(), done) }()
			synctest.Wait()
		}
		close(second)
		if synctest.Wait(); over != [2]bool{false, true} {
			t.Errorf("after the second wait ended: %v", over)
		}
		close(first)
		if synctest.Wait(); over != [2]bool{true, true} || len(r.places) != 1 {
			t.Errorf("at the end: %v, %d places taken", over, len(r.places))
		}
	})
}
