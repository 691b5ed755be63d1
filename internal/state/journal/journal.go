// Package journal records an apply while it runs, so that no result is lost with the process.
// It writes the intent before an object is created, changed or deleted, and the result
// afterwards, both on disk before anything outside depends on them.
//
// It owns the file's format, its durability, and how results are folded into a state. It
// doesn't know where the file is, who may write it (the lock of the state says that), and how
// operations in doubt are resolved.
//
// # When it is on disk
//
// An intent is synced before the provider is asked. A result is only written: it survives the
// end of the process, however that comes, in the kernel's memory. A caller that depends on a
// result does something to the world only after an intent of its own, which is a later record
// of the same file, so the sync of that intent makes the result last too. A chain of objects
// costs one sync for each instead of two. Where no intent follows, a result is synced a few
// milliseconds later, with the next snapshot of the state, or at the end.
//
// So when the machine fails, and not just the process, the results of the last
// milliseconds may be missing. Their intents aren't: these objects are in
// doubt then, never lost.
//
// # The file
//
// A journal is lines of text. Each is a checksum, the length of the record, and
// the record as JSON:
//
//	7b1c5d0e 000000a3 {"op":"intent",...}
//
// The checksum is the CRC-32C of what follows the first space, started with the checksum of
// the line before, so that a line that is missing, doubled or in another place shows as well
// as one that was changed. The first record is begin, or the key that the records after it are
// sealed with where states are encrypted; the key itself is sealed as a state is, and a sealed
// record is bound to its place.
//
// A crash can leave a last line without its end, which is ignored: nothing
// depended on it. Everything else that doesn't fit means that the disk or somebody
// damaged the file, and what is missing nobody knows; Log.Damaged counts it. The
// size of each record depends on its object alone.
package journal

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strconv"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/statefile"
)

// A Begin says which state a journal is about.
type Begin struct {
	// Lineage and Serial are those of the state that the run started from. A run that starts
	// without a state reports the lineage it is going to use, and serial 0.
	Lineage string `json:"lineage"`
	Serial  uint64 `json:"serial"`
	// Base is the Digest of the stored state, empty where there was none.
	Base string `json:"base,omitempty"`
	// Run distinguishes a run from all others: its note beside the state has the same.
	Run string `json:"run,omitempty"`
	// Who, Plan, Backend and Workspace are for people.
	Who       string `json:"who,omitempty"`
	Plan      string `json:"plan,omitempty"`
	Backend   string `json:"backend,omitempty"`
	Workspace string `json:"workspace,omitempty"`
}

// An Operation is what a run set out to do to one object.
type Operation struct {
	Object   addr.Object
	Action   string // create, update or delete
	Provider addr.ProviderConfig
	// Key and ID are an attribute that names the object and its value, as far
	// as it was known before.
	Key, ID string
	// Needs are the resources that have to outlive an object that is created. It may
	// exist, and depend on them.
	Needs []addr.Resource
	// Former reports the object that is in the place of one that is created, by Tell; empty
	// for none. As long as the state has that one, it doesn't have the new one.
	Former string
}

// Tell distinguishes objects that follow one another in a place, without saying anything about
// them. Nil is empty.
func Tell(o *state.Object) string {
	if o == nil {
		return ""
	}
	return tellName(nameOf(o))
}

