// Package workdir stores data of a working directory between commands: the configured backend
// and the selected workspace, in the data directory.
//
// It owns the layout of the data directory and those two files. It rejects modules and
// providers, whose packages fill their folders below it, and the question what to do when the
// backend changed.
package workdir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/sys/readlimit"
)

// DataDir is the name of the data directory when TF_DATA_DIR doesn't name
// another one.
const DataDir = ".terraform"

const (
	backendFile   = "terraform.tfstate" // a historical name; it isn't a state
	stackFile     = "stack.json"        // the same for the stack in the directory
	workspaceFile = "environment"
	durationsFile = "durations.json"
	lastApplyFile = "last-apply.json"
	// recordVersion is the version of the format of the backend's record.
	recordVersion = 3
)

// A Dir is a working directory.
type Dir struct {
	root string
	data string
	// moved is set when the data directory isn't at its usual place.
	moved bool
	// record is the file for the record of the backend.
	record string
}

// Open is the working directory at root. dataDir is the content of TF_DATA_DIR
// and may be empty; a relative one starts from root.
func Open(root, dataDir string) Dir {
	d := Dir{root: root, data: dataDir, moved: dataDir != "", record: backendFile}
	if dataDir == "" {
		d.data = DataDir
	}
	if !filepath.IsAbs(d.data) {
		d.data = filepath.Join(root, d.data)
	}
	return d
}

// OfStack is the same directory as that of a stack, whose backend is another one than
// that of a module in the directory.
func (d Dir) OfStack() Dir {
	d.record = stackFile
	return d
}

// Root is the directory of the root module.
func (d Dir) Root() string { return d.root }

// Data is the data directory, which may not exist yet.
func (d Dir) Data() string { return d.data }

// Modules is the folder for modules from elsewhere.
func (d Dir) Modules() string { return filepath.Join(d.data, "modules") }

// Providers is the folder for providers.
func (d Dir) Providers() string { return filepath.Join(d.data, "providers") }

// A Backend is the record of the backend that init configured.
type Backend struct {
	Type string
	// Config is the complete configuration, with what came from -backend-config
	// or was asked for.
	Config json.RawMessage
	// Hash is that of the configuration in the files only, see Hash: init is needed again when
	// it changed.
	Hash uint64
	// Store is set where the backend is a state store of a provider.
	Store *StateStore
}

// A StateStore is the provider of a state store, which has its states. Its configuration is the
// block "provider" of Backend.Config.
type StateStore struct {
	Name    string // in required_providers; records don't have it
	Source  string
	Version string // empty for providers that weir doesn't install
	Supply  string // where the provider comes from, as records say it
}

// Hash is the number by which changes of a backend block are noticed, the
// same that OpenTofu makes. config has the type of the backend's schema, null
// for what isn't written in the block, and no marks.
func Hash(typ string, config cty.Value) uint64 {
	return uint64(cty.TupleVal([]cty.Value{cty.StringVal(typ), config}).Hash()) // #nosec G115 -- any 64 bits
}

// HashStore is Hash for a state_store block, by Terraform's rule.
func HashStore(typ string, config cty.Value, s StateStore) uint64 {
	values := config.AsValueMap()
	of := values["provider"]
	delete(values, "provider")
	return uint64(cty.TupleVal([]cty.Value{ // #nosec G115 -- any 64 bits
		cty.StringVal(typ), cty.ObjectVal(values), cty.StringVal(s.Source), cty.StringVal(s.Version), cty.StringVal(s.Name), of,
	}).Hash())
}

// NewBackend makes a record. hash is what Hash says of the block in the files.
func NewBackend(typ string, config cty.Value, hash uint64) (*Backend, error) {
	text, err := ctyjson.Marshal(config, config.Type())
	if err != nil {
		return nil, fmt.Errorf("the configuration of backend %q can't be saved: %w", typ, err)
	}
	return &Backend{Type: typ, Config: text, Hash: hash}, nil
}

// Value is the recorded configuration in the type of the backend's schema.
func (b *Backend) Value(ty cty.Type) (cty.Value, error) {
	v, err := ctyjson.Unmarshal(b.Config, ty)
	if err != nil {
		return cty.NilVal, fmt.Errorf("the saved configuration of backend %q doesn't fit it any more: %w", b.Type, err)
	}
	return v, nil
}

// The shape of the file.
type record struct {
	Version int            `json:"version"`
	Backend *backendRecord `json:"backend,omitempty"`
	Store   *storeRecord   `json:"state_store,omitempty"`
}

type storeRecord struct {
	Type     string          `json:"type"`
	Provider storeProvider   `json:"provider"`
	Config   json.RawMessage `json:"config"`
	Hash     uint64          `json:"hash"`
	Supply   string          `json:"provider_supply_mode"`
}

