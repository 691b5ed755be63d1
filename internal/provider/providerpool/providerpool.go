// Package providerpool shares provider processes between concurrent operations: one for equal
// configurations, and one for calls that need no configuration.
//
// It owns which process serves whom, and how many there are. It doesn't know what they are
// used for.
package providerpool

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider"
)

// A Keeper has the processes.
type Keeper struct {
	inner provider.Catalog
	limit int
	spare int // how many processes may run that nobody has; negative for any number

	mu        sync.Mutex
	processes map[addr.Provider][]*process
	running   int           // those that aren't ended
	uses      int           // counts up
	guests    []*Guest      // in the order in which they came
	changed   chan struct{} // closed when a process may have become free
}

// A process is a running provider.
type process struct {
	source addr.Provider
	// config is what it is configured with, NilVal before that.
	config   cty.Value
	start    func(context.Context) // once
	provider provider.Provider
	diags    diag.List

	configuring sync.Once
	problems    diag.List // of configuring it

	// users are those who have it now, stopped those of them who want its calls aborted,
	// last when somebody had it; dropped: nobody else is given it. The keeper guards them.
	users, stopped int
	last           int
	dropped, ended bool
}

// New is a keeper of the processes that a catalog starts: no more than the limit, where
// that isn't 0, but for those that one guest needs by itself.
func New(inner provider.Catalog, limit int) *Keeper {
	return &Keeper{inner: inner, limit: limit, spare: -1, processes: map[addr.Provider][]*process{}, changed: make(chan struct{})}
}

// NewSpare is a keeper without a limit, which ends processes that nobody has if there are more of
// these than spare.
func NewSpare(inner provider.Catalog, spare int) *Keeper {
	k := New(inner, 0)
	k.spare = spare
	return k
}

// Schemas returns what a provider declares.
func (k *Keeper) Schemas(ctx context.Context, p addr.Provider) (*provider.Schemas, diag.List) {
	return k.inner.Schemas(ctx, p)
}

// Lend gives a provider that is started when it is needed, whatever the limit.
func (k *Keeper) Lend(p addr.Provider) *Lent { return &Lent{keeper: k, source: p} }

// A Guest is one of several operations at once. Of those that are there, the first never waits
// for a process, so that all end.
type Guest struct {
	*Keeper
	inside func(addr.Provider) bool
}

// Enter begins an operation; Leave ends it. Providers that are inside of this process
// aren't shared.
func (k *Keeper) Enter(inside func(addr.Provider) bool) *Guest {
	k.mu.Lock()
	defer k.mu.Unlock()
	g := &Guest{k, inside}
	k.guests = append(k.guests, g)
	return g
}

// Leave ends the operation.
func (g *Guest) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.guests = slices.DeleteFunc(g.guests, func(other *Guest) bool { return other == g })
	g.tell()
}

// Start implements provider.Catalog.
func (g *Guest) Start(ctx context.Context, p addr.Provider) (provider.Provider, diag.List) {
	if g.inside(p) {
		return g.inner.Start(ctx, p)
	}
	l := g.Lend(p)
	l.guest = g
	return l, nil
}

// tell wakes those who wait for a process.
func (k *Keeper) tell() {
	close(k.changed)
	k.changed = make(chan struct{})
}

// bare is any process of a provider.
func (k *Keeper) bare(ctx context.Context, g *Guest, p addr.Provider) (*process, diag.List) {
	return k.obtain(ctx, g, p, cty.NilVal, func(list []*process) *process {
		if len(list) == 0 {
			return nil
		}
		return list[0]
	})
}

// configured is a process for the given configuration. Anything that isn't known is like
// nothing else.
func (k *Keeper) configured(ctx context.Context, g *Guest, p addr.Provider, config cty.Value) (*process, diag.List) {
	return k.obtain(ctx, g, p, config, func(list []*process) *process {
		if config.IsWhollyKnown() {
			for _, c := range list {
				if c.config != cty.NilVal && c.config.RawEquals(config) {
					return c
				}
			}
		}
		for _, c := range list {
			if c.config == cty.NilVal {
				c.config = config
				return c
			}
		}
		return nil
	})
}

