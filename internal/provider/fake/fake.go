// Package fake implements a provider for tests. Types are a few words, unscripted calls do the
// obvious, calls are counted, and any call can fail or wait.
//
//	p := fake.New()
//	p.Resources["sim_object"] = fake.NewType("name string required", "zone string replace", "id string computed")
//	p.Resources["sim_object"].Apply = func(r provider.ApplyRequest) provider.ApplyResponse { … }
//	catalog := fake.Catalog{addr.OpenTofu.Provider("sim"): p}
//
// It rejects processes and wire formats, and is only for tests.
package fake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider"
)

// A Provider is what all its running instances have in common. The exported
// fields are set before the first of them starts.
type Provider struct {
	// Config is the provider's own configuration, without attributes at first.
	Config      *Type
	Resources   map[string]*Type
	DataSources map[string]*Type
	Ephemerals  map[string]*Type
	Actions     map[string]*Type
	Lists       map[string]*Type
	Functions   map[string]Function
	// PlanDestroy, MoveState and GenerateConfig are declared as they are here.
	PlanDestroy, MoveState, GenerateConfig bool
	// Batches is how many requests one call may have, of any type. The calls are counted as
	// ReadMany, PlanMany and ApplyMany, what is in them as calls by themselves.
	Batches provider.Batches
	// Before is called before every call, with the name of its method, the
	// type, and the value that the call is about: it can look, wait or fail.
	Before func(ctx context.Context, call, typ string, about cty.Value) error

	mu      sync.Mutex
	calls   map[string]int
	log     []string
	running int
	stopped bool
	configs []cty.Value
	last    map[string]int // numbers that were given out, by type
	remote  map[string]cty.Value
	fails   map[string]string
	gates   map[string]*Gate
}

// A Function is a provider function.
type Function struct {
	provider.Function
	Call func(args []cty.Value) (cty.Value, error)
}

// New makes a provider without types.
func New() *Provider {
	return &Provider{
		Config:      NewType(),
		Resources:   map[string]*Type{},
		DataSources: map[string]*Type{},
		Ephemerals:  map[string]*Type{},
		Actions:     map[string]*Type{},
		Lists:       map[string]*Type{},
		Functions:   map[string]Function{},
		calls:       map[string]int{},
		last:        map[string]int{},
		remote:      map[string]cty.Value{},
		fails:       map[string]string{},
		gates:       map[string]*Gate{},
	}
}

// Schemas is what the provider declares.
func (p *Provider) Schemas() *provider.Schemas {
	list := func(types map[string]*Type) provider.Types {
		out := provider.Types{}
		for name, t := range types {
			out[name] = provider.Known(t.Schema)
		}
		return out
	}
	s := &provider.Schemas{
		Provider:    p.Config.Schema,
		Resources:   list(p.Resources),
		DataSources: list(p.DataSources),
		Ephemerals:  list(p.Ephemerals),
		Actions:     list(p.Actions),
		Lists:       list(p.Lists),
		Functions:   map[string]*provider.Function{},
		PlanDestroy: p.PlanDestroy,
		MoveState:   p.MoveState,

		GenerateConfig: p.GenerateConfig,
	}
	for name, f := range p.Functions {
		s.Functions[name] = &f.Function
	}
	return s
}

// Start starts an instance.
func (p *Provider) Start() provider.Provider {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls["Start"]++
	p.running++
	return &instance{Provider: p}
}

// Count is how often a method was called, "Start" included.
func (p *Provider) Count(call string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[call]
}

// Counts has all counts on a line, for goldens.
func (p *Provider) Counts() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p.calls)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, p.calls[name]))
	}
	return strings.Join(parts, ", ")
}

// Log lists the calls that are about resources, as "METHOD TYPE", in the
// order in which they came.
func (p *Provider) Log() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log)
}

// Reset forgets counts and log.
func (p *Provider) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.calls)
	p.log, p.configs = nil, nil
}

// Running is how many instances weren't closed.
func (p *Provider) Running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}

// Stopped reports whether Stop was called.
func (p *Provider) Stopped() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped
}

// Configs lists what instances were configured with.
func (p *Provider) Configs() []cty.Value {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.configs)
}

// SetRemote changes what Read and Import find under an id, a null value for
// nothing. Without it Read returns what it is given.
func (p *Provider) SetRemote(id string, v cty.Value) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remote[id] = v
}

// Fail makes calls of a method fail for a type, or for all with "". An empty
// message ends that.
func (p *Provider) Fail(call, typ, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fails[call+" "+typ] = message
}

// A Gate holds calls back.
type Gate struct {
	// Arrived gets the type of each call that begins to wait.
	Arrived chan string
	open    chan struct{}
	once    sync.Once
}

// Open lets all calls go on, also later ones.
func (g *Gate) Open() { g.once.Do(func() { close(g.open) }) }

// Block makes calls of a method wait until the gate is opened or their
// context ends.
func (p *Provider) Block(call string) *Gate {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := &Gate{Arrived: make(chan string, 1000), open: make(chan struct{})}
	p.gates[call] = g
	return g
}

// before is the start of every call: it counts, waits and fails.
func (p *Provider) before(ctx context.Context, call, typ string, about cty.Value) diag.List {
	p.mu.Lock()
	p.calls[call]++
	if typ != "" {
		p.log = append(p.log, call+" "+typ)
	}
	message := p.fails[call+" "+typ]
	if message == "" {
		message = p.fails[call+" "]
	}
	gate := p.gates[call]
	p.mu.Unlock()

	var err error
	if gate != nil {
		gate.Arrived <- typ
		select {
		case <-gate.open:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err == nil && p.Before != nil {
		err = p.Before(ctx, call, typ, about)
	}
	if err == nil && message != "" {
		err = errors.New(message)
	}
	if err == nil {
		return nil
	}
	var diags diag.List
	diags.Add(provider.Reported.As("Scripted failure").New(diag.Error, "%s %s: %s", call, typ, err))
	return diags
}

// number gives out the numbers 1, 2 … for each type.
func (p *Provider) number(typ string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[typ]++
	return p.last[typ]
}

// A Catalog has providers by address.
type Catalog map[addr.Provider]*Provider

func (c Catalog) find(a addr.Provider) (*Provider, diag.List) {
	if p := c[a]; p != nil {
		return p, nil
	}
	var diags diag.List
	diags.Add(provider.Reported.As("Missing provider").New(diag.Error, "There is no fake of %s.", a))
	return nil, diags
}

// Schemas implements provider.Catalog.
func (c Catalog) Schemas(_ context.Context, a addr.Provider) (*provider.Schemas, diag.List) {
	p, diags := c.find(a)
	if p == nil {
		return nil, diags
	}
	p.mu.Lock()
	p.calls["Schemas"]++
	p.mu.Unlock()
	return p.Schemas(), nil
}

// Start implements provider.Catalog.
func (c Catalog) Start(_ context.Context, a addr.Provider) (provider.Provider, diag.List) {
	p, diags := c.find(a)
	if p == nil {
		return nil, diags
	}
	return p.Start(), nil
}
