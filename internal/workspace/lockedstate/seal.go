package lockedstate

import (
	"bytes"
	"encoding/json"

	"weir.dev/weir/internal/state/encryption"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/sys/readlimit"
)

// reseal makes of a stored state one that is encrypted as it should be now. Anything that
// can't be opened, or is torn, is left as it is.
func reseal(seals encryption.State, stored []byte) ([]byte, error) {
	state, _, err := seals.Open(stored)
	switch {
	case err != nil && encryption.Recognize(stored) != encryption.Other:
		return stored, nil
	case err != nil:
		state = stored
	}
	if !json.Valid(state) || bytes.TrimSpace(state)[0] != '{' {
		return stored, nil
	}
	return seals.Seal(state)
}

// resealFile does so with a file.
func (s *Session) resealFile(path string) error {
	stored, err := readlimit.File(path)
	if err != nil {
		return err
	}
	now, err := reseal(s.Seals, stored)
	if err != nil {
		return err
	}
	return s.Disk.Replace(path, now, 0o600)
}

// sealsKeys is how journals are sealed, nil where states are in clear.
func (s *Session) sealsKeys() journal.Crypt {
	if !s.Seals.Encrypts() {
		return nil
	}
	return s.Seals.SealKey
}