// obtain gives the process that is chosen of those there are, or else a new one.
func (k *Keeper) obtain(ctx context.Context, g *Guest, p addr.Provider, config cty.Value, choose func([]*process) *process) (*process, diag.List) {
	for {
		k.mu.Lock()
		c := choose(k.processes[p])
		full := k.limit > 0 && k.running >= k.limit
		var idle *process
		if c == nil && full {
			idle = k.idle()
		}
		if c == nil && (!full || idle == nil && (g == nil || len(k.guests) == 0 || k.guests[0] == g)) {
			c = k.add(p, config)
		}
		if c != nil {
			c.users++
		}
		changed := k.changed
		k.mu.Unlock()
		switch {
		case c != nil:
			return c, nil
		case idle != nil:
			k.drop(idle)
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, diag.Interrupted.As("Operation cancelled").List("The start of provider %s was cancelled.", p)
		}
	}
}

// idle is the process that nobody has had for the longest time, nil without one.
func (k *Keeper) idle() *process {
	var oldest *process
	for _, list := range k.processes {
		for _, c := range list {
			if c.users == 0 && (oldest == nil || c.last < oldest.last) {
				oldest = c
			}
		}
	}
	return oldest
}

// Shrink ends processes that nobody has, those first that nobody has had for the longest time, until
// there are no more than that. It returns how many are left.
func (k *Keeper) Shrink(most int) int {
	for {
		k.mu.Lock()
		idle, running := k.idle(), k.running
		k.mu.Unlock()
		if running <= most || idle == nil {
			return running
		}
		k.drop(idle)
	}
}

// trim ends processes that nobody has beyond those that may wait.
func (k *Keeper) trim() {
	for {
		k.mu.Lock()
		idle, n := k.idle(), 0
		for _, list := range k.processes {
			for _, c := range list {
				if c.users == 0 {
					n++
				}
			}
		}
		k.mu.Unlock()
		if k.spare < 0 || n <= k.spare {
			return
		}
		k.drop(idle)
	}
}

func (k *Keeper) add(p addr.Provider, config cty.Value) *process {
	c := &process{source: p, config: config}
	var once sync.Once
	c.start = func(ctx context.Context) {
		once.Do(func() {
			running, diags := k.inner.Start(ctx, p)
			k.mu.Lock()
			defer k.mu.Unlock()
			c.provider, c.diags = running, diags
		})
	}
	k.processes[p] = append(k.processes[p], c)
	k.running++
	return c
}

// drop has nobody else use a process, which ends when nobody has it.
func (k *Keeper) drop(c *process) {
	k.mu.Lock()
	c.dropped = true
	k.processes[c.source] = slices.DeleteFunc(k.processes[c.source], func(other *process) bool { return other == c })
	k.mu.Unlock()
	k.end(c)
}

