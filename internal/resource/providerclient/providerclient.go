// Package providerclient opens the provider instances that a configuration names. It evaluates their
// configuration, starts the providers and configures them, each at most once.
//
// It owns the running providers of one plan or apply. It doesn't know what the providers are
// used for.
package providerclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/batch"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/ratelimit"
)

// A Conn is a configured provider instance.
type Conn struct {
	provider.Provider
	Addr    addr.ProviderConfig
	Schemas *provider.Schemas
	// Config is what it was configured with, without marks.
	Config cty.Value
	pool   *Pool
	at     *addr.ProviderConfig
	asked  [ratelimit.Read + 1]atomic.Bool // about an object, by the kind of call
}

// At is Addr for who keeps it: one for all, which nothing else hangs on.
func (c *Conn) At() *addr.ProviderConfig { return c.at }

func apart(p addr.ProviderConfig) *addr.ProviderConfig { return &p }

// The kinds of calls that ask for an object.
const (
	Plan = ratelimit.Plan
	Read = ratelimit.Read
	Once = ratelimit.Once
)

// Slowed is what is reported when a service is asked less.
type Slowed = ratelimit.Slowed

// Ask runs a call about resource instances within the limits of its kind. The result of the
// call are the problems of its last time. Nothing is waited for when the context ends.
func (c *Conn) Ask(ctx context.Context, k ratelimit.Kind, name addr.Name, call func() diag.List) {
	if c.StateOnly(name) {
		c.inProcess(ctx, func() { call() })
		return
	}
	c.pool.Ask(ctx, k, c.Addr.Provider, name, call)
}

// AskOf is Ask for a call about one object, which gets the object's subject. Where the
// provider takes batches, the call is made together with others of its type. The first of a
// kind is made by itself, so that a provider isn't asked whether it does for the sake of one
// object. The result are the problems of the call's last time.
func (c *Conn) AskOf(t *promise.Task, ctx context.Context, k ratelimit.Kind, s lifecycle.Subject, call func(lifecycle.Subject) diag.List) (diags diag.List) {
	if c.StateOnly(s.Addr.Name) {
		c.inProcess(ctx, func() { diags = call(s) })
		return diags
	}
	p, most := c.together(ctx, k, s.Addr.Name.Type)
	if most < 2 {
		c.Ask(ctx, k, s.Addr.Name, func() diag.List { diags = call(s); return diags })
		return diags
	}
	subject := ratelimit.Subject{Provider: c.Addr.Provider, Mode: s.Addr.Name.Mode, Type: s.Addr.Name.Type, Together: true}
	return c.pool.gather().Do(t, batch.Key{Provider: c.Addr, Type: s.Addr.Name.Type, Kind: k}, p, most,
		func(all func() diag.List) { c.pool.ask(ctx, k, subject, all) },
		func(p provider.Provider) diag.List {
			s := s
			s.Provider = p
			return call(s)
		})
}

// Call runs a call about a resource that asks no service, such as a check, within the limit.
func (c *Conn) Call(name addr.Name, call func()) {
	if c.StateOnly(name) {
		c.inProcess(c.pool.ctx, call)
		return
	}
	c.pool.Call(call)
}

// StateOnly reports whether the objects of a resource exist in the state and nowhere else.
func (c *Conn) StateOnly(name addr.Name) bool {
	return name.Mode == addr.Managed && c.Addr.Provider.IsBuiltin()
}

// inProcess runs a call that needs no turn at the limiter, since nobody else has to answer it.
func (c *Conn) inProcess(ctx context.Context, call func()) {
	if ctx.Err() == nil {
		metrics.Calls.Add(1)
		call()
	}
}

// together is the largest number of objects in one call. The first call of a kind has one object, so that
// a run with one object doesn't wait for others. Changes need no such probe: the plan has their number.
func (c *Conn) together(ctx context.Context, k ratelimit.Kind, typ string) (batch.Provider, int) {
	p, ok := c.Provider.(batch.Provider)
	if !ok || c.pool.rt == nil || c.pool.calls.OneByOne() || k != ratelimit.Once && !c.asked[k].Swap(true) {
		return nil, 0
	}
	most := p.Batches(ctx, typ)
	switch k {
	case ratelimit.Read:
		return p, most.Read
	case ratelimit.Plan:
		return p, most.Plan
	case ratelimit.Once:
		return p, most.Apply
	}
	return nil, 0
}

