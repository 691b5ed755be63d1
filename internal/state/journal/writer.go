package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/sys/failpoint"
)

// Digest is how a journal names the bytes of a state; nothing is empty.
func Digest(stored []byte) string {
	if len(stored) == 0 {
		return ""
	}
	sum := sha256.Sum256(stored)
	return hex.EncodeToString(sum[:])
}

const (
	// syncDelay is how long a record that nobody waits for may stay unsynced.
	syncDelay = 5 * time.Millisecond
	// gatherDelay is how long the result of an object that exists in the state and nowhere else
	// may wait for others, and mostGathered how many bytes of them.
	gatherDelay  = 100 * time.Millisecond
	mostGathered = 64 << 10
)

// A Writer appends to a journal. Its methods may be called at the same time.
// When one but ResultSoon returns, its record is written with all before it; Intent, Snapshot and End also wait
// until it is on disk with all that was written before, and those that come
// together are synced together. After an error all further calls fail with it. A nil
// Writer writes nothing, for runs that may not write to the disk.
type Writer struct {
	disk   *durable.Disk
	path   string
	file   *durable.File
	mu     sync.Mutex
	chain  chain
	synced *sync.Cond
	added  int         // records written
	done   int         // records on disk
	busy   bool        // somebody syncs
	late   *time.Timer // syncs what nobody waits for; nil when all is on disk
	closed bool
	err    error
	size   int64

	gathered []byte      // lines that aren't written yet
	gathers  *time.Timer // writes them; nil while nothing is gathered
}

// ErrBusy is returned instead of replacing a journal that another run writes.
var ErrBusy = errors.New("another run is writing it")

// Start puts a new journal at path, in place of an old one that has been
// recovered, at once with what it begins with: operations that stay in doubt
// from before, and objects that aren't as the stored state has them, nil for
// those that don't exist. From the moment that Start returns until Close, Busy
// says that the journal is in use. Unless seal is nil, it seals a key that all
// records are sealed with.
func Start(disk *durable.Disk, path string, b Begin, carried []Operation, known map[addr.Object]*state.Object, seal Crypt) (*Writer, error) {
	var c chain
	lines, err := c.begin(b, carried, known, seal)
	for _, o := range carried {
		if err == nil {
			lines, err = c.add(lines, unsureRecord(o.Object))
		}
	}
	if err != nil {
		return nil, err
	}
	folder := filepath.Dir(path)
	if err := disk.MakeFolders(folder, 0o755); err != nil {
		return nil, err
	}
	file, err := beside(disk, path)
	if err != nil {
		return nil, err
	}
	w := &Writer{disk: disk, path: path, file: file, chain: c, size: int64(len(lines))}
	w.synced = sync.NewCond(&w.mu)
	if _, err = file.Write(lines); err == nil {
		err = file.Sync()
	}
	failpoint.At("journal: new")
	if err == nil {
		err = disk.Move(file.Name(), path)
	}
	failpoint.At("journal: started")
	if err != nil {
		file.Close()
		_ = disk.Remove(file.Name())
		return nil, err
	}
	if err := disk.SyncFolder(folder); err != nil {
		file.Close()
		if len(carried)+len(known) == 0 { // else it has all that the old one had
			_ = disk.Remove(path)
		}
		return nil, err
	}
	return w, nil
}

// Note is a journal of operations that may have started, for another place than that of the
// journal.
func Note(b Begin, list []Operation, seal Crypt) ([]byte, error) {
	var c chain
	return c.begin(b, list, nil, seal)
}