// end ends a process that was dropped and that nobody has.
func (k *Keeper) end(c *process) {
	k.mu.Lock()
	over := c.dropped && c.users == 0 && !c.ended
	c.ended = c.ended || over
	k.mu.Unlock()
	if !over {
		return
	}
	if c.provider != nil {
		_ = c.provider.Close() // its process is gone either way
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running--
	k.tell()
}

// release takes a process back; nil is none.
func (k *Keeper) release(c *process) {
	if c == nil {
		return
	}
	k.mu.Lock()
	k.uses++
	c.users, c.last = c.users-1, k.uses
	k.tell()
	k.mu.Unlock()
	k.end(c)
}

// Close ends all processes, also those that somebody still has.
func (k *Keeper) Close() {
	k.mu.Lock()
	var all []provider.Provider
	for _, list := range k.processes {
		for _, c := range list {
			if c.provider != nil {
				all = append(all, c.provider)
			}
		}
	}
	clear(k.processes)
	k.mu.Unlock()
	var ends sync.WaitGroup
	for _, running := range all {
		ends.Go(func() { _ = running.Close() })
	}
	ends.Wait()
}

// Lent is a provider that is started when it is needed, perhaps shared with
// others.
type Lent struct {
	keeper *Keeper
	guest  *Guest
	source addr.Provider
	// Unchecked: nothing is started to check configurations.
	Unchecked bool

	mu      sync.Mutex
	process *process
	stopped atomic.Bool
}

// have is the process that the provider has now, nil without one, and makes it have
// another one.
func (l *Lent) have(next func(now *process) *process) *process {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.process
	l.process = next(now)
	return now
}

func same(now *process) *process { return now }

func (l *Lent) use(ctx context.Context) (provider.Provider, diag.List) {
	c := l.have(same)
	if c == nil {
		var diags diag.List
		if c, diags = l.keeper.bare(ctx, l.guest, l.source); c == nil {
			return nil, diags
		}
		first := l.have(func(now *process) *process { return cmp.Or(now, c) })
		if first != nil { // somebody else was faster
			l.keeper.release(c)
			c = first
		}
	}
	c.start(ctx)
	if c.provider == nil {
		l.keeper.drop(c)
		return nil, c.diags
	}
	return c.provider, nil
}

func (l *Lent) ValidateConfig(ctx context.Context, config cty.Value) diag.List {
	p, diags := l.use(ctx)
	if p == nil {
		return diags
	}
	return p.ValidateConfig(ctx, config)
}

func (l *Lent) Configure(ctx context.Context, config cty.Value) diag.List {
	defer l.keeper.trim() // not before: what is released here may be configured
	l.keeper.release(l.have(func(*process) *process { return nil }))
	c, diags := l.keeper.configured(ctx, l.guest, l.source, config)
	if c == nil {
		return diags
	}
	l.have(func(*process) *process { return c })
	p, diags := l.use(ctx)
	if p == nil {
		return diags
	}
	c.configuring.Do(func() {
		if c.problems = p.Configure(ctx, config); c.problems.HasErrors() {
			l.keeper.drop(c)
		}
	})
	return c.problems
}

func (l *Lent) ValidateResource(ctx context.Context, mode addr.Mode, typ string, config cty.Value) diag.List {
	if l.Unchecked {
		return nil
	}
	p, diags := l.use(ctx)
	if p == nil {
		return diags
	}
	return p.ValidateResource(ctx, mode, typ, config)
}

func (l *Lent) UpgradeState(ctx context.Context, r provider.UpgradeRequest) (cty.Value, diag.List) {
	p, diags := l.use(ctx)
	if p == nil {
		return cty.NilVal, diags
	}
	return p.UpgradeState(ctx, r)
}

func (l *Lent) UpgradeIdentity(ctx context.Context, typ string, version int64, json []byte) (cty.Value, diag.List) {
	p, diags := l.use(ctx)
	if p == nil {
		return cty.NilVal, diags
	}
	return p.UpgradeIdentity(ctx, typ, version, json)
}

func (l *Lent) Read(ctx context.Context, r provider.ReadRequest) provider.ReadResponse {
	p, diags := l.use(ctx)
	if p == nil {
		return provider.ReadResponse{Diags: diags}
	}
	return p.Read(ctx, r)
}

func (l *Lent) Plan(ctx context.Context, r provider.PlanRequest) provider.PlanResponse {
	p, diags := l.use(ctx)
	if p == nil {
		return provider.PlanResponse{Diags: diags}
	}
	return p.Plan(ctx, r)
}

func (l *Lent) Apply(ctx context.Context, r provider.ApplyRequest) provider.ApplyResponse {
	p, diags := l.use(ctx)
	if p == nil {
		return provider.ApplyResponse{Unsent: true, Diags: diags}
	}
	return p.Apply(ctx, r)
}

// Batches implements provider.Batching, for the processes that do.
func (l *Lent) Batches(ctx context.Context, typ string) provider.Batches {
	p, _ := l.use(ctx)
	if b, ok := p.(provider.Batching); ok {
		return b.Batches(ctx, typ)
	}
	return provider.Batches{}
}

// ReadMany implements provider.Batching.
func (l *Lent) ReadMany(ctx context.Context, rs []provider.ReadRequest) []provider.ReadResponse {
	return many(ctx, l, rs, provider.Batching.ReadMany, func(diags diag.List) provider.ReadResponse { return provider.ReadResponse{Diags: diags} })
}

// PlanMany implements provider.Batching.
func (l *Lent) PlanMany(ctx context.Context, rs []provider.PlanRequest) []provider.PlanResponse {
	return many(ctx, l, rs, provider.Batching.PlanMany, func(diags diag.List) provider.PlanResponse { return provider.PlanResponse{Diags: diags} })
}

// ApplyMany implements provider.Batching.
func (l *Lent) ApplyMany(ctx context.Context, rs []provider.ApplyRequest) []provider.ApplyResponse {
	return many(ctx, l, rs, provider.Batching.ApplyMany, func(diags diag.List) provider.ApplyResponse {
		return provider.ApplyResponse{Unsent: true, Diags: diags}
	})
}

func many[Q, R any](ctx context.Context, l *Lent, rs []Q, call func(provider.Batching, context.Context, []Q) []R, without func(diag.List) R) []R {
	p, diags := l.use(ctx)
	if b, ok := p.(provider.Batching); ok {
		return call(b, ctx, rs)
	}
	if p != nil {
		diags.Add(diag.Bug.As("Batches of another provider").New(diag.Error, "%s takes no batches.", l.source))
	}
	out := make([]R, len(rs))
	for i := range out {
		out[i] = without(diags)
	}
	return out
}

func (l *Lent) Import(ctx context.Context, r provider.ImportRequest) provider.ImportResponse {
	p, diags := l.use(ctx)
	if p == nil {
		return provider.ImportResponse{Diags: diags}
	}
	return p.Import(ctx, r)
}

func (l *Lent) Move(ctx context.Context, r provider.MoveRequest) provider.MoveResponse {
	p, diags := l.use(ctx)
	if p == nil {
		return provider.MoveResponse{Diags: diags}
	}
	return p.Move(ctx, r)
}

func (l *Lent) GenerateConfig(ctx context.Context, typ string, object cty.Value) (cty.Value, diag.List) {
	p, diags := l.use(ctx)
	if p == nil {
		return cty.NilVal, diags
	}
	return p.GenerateConfig(ctx, typ, object)
}

func (l *Lent) ReadData(ctx context.Context, r provider.ReadDataRequest) provider.ReadDataResponse {
	p, diags := l.use(ctx)
	if p == nil {
		return provider.ReadDataResponse{Diags: diags}
	}
	return p.ReadData(ctx, r)
}

func (l *Lent) OpenEphemeral(ctx context.Context, typ string, config cty.Value) provider.OpenResponse {
	p, diags := l.use(ctx)
	if p == nil {
		return provider.OpenResponse{Diags: diags}
	}
	return p.OpenEphemeral(ctx, typ, config)
}

func (l *Lent) RenewEphemeral(ctx context.Context, typ string, private []byte) provider.OpenResponse {
	p, diags := l.use(ctx)
	if p == nil {
		return provider.OpenResponse{Diags: diags}
	}
	return p.RenewEphemeral(ctx, typ, private)
}

func (l *Lent) CloseEphemeral(ctx context.Context, typ string, private []byte) diag.List {
	p, diags := l.use(ctx)
	if p == nil {
		return diags
	}
	return p.CloseEphemeral(ctx, typ, private)
}

func (l *Lent) PlanAction(ctx context.Context, typ string, config cty.Value) provider.PlanActionResponse {
	p, diags := l.use(ctx)
	if p == nil {
		return provider.PlanActionResponse{Diags: diags}
	}
	return p.PlanAction(ctx, typ, config)
}

func (l *Lent) InvokeAction(ctx context.Context, typ string, config cty.Value, progress func(string)) diag.List {
	p, diags := l.use(ctx)
	if p == nil {
		return diags
	}
	return p.InvokeAction(ctx, typ, config, progress)
}

func (l *Lent) List(ctx context.Context, r provider.ListRequest, found func(provider.ListResult) bool) diag.List {
	p, diags := l.use(ctx)
	if p == nil {
		return diags
	}
	return p.List(ctx, r, found)
}

func (l *Lent) CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, int, error) {
	p, diags := l.use(ctx)
	if p == nil {
		return cty.DynamicVal, -1, diags.Err()
	}
	return p.CallFunction(ctx, name, args)
}