// A Pool opens provider instances.
type Pool struct {
	ctx     context.Context
	catalog provider.Catalog
	calls   *ratelimit.Limiter
	slowed  func(ratelimit.Slowed)
	unwatch func()
	rt      *promise.Runtime // of the tasks that ask; nil for none
	gather  func() *batch.Gather
	data    data

	mu    sync.Mutex
	cells map[addr.ProviderConfig]*promise.Cell[*Conn]
	bare  map[addr.Provider]*starting
	spare map[addr.Provider]provider.Provider // see Reuse
	// live are the providers that run: those of instances by their address,
	// and bare ones.
	live map[any]provider.Provider
}

// starting is a provider that runs without configuration.
type starting struct {
	once     sync.Once
	provider provider.Provider
	diags    diag.List
}

// NewPool makes a pool that makes at most limit calls at once; 0 is for as many as is
// usual and more reads where that pays.
func NewPool(ctx context.Context, catalog provider.Catalog, limit int) *Pool {
	return &Pool{
		ctx: ctx, catalog: catalog, calls: ratelimit.New(ratelimit.Settings{AtOnce: limit}),
		cells: map[addr.ProviderConfig]*promise.Cell[*Conn]{}, bare: map[addr.Provider]*starting{},
		live: map[any]provider.Provider{}, unwatch: func() {},
	}
}

// Share has the pool keep to limits together with others; nil leaves it its own. It is
// called before anything else.
func (p *Pool) Share(l *ratelimit.Limiter) {
	if l != nil {
		p.calls = l
	}
}

// Serve has calls make room for tasks of the runtime while the service of a provider holds
// them back, until the pool is closed. slowed, unless nil, is reported when a service rejects
// calls because there were too many.
func (p *Pool) Serve(rt *promise.Runtime, slowed func(ratelimit.Slowed)) {
	p.unwatch()
	p.unwatch, p.slowed = p.calls.Watch(rt.Widen), slowed
	p.rt, p.gather = rt, sync.OnceValue(func() *batch.Gather { return batch.New(rt) })
}

// away does what a task waits for without anything to do itself.
func (p *Pool) away(do func()) {
	if p.rt == nil {
		do()
		return
	}
	p.rt.Leave()
	defer p.rt.Return()
	do()
}

// Call runs a call of a provider that asks no service, such as a check, within the limit.
func (p *Pool) Call(call func()) {
	metrics.Calls.Add(1)
	p.local(call)
}

// Occupy runs what counts as a call of a provider to the limit, such as a
// command.
func (p *Pool) Occupy(do func()) { p.away(func() { p.local(do) }) }

func (p *Pool) local(do func()) {
	p.calls.Do(p.ctx, ratelimit.Local, ratelimit.Subject{}, func() ratelimit.Answer { do(); return ratelimit.Answer{} }, nil)
}

// Ask is Conn.Ask for a provider that is known otherwise.
func (p *Pool) Ask(ctx context.Context, k ratelimit.Kind, s addr.Provider, name addr.Name, call func() diag.List) {
	subject := ratelimit.Subject{Provider: s, Mode: name.Mode, Type: name.Type}
	if k != ratelimit.Plan || p.rt == nil {
		p.away(func() { p.ask(ctx, k, subject, call) })
		return
	}
	// A plan seldom asks a service, so that the task soon continues, and may ask together with
	// others that wait for that, unless it has to be asked for again later.
	left := false
	back := func() {
		if left {
			p.rt.Return()
			left = false
		}
	}
	defer back()
	p.ask(ctx, k, subject, func() diag.List {
		back()
		diags := call()
		if again, _ := provider.AskedTooOften(diags); again {
			left = true
			p.rt.Leave()
		}
		return diags
	})
}

func (p *Pool) ask(ctx context.Context, k ratelimit.Kind, s ratelimit.Subject, call func() diag.List) {
	p.calls.Do(ctx, k, s, func() ratelimit.Answer {
		metrics.Calls.Add(1)
		tooOften, after := provider.AskedTooOften(call())
		return ratelimit.Answer{Refused: tooOften, After: after}
	}, p.slowed)
}

