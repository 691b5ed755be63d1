package lockedstate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/edit"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/sys/readlimit"
)

// historian keeps the earlier states where that is the backend's own work.
func (s *Session) historian() (storage.Historian, bool) {
	h, ok := s.store.Store.(storage.Historian)
	return h, ok
}

// historyDir is where earlier states are kept, empty where none are.
func (s *Session) historyDir() string {
	if _, ok := s.historian(); ok {
		return ""
	}
	_, files := s.backend.Backend.(storage.Filed)
	_, parts := s.backend.Backend.(storage.Parted)
	if s.Files.Backup == "-" || !files && !parts && !(s.remote() && s.Seals.Encrypts()) {
		return ""
	}
	return s.stateDir()
}

// stateDir is the directory for the history of this state.
func (s *Session) stateDir() string {
	return filepath.Join(s.DataDir, "history", s.fileName())
}

// fileName names the state in the data directory, the same from whatever directory a command is run.
func (s *Session) fileName() string {
	path := s.mainJournal()
	dir, err := filepath.Abs(s.Dir)
	whole, pathErr := filepath.Abs(path)
	if err == nil && pathErr == nil {
		if rel, err := filepath.Rel(dir, whole); err == nil {
			path = rel
		}
	}
	sum := sha256.Sum256([]byte(path))
	return s.workspace + "-" + hex.EncodeToString(sum[:])[:12]
}

// runsDir is where runs that wrote a state are recorded, empty where none are. A record has
// no values, so it is also kept for states whose earlier contents aren't.
func (s *Session) runsDir() string {
	if _, ok := s.historian(); ok {
		return ""
	}
	if dir := s.historyDir(); dir != "" || !s.remote() || s.Files.Backup == "-" {
		return dir
	}
	return s.stateDir()
}

// NoHistory says why no earlier states are kept, and is empty where they are.
// Backends elsewhere are there to keep secrets from this machine, whose data
// directory is also what people put into caches.
func (s *Session) NoHistory() string {
	if _, ok := s.historian(); ok || s.historyDir() != "" || !s.remote() {
		return ""
	}
	return fmt.Sprintf("Earlier states of the %q backend aren't kept: they would be in clear on this machine, secrets and all. They are kept, encrypted, once the configuration has an encryption block for the state; the backend may keep versions of its own.", s.backend.Kind)
}

// remember keeps the state that is about to be replaced. That this fails is no
// reason not to go on: there is the backup, too.
func (s *Session) remember() {
	dir := s.historyDir()
	if dir == "" || s.base == nil || s.unwritten() || len(s.saved.data) == 0 || s.Disk.MakeFolders(dir, 0o700) != nil {
		return
	}
	name := filepath.Join(dir, fmt.Sprintf("%010d.tfstate", s.base.Serial))
	kept, err := s.Seals.Seal(s.saved.data)
	if err != nil || s.Disk.Replace(name, kept, 0o600) != nil {
		return
	}
	for i, k := range s.History() {
		switch {
		case i >= storage.EarlierStates:
			_ = s.Disk.Remove(k.name)
		case s.store.Migrating():
			_ = s.resealFile(k.name)
		}
	}
}

// An Earlier is a state that was kept.
type Earlier struct {
	Serial uint64
	Until  time.Time // when it was replaced
	name   string    // of its file, or what messages call it
	read   func() ([]byte, error)
}

// History lists the earlier states, the latest first.
func (s *Session) History() []Earlier {
	if h, ok := s.historian(); ok {
		return s.stored(h)
	}
	entries, err := os.ReadDir(s.historyDir())
	if err != nil {
		return nil // nothing was kept yet
	}
	var list []Earlier
	for _, entry := range entries {
		number, ok := strings.CutSuffix(entry.Name(), ".tfstate")
		serial, err := strconv.ParseUint(number, 10, 64)
		info, infoErr := entry.Info()
		if ok && err == nil && infoErr == nil {
			name := filepath.Join(s.historyDir(), entry.Name())
			list = append(list, Earlier{serial, info.ModTime(), name, s.readSealed(name)})
		}
	}
	slices.SortFunc(list, func(a, b Earlier) int { return strings.Compare(b.name, a.name) })
	return list
}