func tellName(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

// Settled reports whether the state has what a creation may have made, or something
// else that somebody has put in its place.
func (o Operation) Settled(there *state.Object) bool {
	return o.Action == Create && there != nil && Tell(there) != o.Former
}

// Actions of operations.
const (
	Create = "create"
	Update = "update"
	Delete = "delete"
)

// A record is one line. Which fields are set depends on Op.
type record struct {
	Op string `json:"op"`
	*Begin
	// Of intent, result and gone: the object.
	Object  string `json:"object,omitempty"`
	Deposed string `json:"deposed,omitempty"`
	// Of intent.
	Action   string `json:"action,omitempty"`
	Provider string `json:"provider,omitempty"`
	Key      string `json:"key,omitempty"`
	ID       string `json:"id,omitempty"`
	// Needs are addresses of resources.
	Needs  []string `json:"needs,omitempty"`
	Former string   `json:"former,omitempty"`
	// State is a state file with one object or output in it, so that there is
	// one format for both.
	State json.RawMessage `json:"state,omitempty"`
	// Of result: the deposed key, or "" for the current object, of where the object was
	// before. Both are one record, so that it is never in both places, or in none.
	Left *string `json:"left,omitempty"`
	// Of output-gone, invoke and invoked.
	Name string `json:"name,omitempty"`
	// Of snapshot: the digest of a state that is about to be written.
	Digest string `json:"digest,omitempty"`
	// Of sealed: the sealed key, or a record sealed with it.
	SealedKey json.RawMessage `json:"key_sealed,omitempty"`
	Sealed    []byte          `json:"sealed,omitempty"`
}

// Values of record.Op.
const (
	opBegin      = "begin"
	opIntent     = "intent"
	opResult     = "result" // State has the object
	opGone       = "gone"   // there is no object any more
	opUnsure     = "unsure" // the provider gave no answer; the intent stays open
	opOutput     = "output" // State has the output
	opOutputGone = "output-gone"
	opInvoke     = "invoke"  // an action
	opInvoked    = "invoked" // well or not
	opSnapshot   = "snapshot"
	opSealed     = "sealed"
	opEnd        = "end"
)

// prefix is the length of what stands before a record.
const prefix = 8 + 1 + 8 + 1

// A chain makes or reads the lines of a journal, one after the other.
type chain struct {
	sum  uint32 // of the line before
	line uint64 // lines so far
	key  *seal  // nil where nothing is sealed
}

// checksum is that of the line whose text stands behind the first space. The
// table is made at the first use.
func (c *chain) checksum(rest []byte) uint32 {
	return crc32.Update(c.sum, crc32.MakeTable(crc32.Castagnoli), rest)
}

// append adds the line of an encoded record.
func (c *chain) append(b, text []byte) ([]byte, error) {
	if c.key != nil {
		var err error
		if text, err = json.Marshal(record{Op: opSealed, Sealed: c.key.seal(text, c.line)}); err != nil {
			return b, err
		}
	}
	rest := fmt.Appendf(nil, "%08x %s", len(text), text)
	c.sum = c.checksum(rest)
	c.line++
	b = fmt.Appendf(b, "%08x ", c.sum)
	b = append(b, rest...)
	return append(b, '\n'), nil
}

// add adds the line of a record.
func (c *chain) add(b []byte, r record) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return b, err
	}
	return c.append(b, text)
}

// read reads a line without its end. ok is false for a bad one; those after it
// are held to the checksum that it has, whether or not that is right.
func (c *chain) read(line []byte) (r record, ok bool) {
	at := c.line
	c.line++
	if len(line) < prefix || line[8] != ' ' || line[17] != ' ' {
		return r, false
	}
	var written [4]byte
	if _, err := hex.Decode(written[:], line[:8]); err != nil || bytes.ContainsAny(line[:8], "ABCDEF") {
		return r, false
	}
	sum := c.checksum(line[9:])
	c.sum = binary.BigEndian.Uint32(written[:])
	if sum != c.sum {
		return r, false
	}
	length, err := strconv.ParseUint(string(line[9:17]), 16, 32)
	if err != nil || int(length) != len(line)-prefix || json.Unmarshal(line[prefix:], &r) != nil {
		return r, false
	}
	if c.key != nil {
		return c.key.open(r, at)
	}
	return r, true
}

func intentRecord(o Operation) record {
	r := record{
		Op: opIntent, Object: o.Object.Instance.String(), Deposed: o.Object.Deposed,
		Action: o.Action, Key: o.Key, ID: o.ID, Former: o.Former,
	}
	if o.Provider != (addr.ProviderConfig{}) {
		r.Provider = o.Provider.String()
	}
	for _, need := range o.Needs {
		r.Needs = append(r.Needs, need.String())
	}
	return r
}

