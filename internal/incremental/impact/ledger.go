package impact

import (
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/incremental/freshness"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
)

// A ledger is what follows from a state and a record of looks for all units, so that plans that
// follow one another with the same state go over few of its objects.
type ledger struct {
	record *Record
	state  *state.Snapshot
	known  *freshness.Known
	// objects are those of a unit, and under nil those of none.
	objects map[*unit][]addr.Object
	seen    map[*unit]sum
	off     map[*unit]bool      // aren't as the record has them
	lacking map[*unit]int       // objects that have to be inspected however long ago that was
	oldest  map[class]time.Time // or older
	times   map[time.Time]int   // of how many objects of units
}

// A class is what ages are set for.
type class struct {
	of  addr.Provider
	typ string
}

// over is a ledger of a record, which continues from an earlier one where that differs in a
// few looks; it may be nil.
func (r *Record) over(g *ledger, s *state.Snapshot, known *freshness.Known) *ledger {
	if g != nil && g.state == s {
		if some, is := known.Since(g.known); is {
			g.follow(some, known)
			return g
		}
	}
	g = &ledger{
		record: r, state: s, known: known, objects: make(map[*unit][]addr.Object, len(r.bySum)), seen: make(map[*unit]sum, len(r.bySum)),
		off: map[*unit]bool{}, lacking: map[*unit]int{}, oldest: map[class]time.Time{}, times: map[time.Time]int{},
	}
	for at := range s.Objects {
		u := r.index().declared[name(at.Resource)]
		g.objects[u] = append(g.objects[u], at)
		if u != nil {
			g.count(u, at, 1)
		}
	}
	for _, u := range r.bySum {
		if g.seen[u] != u.looked {
			g.off[u] = true
		}
	}
	return g
}

// follow has other looks count for some objects.
func (g *ledger) follow(some []addr.Object, known *freshness.Known) {
	before := g.known
	for _, at := range some {
		u := g.record.index().declared[name(at.Resource)]
		if u == nil || g.state.Objects[at] == nil {
			continue
		}
		g.known = before
		g.count(u, at, -1)
		g.known = known
		g.count(u, at, 1)
		if delete(g.off, u); g.seen[u] != u.looked {
			g.off[u] = true
		}
	}
	g.known = known
}

// count counts an object of a unit, or takes it out again.
func (g *ledger) count(u *unit, at addr.Object, n int) {
	o := g.state.Objects[at]
	when, what := g.known.Seen(at)
	all := g.seen[u]
	all.add(at, what)
	g.seen[u] = all
	if what == "" || o.Tainted || at.Deposed != "" {
		g.lacking[u] += n
	}
	g.times[when] += n
	in := class{o.Provider.Provider, at.Name.Type}
	if oldest, has := g.oldest[in]; n > 0 && (!has || when.Before(oldest)) {
		g.oldest[in] = when
	}
}

// due adds the names of units that aren't as the record has them, or were inspected or planned
// too long ago. Those of external providers always are.
func (g *ledger) due(l *freshness.Looks, external map[addr.Provider]bool, add func(*unit)) {
	for u := range g.off {
		add(u)
	}
	for u, n := range g.lacking {
		if n > 0 {
			add(u)
		}
	}
	old := map[class]bool{} // whatever when the object was inspected
	for in, when := range g.oldest {
		switch {
		case external[in.of] || !in.of.IsBuiltin() && !l.IsRecent(g.record.at, in.of, in.typ):
			old[in] = true
		case !l.IsRecent(when, in.of, in.typ):
			old[in] = false
		}
	}
	if len(old) == 0 {
		return
	}
	for u, objects := range g.objects {
		for _, at := range objects {
			in := class{g.state.Objects[at].Provider.Provider, at.Name.Type}
			when, _ := g.known.Seen(at)
			if all, some := old[in]; some && (all || !l.IsRecent(when, in.of, in.typ)) {
				add(u)
			}
		}
	}
}

// without is what is left out when all units but some are.
func (g *ledger) without(some ...map[*unit]bool) (left *plan.LeftOut, rest []addr.Object) {
	rest = g.objects[nil]
	less := map[time.Time]int{}
	for _, units := range some {
		for u := range units {
			for _, at := range g.objects[u] {
				when, _ := g.known.Seen(at)
				less[when]++
			}
			rest = append(rest[:len(rest):len(rest)], g.objects[u]...)
		}
	}
	for when, n := range g.times {
		left = left.With(n-less[when], when)
	}
	return left, rest
}
