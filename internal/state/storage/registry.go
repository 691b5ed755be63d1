package storage

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/suggest"
	"weir.dev/weir/internal/sys/durable"
)

// An Env is what a backend may know of the process: the directory that
// relative paths start from, its environment, and how to reach what is outside.
type Env struct {
	Dir    string
	Getenv func(name string) string
	// Disk is where files are changed, and Transport has requests of backends that
	// open their own connections; nil for those of the system.
	Disk      *durable.Disk
	Transport http.RoundTripper
	// Hosts has the user's settings for hosts of services, which are only read where
	// they are needed; nil for none.
	Hosts func() (Hosts, error)
	// CloudHost is the host of cloud blocks without one, "" for none.
	CloudHost string
}

// Hosts are what users say of hosts of services.
type Hosts struct {
	Token    func(ctx context.Context, host string) (string, error) // "" for none
	Services map[string]map[string]any                              // what they wrote in place of discovery, by host
}

// A Type is a type of backend. Both functions do no more work than they are
// asked for, so that a long list of types costs nothing at start.
type Type struct {
	Schema func() *schema.Block
	// New makes a backend from a configuration of the schema's implied type,
	// wholly known and without marks. Diagnostics have no source
	// range but the path of the attribute they are about.
	New func(config cty.Value, env Env) (Backend, diag.List)
	// Executes: its backends are Executors.
	Executes bool
}

// TypeOf is the type of the backends that open returns, nil where it can't.
func TypeOf[B interface {
	comparable
	Backend
}](shape func() *schema.Block, open func(cty.Value, Env) (B, diag.List)) Type {
	return Type{Schema: shape, New: func(config cty.Value, env Env) (Backend, diag.List) {
		b, diags := open(config, env)
		if none := *new(B); b == none { // not an interface that holds nil
			return nil, diags
		}
		return b, diags
	}}
}

// A Registry has types of backends by the name that configurations use.
type Registry map[string]Type

// removed says what became of types that incumbents once had.
func removed() map[string]string {
	return map[string]string{
		"artifactory": `The "artifactory" backend is not supported in OpenTofu v1.3 or later.`,
		"azure":       `The "azure" backend name has been removed, please use "azurerm".`,
		"etcd":        `The "etcd" backend is not supported in OpenTofu v1.3 or later.`,
		"etcdv3":      `The "etcdv3" backend is not supported in OpenTofu v1.3 or later.`,
		"manta":       `The "manta" backend is not supported in OpenTofu v1.3 or later.`,
		"swift":       `The "swift" backend is not supported in OpenTofu v1.3 or later.`,
	}
}

// Find returns a type. The error is a sentence for the detail of a diagnostic.
func (r Registry) Find(name string) (Type, error) {
	if t, ok := r[name]; ok {
		return t, nil
	}
	if message, ok := removed()[name]; ok {
		return Type{}, fmt.Errorf("%s", message)
	}
	names := slices.Sorted(maps.Keys(r))
	if best := suggest.Proper(name, names); best != "" {
		return Type{}, fmt.Errorf("There is no backend type named %q. Did you mean %q?", name, best)
	}
	if len(names) == 0 {
		return Type{}, fmt.Errorf("There is no backend type named %q.", name)
	}
	return Type{}, fmt.Errorf("There is no backend type named %q. The types are %s.", name, strings.Join(names, ", "))
}

// New makes a backend of the named type; config has the implied type of its
// schema.
func (r Registry) New(name string, config cty.Value, env Env) (Backend, diag.List) {
	t, err := r.Find(name)
	if err != nil {
		var diags diag.List
		diags.Add(diag.UnknownBackend.New(diag.Error, "%s", err))
		return nil, diags
	}
	return t.New(config, env)
}
