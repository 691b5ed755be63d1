// Package shardedstate stores the state of a deployment in parts: an ordinary state file for each
// component instance, which other tools can read, and an index for the rest.
//
// It owns the layout of the files and how a state falls into parts. To its
// callers a deployment is the workspace of a backend, with one state and one
// lock.
package shardedstate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/local"
	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/sys/readlimit"
)

// Dir is the directory of all deployments, IndexFile the index in that of one.
const (
	Dir       = "stacks.tfstate.d"
	IndexFile = "index.json"
)

// A Backend has the deployments below a directory.
type Backend struct {
	Dir string
	// Disk is where files are changed; nil for the system's.
	Disk  *durable.Disk
	crypt storage.Crypt
}

// Sealed implements storage.Parted.
func (b Backend) Sealed(c storage.Crypt) storage.Backend {
	b.crypt = c
	return b
}

// clear is the encryption of states that aren't encrypted.
type clear struct{}

func (clear) Encrypts() bool                           { return false }
func (clear) Seal(state []byte) ([]byte, error)        { return state, nil }
func (clear) Open(stored []byte) ([]byte, bool, error) { return stored, false, nil }

// Workspaces implements storage.Backend: the deployments that have a state.
func (b Backend) Workspaces(context.Context) ([]string, error) {
	entries, err := os.ReadDir(b.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(b.Dir, e.Name(), IndexFile)); err == nil {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// CreateWorkspace implements storage.Backend.
func (b Backend) CreateWorkspace(_ context.Context, name string) error {
	return os.MkdirAll(filepath.Join(b.Dir, name), 0o755)
}

// DeleteWorkspace implements storage.Backend.
func (b Backend) DeleteWorkspace(_ context.Context, name string) error {
	return os.RemoveAll(filepath.Join(b.Dir, name))
}

// Place implements storage.Backend.
func (b Backend) Place(name string) string { return filepath.Join(b.Dir, name) }

// State implements storage.Backend.
func (b Backend) State(name string) (storage.Store, error) {
	dir := filepath.Join(b.Dir, name)
	files, diags := local.New(local.Schema().EmptyValue(), storage.Env{Dir: ".", Disk: b.Disk})
	if diags.HasErrors() {
		return nil, errors.New(diags[0].Detail)
	}
	index, err := files.WithFiles(storage.Override{State: filepath.Join(dir, IndexFile), Backup: "-"}).State(storage.DefaultWorkspace)
	if err != nil {
		return nil, err
	}
	crypt := b.crypt
	if crypt == nil {
		crypt = clear{}
	}
	return &store{dir: dir, index: storage.Seal(index, crypt), crypt: crypt, disk: b.Disk}, nil
}

// JournalPath implements storage.Journaled.
func (b Backend) JournalPath(name string) string { return filepath.Join(b.Dir, name, "journal") }

// A store is the state of one deployment.
type store struct {
	dir   string
	index *storage.Sealed
	crypt storage.Crypt
	disk  *durable.Disk
	// migrating: a part that was read last isn't encrypted as it should be.
	migrating bool
}

// Migrating reports whether what was read last isn't encrypted as it should be.
func (s *store) Migrating() bool { return s.migrating || s.index.Migrating() }

// An index lists the parts and has the rest of the state.
type index struct {
	Version    int             `json:"version"`
	State      json.RawMessage `json:"state"` // without objects
	Components []component     `json:"components"`
	Memory     *Memory         `json:"memory,omitempty"`
	// Sealed is there in place of all that where it couldn't be decrypted.
	Sealed json.RawMessage `json:"encrypted_data,omitempty"`
}

type component struct {
	Address string `json:"address"`
	File    string `json:"file"`
	// Dependencies are those on objects of other components, by object.
	Dependencies map[string][]string `json:"dependencies,omitempty"`
}

// Placeholder implements storage.Placeholder: the index is what is locked.
func (s *store) Placeholder(content []byte) error {
	whole, err := parse(content, "the state")
	if err != nil {
		return err
	}
	_, ix, err := split(whole)
	if err != nil {
		return err
	}
	text, err := ix.text()
	if err != nil {
		return err
	}
	return s.index.Placeholder(text)
}

// Lock implements storage.Store.
func (s *store) Lock(ctx context.Context, info storage.LockInfo) (string, error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return "", err
	}
	return s.index.Lock(ctx, info)
}

// Unlock implements storage.Store.
func (s *store) Unlock(ctx context.Context, id string) error { return s.index.Unlock(ctx, id) }

// Read implements storage.Store: it puts the parts together.
func (s *store) Read(ctx context.Context) ([]byte, error) {
	whole, _, err := s.read(ctx)
	if err != nil || whole == nil {
		return nil, err
	}
	return statefile.Bytes(whole)
}

func (s *store) read(ctx context.Context) (*state.Snapshot, index, error) {
	var ix index
	data, err := s.index.Read(ctx)
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return nil, ix, err
	}
	if err := json.Unmarshal(data, &ix); err != nil {
		return nil, ix, fmt.Errorf("the index %s can't be read: %w", filepath.Join(s.dir, IndexFile), err)
	}
	if ix.Sealed != nil {
		return nil, ix, fmt.Errorf("the index %s is encrypted and can not be read without an encryption configuration", filepath.Join(s.dir, IndexFile))
	}
	if ix.Version != 1 {
		return nil, ix, fmt.Errorf("the index %s is of version %d, which a newer version of weir has written", filepath.Join(s.dir, IndexFile), ix.Version)
	}
	whole, err := parse(ix.State, IndexFile)
	if err != nil {
		return nil, ix, err
	}
	whole = whole.Clone()
	if ix.Memory != nil {
		if whole.Memory, err = json.Marshal(ix.Memory); err != nil {
			return nil, ix, err
		}
	}
	s.migrating = false
	for _, c := range ix.Components {
		part, migrating, err := s.readPart(c.File)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it never existed
		}
		if err != nil {
			return nil, ix, err
		}
		s.migrating = s.migrating || migrating
		if err := join(whole, part, c); err != nil {
			return nil, ix, err
		}
	}
	return whole, ix, nil
}