// operation reads an intent back.
func (r record) operation() (Operation, error) {
	at, err := r.object()
	if err != nil {
		return Operation{}, err
	}
	o := Operation{Object: at, Action: r.Action, Key: r.Key, ID: r.ID, Former: r.Former}
	if r.Provider != "" {
		if o.Provider, err = addr.ParseProviderConfig(r.Provider); err != nil {
			return Operation{}, err
		}
	}
	for _, need := range r.Needs {
		t, err := addr.ParseTarget(need)
		if err != nil || t.IsModule() {
			return Operation{}, fmt.Errorf("%q isn't the address of a resource", need)
		}
		o.Needs = append(o.Needs, addr.Resource{Module: t.Module, Name: t.Name}.Erase())
	}
	return o, nil
}

func (r record) object() (addr.Object, error) {
	i, err := addr.ParseInstance(r.Object)
	return addr.Object{Instance: i, Deposed: r.Deposed}, err
}

func resultRecord(at addr.Object, stored *state.Object) (record, error) {
	r := record{Op: opGone, Object: at.Instance.String(), Deposed: at.Deposed}
	if stored == nil {
		return r, nil
	}
	one := state.Empty()
	one.Objects[at] = stored
	line, err := statefile.Line(one)
	r.Op, r.State = opResult, line
	return r, err
}

func outputRecord(name string, o *state.Output) (record, error) {
	if o == nil {
		return record{Op: opOutputGone, Name: name}, nil
	}
	one := state.Empty()
	one.Outputs[name] = *o
	line, err := statefile.Line(one)
	return record{Op: opOutput, State: line}, err
}

// A Log is a journal that was read.
type Log struct {
	Begin Begin
	// Torn: the last line is incomplete, as a crash leaves it.
	Torn bool
	// Damaged is the number of lines that were changed or don't follow the one
	// before. Their contents, and missing lines, aren't in the log.
	Damaged int
	// Ended: the run came to its end.
	Ended bool
	// Sealed: nobody can read it without the key.
	Sealed bool

	records []record
}

// Read reads a journal. It fails when r does, for what isn't a journal at all,
// and for one whose key isn't opened; open is nil where nothing is sealed.
func Read(r io.Reader, open Crypt) (*Log, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	l := &Log{}
	c := &chain{}
	for len(data) > 0 {
		if data, err = l.next(c, data, open); err != nil {
			return nil, err
		}
	}
	if len(l.records) == 0 {
		return nil, fmt.Errorf("no line of it can be read")
	}
	first := l.records[0]
	if first.Op != opBegin || first.Begin == nil {
		return nil, fmt.Errorf("it doesn't say which state it is about")
	}
	l.Begin = *first.Begin
	l.Ended = l.records[len(l.records)-1].Op == opEnd
	return l, nil
}

// next reads a line, and returns those after it.
func (l *Log) next(c *chain, data []byte, open Crypt) (rest []byte, err error) {
	line, rest, complete := bytes.Cut(data, []byte("\n"))
	rec, ok := c.read(line)
	l.Torn = !complete
	switch {
	case l.Torn && !ok && !longer(line):
		// Nothing depended on it.
	case !ok:
		l.Damaged++
	case rec.SealedKey != nil && c.key == nil && len(l.records) == 0:
		if c.key, err = openSeal(rec.SealedKey, open); err != nil {
			return nil, err
		}
		l.Sealed = true
	default:
		l.records = append(l.records, rec)
	}
	return rest, nil
}

// longer reports whether a line has more than it says, so that something else
// than its end is missing or wrong.
func longer(line []byte) bool {
	if len(line) < prefix {
		return false
	}
	length, err := strconv.ParseUint(string(line[9:17]), 16, 32)
	return err == nil && len(line)-prefix > int(length)
}

// A Recovery is a state with what a journal knows.
type Recovery struct {
	// State is the state with all results; nil where there is nothing.
	State *state.Snapshot
	// Folded are the objects that are other than in the stored state, in order.
	Folded []addr.Object
	// InDoubt are operations that were started and whose outcome isn't known, in order of
	// their objects.
	InDoubt []Operation
	// Invoking are actions that were started and whose outcome isn't known, in words.
	Invoking []string
	// Foreign: the stored state has another lineage, so nothing was folded.
	Foreign bool
	// Conflicts are objects of the journal whose place in the state was taken
	// by another object meanwhile. The state's were kept.
	Conflicts []addr.Object
}