// Schemas returns what a provider declares.
func (p *Pool) Schemas(a addr.Provider) (*provider.Schemas, diag.List) {
	return p.catalog.Schemas(p.ctx, a)
}

// Batch is how many objects of a type a provider instance that was opened changes in one
// call; 0 and 1 are for one at a time.
func (p *Pool) Batch(a addr.ProviderConfig, typ string) int {
	p.mu.Lock()
	cell := p.cells[a]
	p.mu.Unlock()
	if cell == nil {
		return 0
	}
	if conn, ok := cell.Peek(); ok && conn != nil {
		if b, ok := conn.Provider.(provider.Batching); ok {
			return b.Batches(p.ctx, typ).Apply
		}
	}
	return 0
}

// Open returns the configured provider instance, opened by the first who
// asks. After a problem, which Diagnostics has, the result is nil and what
// the task computes is failed.
func (p *Pool) Open(t *promise.Task, pi *eval.ProviderInstance) *Conn {
	p.mu.Lock()
	cell := p.cells[pi.Addr]
	if cell == nil {
		cell = new(promise.Cell[*Conn])
		p.cells[pi.Addr] = cell
	}
	p.mu.Unlock()
	conn, _, cycle := cell.Get(t, pi, nil, func(t *promise.Task) (*Conn, bool) { return p.open(t, pi) })
	if cycle != nil {
		pi.Frame.Evaluator().Report(cycle)
	}
	return conn
}

// Node returns the cell of a provider instance that was asked for, or nil.
func (p *Pool) Node(a addr.ProviderConfig) *promise.Node {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cell := p.cells[a]; cell != nil {
		return &cell.Node
	}
	return nil
}

func (p *Pool) open(t *promise.Task, pi *eval.ProviderInstance) (*Conn, bool) {
	schemas, diags := p.Schemas(pi.Addr.Provider)
	if diags.HasErrors() {
		return nil, t.Report(p.at(pi, diags)...)
	}
	t.Report(diags...)
	if pi.Decl != nil && pi.Decl.Mocked {
		mock, diags := p.mock(pi)
		if t.Report(diags...); mock == nil {
			return nil, false
		}
		p.began(pi.Addr, mock)
		return &Conn{Provider: mock, Addr: pi.Addr, Schemas: schemas, Config: cty.EmptyObjectVal, pool: p, at: apart(pi.Addr)}, true
	}
	config, ok := Config(t, pi, schemas)
	if !ok {
		return nil, false
	}
	running := p.take(pi.Addr.Provider)
	if running == nil {
		p.away(func() { running, diags = p.catalog.Start(p.ctx, pi.Addr.Provider) })
		if !t.Report(p.at(pi, diags)...) {
			return nil, false
		}
	}
	conn := &Conn{Provider: running, Addr: pi.Addr, Schemas: schemas, Config: config, pool: p, at: apart(pi.Addr)}
	p.began(pi.Addr, running)
	if config.IsWhollyKnown() {
		ok = t.Report(Locate(conn.ValidateConfig(p.ctx, config), body(pi), pi.Addr.String())...)
	}
	if ok {
		p.away(func() { diags = conn.Configure(p.ctx, config) })
		ok = t.Report(Locate(diags, body(pi), pi.Addr.String())...)
	}
	if !ok {
		p.CloseOne(pi.Addr)
		return nil, false
	}
	return conn, true
}

// mock returns what stands in for a provider.
func (p *Pool) mock(pi *eval.ProviderInstance) (provider.Provider, diag.List) {
	if m, ok := p.catalog.(provider.Mocker); ok {
		mock, diags := m.Mock(p.ctx, pi.Addr)
		return mock, p.at(pi, diags)
	}
	var diags diag.List
	diags.Add(BadConfiguration.As("Provider can't be mocked").Error(pi.Decl.Range, "There is nothing to take the place of %s.", pi.Addr.Provider))
	return nil, diags
}

// at gives problems of a provider as a whole the place where it is declared.
func (p *Pool) at(pi *eval.ProviderInstance, diags diag.List) diag.List {
	if pi.Decl != nil {
		for i := range diags {
			if diags[i].Subject == nil {
				diags[i].Subject = pi.Decl.Range.Ptr()
			}
		}
	}
	return diags
}