// stored lists the earlier states that the backend keeps. One that can't say has none.
func (s *Session) stored(h storage.Historian) (list []Earlier) {
	all, err := h.Earlier(s.Saving())
	if err != nil {
		return nil
	}
	for _, e := range all {
		list = append(list, Earlier{e.Serial, e.Until, fmt.Sprintf("serial %d in the %q backend", e.Serial, s.backend.Kind), func() ([]byte, error) {
			return h.ReadEarlier(s.Saving(), e.Serial)
		}})
	}
	return list
}

// Read reads the state.
func (k Earlier) Read() (*state.Snapshot, diag.List) {
	data, err := k.read()
	if err != nil {
		return nil, diag.StateUnreadable.As("Failed to read an earlier state").List("%s: %s.", k.name, err)
	}
	return statefile.Read(data, k.name)
}

// A Run records who wrote a state, by which command, and how many managed objects differ
// from the state before.
type Run struct {
	Serial  uint64    `json:"serial"`
	Lineage string    `json:"lineage"`
	Who     string    `json:"who"`
	Command string    `json:"command"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"`
	Objects int       `json:"objects"`
	Added   int       `json:"added"`
	Changed int       `json:"changed"`
	Removed int       `json:"removed"`
}

const runSuffix = ".run.json"

// record notes the run that has just written a state. A record that can't be written is left
// out: the state is what counts. It isn't synced, since a crash may cost it.
func (s *Session) record(next *state.Snapshot) {
	dir := s.runsDir()
	store, stored := s.historian()
	if s.Command == "" || s.elsewhere || !stored && (dir == "" || s.Disk.MakeFolders(dir, 0o700) != nil) {
		return
	}
	r := Run{Serial: next.Serial, Lineage: next.Lineage, Who: s.Who(), Command: s.Command, Began: s.began, Ended: s.Now(), Objects: len(next.Objects)}
	if r.Began.IsZero() {
		r.Began = r.Ended
	}
	before := s.base
	if before == nil {
		before = state.Empty()
	}
	for _, d := range edit.Differences(before, next) {
		if d.Object.Name.Mode != addr.Managed {
			continue
		}
		switch d.Sign {
		case '+':
			r.Added++
		case '~':
			r.Changed++
		case '-':
			r.Removed++
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return
	}
	if stored {
		_ = store.Record(s.Saving(), r.Serial, text)
		return
	}
	file, err := s.Disk.OpenFile(filepath.Join(dir, fmt.Sprintf("%010d%s", r.Serial, runSuffix)), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = file.Write(append(text, '\n'))
	file.Close()
	for i, name := range recorded(dir) {
		if i > storage.EarlierStates {
			_ = s.Disk.Remove(filepath.Join(dir, name))
		}
	}
}

// recorded lists the files of records, the latest first.
func recorded(dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // nothing was recorded yet
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), runSuffix) {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	slices.Reverse(names)
	return names
}

// Runs are the recorded runs, the latest first, without unreadable records and those of
// another state that was in the same place.
func (s *Session) Runs() (list []Run) {
	take := func(text []byte, name string) {
		var r Run
		if json.Unmarshal(text, &r) == nil && (name == "" || fmt.Sprintf("%010d%s", r.Serial, runSuffix) == name) && (s.base == nil || s.base.Lineage == r.Lineage && r.Serial <= s.base.Serial) {
			list = append(list, r)
		}
	}
	if h, ok := s.historian(); ok {
		records, _ := h.Records(s.Saving()) // without records nothing is known
		for _, text := range records {
			take(text, "")
		}
		return list
	}
	dir := s.runsDir()
	if dir == "" {
		return nil
	}
	for _, name := range recorded(dir) {
		if text, err := readlimit.File(filepath.Join(dir, name)); err == nil {
			take(text, name)
		}
	}
	return list
}
