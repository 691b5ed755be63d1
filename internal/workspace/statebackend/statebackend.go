// Package statebackend finds the state backend of a working directory: the configured one, the
// initialized one, and whether the two agree.
//
// It owns opening a backend from a block or from a record, and the records. It doesn't read
// states, to ask anybody anything, or know where values of settings come from.
package statebackend

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/local"
	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/workspace/workdir"
)

// A Backend is where the states of the working directory are.
type Backend struct {
	storage.Backend
	Kind   string
	Config cty.Value
	// Store is the provider of a state store, nil for other backends.
	Store *workdir.StateStore
	// Requires says which providers the configuration asks for by address; nil
	// where that isn't known.
	Requires func(addr.Provider) bool
	// Memory is kept with states that are written; nil keeps what was there.
	Memory []byte
}

// Describe names the backend in messages.
func (b *Backend) Describe() string {
	if b.Store != nil {
		return "the state in the state store " + b.Kind
	}
	return "the state in the " + b.Kind + " backend"
}

// WithFiles is the backend with files that the command line names, if it has any.
func (b *Backend) WithFiles(o storage.Override) storage.Backend {
	if f, ok := b.Backend.(storage.Filed); ok {
		return f.WithFiles(o)
	}
	return b.Backend
}

// Record is the configuration as records have it.
func (b *Backend) Record() (json.RawMessage, error) {
	record, err := workdir.NewBackend(b.Kind, b.Config, 0)
	if err != nil {
		return nil, err
	}
	return record.Config, nil
}

// SamePlace reports whether two backends keep the default state in one file.
func (b *Backend) SamePlace(other *Backend) bool {
	x, ok := b.Backend.(storage.Filed)
	y, both := other.Backend.(storage.Filed)
	return ok && both && filepath.Clean(x.Paths(storage.DefaultWorkspace).In) == filepath.Clean(y.Paths(storage.DefaultWorkspace).In)
}

// A Place identifies the state of a workspace.
type Place struct{ Kind, At string }

// Compare puts places in an order that all runs share.
func (p Place) Compare(o Place) int {
	return cmp.Or(strings.Compare(p.Kind, o.Kind), strings.Compare(p.At, o.At))
}

// At is where the backend has the state of a workspace.
func (b *Backend) At(workspace string) Place { return PlaceOf(b.Kind, b.Backend, workspace) }

// PlaceOf is where a backend of a kind has the state of a workspace.
func PlaceOf(kind string, b storage.Backend, workspace string) Place {
	if on, ok := b.(storage.Journaled); ok { // a file may be named from anywhere
		path := strings.TrimSuffix(on.JournalPath(workspace), ".journal")
		if absolute, err := filepath.Abs(path); err == nil {
			path = absolute
		}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(dir, filepath.Base(path))
		}
		return Place{"local", path}
	}
	if kind == "cloud" {
		kind = "remote"
	}
	return Place{kind, b.Place(workspace)}
}

// Local is the backend of directories without settings. The program may be nil.
func (o Opener) Local(prog *program.Program) *Backend {
	config := local.Schema().EmptyValue()
	b, _ := local.New(config, storage.Env{Dir: o.Dir, Disk: o.Disk})
	return &Backend{Backend: b, Kind: "local", Config: config, Requires: RequiredBy(prog)}
}

// RequiredBy reports the providers that the root module names by address.
func RequiredBy(prog *program.Program) func(addr.Provider) bool {
	if prog == nil {
		return nil
	}
	return func(p addr.Provider) bool {
		for _, r := range prog.Requirements {
			if r.Provider == p {
				return true
			}
		}
		return false
	}
}

// An Opener opens backends with what they may know of the process.
type Opener struct {
	Dir     string // where relative paths start
	Getenv  func(name string) string
	Disk    *durable.Disk // where states in files are changed; nil for the system's
	Hosts   func() (storage.Hosts, error)
	Cloud   string // the host of cloud blocks without one
	Program string // the name in messages
	Types   storage.Registry
	// Stores finds a type of state store of the provider with an address.
	Stores func(source, typ string) (*StoreType, diag.List)
}

// Open makes a backend from its whole configuration. The program may be nil.
func (o Opener) Open(kind string, config cty.Value, prog *program.Program) (*Backend, diag.List) {
	return o.open(kind, nil, config, prog)
}

// open is Open for state stores too, which have a provider.
func (o Opener) open(kind string, of *workdir.StateStore, config cty.Value, prog *program.Program) (*Backend, diag.List) {
	t, diags := o.find(kind, of)
	if diags.HasErrors() {
		return nil, diags
	}
	opened, more := t.New(config, storage.Env{Dir: o.Dir, Getenv: o.Getenv, Disk: o.Disk, Hosts: o.Hosts, CloudHost: o.Cloud})
	if diags.Append(more); diags.HasErrors() {
		return nil, diags
	}
	return &Backend{Backend: opened, Kind: kind, Config: config, Store: of, Requires: RequiredBy(prog)}, diags
}

// Recorded opens a backend from the record in a saved plan. The program is that of the plan.
func (o Opener) Recorded(kind string, config json.RawMessage, prog *program.Program) (*Backend, diag.List) {
	r := workdir.Backend{Type: kind, Config: config}
	if prog != nil && prog.Backend != nil && prog.Backend.Store != nil && prog.Backend.Type == kind {
		r.Store = &workdir.StateStore{Name: prog.Backend.Store.Name, Source: prog.Backend.Store.Provider.String()}
	}
	return o.recorded(r, prog, "Failed to read the plan's backend", "%s.")
}

func (o Opener) recorded(record workdir.Backend, prog *program.Program, summary, format string) (*Backend, diag.List) {
	t, diags := o.find(record.Type, record.Store)
	if diags.HasErrors() {
		return nil, diags
	}
	config, err := record.Value(t.Schema().ImpliedType())
	if err != nil {
		return nil, diag.BadBackend.As(summary).List(format, err)
	}
	return o.open(record.Type, record.Store, config, prog)
}

// SameRecord compares records by what they say. Those of other programs and releases lack
// arguments that weren't set.
func (o Opener) SameRecord(a, b *workdir.Backend) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Type != b.Type || (a.Store == nil) != (b.Store == nil) || a.Store != nil && (a.Store.Source != b.Store.Source || a.Store.Version != b.Store.Version || a.Store.Supply != b.Store.Supply) {
		return false
	}
	t, diags := o.find(a.Type, a.Store)
	if diags.HasErrors() {
		return false
	}
	x, err1 := a.Value(t.Schema().ImpliedType())
	y, err2 := b.Value(t.Schema().ImpliedType())
	return err1 == nil && err2 == nil && len(differing(x, y)) == 0
}