// Stop stops the process, which nobody else is given after that.
// Stop has the calls of the process aborted once all who have it want that, and nobody
// else given it.
func (l *Lent) Stop(ctx context.Context) error {
	c := l.have(same)
	if c == nil {
		return nil
	}
	l.keeper.drop(c)
	if l.stopped.CompareAndSwap(false, true) {
		l.keeper.stop(c, 1)
	}
	if running := l.keeper.stoppedOf(c); running != nil {
		return running.Stop(ctx)
	}
	return nil
}

// Close gives the process back, and ends it if all who have it have stopped it.
func (l *Lent) Close() error {
	c := l.have(func(*process) *process { return nil })
	if c == nil {
		return nil
	}
	var err error
	if l.stopped.CompareAndSwap(true, false) {
		if running := l.keeper.stoppedOf(c); running != nil {
			err = running.Close()
		}
		l.keeper.stop(c, -1)
	}
	l.keeper.release(c)
	l.keeper.trim()
	return err
}

func (k *Keeper) stop(c *process, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c.stopped += n
}

// stoppedOf is the provider of a process that was started and that all who have it have
// stopped, nil for another.
func (k *Keeper) stoppedOf(c *process) provider.Provider {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c.stopped < c.users {
		return nil
	}
	return c.provider
}
