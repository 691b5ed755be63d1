package plugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/core/trace"
	"weir.dev/weir/internal/provider"
)

// A Builtin makes a provider that runs inside of the engine.
type Builtin func() (provider.Provider, *provider.Schemas)

// Sources says where a catalog finds each provider. The first one that has
// the provider counts, in the order of the fields.
type Sources struct {
	Builtins  map[addr.Provider]Builtin
	Reattach  map[addr.Provider]Reattach
	Overrides map[addr.Provider]string // executables under development
	Installed map[addr.Provider]string // executables of verified packages
}

// A Catalog is a provider.Catalog that runs plugins. The process that was
// started to get the schemas, or ahead of being asked for, is the first that Start
// hands out.
type Catalog struct {
	sources  Sources
	template Command

	// memory has what providers declared; nil remembers nothing.
	memory  Memory
	decoded *Decoded
	// from is a catalog of the same packages that knows what they declare; nil for none.
	from *Catalog

	ctx    context.Context // of processes that no caller waits for yet
	cancel context.CancelFunc

	mu      sync.Mutex
	closed  bool
	entries map[addr.Provider]*entry
	running map[*client]bool
	asked   map[addr.Provider]bool
	pending sync.WaitGroup
}

var _ provider.Catalog = (*Catalog)(nil)

// An entry is what is known of one provider; done is closed when the rest is
// final, but for ahead.
type entry struct {
	done     chan struct{}
	schemas  *provider.Schemas
	askFirst bool
	diags    diag.List
	// ahead is a process that nobody has asked for yet; nil without one. warmed: one
	// was wanted.
	ahead  *beginning
	warmed bool
}

// A beginning is a process that is being started; done is closed when the rest is
// final.
type beginning struct {
	done   chan struct{}
	client *client
	diags  diag.List
}

// NewCatalog gives a catalog. The template is how plugins are run: its Path
// and Reattach are set by provider. The caller closes the catalog.
func NewCatalog(sources Sources, template Command) *Catalog {
	c := &Catalog{
		sources:  sources,
		template: template,
		entries:  make(map[addr.Provider]*entry),
		running:  make(map[*client]bool),
		asked:    make(map[addr.Provider]bool),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// In is a catalog of the same providers whose processes start in another directory. Their schemas are
// read once for both.
func (c *Catalog) In(dir string) *Catalog {
	template := c.template
	template.Dir = dir
	next := NewCatalog(c.sources, template)
	next.from = c
	return next
}

// A Memory keeps what providers declare, as bytes, for those that it knows to be
// the same programs as then.
type Memory interface {
	Load(addr.Provider) ([]byte, bool)
	Store(addr.Provider, []byte)
}

// Remember has schemas taken from a memory where it has them, so that nothing waits for a
// process but what a provider has to do. It is called before anything is requested.
func (c *Catalog) Remember(m Memory) { c.memory = m }

// Guard has the processes that are started from now on guarded.
func (c *Catalog) Guard(g *Guard) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.template.Guard = g
}

// remembered fills an entry from memory.
func (c *Catalog) remembered(p addr.Provider, e *entry) bool {
	if c.memory == nil {
		return false
	}
	data, ok := c.memory.Load(p)
	if !ok {
		return false
	}
	schemas, askFirst, err := c.decoded.of(data, p.Type)
	if err != nil {
		return false
	}
	e.schemas, e.askFirst = schemas, askFirst
	metrics.Known.Add(1)
	return true
}

// Warm starts providers that will be needed, in the background. Problems are
// reported to those who ask for the provider. It is seen as a part of what ctx belongs to.
func (c *Catalog) Warm(ctx context.Context, providers []addr.Provider) {
	for _, p := range providers {
		if c.sources.Builtins[p] != nil {
			continue
		}
		e := c.entry(ctx, p)
		c.mu.Lock()
		if !e.warmed && !c.closed {
			e.warmed = true
			c.pending.Go(func() { c.begin(trace.Join(c.ctx, ctx), p, e) })
		}
		c.mu.Unlock()
	}
}

// begin starts a process ahead where schemas were had without one.
func (c *Catalog) begin(ctx context.Context, p addr.Provider, e *entry) {
	<-e.done
	b := &beginning{done: make(chan struct{})}
	defer close(b.done)
	c.mu.Lock()
	wanted := e.warmed && e.ahead == nil && e.schemas != nil && !c.closed
	if wanted {
		e.ahead = b
	}
	c.mu.Unlock()
	if wanted {
		b.client, b.diags = c.another(ctx, p, e)
	}
}

// another starts a process of a provider whose schemas are known.
func (c *Catalog) another(ctx context.Context, p addr.Provider, e *entry) (*client, diag.List) {
	command, _ := c.command(p)
	cl, diags := c.run(ctx, command, func(cl *client, ctx context.Context) diag.List {
		return cl.useSchemas(ctx, e.schemas, e.askFirst)
	})
	if cl == nil {
		diags = about(p, diags)
	}
	return cl, diags
}

// take gives the process that was started ahead to the one who asks first; nil
// without one.
func (c *Catalog) take(e *entry) *beginning {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := e.ahead
	e.ahead, e.warmed = nil, false
	return b
}

// Release ends, in the background, the processes of providers that were started ahead but
// aren't needed. One that is requested all the same is started again.
func (c *Catalog) Release(needed func(addr.Provider) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	for p, e := range c.entries {
		if c.sources.Builtins[p] != nil || needed(p) {
			continue
		}
		c.pending.Go(func() {
			<-e.done
			if b := c.take(e); b != nil {
				if <-b.done; b.client != nil {
					b.client.Close()
				}
			}
		})
	}
}

// Schemas implements provider.Catalog.
func (c *Catalog) Schemas(ctx context.Context, p addr.Provider) (*provider.Schemas, diag.List) {
	if builtin := c.sources.Builtins[p]; builtin != nil {
		return c.builtinSchemas(p, builtin), nil
	}
	e, diags := c.await(ctx, p)
	if e == nil {
		return nil, diags
	}
	return e.schemas, diags
}

// Start implements provider.Catalog.
func (c *Catalog) Start(ctx context.Context, p addr.Provider) (provider.Provider, diag.List) {
	if builtin := c.sources.Builtins[p]; builtin != nil {
		instance, _ := builtin()
		return instance, nil
	}
	e, diags := c.await(ctx, p)
	if e == nil || diags.HasErrors() {
		return nil, diags
	}
	c.mu.Lock()
	c.asked[p] = true
	c.mu.Unlock()
	if b := c.take(e); b != nil {
		select {
		case <-b.done:
			return b.client.handed(), b.diags
		case <-ctx.Done():
			return nil, cancelled(p)
		}
	}
	cl, diags := c.another(ctx, p, e)
	return cl.handed(), diags
}

// Asked are the providers that Start was asked for, but for built-in ones, in order.
func (c *Catalog) Asked() []addr.Provider {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Keys(c.asked), addr.Provider.Compare)
}