type storeProvider struct {
	Version *string         `json:"version"`
	Source  string          `json:"source"`
	Config  json.RawMessage `json:"config"`
}

// backend is the record of a state store with the configuration of its provider as a part of its
// own.
func (r *storeRecord) backend() (*Backend, error) {
	var config map[string]json.RawMessage
	if err := json.Unmarshal(r.Config, &config); err != nil || config == nil {
		return nil, fmt.Errorf("its configuration is no object")
	}
	config["provider"] = r.Provider.Config
	all, err := json.Marshal(config)
	s := &StateStore{Source: r.Provider.Source, Supply: r.Supply}
	if r.Provider.Version != nil {
		s.Version = *r.Provider.Version
	}
	return &Backend{Type: r.Type, Config: all, Hash: r.Hash, Store: s}, err
}

func newStoreRecord(b *Backend) (*storeRecord, error) {
	var config map[string]json.RawMessage
	if err := json.Unmarshal(b.Config, &config); err != nil {
		return nil, err
	}
	r := &storeRecord{Type: b.Type, Provider: storeProvider{Source: b.Store.Source, Config: config["provider"]}, Hash: b.Hash, Supply: b.Store.Supply}
	if b.Store.Version != "" {
		r.Provider.Version = &b.Store.Version
	}
	delete(config, "provider")
	var err error
	r.Config, err = json.Marshal(config)
	return r, err
}

type backendRecord struct {
	Type   string          `json:"type"`
	Config json.RawMessage `json:"config"`
	Hash   uint64          `json:"hash"`
}

// Backend returns the record of the configured backend, nil without one.
func (d Dir) Backend() (*Backend, error) {
	path := filepath.Join(d.data, d.record)
	text, err := readlimit.File(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r struct {
		record
		TerraformVersion *string `json:"terraform_version"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("the record of the backend in %s can't be read: %w; remove the file and run init again", path, err)
	}
	switch {
	case r.Version == recordVersion:
	case d.moved && r.TerraformVersion != nil:
		return nil, fmt.Errorf("found a resource state file (version %d) in %s where a backend configuration cache file was expected; if TF_DATA_DIR is set, ensure it does not point to a directory containing your main terraform.tfstate resource state file", r.Version, path)
	default:
		return nil, fmt.Errorf("the record of the backend in %s has version %d, which is not supported; remove the file and run init again", path, r.Version)
	}
	if r.Store != nil {
		b, err := r.Store.backend()
		if err != nil {
			return nil, fmt.Errorf("the record of the state store in %s can't be read: %w; remove the file and run init again", path, err)
		}
		return b, nil
	}
	if r.record.Backend == nil || r.record.Backend.Type == "" {
		return nil, nil
	}
	return &Backend{Type: r.record.Backend.Type, Config: r.record.Backend.Config, Hash: r.record.Backend.Hash}, nil
}

// SetBackend records the configured backend; nil is none.
func (d Dir) SetBackend(b *Backend) error {
	r := record{Version: recordVersion}
	if b != nil && b.Store != nil {
		var err error
		if r.Store, err = newStoreRecord(b); err != nil {
			return err
		}
	} else if b != nil {
		r.Backend = &backendRecord{b.Type, b.Config, b.Hash}
	} else if _, err := os.Stat(filepath.Join(d.data, d.record)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "    ")
	if err != nil {
		return err
	}
	return d.write(d.record, append(text, '\n'))
}

// Workspace returns the selected workspace, or "default".
func (d Dir) Workspace() (string, error) {
	text, err := readlimit.File(filepath.Join(d.data, workspaceFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if name := strings.TrimSpace(string(text)); name != "" {
		return name, nil
	}
	return "default", nil
}

// SetWorkspace selects a workspace.
func (d Dir) SetWorkspace(name string) error { return d.write(workspaceFile, []byte(name)) }

// Durations is what was remembered of how long things take; nil where that is nothing.
func (d Dir) Durations() []byte {
	text, err := readlimit.File(filepath.Join(d.data, durationsFile))
	if err != nil {
		return nil
	}
	return text
}

// SetDurations remembers how long things take.
func (d Dir) SetDurations(text []byte) error { return d.write(durationsFile, text) }

// LastApply is when the steps of the last apply ran that was recorded; nil without one.
func (d Dir) LastApply() []byte {
	text, err := readlimit.File(filepath.Join(d.data, lastApplyFile))
	if err != nil {
		return nil
	}
	return text
}

// SetLastApply remembers when the steps of an apply ran.
func (d Dir) SetLastApply(text []byte) error { return d.write(lastApplyFile, text) }

// write replaces a file of the data directory.
func (d Dir) write(name string, content []byte) error {
	if err := os.MkdirAll(d.data, 0o755); err != nil {
		return fmt.Errorf("failed to prepare working directory: %w", err)
	}
	return durable.Replace(filepath.Join(d.data, name), content, 0o644)
}
