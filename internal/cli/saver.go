package cli

import (
	"context"
	"strconv"
	"sync"
	"time"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
)

// A saver keeps the state up to date while an apply runs: it saves now and
// then what is known, so that little is lost with the process.
type saver struct {
	ctx   context.Context
	w     *session
	every time.Duration

	mu    sync.Mutex
	state *state.Snapshot
	last  time.Time
}

// saver starts from the state that apply starts from.
func (e *env) saver(ctx context.Context, s *session, p *plan.Plan) *saver {
	seconds := 20
	if n, err := strconv.Atoi(e.vars["TF_STATE_PERSIST_INTERVAL"]); err == nil && n > seconds {
		seconds = n
	}
	start := p.Refreshed
	if start == nil {
		start = state.Empty()
	}
	return &saver{ctx: ctx, w: s, every: time.Duration(seconds) * time.Second, state: start.Clone(), last: time.Now()}
}

// Intent implements apply.Journal.
func (*saver) Intent(addr.Object, plan.Action) error { return nil }

// Result implements apply.Journal. That saving in between fails is no reason to
// stop: the end tries again, and tells.
func (s *saver) Result(o addr.Object, stored *state.Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stored == nil {
		delete(s.state.Objects, o)
	} else {
		s.state.Objects[o] = stored
	}
	if time.Since(s.last) >= s.every {
		s.last = time.Now()
		_ = s.w.save(s.ctx, s.state.Clone())
	}
	return nil
}
