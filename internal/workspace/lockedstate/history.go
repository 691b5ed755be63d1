package lockedstate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/encryption"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/sys/readlimit"
)

// keptStates is how many earlier states of a workspace are kept.
const keptStates = 20

// historyDir is where earlier states are kept, empty where none are.
func (s *Session) historyDir() string {
	_, files := s.backend.Backend.(storage.Filed)
	_, parts := s.backend.Backend.(storage.Parted)
	if s.Files.Backup == "-" || !files && !parts && !(s.remote() && s.Seals.Encrypts()) {
		return ""
	}
	sum := sha256.Sum256([]byte(s.journalPath()))
	return filepath.Join(s.DataDir, "history", s.workspace+"-"+hex.EncodeToString(sum[:])[:12])
}

// NoHistory says why no earlier states are kept, and is empty where they are.
// Backends elsewhere are there to keep secrets from this machine, whose data
// directory is also what people put into caches.
func (s *Session) NoHistory() string {
	if s.historyDir() != "" || !s.remote() {
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
		case i >= keptStates:
			_ = s.Disk.Remove(k.path)
		case s.store.Migrating():
			_ = s.resealFile(k.path)
		}
	}
}

// An Earlier is a state that was kept.
type Earlier struct {
	Serial uint64
	Until  time.Time // when it was replaced
	path   string
	seals  encryption.State
}

// History lists the earlier states, the latest first.
func (s *Session) History() []Earlier {
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
			list = append(list, Earlier{serial, info.ModTime(), filepath.Join(s.historyDir(), entry.Name()), s.Seals})
		}
	}
	slices.SortFunc(list, func(a, b Earlier) int { return strings.Compare(b.path, a.path) })
	return list
}

// Read reads the state.
func (k Earlier) Read() (*state.Snapshot, diag.List) {
	data, err := readlimit.File(k.path)
	if err != nil {
		return nil, diag.StateUnreadable.As("Failed to read an earlier state").List("%s: %s.", k.path, diag.Cause(err))
	}
	data, _, err = k.seals.Open(data)
	if err != nil {
		return nil, diag.StateUnreadable.As("Failed to read an earlier state").List("%s: %s.", k.path, err)
	}
	return statefile.Read(data, k.path)
}
