package encryption

import (
	"bytes"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"hash"

	"github.com/zclconf/go-cty/cty"
)

// keyProviders are the types of key providers by name.
func keyProviders() map[string]keyProvider {
	return map[string]keyProvider{
		"pbkdf2": {
			arguments: []argument{
				{name: "passphrase", typ: cty.String},
				{name: "chain", typ: cty.DynamicPseudoType},
				{name: "key_length", typ: cty.Number},
				{name: "iterations", typ: cty.Number},
				{name: "hash_function", typ: cty.String},
				{name: "salt_length", typ: cty.Number},
			},
			make: passphraseKeys,
		},
		"external": {
			arguments: []argument{{name: "command", typ: cty.List(cty.String), required: true}},
			make:      commandKeys,
		},
	}
}

// Defaults and limits of keys from passphrases.
const (
	leastPassphrase = 16
	leastIterations = 200_000
	mostIterations  = 50_000_000 // half a minute; more, in metadata, is damage or malice
	mostLength      = 1 << 16    // of keys and salts
)

// deriving says how a key is derived from a passphrase; it is kept beside what
// is sealed.
type deriving struct {
	Salt       []byte `json:"salt"`
	Iterations int    `json:"iterations"`
	Hash       string `json:"hash_function"`
	Length     int    `json:"key_length"`
}

func (d deriving) key(passphrase []byte) ([]byte, error) {
	newHash := map[string]func() hash.Hash{"sha256": sha256.New, "sha512": sha512.New}[d.Hash]
	switch {
	case newHash == nil:
		return nil, fmt.Errorf("invalid hash function name: %s", d.Hash)
	case d.Iterations <= 0 || d.Iterations > mostIterations:
		return nil, fmt.Errorf("invalid number of iterations (%d)", d.Iterations)
	case d.Length <= 0 || d.Length > mostLength:
		return nil, fmt.Errorf("invalid key length (%d)", d.Length)
	}
	return pbkdf2.Key(newHash, string(passphrase), d.Salt, d.Iterations, d.Length)
}

// passphraseKeys derives keys from a passphrase, or from keys that take its
// place.
func passphraseKeys(in provided) (keys, []byte, error) {
	d, saltLength, err := derivingBy(in.values)
	if err != nil {
		return keys{}, nil, err
	}
	chain, err := passphrases(in)
	if err != nil {
		return keys{}, nil, err
	}
	standIn := make([]byte, d.Length)
	switch in.purpose {
	case checking:
		return keys{encrypt: standIn}, []byte("{}"), nil
	case sealing:
		d.Salt = make([]byte, saltLength)
		rand.Read(d.Salt) // never fails
		key, err := d.key(chain.encrypt)
		if err != nil {
			return keys{}, nil, err
		}
		meta, err := json.Marshal(d)
		return keys{encrypt: key}, meta, err
	}
	if in.meta == nil {
		return keys{encrypt: standIn}, nil, nil // something else was sealed
	}
	var was deriving
	if err := json.Unmarshal(in.meta, &was); err != nil {
		return keys{}, nil, failure{"Unable to decode encrypted metadata (did you change your encryption config?)", fmt.Errorf("metadata decoder failed: %w", err)}
	}
	key, err := was.key(chain.decrypt)
	return keys{encrypt: standIn, decrypt: key}, nil, err
}

// derivingBy reads the arguments of a key provider for passphrases.
func derivingBy(values map[string]cty.Value) (d deriving, saltLength int, err error) {
	d = deriving{Iterations: 600_000, Hash: "sha512", Length: 32}
	saltLength = 32
	for name, into := range map[string]*int{"key_length": &d.Length, "iterations": &d.Iterations, "salt_length": &saltLength} {
		if v, ok := values[name]; ok {
			n, whole := wholeNumber(v)
			if !whole {
				n = -1
			}
			*into = n
		}
	}
	if v, ok := values["hash_function"]; ok {
		d.Hash = v.AsString()
	}
	switch {
	case d.Length <= 0 || d.Length > mostLength:
		err = invalid("the key length must be a whole number larger than zero")
	case d.Iterations > mostIterations:
		err = invalid("the number of iterations is larger than %d, which takes longer than anybody waits", mostIterations)
	case d.Iterations <= 0:
		err = invalid("the number of iterations must be a whole number larger than zero")
	case d.Iterations < leastIterations:
		err = invalid("the number of iterations is dangerously low (<%d), refusing to generate key", leastIterations)
	case saltLength <= 0 || saltLength > mostLength:
		err = invalid("the salt length must be a whole number larger than zero")
	case d.Hash != "sha256" && d.Hash != "sha512":
		err = invalid("invalid hash function name: %s. There are sha256 and sha512", d.Hash)
	}
	return d, saltLength, err
}

