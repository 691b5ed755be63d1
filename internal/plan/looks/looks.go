// Package looks says which objects a plan needn't look at, because nothing is to be done with
// them or because they were looked at not long ago, and remembers when that was.
//
// It owns the record of looks: whose it is and what it vouches for. It refuses to read
// objects, and files.
package looks

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/object/connect"
	"weir.dev/weir/internal/object/lifecycle"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/word/addr"
	"weir.dev/weir/internal/word/value"
)

// Looks say which objects are left out of a refresh. Methods may be called from several
// tasks at once; nil leaves out nothing and remembers nothing.
type Looks struct {
	minimal bool
	// after is how long ago an object may have been looked at to be left out; nil leaves
	// out nothing.
	after func(addr.Provider, string) time.Duration

	now     time.Time
	lineage string

	mu      sync.Mutex
	seen    map[addr.Object]look
	configs map[addr.ProviderConfig][]byte
	changed bool
}

// A look is when an object was looked at, and what it was then, as a hash.
type look struct {
	at   time.Time
	what string
}

// Minimal leaves out whatever nothing is to be done with, however long ago it was looked at.
func Minimal() *Looks { return &Looks{minimal: true} }

// Auto leaves out what a record has, as long as after says for a type. What isn't a record
// is an empty one.
func Auto(record []byte, after func(addr.Provider, string) time.Duration) *Looks {
	return &Looks{after: after, seen: read(record), configs: map[addr.ProviderConfig][]byte{}}
}

// Kept leaves out nothing, and keeps a record up to date if there is one.
func Kept(record []byte) *Looks {
	if len(record) == 0 {
		return nil
	}
	return Auto(record, nil)
}

// Begin says which state is planned for, and when.
func (l *Looks) Begin(s *state.Snapshot, now time.Time) {
	if l != nil {
		l.lineage, l.now = s.Lineage, now
	}
}

// Leaves reports whether an object that nothing is to be done with needn't be looked at.
// wanted: there is another reason to look at it than its age.
func (l *Looks) Leaves(at addr.Object, s lifecycle.Subject, o lifecycle.Object, c *connect.Conn, wanted bool) bool {
	if l == nil || l.minimal {
		return l != nil
	}
	if wanted || o.Tainted || !l.isRecent(at, c.Addr.Provider) {
		return false
	}
	what := l.hash(s, o, c)
	l.mu.Lock()
	defer l.mu.Unlock()
	return what != "" && l.seen[at].what == what
}

// isRecent goes by the age alone.
func (l *Looks) isRecent(at addr.Object, of addr.Provider) bool {
	if l.after == nil || l.lineage == "" {
		return false
	}
	l.mu.Lock()
	seen, ok := l.seen[at]
	l.mu.Unlock()
	return ok && !seen.at.After(l.now) && l.now.Sub(seen.at) < l.after(of, at.Name.Type)
}

// MayLook reports whether it is likely that an object is looked at.
func (l *Looks) MayLook(at addr.Object, o *state.Object) bool {
	return l == nil || !l.minimal && !l.isRecent(at, o.Provider.Provider)
}

// MayLeave reports whether an object whose configuration and state are as they were when it was
// looked at is left out.
func (l *Looks) MayLeave(at addr.Object, o *state.Object) bool {
	return l != nil && !l.minimal && !o.Tainted && at.Deposed == "" && l.isRecent(at, o.Provider.Provider)
}

// Seen is when an object was looked at, and what it was then; empty where it wasn't.
func (l *Looks) Seen(at addr.Object) (when time.Time, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen[at].at, l.seen[at].what
}

