package planinputs

import (
	"weir.dev/weir/internal/incremental/freshness"
	"weir.dev/weir/internal/incremental/parsecache"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/planoptions"
)

// Looks decides which objects a plan needn't refresh, from options, the user's settings, and the
// record of reads beside a state. The record begins with the first plan that
// uses it, so that nobody else pays for it.
func Looks(p planoptions.Planning, s *lockedstate.Session, at *environment.Place) *freshness.Looks {
	switch {
	case p.MinimalRefresh:
		return freshness.Minimal()
	case p.SkipRefresh:
		return nil
	}
	text := lockedstate.Looks(s)
	if !p.AutoRefresh && len(text) == 0 {
		return nil
	}
	known := parsecache.Of(at.Memo, looksRecord, text, freshness.Parse)
	if p.AutoRefresh {
		return freshness.Auto(known, at.RefreshAfter())
	}
	return freshness.Kept(known)
}

// looksRecord is the name of the record in the cache of parsed texts.
const looksRecord = "looks"

// KeepLooks records the reads of a plan. made is nil where there is no plan.
func KeepLooks(made *plan.Plan, s *lockedstate.Session, l *freshness.Looks) {
	if made == nil {
		return
	}
	if known, added := l.Record(s.Prior()); known != nil {
		lockedstate.KeepLooks(s, known.Text(), added)
		parsecache.Put(s.Memo, looksRecord, known.Text(), known)
	}
}

// ForgetLooks removes what is about to be changed: when that fails the state may have it as before.
func ForgetLooks(p *plan.Plan, s *lockedstate.Session) {
	if record := lockedstate.Looks(s); len(record) > 0 {
		lockedstate.KeepLooks(s, freshness.Without(record, p), nil)
	}
}