// begin makes the first lines.
func (c *chain) begin(b Begin, carried []Operation, known map[addr.Object]*state.Object, seal Crypt) ([]byte, error) {
	var lines []byte
	key, sealed, err := newSeal(seal)
	if err == nil && key != nil {
		lines, err = c.add(lines, record{Op: opSealed, SealedKey: sealed})
		c.key = key
	}
	if err == nil {
		lines, err = c.add(lines, record{Op: opBegin, Begin: &b})
	}
	if err != nil {
		return nil, err
	}
	for _, at := range slices.SortedFunc(maps.Keys(known), addr.Object.Compare) {
		r, err := resultRecord(at, known[at])
		if err == nil {
			lines, err = c.add(lines, r)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, o := range carried {
		if lines, err = c.add(lines, intentRecord(o)); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// beside makes the file that is to replace a journal, empty and held. It has one name for all,
// so that a crash leaves one file at most, and is always made again: what somebody else has
// put there, such as a link, isn't written to.
func beside(disk *durable.Disk, path string) (*durable.File, error) {
	file, err := makeNew(disk, path+".new")
	if err != nil {
		return nil, err
	}
	if err = hold(file.File); err != nil {
		file.Close()
		return nil, err
	}
	if !isAt(file.File) { // taken for what a crash has left before it was held
		file.Close()
		return nil, ErrBusy
	}
	if err = free(path); err != nil {
		file.Close()
		_ = disk.Remove(file.Name())
		return nil, err
	}
	return file, nil
}

func isAt(file *os.File) bool {
	opened, err := file.Stat()
	there, errThere := os.Lstat(file.Name())
	return err == nil && errThere == nil && os.SameFile(opened, there)
}

// makeNew makes a file in place of one that a crash has left. Only who holds that
// one removes it, and looks first whether it is still there, so that nobody removes
// the file of another run.
func makeNew(disk *durable.Disk, name string) (*durable.File, error) {
	for range 10 {
		file, err := disk.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, os.ErrExist) {
			return file, err
		}
		info, err := os.Lstat(name)
		if err != nil {
			continue // gone meanwhile
		}
		if !info.Mode().IsRegular() {
			if err := disk.Remove(name); err != nil {
				return nil, err
			}
			continue
		}
		if err := removeLeft(disk, name, info); err != nil {
			return nil, err
		}
	}
	return nil, ErrBusy
}

// removeLeft removes the file of a run that has ended.
func removeLeft(disk *durable.Disk, name string, there os.FileInfo) error {
	left, err := disk.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer left.Close()
	if opened, err := left.Stat(); err != nil || !os.SameFile(opened, there) {
		return err // another one by now
	}
	if err := hold(left.File); err != nil {
		return err
	}
	if now, err := os.Lstat(name); err != nil || !os.SameFile(now, there) {
		return nil
	}
	return disk.Remove(name)
}

// free fails while another run writes the journal at path.
func free(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return nil // none exists, or none that could be read later either
	}
	defer file.Close()
	if Busy(file) {
		return ErrBusy
	}
	return nil
}

// Discard removes a journal that nobody needs any more, unless it is being written; that none
// exists is fine.
func Discard(disk *durable.Disk, path string) error {
	if err := free(path); err != nil {
		return err
	}
	err := disk.Remove(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	_ = disk.SyncFolder(filepath.Dir(path)) // if it is there again, it is of no use
	return err
}

// Intent says that an operation is about to begin. When it returns, the record
// is on disk, and every result that the operation may build on as well.
func (w *Writer) Intent(o Operation) error { return w.addAndSync(intentRecord(o)) }

// Result has the present form of an object, nil for nothing. It ends the object's
// intent.
func (w *Writer) Result(at addr.Object, stored *state.Object) error {
	r, err := resultRecord(at, stored)
	if err != nil {
		return err
	}
	return w.add(r)
}

// ResultSoon is Result for an object that exists in the state and nowhere else: its record is
// written with what comes next, or soon.
func (w *Writer) ResultSoon(at addr.Object, stored *state.Object) error {
	if w == nil {
		return nil
	}
	r, err := resultRecord(at, stored)
	if err != nil {
		return err
	}
	text, err := w.turn(r)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	before := len(w.gathered)
	if w.gathered, w.err = w.chain.append(w.gathered, text); w.err != nil {
		return w.err
	}
	w.added++
	w.size += int64(len(w.gathered) - before)
	switch {
	case len(w.gathered) > mostGathered:
		w.writeGathered()
		w.syncSoon()
	case w.gathers == nil:
		w.gathers = time.AfterFunc(gatherDelay, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if !w.closed {
				w.writeGathered()
				w.syncSoon()
			}
		})
	}
	return w.err
}

// writeGathered writes what was gathered. w.mu is held.
func (w *Writer) writeGathered() {
	if w.gathers != nil {
		w.gathers.Stop()
		w.gathers = nil
	}
	if len(w.gathered) > 0 && w.err == nil {
		w.put(w.gathered)
	}
	w.gathered = w.gathered[:0]
}

// syncSoon has what was written synced before long. w.mu is held.
func (w *Writer) syncSoon() {
	if w.late == nil && w.err == nil {
		w.late = time.AfterFunc(syncDelay, w.syncLate)
	}
}

// put appends lines to the file. w.mu is held.
func (w *Writer) put(lines []byte) {
	failpoint.At("journal: before")
	failpoint.Half("journal: half", func() {
		n, _ := w.file.Append(lines[:len(lines)/2])
		lines = lines[n:]
	})
	_, w.err = w.file.Append(lines)
	failpoint.At("journal: written")
}

// Moved says that an object isn't where it was before but in another place of the same
// instance, as that object has it now. It ends the intents of both.
func (w *Writer) Moved(from, to addr.Object, stored *state.Object) error {
	r, err := resultRecord(to, stored)
	if err != nil {
		return err
	}
	r.Left = &from.Deposed
	return w.add(r)
}

func unsureRecord(at addr.Object) record {
	return record{Op: opUnsure, Object: at.Instance.String(), Deposed: at.Deposed}
}

// Unsure says that the provider gave no answer: the intent stays in doubt.
func (w *Writer) Unsure(at addr.Object) error {
	return w.add(unsureRecord(at))
}

// Invoke says that an action is about to be invoked, in words that only it has.
func (w *Writer) Invoke(label string) error { return w.addAndSync(record{Op: opInvoke, Name: label}) }

// Invoked says that the action has ended, well or not.
func (w *Writer) Invoked(label string) error { return w.add(record{Op: opInvoked, Name: label}) }

// Output says what an output is now, nil for nothing.
func (w *Writer) Output(name string, o *state.Output) error {
	r, err := outputRecord(name, o)
	if err != nil {
		return err
	}
	return w.add(r)
}

// Snapshot says that a state with this digest is about to be written, and has
// everything that was journalled before.
func (w *Writer) Snapshot(digest string) error {
	return w.addAndSync(record{Op: opSnapshot, Digest: digest})
}

// End says that the run came to its end.
func (w *Writer) End() error { return w.addAndSync(record{Op: opEnd}) }

// Size is the number of bytes so far.
func (w *Writer) Size() int64 {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size
}

// Close releases the file and leaves it.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	w.writeGathered()
	err := w.sync(w.added)
	w.end()
	w.mu.Unlock()
	return errors.Join(err, w.file.Close())
}

// Remove ends the journal. The state has to be saved by then.
func (w *Writer) Remove() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	w.end()
	w.mu.Unlock()
	failpoint.At("journal: done")
	err := w.disk.Remove(w.path)
	failpoint.At("journal: removed")
	_ = w.disk.SyncFolder(filepath.Dir(w.path)) // if it is there again, the state has all of it
	return errors.Join(err, w.file.Close())
}

