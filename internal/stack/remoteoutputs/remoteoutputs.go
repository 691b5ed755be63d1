// Package remoteoutputs stores the published outputs of stacks, and the stacks that read them.
//
// It owns the files, which are beside the states of a stack's deployments. It doesn't know
// where the values come from.
package remoteoutputs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/stack/shardedstate"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/sys/readlimit"
)

const (
	outputsFile = "published.json"
	readersFile = "readers.json"
)

type outputs struct {
	Version int               `json:"version"`
	Outputs map[string]output `json:"outputs"`
	// Sealed is there in place of all that where it couldn't be decrypted.
	Sealed json.RawMessage `json:"encrypted_data,omitempty"`
}

type output struct {
	Value     json.RawMessage `json:"value"`
	Type      json.RawMessage `json:"type"`
	Sensitive bool            `json:"sensitive,omitempty"`
}

// Read is what the stack in a directory has published, nil if it never did.
func Read(dir string, crypt storage.Crypt) (map[string]cty.Value, error) {
	path := filepath.Join(dir, shardedstate.Dir, outputsFile)
	data, err := readlimit.File(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		data, _, err = crypt.Open(data)
	}
	if err != nil {
		return nil, err
	}
	var all outputs
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%s can't be read: %w", path, err)
	}
	if all.Sealed != nil {
		return nil, fmt.Errorf("%s is encrypted, and the encryption of the stack that has published it isn't known here. It can be given in the environment variable TF_ENCRYPTION", path)
	}
	if all.Version != 1 {
		return nil, fmt.Errorf("%s is of version %d, which a newer version of weir has written", path, all.Version)
	}
	values := map[string]cty.Value{}
	for name, o := range all.Outputs {
		ty, err := ctyjson.UnmarshalType(o.Type)
		if err != nil {
			return nil, fmt.Errorf("%s: output %q: %w", path, name, err)
		}
		v, err := ctyjson.Unmarshal(o.Value, ty)
		if err != nil {
			return nil, fmt.Errorf("%s: output %q: %w", path, name, err)
		}
		if o.Sensitive {
			v = v.Mark(value.Sensitive)
		}
		values[name] = v
	}
	return values, nil
}

// Write publishes values in the place of those that were, and reports whether that
// changes any.
func Write(dir string, values map[string]cty.Value, crypt storage.Crypt) (changed bool, err error) {
	all := outputs{Version: 1, Outputs: map[string]output{}}
	for name, v := range values {
		bare, _ := v.UnmarkDeep()
		text, err := ctyjson.Marshal(bare, bare.Type())
		if err != nil {
			return false, fmt.Errorf("output %q: %w", name, err)
		}
		ty, err := ctyjson.MarshalType(bare.Type())
		if err != nil {
			return false, fmt.Errorf("output %q: %w", name, err)
		}
		all.Outputs[name] = output{text, ty, value.IsSensitive(v)}
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return false, err
	}
	data = append(data, '\n')
	path := filepath.Join(dir, shardedstate.Dir, outputsFile)
	changed = true
	if old, err := readlimit.File(path); err == nil {
		old, migrating, err := crypt.Open(old)
		if changed = err != nil || string(old) != string(data); !changed && !migrating {
			return false, nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	if data, err = crypt.Seal(data); err != nil {
		return false, err
	}
	return changed, durable.Replace(path, data, 0o600)
}

type readers struct {
	Version int             `json:"version"`
	Stacks  map[string]bool `json:"stacks"` // directories, from that of the stack
}

func readReaders(dir string) (readers, error) {
	list := readers{Version: 1, Stacks: map[string]bool{}}
	data, err := readlimit.File(filepath.Join(dir, shardedstate.Dir, readersFile))
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return list, err
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return list, fmt.Errorf("%s: %w", filepath.Join(dir, shardedstate.Dir, readersFile), err)
	}
	if list.Stacks == nil {
		list.Stacks = map[string]bool{}
	}
	return list, nil
}

// Subscribe notes that the stack in a directory reads what the one in dir publishes.
func Subscribe(dir, reader string) error {
	list, err := readReaders(dir)
	if err != nil {
		return err
	}
	name := reader
	if from, err := filepath.Abs(dir); err == nil {
		if to, err := filepath.Abs(reader); err == nil {
			if rel, err := filepath.Rel(from, to); err == nil {
				name = filepath.ToSlash(rel)
			}
		}
	}
	if list.Stacks[name] {
		return nil
	}
	list.Stacks[name] = true
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, shardedstate.Dir, readersFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return durable.Replace(path, append(data, '\n'), 0o644)
}

// Readers are the directories of the stacks that read what the one in dir
// publishes, as far as they are there, from that directory.
func Readers(dir string) ([]string, error) {
	list, err := readReaders(dir)
	if err != nil {
		return nil, err
	}
	var there []string
	for _, name := range slices.Sorted(maps.Keys(list.Stacks)) {
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil && info.IsDir() {
			there = append(there, filepath.FromSlash(name))
		}
	}
	return there, nil
}
