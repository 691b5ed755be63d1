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
	"fmt"
	"maps"
	"slices"
	"strings"
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
	shared  bool // seen is somebody else's, too
	configs map[addr.ProviderConfig][]byte
	changed bool
}

// Known is what a record has. It isn't changed.
type Known struct{ objects map[addr.Object]look }

// A look is when an object was looked at, and what it was then, as a hash.
type look struct {
	at   time.Time
	what string
}

// Minimal leaves out whatever nothing is to be done with, however long ago it was looked at.
func Minimal() *Looks { return &Looks{minimal: true} }

// Auto leaves out what a record has, as long as after says for a type.
func Auto(record *Known, after func(addr.Provider, string) time.Duration) *Looks {
	return &Looks{after: after, seen: record.objects, shared: true, configs: map[addr.ProviderConfig][]byte{}}
}

// Kept leaves out nothing, and keeps a record up to date if there is one.
func Kept(record *Known) *Looks {
	if record == nil {
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
	seen, ok := l.look(at)
	return ok && l.IsRecent(seen.at, of, at.Name.Type)
}

// IsRecent reports whether objects of a type that were looked at at a time may be left out.
func (l *Looks) IsRecent(at time.Time, of addr.Provider, typ string) bool {
	return l.after != nil && !at.After(l.now) && l.now.Sub(at) < l.after(of, typ)
}

func (l *Looks) look(at addr.Object) (look, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen, ok := l.seen[at]
	return seen, ok
}

// MayLook reports whether it is likely that an object is looked at.
func (l *Looks) MayLook(at addr.Object, o *state.Object) bool {
	return l == nil || !l.minimal && !l.isRecent(at, o.Provider.Provider)
}

// Seen is when an object was looked at, and what it was then; empty where it wasn't. It is left
// out where its configuration and state are as they were then and it may be.
func (l *Looks) Seen(at addr.Object, o *state.Object) (when time.Time, what string, mayLeave bool) {
	seen, ok := l.look(at)
	mayLeave = ok && !l.minimal && l.after != nil && l.lineage != "" && !o.Tainted && at.Deposed == "" && l.IsRecent(seen.at, o.Provider.Provider, at.Name.Type)
	return seen.at, seen.what, mayLeave
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
	l.own()
	if what == "" {
		delete(l.seen, at)
		return
	}
	l.seen[at] = look{l.now.UTC().Round(0), what}
}

// own has a copy to be changed; mu is held.
func (l *Looks) own() {
	if l.shared {
		l.seen, l.shared = maps.Clone(l.seen), false
	}
}

// Known is what the last Record has.
func (l *Looks) Known() *Known {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shared = true
	return &Known{l.seen}
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

// Parse reads a record. What can't be read is forgotten, and so are addresses that aren't any.
func Parse(text []byte) *Known {
	seen := map[addr.Object]look{}
	var f file
	if json.Unmarshal(text, &f) != nil || f.Version != fileVersion {
		return &Known{seen}
	}
	for _, g := range f.Looks {
		for text, what := range g.Objects {
			if i, err := addr.ParseInstance(text); err == nil && what != "" {
				seen[addr.Object{Instance: i}] = look{g.At, what}
			}
		}
	}
	return &Known{seen}
}

// Record is what Parse reads, of the objects that a state has; nil where nothing is
// to be kept that wasn't before.
func (l *Looks) Record(s *state.Snapshot) []byte {
	if l == nil || !l.changed || s == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own()
	maps.DeleteFunc(l.seen, func(at addr.Object, _ look) bool { return s.Objects[at] == nil || at.Deposed != "" })
	return written(l.seen)
}

// Without is a record without the objects that a plan is to change, and without any if it
// invokes actions, which may change everything.
func Without(record []byte, p *plan.Plan) []byte {
	seen := Parse(record).objects
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
	type named struct{ name, what string }
	groups := map[time.Time][]named{}
	for at, seen := range objects {
		when := seen.at.UTC().Round(0)
		groups[when] = append(groups[when], named{at.Instance.String(), seen.what})
	}
	text := fmt.Appendf(make([]byte, 0, 80*len(objects)+100), `{"version":%d,"looks":[`, fileVersion)
	for i, at := range slices.SortedFunc(maps.Keys(groups), time.Time.Compare) {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, `{"at":`...), quoted(at)...), `,"objects":{`...)
		list := groups[at]
		slices.SortFunc(list, func(a, b named) int { return strings.Compare(a.name, b.name) })
		for n, o := range list {
			if n > 0 {
				text = append(text, ',')
			}
			text = append(text, quoted(o.name)...)
			text = append(text, ':')
			text = append(text, quoted(o.what)...)
		}
		text = append(text, "}}"...)
	}
	return append(text, "]}\n"...)
}

// quoted is a text or a time in JSON.
func quoted(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return []byte(`""`) // a year of five digits: nobody reads it
	}
	return text
}
