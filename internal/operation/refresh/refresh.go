// Package refresh puts together what says which objects a plan needn't look at: what was
// asked for, the user's settings, and the record of looks beside a state.
//
// It refuses to know what the record vouches for.
package refresh

import (
	"weir.dev/weir/internal/operation/place"
	"weir.dev/weir/internal/operation/request"
	"weir.dev/weir/internal/operation/session"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/looks"
	"weir.dev/weir/internal/word/memo"
)

// Looks says which objects a plan needn't look at. The record begins with the first plan that
// goes by it, so that nobody else pays for it.
func Looks(p request.Planning, s *session.Session, at *place.Place) *looks.Looks {
	switch {
	case p.MinimalRefresh:
		return looks.Minimal()
	case p.SkipRefresh:
		return nil
	}
	text := session.Looks(s)
	if !p.AutoRefresh && len(text) == 0 {
		return nil
	}
	known := memo.Of(at.Memo, of, text, looks.Parse)
	if p.AutoRefresh {
		return looks.Auto(known, at.RefreshAfter())
	}
	return looks.Kept(known)
}

// of is the name of records among what texts were made into.
const of = "looks"

// Remember keeps what a plan has looked at. made is nil where there is no plan.
func Remember(made *plan.Plan, s *session.Session, l *looks.Looks) {
	if made == nil {
		return
	}
	if known, added := l.Record(s.Prior()); known != nil {
		session.KeepLooks(s, known.Text(), added)
		memo.Put(s.Memo, of, known.Text(), known)
	}
}

// Forget forgets what is about to be changed: when that fails the state may have it as before.
func Forget(p *plan.Plan, s *session.Session) {
	if record := session.Looks(s); len(record) > 0 {
		session.KeepLooks(s, looks.Without(record, p), nil)
	}
}