// readPart reads a file of a part.
func (s *store) readPart(name string) (part *state.Snapshot, migrating bool, err error) {
	data, err := readlimit.File(filepath.Join(s.dir, name))
	if err != nil {
		return nil, false, err
	}
	if data, migrating, err = s.crypt.Open(data); err != nil {
		return nil, false, fmt.Errorf("%s: %w", name, err)
	}
	part, err = parse(data, name)
	return part, migrating, err
}

func parse(data []byte, name string) (*state.Snapshot, error) {
	s, diags := statefile.Read(data, name)
	if diags.HasErrors() {
		return nil, fmt.Errorf("%s: %s", name, diags[0].Detail)
	}
	return s, nil
}

// Write implements storage.Store. The index names new parts before they are
// there, and drops old ones before they go. It gets the rest of the state after the parts: what that
// says of objects, such as that they have arrived from another state, is only true then.
func (s *store) Write(ctx context.Context, data []byte) error {
	whole, err := parse(data, "the state")
	if err != nil {
		return err
	}
	before, old, err := s.read(ctx)
	if err != nil {
		return err
	}
	parts, ix, err := split(whole)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	if ix.Memory == nil {
		ix.Memory = old.Memory
	}
	union := ix
	if union.State = old.State; before == nil {
		if union.State, err = rest(&state.Snapshot{Version: whole.Version, Lineage: whole.Lineage, Serial: whole.Serial}); err != nil {
			return err
		}
	}
	for _, c := range old.Components {
		if parts[c.File] == nil {
			union.Components = append(slices.Clone(union.Components), c)
		}
	}
	if before == nil || len(union.Components) != len(old.Components) {
		for _, c := range ix.Components {
			if !slices.ContainsFunc(old.Components, func(o component) bool { return o.File == c.File }) {
				if err := s.remove(c.File); err != nil { // a killed run may have left it
					return err
				}
			}
		}
		if err := s.writeIndex(ctx, union); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if err := s.writePart(name, parts[name]); err != nil {
			return err
		}
	}
	if err := s.writeIndex(ctx, ix); err != nil {
		return err
	}
	for _, c := range old.Components {
		if parts[c.File] == nil {
			if err := s.remove(c.File); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove removes the file of a part, which needn't exist.
func (s *store) remove(name string) error {
	if err := s.disk.Remove(filepath.Join(s.dir, name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (s *store) writeIndex(ctx context.Context, ix index) error {
	data, err := ix.text()
	if err != nil {
		return err
	}
	return s.index.Write(ctx, data)
}

func (ix index) text() ([]byte, error) {
	data, err := json.MarshalIndent(ix, "", "  ")
	return append(data, '\n'), err
}

// writePart replaces a part whose objects have changed.
func (s *store) writePart(name string, part *state.Snapshot) error {
	if old, migrating, err := s.readPart(name); err == nil && !migrating && statefile.Equal(old, part) {
		return nil
	}
	data, err := statefile.Bytes(part)
	if err == nil {
		data, err = s.crypt.Seal(data)
	}
	if err != nil {
		return err
	}
	return s.disk.Replace(filepath.Join(s.dir, name), data, 0o600)
}

// within is a module below another one, as seen from there.
func within(m, top addr.Module) addr.Module {
	return addr.FromSteps(m.Steps()[len(top.Steps()):])
}

func below(top, m addr.Module) addr.Module {
	return addr.FromSteps(slices.Concat(top.Steps(), m.Steps()))
}

// fileName is the name of a component instance as that of a file.
func fileName(instance addr.Module) string {
	var words []string
	for _, step := range instance.Steps() {
		words = append(words, step.Call.String())
		if key, ok := step.Key.Str(); ok {
			words = append(words, url.PathEscape(key))
		}
	}
	return strings.Join(words, ".") + ".tfstate"
}

// split divides a state.
func split(whole *state.Snapshot) (map[string]*state.Snapshot, index, error) {
	parts := map[string]*state.Snapshot{}
	byFile := map[string]*component{}
	for _, a := range whole.Addresses() {
		o := whole.Objects[a]
		stack, instance, ok := a.Module.Component()
		if !ok {
			return nil, index{}, fmt.Errorf("%s belongs to no component", a)
		}
		name := fileName(instance)
		part, c := parts[name], byFile[name]
		if part == nil {
			part = state.Empty()
			sum := sha256.Sum256([]byte(whole.Lineage + "\n" + string(instance)))
			part.Lineage = fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
			part.Serial, part.Version = whole.Serial, whole.Version
			c = &component{Address: string(instance), File: name}
			parts[name], byFile[name] = part, c
		}
		if c.Address != string(instance) {
			return nil, index{}, fmt.Errorf("%s and %s would be kept in the same file; choose other instance keys", c.Address, instance)
		}
		fresh := *o
		if fresh.Provider.Module == stack {
			fresh.Provider.Module = addr.Root
		}
		fresh.Dependencies, fresh.Uses = nil, nil // names of a part are others than those of the whole
		a.Module = within(a.Module, instance)
		for _, d := range o.Dependencies {
			if own := instance.Erase(); own.Contains(d.Module) {
				d.Module = within(d.Module, own)
				fresh.Dependencies = append(fresh.Dependencies, d)
				continue
			}
			if c.Dependencies == nil {
				c.Dependencies = map[string][]string{}
			}
			c.Dependencies[a.String()] = append(c.Dependencies[a.String()], d.String())
		}
		part.Objects[a] = &fresh
	}
	data, err := rest(whole)
	if err != nil {
		return nil, index{}, err
	}
	ix := index{Version: 1, State: data, Components: []component{}}
	if len(whole.Memory) > 0 {
		ix.Memory = &Memory{}
		if err := json.Unmarshal(whole.Memory, ix.Memory); err != nil {
			return nil, index{}, fmt.Errorf("the stack's data in the state can't be read: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byFile)) {
		ix.Components = append(ix.Components, *byFile[name])
	}
	return parts, ix, nil
}

// rest is a state without what is in the parts.
func rest(whole *state.Snapshot) ([]byte, error) {
	s := *whole
	s.Objects, s.Memory = nil, nil
	return statefile.Bytes(&s)
}

// join adds a part to the whole.
func join(whole, part *state.Snapshot, c component) error {
	instance, err := addr.ParseModule(c.Address)
	if err != nil {
		return err
	}
	stack, _, ok := instance.Component()
	if !ok {
		return fmt.Errorf("%q in the index is no component", c.Address)
	}
	for a, o := range part.Objects {
		fresh := *o
		fresh.Provider.Module = below(stack, o.Provider.Module)
		fresh.Dependencies, fresh.Uses = nil, nil
		for _, d := range o.Dependencies {
			d.Module = below(instance.Erase(), d.Module)
			fresh.Dependencies = append(fresh.Dependencies, d)
		}
		for _, text := range c.Dependencies[a.String()] {
			d, err := addr.ParseInstance(text)
			if err != nil {
				return err
			}
			fresh.Dependencies = append(fresh.Dependencies, d.Resource)
		}
		slices.SortFunc(fresh.Dependencies, addr.Resource.Compare)
		a.Module = below(instance, a.Module)
		whole.Objects[a] = &fresh
	}
	return nil
}
