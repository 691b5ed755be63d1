package lockedstate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/state/storage"
)

// A journal is on the machine that wrote it. Where the store of the state has room for a note
// beside it, the creations of a run stand there as well before they are started, so that the
// caller that works on the state next, wherever, is notified of those that the state doesn't
// have. A note has the form of a journal with intents only.

// ahead is how many creations that are yet to come a note has, so that not each of them costs
// a request. After a crash so many more may be named than were started, where the journal
// isn't at hand.
const ahead = 50

// notes are those of an apply under way.
type notes struct {
	s *Session

	mu     sync.Mutex
	turn   *sync.Cond
	begun  map[addr.Object]journal.Operation // what isn't in the stored state for certain
	noted  map[addr.Object]bool              // what the stored note has
	coming []journal.Operation               // in the order of the plan
	busy   bool
	err    error
}

// takesNotes is the store of the state where it has room for notes. Without a journal there is
// always room, if only in memory.
func (s *Session) takesNotes() (storage.Noted, bool) {
	store, ok := s.store.Store.(storage.Noted)
	if !ok && s.Notes != nil {
		return s.Notes.Of(s.backend.Place(s.workspace)), true
	}
	return store, ok
}

// Forgets reports whether what is in doubt is known to this process only.
func (s *Session) Forgets() bool {
	_, ok := s.store.Store.(storage.Noted)
	return s.Notes != nil && !ok
}

// note begins the notes of an apply; they are nil where none are needed or can be
// had.
func (s *Session) note(ctx context.Context, p *plan.Plan) (*notes, diag.List) {
	if _, ok := s.takesNotes(); !ok {
		return nil, nil
	}
	n := &notes{s: s, begun: map[addr.Object]journal.Operation{}, coming: s.creationsOf(p)}
	if len(n.coming) == 0 {
		return nil, nil
	}
	n.turn = sync.NewCond(&n.mu)
	for _, o := range s.doubts {
		n.begun[o.Object] = o
	}
	list := n.list()
	err := s.writeNote(ctx, list)
	switch {
	case errors.Is(err, storage.ErrNoNotes):
		return nil, diag.List{NotNoted.New(diag.Warning, "The creations of this run can't be noted beside the state: %s. If the run is killed, only this machine knows them. To inform other machines, allow the object or table above.", err)}
	case err != nil:
		return nil, NotSaved.As("The state can't be saved").List("Nothing was done, because what is about to be created can't be noted beside the state: %s.", err)
	}
	n.noted = objectsOf(list)
	return n, nil
}

// creationsOf are the creations of a plan in the order of its steps, but for objects that exist
// in the state and nowhere else.
func (s *Session) creationsOf(p *plan.Plan) []journal.Operation {
	var list []journal.Operation
	for n := range p.Graph.Steps {
		step := &p.Graph.Steps[n]
		if step.Kind != execgraph.Apply || step.Provider.Provider.IsBuiltin() {
			continue
		}
		if c := p.Changes[step.Change-1]; c.Action == plan.Create || c.Action.IsReplace() {
			list = append(list, journal.Operation{Object: c.Addr, Action: journal.Create, Provider: *step.Provider, Needs: p.DependenciesOf(c), Former: s.former(c.Addr)})
		}
	}
	return list
}

// former reports the object that the stored state has in a place.
func (s *Session) former(at addr.Object) string {
	if s.base == nil {
		return ""
	}
	return journal.Tell(s.base.Objects[at])
}

// list is what a note has that is written now. n.mu is held, or nobody else has n.
func (n *notes) list() []journal.Operation {
	n.coming = slices.DeleteFunc(n.coming, func(o journal.Operation) bool {
		_, begun := n.begun[o.Object]
		return begun
	})
	list := slices.Collect(maps.Values(n.begun))
	list = append(list, n.coming[:min(ahead, len(n.coming))]...)
	slices.SortFunc(list, func(a, b journal.Operation) int { return a.Object.Compare(b.Object) })
	return list
}

func objectsOf(list []journal.Operation) map[addr.Object]bool {
	set := map[addr.Object]bool{}
	for _, o := range list {
		set[o.Object] = true
	}
	return set
}

// begin returns when the creation is in the stored note. A caller that finds nobody writing
// writes for all.
func (n *notes) begin(ctx context.Context, o journal.Operation) error {
	if n == nil || o.Action != journal.Create {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.begun[o.Object] = o
	for !n.noted[o.Object] && n.err == nil {
		if n.busy {
			n.turn.Wait()
			continue
		}
		n.busy = true
		list := n.list()
		n.mu.Unlock()
		err := n.s.writeNote(ctx, list)
		n.mu.Lock()
		n.busy, n.err = false, err
		if err == nil {
			n.noted = objectsOf(list)
		}
		n.turn.Broadcast()
	}
	return n.err
}

// ended is what came of a creation, nil for nothing. Until the state has it, the
// next note says how to find it.
func (n *notes) ended(at addr.Object, stored *state.Object) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	o, ok := n.begun[at]
	switch {
	case !ok:
	case stored == nil:
		delete(n.begun, at)
	default:
		o.Key, o.ID = identified(stored)
		n.begun[at] = o
	}
}