func body(pi *eval.ProviderInstance) *program.Body {
	if pi.Decl == nil {
		return nil
	}
	return pi.Decl.Config
}

// Config evaluates the configuration of a provider instance to a value
// without marks. Ephemeral and sensitive values are allowed in it.
func Config(t *promise.Task, pi *eval.ProviderInstance, schemas *provider.Schemas) (cty.Value, bool) {
	block := &schema.Block{}
	if schemas.Provider != nil {
		block = schemas.Provider.Block
	}
	before := t.Failures()
	var v cty.Value
	var hd hcl.Diagnostics
	if pi.Decl == nil {
		v, hd = block.Decode(hcl.EmptyBody(), nil)
		if hd.HasErrors() {
			return cty.DynamicVal, t.Report(BadConfiguration.New(diag.Error, "Provider %q requires explicit configuration. Add a provider block to the root module and configure the provider's required arguments as described in the provider documentation.", pi.Addr.Provider))
		}
	} else {
		v, hd = block.Decode(pi.Decl.Config.Body, pi.Context(t))
	}
	t.Report(eval.Diagnostics(hd)...)
	pi.Frame.Evaluator().Facts.Secrets.AddMarked(block.MarkSensitive(v))
	v, _ = v.UnmarkDeep()
	return v, t.Failures() == before
}

// Locate turns the attribute paths in a provider's diagnostics into places
// of the body. Those without a path get the body's header.
func Locate(diags diag.List, b *program.Body, address string) diag.List {
	for i := range diags {
		d := &diags[i]
		if b != nil && d.Subject == nil {
			where := b.Range
			if len(d.Path) > 0 {
				where = schema.FindRange(b.Body, d.Path)
			}
			if where.Filename != "" {
				d.Subject = &where
			}
		}
	}
	return diags.InAddress(address)
}

// Bare returns a provider that runs without configuration, for validation
// and for functions.
func (p *Pool) Bare(a addr.Provider) (provider.Provider, diag.List) {
	p.mu.Lock()
	s := p.bare[a]
	if s == nil {
		s = &starting{}
		p.bare[a] = s
	}
	p.mu.Unlock()
	s.once.Do(func() {
		if s.provider = p.take(a); s.provider == nil {
			s.provider, s.diags = p.catalog.Start(p.ctx, a)
		}
		if s.provider != nil {
			p.began(a, s.provider)
		}
	})
	return s.provider, s.diags
}

// Reuse lets instances that are opened from now on have the providers that run
// without configuration: starting a big one takes longer than many a plan.
func (p *Pool) Reuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spare = map[addr.Provider]provider.Provider{}
	for a, s := range p.bare {
		if s.provider != nil {
			p.spare[a] = s.provider
		}
	}
	clear(p.bare)
}

// take returns a provider that runs and that nobody uses, or nil.
func (p *Pool) take(a addr.Provider) provider.Provider {
	p.mu.Lock()
	defer p.mu.Unlock()
	running := p.spare[a]
	if running == nil {
		return nil
	}
	delete(p.spare, a)
	delete(p.live, a)
	if !a.IsBuiltin() {
		metrics.Kept.Add(1)
	}
	return running
}

