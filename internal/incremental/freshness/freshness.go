// Package freshness decides which objects a plan need not refresh, because they don't change or
// were read recently, and records the time of each read.
//
// It owns the record of looks: whose it is and what it vouches for. It doesn't read objects,
// and files.
package freshness

import (
	"bytes"
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

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/state"
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

	known   *Known
	mu      sync.Mutex
	later   map[addr.Object]look // over what is known; nil until something is changed
	configs map[addr.ProviderConfig][]byte
}

// Known is what a record has. It isn't changed.
type Known struct {
	text    []byte
	objects *written             // when the record was last written whole
	later   map[addr.Object]look // what was added since, over these
}

type written struct {
	looks map[addr.Object]look
	size  int // of the line
}

// A look is when an object was inspected, and what it was then, as a hash: empty where it is
// gone.
type look struct {
	at   time.Time
	what string
}

func (k *Known) look(at addr.Object) look {
	if seen, ok := k.later[at]; ok {
		return seen
	}
	return k.objects.looks[at]
}

// Text is the record.
func (k *Known) Text() []byte { return k.text }

// Since reports whether other is a record to which k's was added, and gives the objects of which
// one of both says something that the other may not say.
func (k *Known) Since(other *Known) (some []addr.Object, is bool) {
	if k.objects != other.objects {
		return nil, false
	}
	for at := range k.later {
		some = append(some, at)
	}
	for at := range other.later {
		if _, both := k.later[at]; !both {
			some = append(some, at)
		}
	}
	return some, true
}

// Seen is when an object was inspected, and what it was then; empty where it wasn't.
func (k *Known) Seen(at addr.Object) (time.Time, string) {
	seen := k.look(at)
	return seen.at, seen.what
}

// Minimal leaves out whatever nothing is to be done with, however long ago it was inspected.
func Minimal() *Looks { return &Looks{minimal: true} }

