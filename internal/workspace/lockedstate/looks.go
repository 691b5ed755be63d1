package lockedstate

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"weir.dev/weir/internal/sys/readlimit"
)

// looksFile is where the record of when objects were inspected is. It says nothing that the
// state doesn't, and not that without it, but it is about what exists now: it is kept where it
// can be lost.
func looksFile(s *Session) string {
	return filepath.Join(s.DataDir, "looks", s.fileName()+".json")
}

// sealedLooks is the record in a form that is sealed as states are.
type sealedLooks struct {
	Version int    `json:"version"`
	Serial  uint64 `json:"serial"`
	Lineage string `json:"lineage"`
	Looks   []byte `json:"looks"`
}

// Looks is the record of when objects were inspected, nil without one that can be read.
func Looks(s *Session) []byte {
	data, err := readlimit.File(looksFile(s))
	if err != nil || !s.Seals.Encrypts() {
		return data // what isn't a record is an empty one
	}
	var sealed sealedLooks
	if data, _, err = s.Seals.Open(data); err != nil || json.Unmarshal(data, &sealed) != nil {
		return nil
	}
	return sealed.Looks
}

// Digest names the state that is stored, empty without one, where it is to be encrypted or
// where something else is known beside it.
func Digest(s *Session) string {
	if s.folded || len(s.doubts) > 0 || s.unsaved || s.wrote || s.Seals.Encrypts() {
		return ""
	}
	return s.digest()
}

// KeepLooks keeps the record; added is what of it is new at its end, nil for all. That this
// fails is no reason not to go on: then none exists, rather than an old one, and everything is
// inspected the next time.
func KeepLooks(s *Session, record, added []byte) {
	path := looksFile(s)
	if added != nil && !s.Seals.Encrypts() && appendTo(s, path, added) == nil {
		return
	}
	if s.Seals.Encrypts() {
		data, err := json.Marshal(sealedLooks{Version: 4, Lineage: "looks", Looks: record})
		if err == nil {
			record, err = s.Seals.Seal(data)
		}
		if err != nil {
			_ = s.Disk.Remove(path)
			return
		}
	}
	if s.Disk.MakeFolders(filepath.Dir(path), 0o700) != nil || s.Disk.Replace(path, record, 0o600) != nil {
		_ = s.Disk.Remove(path)
	}
}

// appendTo adds to a file that is there, in one write: others may do so at the same time.
func appendTo(s *Session, path string, text []byte) error {
	f, err := s.Disk.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Append(text)
	return errors.Join(err, f.Close())
}