// Function calls a provider function as expressions of the frame do: on a
// configured instance where the name has an alias, else on a bare provider.
func (p *Pool) Function(t *promise.Task, f *eval.Frame, fn *program.ProviderFunction, args []cty.Value) (cty.Value, error) {
	schemas, diags := p.Schemas(fn.Provider)
	if err := diags.Err(); err != nil {
		return cty.DynamicVal, err
	}
	decl := schemas.Functions[fn.Name]
	if decl == nil {
		return cty.DynamicVal, fmt.Errorf("the provider %s has no function named %q", fn.Provider, fn.Name)
	}
	unmarked, marks, err := convertArguments(decl, args)
	if err != nil {
		return cty.DynamicVal, err
	}
	for i, arg := range unmarked {
		if !parameter(decl, i).AllowUnknown && !arg.IsWhollyKnown() {
			return cty.UnknownVal(decl.Return).WithMarks(marks), nil
		}
	}
	var target provider.Provider
	if fn.Alias != "" {
		use := program.ProviderUse{LocalName: fn.LocalName, Alias: fn.Alias, Provider: fn.Provider, Explicit: true, Range: fn.Range}
		var pi *eval.ProviderInstance
		if err := t.Collect(func() { pi, _ = f.ProviderOf(t, use, nil) }).Err(); err != nil {
			return cty.DynamicVal, err
		}
		if pi == nil {
			return cty.DynamicVal, nil
		}
		conn := p.Open(t, pi)
		if conn == nil {
			return cty.DynamicVal, nil
		}
		target = conn
	} else {
		if target, diags = p.Bare(fn.Provider); diags.HasErrors() {
			return cty.DynamicVal, diags.Err()
		}
	}
	result, argument, err := target.CallFunction(p.ctx, fn.Name, unmarked)
	if err != nil {
		if param := parameter(decl, argument); param != nil {
			err = &eval.ArgumentError{Parameter: param.Name, Problem: err}
		}
		return cty.DynamicVal, err
	}
	return result.WithMarks(marks), nil
}

// convertArguments brings arguments to the types of the parameters.
func convertArguments(decl *provider.Function, args []cty.Value) ([]cty.Value, cty.ValueMarks, error) {
	marks := cty.ValueMarks{}
	if len(args) < len(decl.Parameters) || len(args) > len(decl.Parameters) && decl.Variadic == nil {
		return nil, nil, fmt.Errorf("%d arguments are needed, %d are given", len(decl.Parameters), len(args))
	}
	out := make([]cty.Value, len(args))
	for i, arg := range args {
		param := parameter(decl, i)
		v, m := arg.UnmarkDeep()
		for mark := range m {
			marks[mark] = struct{}{}
		}
		v, err := value.Convert(v, param.Type)
		if err != nil {
			return nil, nil, &eval.ArgumentError{Parameter: param.Name, Problem: err}
		}
		if v.IsNull() && !param.AllowNull {
			return nil, nil, &eval.ArgumentError{Parameter: param.Name, Problem: errors.New("argument must not be null")}
		}
		out[i] = v
	}
	return out, marks, nil
}

// parameter is the one that takes an argument; nil where none does.
func parameter(decl *provider.Function, argument int) *provider.Parameter {
	if argument >= 0 && argument < len(decl.Parameters) {
		return &decl.Parameters[argument]
	}
	if argument < 0 {
		return nil
	}
	return decl.Variadic
}

// Diagnostics returns the problems of opening, ordered by address.
func (p *Pool) Diagnostics() diag.List {
	p.mu.Lock()
	defer p.mu.Unlock()
	var diags diag.List
	for _, a := range slices.SortedFunc(maps.Keys(p.cells), addr.ProviderConfig.Compare) {
		diags.Append(p.cells[a].Diagnostics())
	}
	return diags
}

// stopPatience is how long a provider may take to hear that it should stop.
const stopPatience = 5 * time.Second

// Stop asks all providers to abort what they are doing.
func (p *Pool) Stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	// A provider that can't stop is ended by Close.
	p.each(func(running provider.Provider) { _ = running.Stop(ctx) })
}

// Close ends all providers.
func (p *Pool) Close() {
	p.unwatch()
	p.each(func(running provider.Provider) { _ = running.Close() }) // its process is gone either way
}

// each does something to all providers at once: one may take its time.
func (p *Pool) each(do func(provider.Provider)) {
	var wg sync.WaitGroup
	for _, running := range p.running() {
		wg.Go(func() { do(running) })
	}
	wg.Wait()
}

func (p *Pool) running() []provider.Provider {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Values(p.live))
}

// began notes that a provider runs.
func (p *Pool) began(key any, running provider.Provider) {
	p.mu.Lock()
	p.live[key] = running
	p.mu.Unlock()
}

// CloseOne ends one provider instance.
func (p *Pool) CloseOne(a addr.ProviderConfig) {
	p.mu.Lock()
	running := p.live[a]
	delete(p.live, a)
	p.mu.Unlock()
	if running != nil {
		_ = running.Close() // its process is gone either way
	}
}