// identified is the id of a stored object, unless that is sensitive.
func identified(o *state.Object) (key, id string) {
	var attributes struct {
		ID *string `json:"id"`
	}
	if json.Unmarshal(o.JSON, &attributes) != nil || attributes.ID == nil || slices.ContainsFunc(o.Sensitive, cty.GetAttrPath("id").Equals) {
		return "", ""
	}
	return "id", *attributes.ID
}

// saved takes out what a stored state has.
func (n *notes) saved(stored *state.Snapshot) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.begun, func(at addr.Object, o journal.Operation) bool { return o.Settled(stored.Objects[at]) })
}

// writeNote replaces the note, or removes it where there is nothing to say.
func (s *Session) writeNote(ctx context.Context, list []journal.Operation) error {
	store, ok := s.takesNotes()
	if !ok || len(list) == 0 && !s.noted {
		return nil
	}
	if len(list) == 0 {
		err := store.SetNote(ctx, nil)
		s.noted = s.noted && err != nil
		return err
	}
	text, err := journal.Note(s.journalBegin(), list, s.sealsKeys())
	if err != nil {
		return err
	}
	if err = store.SetNote(ctx, text); err == nil {
		s.noted = true
	}
	return err
}

// readNotes reads the notes. Those of runs in known are of journals that are at hand.
func (s *Session) readNotes(ctx context.Context, known map[string]bool) (logs []*journal.Log, diags diag.List) {
	texts, err := s.storedNotes(ctx)
	switch {
	case errors.Is(err, storage.ErrNoNotes):
		return nil, nil
	case err != nil:
		return nil, diag.StateUnreadable.List("The last run's note beside the state can't be read: %s.", err)
	}
	for _, text := range texts {
		s.noted = true
		l, err := journal.Read(bytes.NewReader(text), s.Seals.OpenKey)
		switch {
		case (err != nil || l.Damaged > 0 || l.Torn) && !s.Damaged:
			why := "it was changed"
			if err != nil {
				why = err.Error()
			}
			return nil, Damaged.As("Damaged note").List("The last run has noted beside the state what it was about to create, and that can't be read: %s. Objects may exist that aren't in the state. Look for them, then take what can be read with:\n    %s", why, command(s.Program, "recover", "-damaged"))
		case err == nil && !known[l.Begin.Run]:
			logs = append(logs, l)
		}
	}
	return logs, nil
}

// storedNotes are the notes of runs that hold no lock.
func (s *Session) storedNotes(ctx context.Context) ([][]byte, error) {
	if c, ok := s.concurrent(); ok {
		return c.Notes(ctx)
	}
	store, ok := s.takesNotes()
	if !ok {
		return nil, nil
	}
	text, err := store.Note(ctx)
	if text == nil {
		return nil, err
	}
	return [][]byte{text}, err
}

// recoverNote adds to what is in doubt the creations that notes have of runs whose journals aren't
// at hand, as far as the stored state doesn't have them. It returns those of the notes. These
// runs are the later ones: they would have been replaced in the note otherwise.
func (s *Session) recoverNote(ctx context.Context, known map[string]bool) (later []journal.Operation, diags diag.List) {
	if !s.claimed {
		return nil, nil // another run may be under way, and this one changes nothing
	}
	logs, diags := s.readNotes(ctx, known)
	if len(logs) == 0 || s.unlocked {
		return nil, diags
	}
	doubted := objectsOf(s.doubts)
	for _, l := range logs {
		rec, err := l.Fold(s.base, "")
		if err != nil {
			return nil, Damaged.As("Damaged note").List("The last run's note beside the state can't be used: %s. It may be of a newer version, which can read it.", err)
		}
		if s.base == nil && s.lineage == "" {
			s.lineage = l.Begin.Lineage
		}
		for _, o := range rec.InDoubt {
			if !doubted[o.Object] {
				s.doubts, s.remembered = append(s.doubts, o), l.Begin.Who
			}
		}
		later = append(later, rec.InDoubt...)
	}
	if len(s.doubts) == 0 && len(known) == 0 { // the notes of journals that are at hand end with these
		_ = s.writeNote(ctx, nil) // else the next run does
	}
	return later, diags
}