// Auto leaves out what a record has, as long as after says for a type.
func Auto(record *Known, after func(addr.Provider, string) time.Duration) *Looks {
	return &Looks{after: after, known: record, configs: map[addr.ProviderConfig][]byte{}}
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

// Leaves reports whether an object that nothing is to be done with needn't be inspected.
// wanted: there is another reason to look at it than its age.
func (l *Looks) Leaves(at addr.Object, s lifecycle.Subject, o lifecycle.Object, c *providerclient.Conn, wanted bool) bool {
	if l == nil || l.minimal {
		return l != nil
	}
	if wanted || o.Tainted || !l.isRecent(at, c.Addr.Provider) {
		return false
	}
	what := l.hash(s, o, c)
	seen, _ := l.look(at)
	return what != "" && seen.what == what
}

// isRecent goes by the age alone.
func (l *Looks) isRecent(at addr.Object, of addr.Provider) bool {
	seen, ok := l.look(at)
	return ok && l.IsRecent(seen.at, of, at.Name.Type)
}

// IsRecent reports whether objects of a type that were inspected at a time may be left out.
func (l *Looks) IsRecent(at time.Time, of addr.Provider, typ string) bool {
	return l.after != nil && l.lineage != "" && !at.After(l.now) && l.now.Sub(at) < l.after(of, typ)
}

func (l *Looks) look(at addr.Object) (look, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := l.latest(at)
	return seen, seen.what != ""
}

// latest is the last look; mu is held.
func (l *Looks) latest(at addr.Object) look {
	if l.later == nil {
		return l.known.look(at)
	}
	if seen, ok := l.later[at]; ok {
		return seen
	}
	return l.known.objects.looks[at]
}

// Known is what the record has that this began with.
func (l *Looks) Known() *Known { return l.known }

// MayLook reports whether it is likely that an object is inspected.
func (l *Looks) MayLook(at addr.Object, o *state.Object) bool {
	return l == nil || !l.minimal && !l.isRecent(at, o.Provider.Provider)
}

// Seen is when an object was inspected, and what it was then; empty where it wasn't. It is
// left out where its configuration and state are as they were then and it may be.
func (l *Looks) Seen(at addr.Object, o *state.Object) (when time.Time, what string, mayLeave bool) {
	seen, ok := l.look(at)
	mayLeave = ok && !l.minimal && l.after != nil && l.lineage != "" && !o.Tainted && at.Deposed == "" && l.IsRecent(seen.at, o.Provider.Provider, at.Name.Type)
	return seen.at, seen.what, mayLeave
}

// Looked notes what an object is; one that is gone is forgotten.
func (l *Looks) Looked(at addr.Object, s lifecycle.Subject, o lifecycle.Object, c *providerclient.Conn) {
	if l == nil || l.minimal {
		return
	}
	what := ""
	if o.Exists() && l.lineage != "" {
		what = l.hash(s, o, c)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.later == nil {
		l.later = maps.Clone(l.known.later)
	}
	if l.later == nil {
		l.later = map[addr.Object]look{}
	}
	l.later[at] = look{l.now.UTC().Round(0), what}
}

// Unchanged reports whether an object is as it was when it was last inspected before this plan, which
// was not after a time.
func (l *Looks) Unchanged(at addr.Object, until time.Time) bool {
	if l == nil || l.minimal {
		return false
	}
	before := l.known.look(at)
	now, _ := l.look(at)
	return before.what != "" && before.what == now.what && !before.at.After(until)
}

// Left adds an object to what a plan says of those that were left out, if it was.
func (l *Looks) Left(at addr.Object, left bool, to *plan.LeftOut) *plan.LeftOut {
	if !left || l == nil || l.minimal {
		return to
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return to.With(1, l.latest(at).at)
}

// hash is of what the state has of an object, and of how its provider is configured, "" where
// that isn't known. It 't be known what that was without the lineage of the state, which the
// record doesn't have: who has the state knows it anyhow.
func (l *Looks) hash(s lifecycle.Subject, o lifecycle.Object, c *providerclient.Conn) string {
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
func (l *Looks) config(c *providerclient.Conn) []byte {
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

// The form of a line of a record: objects by when they were inspected.
type file struct {
	Version int     `json:"version"`
	Looks   []group `json:"looks"`
}

type group struct {
	At      time.Time         `json:"at"`
	Objects map[string]string `json:"objects"`
}

const fileVersion = 1

// Parse reads a record: what was written whole, and what was added to that, a line each.
// Anything that can't be read is forgotten with all that is beside it, but for addresses that
// aren't any.
func Parse(text []byte) *Known {
	first, rest, _ := bytes.Cut(text, []byte{'\n'})
	k := &Known{text: text, objects: &written{map[addr.Object]look{}, len(first)}}
	if !parse(first, k.objects.looks, false) {
		return &Known{objects: &written{}}
	}
	for line := range bytes.Lines(rest) {
		if k.later == nil {
			k.later = map[addr.Object]look{}
		}
		if !parse(line, k.later, true) {
			return &Known{objects: &written{}}
		}
	}
	return k
}

// parse reads a line of a record. Anything that was added may be about what is gone.
func parse(line []byte, into map[addr.Object]look, added bool) bool {
	var f file
	if json.Unmarshal(line, &f) != nil || f.Version != fileVersion {
		return false
	}
	for _, g := range f.Looks {
		for text, what := range g.Objects {
			if i, err := addr.ParseInstance(text); err == nil && (what != "" || added) {
				into[addr.Object{Instance: i}] = look{g.At, what}
			}
		}
	}
	return true
}

// Record is what the plan has come to know, of the objects that a state has: nil where nothing is to
// be kept that wasn't before. Only added has to be written after the record that this began with; nil
// stands for all.
func (l *Looks) Record(s *state.Snapshot) (k *Known, added []byte) {
	if l == nil || l.later == nil || s == nil {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.known
	maps.DeleteFunc(l.later, func(at addr.Object, seen look) bool {
		return at.Deposed != "" || seen.what != "" && s.Objects[at] == nil
	})
	news := maps.Clone(l.later)
	maps.DeleteFunc(news, func(at addr.Object, seen look) bool { return seen == before.later[at] })
	if len(news) == 0 {
		return nil, nil
	}
	added = text(news)
	if len(l.later)*8 > len(before.objects.looks) || len(before.text)+len(added) > before.objects.size*5/4 {
		all := maps.Clone(before.objects.looks)
		if all == nil {
			all = map[addr.Object]look{}
		}
		maps.Copy(all, l.later)
		maps.DeleteFunc(all, func(at addr.Object, seen look) bool {
			return seen.what == "" || s.Objects[at] == nil || at.Deposed != ""
		})
		whole := text(all)
		return &Known{text: whole, objects: &written{all, len(whole)}}, nil
	}
	return &Known{text: slices.Concat(before.text, added), objects: before.objects, later: maps.Clone(l.later)}, added
}

// Without is a record without the objects that a plan is to change, and without any if it
// invokes actions, which may change everything.
func Without(record []byte, p *plan.Plan) []byte {
	k := Parse(record)
	seen := maps.Clone(k.objects.looks)
	maps.Copy(seen, k.later)
	maps.DeleteFunc(seen, func(_ addr.Object, seen look) bool { return seen.what == "" })
	for _, c := range p.Changes {
		if c.Action != plan.NoOp {
			delete(seen, c.Addr)
			delete(seen, addr.Object{Instance: c.Previous()})
		}
	}
	if len(p.Invocations) > 0 {
		clear(seen)
	}
	return text(seen)
}

// text is a line of a record.
func text(objects map[addr.Object]look) []byte {
	type named struct{ name, what string }
	groups := map[time.Time][]named{}
	for at, seen := range objects {
		when := seen.at.UTC().Round(0)
		groups[when] = append(groups[when], named{at.Instance.String(), seen.what})
	}
	out := fmt.Appendf(make([]byte, 0, 80*len(objects)+100), `{"version":%d,"looks":[`, fileVersion)
	for i, at := range slices.SortedFunc(maps.Keys(groups), time.Time.Compare) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, `{"at":`...), quoted(at)...), `,"objects":{`...)
		list := groups[at]
		slices.SortFunc(list, func(a, b named) int { return strings.Compare(a.name, b.name) })
		for n, o := range list {
			if n > 0 {
				out = append(out, ',')
			}
			out = append(out, quoted(o.name)...)
			out = append(out, ':')
			out = append(out, quoted(o.what)...)
		}
		out = append(out, "}}"...)
	}
	return append(out, "]}\n"...)
}

// quoted is a text or a time in JSON.
func quoted(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return []byte(`""`) // a year of five digits: nobody reads it
	}
	return text
}