// Recover reads a journal and folds it into the state that it was started with, nil for none.
func Recover(prior *state.Snapshot, r io.Reader) (folded *state.Snapshot, inDoubt []Operation, err error) {
	l, err := Read(r, nil)
	if err != nil {
		return prior, nil, err
	}
	rec, err := l.Fold(prior, l.Begin.Base)
	return rec.State, rec.InDoubt, err
}

// Fold adds what the journal knows to the stored state, nil for none, whose
// bytes have the digest. On an error nothing is folded.
func (l *Log) Fold(prior *state.Snapshot, digest string) (Recovery, error) {
	known, open, err := l.outcome()
	if err != nil {
		return Recovery{State: prior}, err
	}
	rec := Recovery{State: prior, InDoubt: open, Invoking: slices.Sorted(maps.Keys(known.invoking))}
	if prior != nil && prior.Lineage != "" && l.Begin.Lineage != "" && prior.Lineage != l.Begin.Lineage {
		rec.Foreign = true
		rec.InDoubt = unsettled(open, prior)
		return rec, nil
	}
	next := state.Empty()
	if prior != nil {
		next = prior.Clone()
	}
	next.Lineage = cmp.Or(next.Lineage, l.Begin.Lineage)
	ours := digest == l.Begin.Base || known.snapshots[digest]
	for at, stored := range known.objects {
		rec.fold(next, at, stored, ours, known.former[at.Instance])
	}
	for from, to := range known.moved {
		rec.leave(next, from, to)
	}
	changed := len(rec.Folded) > 0
	if ours {
		for name, o := range known.outputs {
			if o == nil {
				delete(next.Outputs, name)
			} else {
				next.Outputs[name] = *o
			}
			changed = true
		}
	}
	if changed {
		rec.State = next
	}
	rec.InDoubt = unsettled(open, next)
	slices.SortFunc(rec.Folded, addr.Object.Compare)
	slices.SortFunc(rec.Conflicts, addr.Object.Compare)
	return rec, nil
}

// unsettled are the operations that a state doesn't resolve: who imported the object meanwhile
// has.
func unsettled(open []Operation, now *state.Snapshot) []Operation {
	return slices.DeleteFunc(open, func(o Operation) bool { return o.Settled(now.Objects[o.Object]) })
}

// fold puts one object in its place. In a state that somebody else wrote
// meanwhile, what they wrote stays: refreshing finds out about deletions, and
// an object that isn't there any more as well. They only kept objects that the run itself has
// replaced there.
func (rec *Recovery) fold(next *state.Snapshot, at addr.Object, stored *state.Object, ours bool, former map[string]bool) {
	there := next.Objects[at]
	switch {
	case stored == nil:
		if ours && there != nil {
			delete(next.Objects, at)
			rec.Folded = append(rec.Folded, at)
		}
	case there != nil && statefile.SameObject(there, stored):
	case there == nil || ours || nameOf(there) == nameOf(stored) || former[Tell(there)]:
		next.Objects[at] = stored
		rec.Folded = append(rec.Folded, at)
	default:
		rec.Conflicts = append(rec.Conflicts, at)
	}
}

// Yield takes back objects from places where a later run was creating others. That run began with a
// state which had none of these, so they had ended before. Prior is the stored state, nil for none.
func (rec *Recovery) Yield(prior *state.Snapshot, later []Operation) {
	for _, o := range later {
		i := slices.Index(rec.Folded, o.Object)
		if i < 0 {
			continue
		}
		rec.Folded = slices.Delete(rec.Folded, i, i+1)
		delete(rec.State.Objects, o.Object)
		if prior != nil && prior.Objects[o.Object] != nil {
			rec.State.Objects[o.Object] = prior.Objects[o.Object]
		}
	}
}

// leave takes an object out of the place that the run has moved it from, if the state of another
// program still has it there: it is in one place only.
func (rec *Recovery) leave(next *state.Snapshot, from, to addr.Object) {
	before, now := next.Objects[from], next.Objects[to]
	if before != nil && now != nil && nameOf(before) == nameOf(now) {
		delete(next.Objects, from)
		rec.Folded = append(rec.Folded, from)
	}
}