// end keeps the file from being used any more. w.mu is held.
func (w *Writer) end() {
	w.closed = true
	for w.busy {
		w.synced.Wait()
	}
	w.onTime()
}

// turn encodes a record when it may be written.
func (w *Writer) turn(r record) ([]byte, error) {
	if err := w.file.Turn(r.Op + " " + r.Object + r.Deposed + r.Name); err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

// add writes a record.
func (w *Writer) add(r record) error {
	if w == nil {
		return nil
	}
	text, err := w.turn(r)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.write(text)
	w.syncSoon()
	return w.err
}

// addAndSync writes a record and returns when it is on disk.
func (w *Writer) addAndSync(r record) error {
	if w == nil {
		return nil
	}
	text, err := w.turn(r)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.write(text)
	return w.sync(w.added)
}

// write appends the line of an encoded record. w.mu is held.
func (w *Writer) write(text []byte) {
	w.writeGathered()
	if w.err != nil {
		return
	}
	line, err := w.chain.append(nil, text)
	if w.err = err; err != nil {
		return
	}
	w.size += int64(len(line))
	w.put(line)
	w.added++
}

// sync returns when the first so many records are on disk. A caller that finds nobody syncing
// syncs for all. w.mu is held, but not while the disk works.
func (w *Writer) sync(records int) error {
	for w.done < records && w.err == nil {
		if w.busy {
			w.synced.Wait()
			continue
		}
		w.writeGathered()
		upTo := w.added
		w.busy = true
		failpoint.At("journal: syncing")
		w.mu.Unlock()
		err := w.file.Sync()
		failpoint.At("journal: synced")
		w.mu.Lock()
		w.busy = false
		if w.err == nil {
			w.err = err
		}
		w.done = upTo
		if w.done == w.added {
			w.onTime()
		}
		w.synced.Broadcast()
	}
	return w.err
}

// onTime calls the late sync off. w.mu is held.
func (w *Writer) onTime() {
	if w.late != nil {
		w.late.Stop()
		w.late = nil
	}
}

// syncLate syncs what nobody waited for. Anyone who comes next is notified of an error.
func (w *Writer) syncLate() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late = nil
	if !w.closed {
		_ = w.sync(w.added)
	}
}