// passphrases are what keys are derived from.
func passphrases(in provided) (keys, error) {
	given, ok := in.values["passphrase"]
	passphrase := ""
	if ok {
		passphrase = given.AsString()
	}
	switch {
	case passphrase == "" && in.chain == nil:
		return keys{}, invalid("no passphrase provided and no chained provider defined")
	case passphrase != "" && in.chain != nil:
		return keys{}, invalid("passphrase and chain are mutually exclusive")
	case in.chain == nil && len(passphrase) < leastPassphrase:
		return keys{}, invalid("passphrase is too short (minimum %d characters)", leastPassphrase)
	case in.chain == nil:
		return keys{[]byte(passphrase), []byte(passphrase)}, nil
	case in.chain.encrypt == nil:
		return keys{}, invalid("no encryption key provided from upstream key provider")
	case len(in.chain.encrypt) < leastPassphrase:
		return keys{}, invalid("upstream key provider supplied an encryption key that is too short (minimum %d characters)", leastPassphrase)
	case in.chain.decrypt != nil && len(in.chain.decrypt) < leastPassphrase:
		return keys{}, invalid("upstream key provider supplied a decryption key that is too short (minimum %d characters)", leastPassphrase)
	}
	return *in.chain, nil
}

// externalMeta is what an external key provider wants to know again.
type externalMeta struct {
	Data map[string]json.RawMessage `json:"external_data"`
}

// commandKeys asks a command for keys.
func commandKeys(in provided) (keys, []byte, error) {
	command := texts(in.values["command"])
	if len(command) == 0 || command[0] == "" {
		return keys{}, nil, invalid("the command option is required")
	}
	ask := func() (keys, []byte, error) {
		var meta externalMeta
		if in.meta != nil {
			if err := json.Unmarshal(in.meta, &meta); err != nil {
				return keys{}, nil, failure{"Unable to decode encrypted metadata (did you change your encryption config?)", fmt.Errorf("metadata decoder failed: %w", err)}
			}
		}
		input := []byte("null")
		if meta.Data != nil {
			input, _ = json.Marshal(meta) // it was JSON before
		}
		var answer struct {
			Keys struct {
				Encrypt []byte `json:"encryption_key"`
				Decrypt []byte `json:"decryption_key"`
			} `json:"keys"`
			Meta externalMeta `json:"meta"`
		}
		if err := converse(in.run, command, input, "OpenTofu-External-Key-Provider", &answer); err != nil {
			return keys{}, nil, err
		}
		out, err := json.Marshal(answer.Meta)
		return keys{answer.Keys.Encrypt, answer.Keys.Decrypt}, out, err
	}
	if in.purpose == opening {
		return ask()
	}
	return in.once(ask)
}

// converse runs a command that first says what it is and then answers.
func converse(run Run, command []string, input []byte, magic string, answer any) error {
	output, err := run(command, input)
	if err != nil {
		return fmt.Errorf("the external command failed: %w", err)
	}
	first, rest, ok := bytes.Cut(output, []byte("\n"))
	var header struct {
		Magic   string `json:"magic"`
		Version int    `json:"version"`
	}
	// The answer may have a key in it: the errors of the decoder don't repeat it.
	switch err := json.Unmarshal(first, &header); {
	case err != nil || !ok:
		return fmt.Errorf("the first line that the external command wrote is not a header. It has to be {\"magic\":%q,\"version\":1}", magic)
	case header.Magic != magic:
		return fmt.Errorf("invalid magic received from the external command: %q instead of %q", header.Magic, magic)
	case header.Version != 1:
		return fmt.Errorf("invalid version number received from the external command: %d instead of 1", header.Version)
	}
	d := json.NewDecoder(bytes.NewReader(rest))
	d.DisallowUnknownFields()
	if d.Decode(answer) != nil {
		return fmt.Errorf("the external command returned an invalid JSON response")
	}
	return nil
}

// texts reads a list of strings.
func texts(v cty.Value) []string {
	if v == cty.NilVal || v.IsNull() {
		return nil
	}
	var list []string
	for _, e := range v.AsValueSlice() {
		if e.IsNull() {
			return nil
		}
		list = append(list, e.AsString())
	}
	return list
}
