package journal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// A Crypt seals or opens a key as the states are sealed that it belongs to.
type Crypt func(key []byte) ([]byte, error)

// A seal has the key of one journal. It makes that an object costs no more than
// its own bytes, whatever sealing a state costs. A nil seal changes nothing.
type seal struct {
	aead cipher.AEAD
}

// newSeal makes a key, and its sealed form.
func newSeal(by Crypt) (_ *seal, sealed json.RawMessage, err error) {
	if by == nil {
		return nil, nil, nil
	}
	key := make([]byte, 32)
	rand.Read(key) // never fails
	if sealed, err = by(key); err != nil {
		return nil, nil, err
	}
	s, err := sealWith(key)
	if err != nil {
		return nil, nil, err
	}
	return s, sealed, nil
}

// openSeal reads the key back.
func openSeal(sealed json.RawMessage, by Crypt) (*seal, error) {
	if by == nil {
		return nil, errors.New("it is encrypted and can not be read without an encryption configuration")
	}
	key, err := by(sealed)
	if err != nil {
		return nil, fmt.Errorf("it is encrypted: %w", err)
	}
	return sealWith(key)
}

func sealWith(key []byte) (*seal, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &seal{aead}, err
}

// seal hides a record, which only opens in the same line.
func (s *seal) seal(text []byte, line uint64) []byte {
	return s.aead.Seal(nil, nil, text, place(line)) // #nosec G407 -- it makes its own nonce
}

// open reads a record back. ok is false for one that isn't sealed, too: it
// can't be of who began the journal.
func (s *seal) open(r record, line uint64) (inner record, ok bool) {
	text, err := s.aead.Open(nil, nil, r.Sealed, place(line))
	if err != nil {
		return inner, false
	}
	return inner, json.Unmarshal(text, &inner) == nil
}

func place(line uint64) []byte { return binary.BigEndian.AppendUint64(nil, line) }
