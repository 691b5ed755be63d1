package encryption

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// version of the form of what is sealed.
const version = "v0"

// A payload is what is written in the place of what it has encrypted.
type payload struct {
	// Meta has what key providers need to find the key again, by their
	// address or the alias that they have.
	Meta    map[string][]byte `json:"meta"`
	Data    []byte            `json:"encrypted_data"`
	Version string            `json:"encryption_version"`
}

// parsePayload reads a payload; ok is false for anything else.
func parsePayload(data []byte) (p payload, ok bool) {
	err := json.Unmarshal(data, &p)
	return p, err == nil && p.Version != ""
}

// What bytes are that may have been sealed by any target.
type What uint8

const (
	Other What = iota // not sealed
	SealedState
	SealedPlan
)

// Recognize reports what bytes are.
func Recognize(data []byte) What {
	if _, ok := parsePayload(data); !ok {
		return Other
	}
	if p, _, err := placeOf(data); err == nil && (p.Serial != nil || p.Lineage != "") {
		return SealedState
	}
	return SealedPlan
}

// A State seals and opens states. The zero value leaves them as they are.
type State struct{ target *Target }

// A place says which state it is; it stays readable.
type place struct {
	Serial  *uint64 `json:"serial"`
	Lineage string  `json:"lineage"`
}

// placeOf reads the place of a state, in clear or sealed, without going through
// all of a state that has it in the beginning. isState is false for what has no
// version of a format.
func placeOf(data []byte) (p place, isState bool, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return p, false, errors.Join(err, errors.New("it isn't a JSON object"))
	}
	lineage := false
	for d.More() && (p.Serial == nil || !lineage || !isState) {
		key, err := d.Token()
		if err != nil {
			return p, false, err
		}
		var into any = new(json.RawMessage)
		switch key {
		case "serial":
			into = &p.Serial
		case "lineage":
			into, lineage = &p.Lineage, true
		case "version":
			isState = true
		}
		if err := d.Decode(into); err != nil {
			return p, false, fmt.Errorf("its %q can't be read: %w", key, err)
		}
	}
	return p, isState, nil
}

// Encrypts reports whether Seal makes states unreadable.
func (s State) Encrypts() bool { return s.target.encrypts() }

// Seal encrypts a state.
func (s State) Seal(state []byte) ([]byte, error) {
	if !s.Encrypts() {
		return state, nil
	}
	where, _, err := placeOf(state)
	if err != nil {
		return nil, fmt.Errorf("the state to encrypt can't be read: %w", err)
	}
	p, err := s.target.seal(state)
	if err != nil {
		return nil, err
	}
	out, err := json.MarshalIndent(struct {
		place
		payload
	}{where, p}, "", "  ")
	return append(out, '\n'), err
}

// Open decrypts a state. One that isn't encrypted is returned as it is where that is allowed.
// migrating: it should be sealed again. Anything that is no state at all is returned as it is,
// for the reader of states to say so.
func (s State) Open(stored []byte) (state []byte, migrating bool, err error) {
	if s.target == nil || len(stored) == 0 {
		return stored, false, nil
	}
	p, sealed := parsePayload(stored)
	if !sealed {
		if _, isState, err := placeOf(stored); err != nil || !isState {
			return stored, false, nil
		}
		migrating, err = s.target.clear()
		return stored, migrating, err
	}
	state, migrating, err = s.target.open(p)
	if err != nil {
		return nil, false, err
	}
	outer, _, err := placeOf(stored)
	if err != nil {
		return nil, false, fmt.Errorf("invalid state metadata: %w", err)
	}
	inner, _, err := placeOf(state)
	switch {
	case err != nil:
		return nil, false, errors.New("the decrypted file isn't a state")
	case outer.Serial != nil && inner.Serial != nil && *outer.Serial != *inner.Serial:
		return nil, false, fmt.Errorf("invalid state metadata, serial field mismatch %d vs %d", *outer.Serial, *inner.Serial)
	case outer.Lineage != "" && outer.Lineage != inner.Lineage:
		return nil, false, fmt.Errorf("invalid state metadata, lineage field mismatch %q vs %q", outer.Lineage, inner.Lineage)
	}
	return state, migrating, nil
}

// SealKey encrypts a few bytes, such as a key, as states are encrypted. Anything that doesn't
// encrypt states fails.
func (s State) SealKey(key []byte) ([]byte, error) {
	if !s.Encrypts() {
		return nil, errors.New("states aren't encrypted")
	}
	p, err := s.target.seal(key)
	if err != nil {
		return nil, err
	}
	return json.Marshal(p)
}

// OpenKey decrypts what SealKey has made.
func (s State) OpenKey(sealed []byte) ([]byte, error) {
	p, ok := parsePayload(sealed)
	switch {
	case !ok:
		return nil, errors.New("it isn't encrypted as it should be")
	case s.target == nil:
		return nil, errors.New("it is encrypted and can not be read without an encryption configuration")
	}
	key, _, err := s.target.open(p)
	return key, err
}

// Clear fails where something that belongs to a state must not be readable.
func (s State) Clear() error {
	if s.target == nil {
		return nil
	}
	_, err := s.target.clear()
	return err
}

// A Plan seals and opens saved plans. The zero value leaves them as they are.
type Plan struct{ target *Target }

// Seal encrypts a saved plan.
func (p Plan) Seal(plan []byte) ([]byte, error) {
	if !p.target.encrypts() {
		return plan, nil
	}
	sealed, err := p.target.seal(plan)
	if err != nil {
		return nil, err
	}
	return json.Marshal(sealed)
}

// Open decrypts a saved plan. One that isn't encrypted is returned as it is
// where that is allowed.
func (p Plan) Open(stored []byte) ([]byte, error) {
	sealed, ok := parsePayload(stored)
	switch {
	case p.target == nil && ok:
		return nil, errors.New("the given plan file is encrypted and requires a valid encryption configuration to decrypt")
	case p.target == nil:
		return stored, nil
	case !ok:
		_, err := p.target.clear()
		return stored, err
	}
	plan, _, err := p.target.open(sealed)
	return plan, err
}