// handed is the client as an interface, nil without one.
func (c *client) handed() provider.Provider {
	if c == nil {
		return nil
	}
	return c
}

// Close ends all processes, also those that were handed out.
func (c *Catalog) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.pending.Wait()

	c.mu.Lock()
	running := slices.Collect(maps.Keys(c.running))
	c.mu.Unlock()
	errs := make([]error, len(running))
	var ends sync.WaitGroup
	for i, cl := range running {
		ends.Go(func() { errs[i] = cl.Close() })
	}
	ends.Wait()
	return errors.Join(errs...)
}

func (c *Catalog) builtinSchemas(p addr.Provider, builtin Builtin) *provider.Schemas {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[p]
	if e == nil {
		e = &entry{}
		_, e.schemas = builtin()
		c.entries[p] = e
	}
	return e.schemas
}

// command says how to run a provider, if it is there.
func (c *Catalog) command(p addr.Provider) (Command, bool) {
	command := c.template
	command.Provider = p.String()
	if r, ok := c.sources.Reattach[p]; ok {
		command.Reattach = &r
		return command, true
	}
	path, ok := c.sources.Overrides[p]
	if !ok {
		path, ok = c.sources.Installed[p]
	}
	command.Path = path
	return command, ok
}

// entry gives the entry of a provider, which is being filled if it is new.
func (c *Catalog) entry(ctx context.Context, p addr.Provider) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[p]; e != nil {
		return e
	}
	e := &entry{done: make(chan struct{})}
	c.entries[p] = e
	command, ok := c.command(p)
	if !ok {
		e.diags.Add(Unavailable.As("Missing required provider").New(diag.Error, "This configuration requires provider %s, but that provider isn't available. "+
			"You may be able to install it automatically by running:\n  %s", p, diag.Run("init", "")))
		close(e.done)
		return e
	}
	go func() {
		defer close(e.done)
		if c.from != nil {
			known := c.from.entry(ctx, p)
			<-known.done
			e.schemas, e.askFirst, e.diags = known.schemas, known.askFirst, known.diags
			c.from.Release(func(addr.Provider) bool { return false }) // it was started for that
			return
		}
		if c.remembered(p, e) {
			return
		}
		cl, diags := c.run(trace.Join(c.ctx, ctx), command, func(cl *client, ctx context.Context) diag.List {
			if c.memory != nil {
				cl.store = func(data []byte) { c.memory.Store(p, data) }
			}
			return cl.loadSchemas(ctx)
		})
		e.diags = about(p, diags)
		if cl != nil {
			e.schemas, e.askFirst, e.ahead = cl.schemas, cl.askFirst, &beginning{done: e.done, client: cl}
		}
	}()
	return e
}

// run starts a process, which Close will end if nobody does before.
func (c *Catalog) run(ctx context.Context, command Command, prepare func(*client, context.Context) diag.List) (*client, diag.List) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		var diags diag.List
		diags.Add(Unavailable.New(diag.Error, "Provider %s was asked for after the end of the operation.", command.name()))
		return nil, diags
	}
	c.pending.Add(1)
	c.mu.Unlock()
	defer c.pending.Done()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	ctx, span := trace.Begin(ctx, trace.Start, "start provider")
	span.Set(trace.Provider, command.name())
	metrics.Started.Add(1)
	cl, diags := start(ctx, command, prepare)
	span.End(cl == nil)
	if cl == nil {
		return nil, diags
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[cl] = true
	cl.ended = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.running, cl)
	}
	return cl, diags
}

// await gives the finished entry of a provider, or nil when ctx ends before.
func (c *Catalog) await(ctx context.Context, p addr.Provider) (*entry, diag.List) {
	e := c.entry(ctx, p)
	select {
	case <-e.done:
		return e, e.diags
	case <-ctx.Done():
		return nil, cancelled(p)
	}
}

func cancelled(p addr.Provider) (diags diag.List) {
	diags.Add(diag.Interrupted.As("Operation cancelled").New(diag.Error, "The start of provider %s was cancelled.", p))
	return diags
}

// about names the provider in what was found out while it was started.
func about(p addr.Provider, diags diag.List) diag.List {
	for i := range diags {
		diags[i].Detail = fmt.Sprintf("While loading provider %s: %s", p, diags[i].Detail)
	}
	return diags
}
