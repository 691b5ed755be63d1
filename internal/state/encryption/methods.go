package encryption

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/zclconf/go-cty/cty"
)

// A method encrypts and decrypts bytes.
type method interface {
	seal(plain []byte) ([]byte, error)
	open(sealed []byte) ([]byte, error)
}

// A methodType is a type of methods.
type methodType struct {
	arguments []argument
	// make gets what the arguments say, and the keys of the argument of that
	// name, nil for none.
	make func(values map[string]cty.Value, k *keys, run Run) (method, error)
}

// methods are the types of methods by name.
func methods() map[string]methodType {
	return map[string]methodType{
		unencrypted: {make: func(map[string]cty.Value, *keys, Run) (method, error) { return nil, nil }},
		"aes_gcm": {
			arguments: []argument{
				{name: "keys", typ: cty.DynamicPseudoType, required: true},
				{name: "aad", typ: cty.List(cty.Number)},
			},
			make: newGCM,
		},
		"external": {
			arguments: []argument{
				{name: "keys", typ: cty.DynamicPseudoType},
				{name: "encrypt_command", typ: cty.List(cty.String), required: true},
				{name: "decrypt_command", typ: cty.List(cty.String), required: true},
			},
			make: newProgram,
		},
	}
}

var errNoKey = errors.New("no decryption key available. Was the key provider renamed, or did it have another encrypted_metadata_alias?")

// gcm is AES in Galois/Counter Mode; the nonce comes first.
type gcm struct {
	keys keys
	aad  []byte
}

func newGCM(values map[string]cty.Value, k *keys, _ Run) (method, error) {
	m := gcm{keys: *k}
	for i, key := range [][]byte{k.encrypt, k.decrypt} {
		switch len(key) {
		case 16, 24, 32:
		default:
			if i == 0 || len(key) > 0 {
				return nil, fmt.Errorf("AES-GCM requires the key length to be one of: 16, 24, 32, received %d bytes in the %s key", len(key), [...]string{"encryption", "decryption"}[i])
			}
		}
	}
	if v, ok := values["aad"]; ok {
		var err error
		if m.aad, err = bytesOf(v); err != nil {
			return nil, fmt.Errorf("aad: %w", err)
		}
	}
	return m, nil
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func (m gcm) seal(plain []byte) ([]byte, error) {
	aead, err := newAEAD(m.keys.encrypt)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plain)+aead.Overhead())
	rand.Read(nonce) // never fails
	return aead.Seal(nonce, nonce, plain, m.aad), nil
}

func (m gcm) open(sealed []byte) ([]byte, error) {
	if len(m.keys.decrypt) == 0 {
		return nil, errNoKey
	}
	aead, err := newAEAD(m.keys.decrypt)
	if err != nil {
		return nil, err
	}
	n := aead.NonceSize()
	if len(sealed) < n {
		return nil, errors.New("cannot decrypt data because it is too small (likely data corruption)")
	}
	return aead.Open(nil, sealed[:n], sealed[n:], m.aad)
}

// program is a method that runs commands.
type program struct {
	keys             *keys
	encrypt, decrypt []string
	run              Run
}

func newProgram(values map[string]cty.Value, k *keys, run Run) (method, error) {
	m := program{keys: k, encrypt: texts(values["encrypt_command"]), decrypt: texts(values["decrypt_command"]), run: run}
	for _, c := range []struct {
		name    string
		command []string
	}{{"encrypt_command", m.encrypt}, {"decrypt_command", m.decrypt}} {
		if len(c.command) == 0 {
			return nil, fmt.Errorf("the %s option is required", c.name)
		}
		if c.command[0] == "" {
			return nil, fmt.Errorf("the first entry of %s must not be empty", c.name)
		}
	}
	return m, nil
}

func (m program) seal(plain []byte) ([]byte, error) {
	var key []byte
	if m.keys != nil {
		key = m.keys.encrypt
	}
	return m.ask(m.encrypt, key, plain)
}

func (m program) open(sealed []byte) ([]byte, error) {
	var key []byte
	if m.keys != nil {
		key = m.keys.decrypt
		if len(key) == 0 && len(m.keys.encrypt) > 0 {
			return nil, errNoKey
		}
	}
	if len(sealed) == 0 {
		return nil, errors.New("cannot decrypt empty data")
	}
	return m.ask(m.decrypt, key, sealed)
}

func (m program) ask(command []string, key, data []byte) ([]byte, error) {
	input, err := json.Marshal(struct {
		Key     []byte `json:"key,omitempty"`
		Payload []byte `json:"payload"`
	}{key, data})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Payload []byte `json:"payload"`
	}
	err = converse(m.run, command, input, "OpenTofu-External-Encryption-Method", &answer)
	return answer.Payload, err
}

// A cache keeps methods with their keys, which are costly to make: the one that
// seals, and for each method those that open what was sealed with the same
// metadata.
type cache struct {
	mu     sync.Mutex
	sealer method
	meta   map[string][]byte
	opened map[string]method
}

func (c *cache) sealing(make func() (method, map[string][]byte, error)) (method, map[string][]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sealer == nil {
		m, meta, err := make()
		if err != nil {
			return nil, nil, err
		}
		c.sealer, c.meta = m, meta
	}
	return c.sealer, c.meta, nil
}

func (c *cache) opening(index int, meta map[string][]byte, make func() (method, error)) (method, error) {
	text, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%d %s", index, text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if m, ok := c.opened[key]; ok {
		return m, nil
	}
	m, err := make()
	if err != nil {
		return nil, err
	}
	if c.opened == nil {
		c.opened = map[string]method{}
	}
	c.opened[key] = m
	return m, nil
}
