package cli

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/analyze"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/module"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/storage"
	"weir.dev/weir/internal/storage/local"
)

// A backend is where the states of the working directory are.
type backend struct {
	storage.Backend
	kind   string
	config cty.Value
	// requires says which providers the configuration asks for by address.
	requires func(addr.Provider) bool
}

// describe names the backend in messages.
func (b *backend) describe() string { return "the state in the " + b.kind + " backend" }

// withFiles applies -state, -state-out and -backup, which only the local
// backend understands.
func (b *backend) withFiles(f stateFlags) storage.Backend {
	if l, ok := b.Backend.(*local.Backend); ok {
		return l.WithOverride(local.Override{State: f.state, StateOut: f.stateOut, Backup: f.backup})
	}
	return b.Backend
}

// root reads the root module's own files, for commands that need no more than
// its settings.
func (e *env) root() (*program.Program, diag.List) {
	source, diags := module.Load(module.Disk{}, ".")
	for _, f := range source.Files {
		e.sources[f.Name] = f.Bytes
	}
	prog, more := analyze.Compile(source)
	diags.Append(more)
	return prog, diags
}

// currentBackend is the backend that the working directory was initialized
// with.
func (e *env) currentBackend(ctx context.Context) (*backend, diag.List) {
	return localBackend(), nil
}

// localBackend is the backend of directories without settings.
func localBackend() *backend {
	config := local.Schema().EmptyValue()
	b, _ := local.New(config, storage.Env{Dir: "."})
	return &backend{Backend: b, kind: "local", config: config}
}