// Looked notes what an object is; one that is gone is forgotten.
func (l *Looks) Looked(at addr.Object, s lifecycle.Subject, o lifecycle.Object, c *connect.Conn) {
	if l == nil || l.minimal {
		return
	}
	what := ""
	if o.Exists() && l.lineage != "" {
		what = l.hash(s, o, c)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = true
	if what == "" {
		delete(l.seen, at)
		return
	}
	l.seen[at] = look{l.now, what}
}

// Left adds an object to what a plan says of those that were left out, if it was.
func (l *Looks) Left(at addr.Object, left bool, to *plan.LeftOut) *plan.LeftOut {
	if !left || l == nil || l.minimal {
		return to
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return to.With(1, l.seen[at].at)
}

// hash is of what the state has of an object, and of how its provider is configured, "" where
// that isn't known. It can't be told what that was without the lineage of the state, which the
// record doesn't have: who has the state knows it anyhow.
func (l *Looks) hash(s lifecycle.Subject, o lifecycle.Object, c *connect.Conn) string {
	stored, err := s.Store(o, c.Addr, nil)
	config := l.config(c)
	if err != nil || config == nil {
		return ""
	}
	return l.sum(config, stored.JSON, stored.IdentityJSON)
}

func (l *Looks) sum(parts ...[]byte) string {
	h := sha256.New()
	for _, part := range append([][]byte{[]byte(l.lineage)}, parts...) {
		own := sha256.Sum256(part)
		h.Write(own[:])
	}
	return base64.RawStdEncoding.EncodeToString(h.Sum(nil)[:18])
}

// config is how a provider is configured, but for what is sensitive, which may be another
// token for the same each time. It is nil where that isn't known yet.
func (l *Looks) config(c *connect.Conn) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.configs[c.Addr]; ok {
		return known
	}
	text := []byte(c.Addr.String())
	switch config, block := c.Config, c.Schemas.Provider; {
	case config == cty.NilVal || !config.IsWhollyKnown():
		text = nil
	case block != nil:
		hidden := block.Block.SensitivePaths(config)
		config, err := cty.Transform(config, func(p cty.Path, v cty.Value) (cty.Value, error) {
			if slices.ContainsFunc(hidden, p.Equals) {
				return cty.NullVal(v.Type()), nil
			}
			return v, nil
		})
		var raw []byte
		if err == nil {
			raw, err = value.JSON(config, config.Type())
		}
		if text = append(text, raw...); err != nil {
			text = nil
		}
	}
	l.configs[c.Addr] = text
	return text
}

// The form of a record: objects by when they were looked at.
type file struct {
	Version int     `json:"version"`
	Looks   []group `json:"looks"`
}

type group struct {
	At      time.Time         `json:"at"`
	Objects map[string]string `json:"objects"`
}

const fileVersion = 1

// read reads a record. What can't be read is forgotten, and so are addresses that aren't any.
func read(text []byte) map[addr.Object]look {
	seen := map[addr.Object]look{}
	var f file
	if json.Unmarshal(text, &f) != nil || f.Version != fileVersion {
		return seen
	}
	for _, g := range f.Looks {
		for text, what := range g.Objects {
			if i, err := addr.ParseInstance(text); err == nil && what != "" {
				seen[addr.Object{Instance: i}] = look{g.At, what}
			}
		}
	}
	return seen
}

// Record is what Auto and Kept read, of the objects that a state has; nil where nothing is
// to be kept that wasn't before.
func (l *Looks) Record(s *state.Snapshot) []byte {
	if l == nil || !l.changed || s == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.seen, func(at addr.Object, _ look) bool { return s.Objects[at] == nil || at.Deposed != "" })
	return written(l.seen)
}

// Without is a record without the objects that a plan is to change, and without any if it
// invokes actions, which may change everything.
func Without(record []byte, p *plan.Plan) []byte {
	seen := read(record)
	for _, c := range p.Changes {
		if c.Action != plan.NoOp {
			delete(seen, c.Addr)
			delete(seen, addr.Object{Instance: c.Previous()})
		}
	}
	if len(p.Invocations) > 0 {
		clear(seen)
	}
	return written(seen)
}

func written(objects map[addr.Object]look) []byte {
	groups := map[time.Time]map[string]string{}
	for at, seen := range objects {
		when := seen.at.UTC().Round(0)
		if groups[when] == nil {
			groups[when] = map[string]string{}
		}
		groups[when][at.Instance.String()] = seen.what
	}
	f := file{Version: fileVersion, Looks: []group{}}
	for _, at := range slices.SortedFunc(maps.Keys(groups), time.Time.Compare) {
		f.Looks = append(f.Looks, group{at, groups[at]})
	}
	text, err := json.Marshal(f)
	if err != nil {
		return nil // there are only texts in it
	}
	return append(text, '\n')
}