// nameOf is what distinguishes two objects: the id, or else all there is.
func nameOf(o *state.Object) string {
	var attributes struct {
		ID *string `json:"id"`
	}
	if json.Unmarshal(o.JSON, &attributes) == nil && attributes.ID != nil {
		return *attributes.ID
	}
	return string(o.JSON)
}

// facts are the last words of a journal about everything it names.
type facts struct {
	objects   map[addr.Object]*state.Object // nil: none exists
	outputs   map[string]*state.Output
	snapshots map[string]bool
	// former are the objects, by Tell, that were in a place before the run deleted them, deposed
	// them, or found them gone and created others.
	former map[addr.Instance]map[string]bool
	// moved are the places that objects were moved from, with those they were moved to.
	moved map[addr.Object]addr.Object
	// unsure are creations without an answer. Only the object that they may have made ends
	// the doubt: not one that was in its place before, whatever becomes of that.
	unsure map[addr.Object]Operation
	// invoking are the actions under way.
	invoking map[string]bool
}

// left notes that an object, by Tell, isn't in its place any more.
func (f facts) left(i addr.Instance, former string) {
	if former == "" {
		return
	}
	if f.former[i] == nil {
		f.former[i] = map[string]bool{}
	}
	f.former[i][former] = true
}

// outcome goes through the records.
func (l *Log) outcome() (facts, []Operation, error) {
	known := facts{map[addr.Object]*state.Object{}, map[string]*state.Output{}, map[string]bool{}, map[addr.Instance]map[string]bool{}, map[addr.Object]addr.Object{}, map[addr.Object]Operation{}, map[string]bool{}}
	open := map[addr.Object]Operation{}
	for n, r := range l.records {
		if err := known.take(r, open); err != nil {
			return facts{}, nil, fmt.Errorf("record %d (%s): %w", n+1, r.Op, err)
		}
	}
	list := slices.AppendSeq(slices.Collect(maps.Values(open)), maps.Values(known.unsure))
	slices.SortStableFunc(list, func(a, b Operation) int { return a.Object.Compare(b.Object) })
	return known, list, nil
}

func (f facts) take(r record, open map[addr.Object]Operation) error {
	switch r.Op {
	case opInvoke:
		f.invoking[r.Name] = true
	case opInvoked:
		delete(f.invoking, r.Name)
	case opIntent:
		o, err := r.operation()
		if err != nil {
			return err
		}
		open[o.Object] = o
		if o.Action == Create {
			f.left(o.Object.Instance, o.Former)
		}
	case opUnsure:
		at, err := r.object()
		if err != nil {
			return err
		}
		if o, ok := open[at]; ok && o.Action == Create {
			f.unsure[at] = o
			delete(open, at)
		}
	case opGone:
		at, err := r.object()
		if err != nil {
			return err
		}
		if o, ok := open[at]; ok && o.Action == Delete && o.Key == "id" && o.ID != "" {
			f.left(at.Instance, tellName(o.ID))
		}
		f.objects[at] = nil
		delete(open, at)
	case opResult, opOutput:
		one, diags := statefile.Read(r.State, "the journal")
		if err := diags.Err(); err != nil {
			return err
		}
		if one == nil {
			return fmt.Errorf("it has no content")
		}
		for at, stored := range one.Objects {
			if at.Deposed != "" {
				f.left(at.Instance, Tell(stored))
			}
			f.objects[at] = stored
			delete(open, at)
			delete(f.moved, at)
			if f.unsure[at].Settled(stored) {
				delete(f.unsure, at)
			}
			if r.Left != nil {
				before := addr.Object{Instance: at.Instance, Deposed: *r.Left}
				f.objects[before] = nil
				f.moved[before] = at
				delete(open, before)
			}
		}
		for name, o := range one.Outputs {
			f.outputs[name] = &o
		}
	case opOutputGone:
		f.outputs[r.Name] = nil
	case opSnapshot:
		f.snapshots[r.Digest] = true
	}
	return nil
}

// Instances are those whose objects operations are about.
func Instances(list []Operation) []addr.Instance {
	var all []addr.Instance
	for _, o := range list {
		all = append(all, o.Object.Instance)
	}
	return all
}
