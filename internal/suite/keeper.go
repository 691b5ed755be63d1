package suite

import (
	"context"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/word/addr"
	"weir.dev/weir/internal/word/diag"
)

// A keeper lets runs share the processes of providers: those that were
// configured alike, and one of each for what needs no configuration.
type keeper struct {
	inner provider.Catalog

	mu        sync.Mutex
	processes map[addr.Provider][]*process
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
}

func newKeeper(inner provider.Catalog) *keeper {
	return &keeper{inner: inner, processes: map[addr.Provider][]*process{}}
}

// Schemas returns what a provider declares.
func (k *keeper) Schemas(ctx context.Context, p addr.Provider) (*provider.Schemas, diag.List) {
	return k.inner.Schemas(ctx, p)
}

// lend gives a provider that is started when it is needed.
func (k *keeper) lend(p addr.Provider) *lent { return &lent{keeper: k, source: p} }

// bare is any process of a provider.
func (k *keeper) bare(p addr.Provider) *process {
	k.mu.Lock()
	defer k.mu.Unlock()
	if list := k.processes[p]; len(list) > 0 {
		return list[0]
	}
	return k.add(p, cty.NilVal)
}

// configured is a process for the given configuration. What isn't known is like
// nothing else.
func (k *keeper) configured(p addr.Provider, config cty.Value) *process {
	k.mu.Lock()
	defer k.mu.Unlock()
	if config.IsWhollyKnown() {
		for _, c := range k.processes[p] {
			if c.config != cty.NilVal && c.config.RawEquals(config) {
				return c
			}
		}
	}
	for _, c := range k.processes[p] {
		if c.config == cty.NilVal {
			c.config = config
			return c
		}
	}
	return k.add(p, config)
}

func (k *keeper) add(p addr.Provider, config cty.Value) *process {
	c := &process{source: p, config: config}
	var once sync.Once
	c.start = func(ctx context.Context) {
		once.Do(func() { c.provider, c.diags = k.inner.Start(ctx, p) })
	}
	k.processes[p] = append(k.processes[p], c)
	return c
}

// drop makes nobody else use a process.
func (k *keeper) drop(c *process) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.processes[c.source] = slices.DeleteFunc(k.processes[c.source], func(other *process) bool { return other == c })
}

// Close ends all processes.
func (k *keeper) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, list := range k.processes {
		for _, c := range list {
			if c.provider != nil {
				_ = c.provider.Close() // its process is gone either way
			}
		}
	}
	clear(k.processes)
}

// lent is a provider that is started when it is needed, perhaps shared with
// others.
type lent struct {
	keeper *keeper
	source addr.Provider
	// unchecked: nothing is started to check configurations.
	unchecked bool

	mu      sync.Mutex
	process *process
	stopped bool
}

func (l *lent) use(ctx context.Context) (provider.Provider, diag.List) {
	l.mu.Lock()
	if l.process == nil {
		l.process = l.keeper.bare(l.source)
	}
	c := l.process
	l.mu.Unlock()
	c.start(ctx)
	if c.provider == nil {
		return nil, c.diags
	}
	return c.provider, nil
}

func (l *lent) ValidateConfig(ctx context.Context, config cty.Value) diag.List {
	p, diags := l.use(ctx)
	if p == nil {
		return diags
	}
	return p.ValidateConfig(ctx, config)
}

func (l *lent) Configure(ctx context.Context, config cty.Value) diag.List {
	c := l.keeper.configured(l.source, config)
	l.mu.Lock()
	l.process = c
	l.mu.Unlock()
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

func (l *lent) ValidateResource(ctx context.Context, mode addr.Mode, typ string, config cty.Value) diag.List {
	if l.unchecked {
		return nil
	}
	p, diags := l.use(ctx)
	if p == nil {
		return diags
	}
	return p.ValidateResource(ctx, mode, typ, config)
}

func (l *lent) UpgradeState(ctx context.Context, r provider.UpgradeRequest) (cty.Value, diag.List) {
	p, diags := l.use(ctx)
	if p == nil {
		return cty.NilVal, diags
	}
	return p.UpgradeState(ctx, r)
}

func (l *lent) UpgradeIdentity(ctx context.Context, typ string, version int64, json []byte) (cty.Value, diag.List) {
	p, diags := l.use(ctx)
	if p == nil {
		return cty.NilVal, diags
	}
	return p.UpgradeIdentity(ctx, typ, version, json)
}

func (l *lent) Read(ctx context.Context, r provider.ReadRequest) provider.ReadResponse {
	p, diags := l.use(ctx)
	if p == nil {
		return provider.ReadResponse{Diags: diags}
	}
	return p.Read(ctx, r)
}

func (l *lent) Plan(ctx context.Context, r provider.PlanRequest) provider.PlanResponse {
	p, diags := l.use(ctx)
	if p == nil {
		return provider.PlanResponse{Diags: diags}
	}
	return p.Plan(ctx, r)
}

func (l *lent) Apply(ctx context.Context, r provider.ApplyRequest) provider.ApplyResponse {
	p, diags := l.use(ctx)
	if p == nil {
		return provider.ApplyResponse{Unsent: true, Diags: diags}
	}
	return p.Apply(ctx, r)
}

func (l *lent) Import(ctx context.Context, r provider.ImportRequest) provider.ImportResponse {
	p, diags := l.use(ctx)
	if p == nil {
		return provider.ImportResponse{Diags: diags}
	}
	return p.Import(ctx, r)
}

func (l *lent) Move(ctx context.Context, r provider.MoveRequest) provider.MoveResponse {
	p, diags := l.use(ctx)
	if p == nil {
		return provider.MoveResponse{Diags: diags}
	}
	return p.Move(ctx, r)
}

func (l *lent) ReadData(ctx context.Context, r provider.ReadDataRequest) provider.ReadDataResponse {
	p, diags := l.use(ctx)
	if p == nil {
		return provider.ReadDataResponse{Diags: diags}
	}
	return p.ReadData(ctx, r)
}

func (l *lent) OpenEphemeral(ctx context.Context, typ string, config cty.Value) provider.OpenResponse {
	p, diags := l.use(ctx)
	if p == nil {
		return provider.OpenResponse{Diags: diags}
	}
	return p.OpenEphemeral(ctx, typ, config)
}

func (l *lent) RenewEphemeral(ctx context.Context, typ string, private []byte) provider.OpenResponse {
	p, diags := l.use(ctx)
	if p == nil {
		return provider.OpenResponse{Diags: diags}
	}
	return p.RenewEphemeral(ctx, typ, private)
}

func (l *lent) CloseEphemeral(ctx context.Context, typ string, private []byte) diag.List {
	p, diags := l.use(ctx)
	if p == nil {
		return diags
	}
	return p.CloseEphemeral(ctx, typ, private)
}

func (l *lent) PlanAction(ctx context.Context, typ string, config cty.Value) provider.PlanActionResponse {
	p, diags := l.use(ctx)
	if p == nil {
		return provider.PlanActionResponse{Diags: diags}
	}
	return p.PlanAction(ctx, typ, config)
}

func (l *lent) InvokeAction(ctx context.Context, typ string, config cty.Value, progress func(string)) diag.List {
	p, diags := l.use(ctx)
	if p == nil {
		return diags
	}
	return p.InvokeAction(ctx, typ, config, progress)
}

func (l *lent) List(ctx context.Context, r provider.ListRequest, found func(provider.ListResult) bool) diag.List {
	p, diags := l.use(ctx)
	if p == nil {
		return diags
	}
	return p.List(ctx, r, found)
}

func (l *lent) CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, int, error) {
	p, diags := l.use(ctx)
	if p == nil {
		return cty.DynamicVal, -1, diags.Err()
	}
	return p.CallFunction(ctx, name, args)
}

// Stop stops the process, which nobody else is given after that.
func (l *lent) Stop(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.process == nil || l.process.provider == nil {
		return nil
	}
	l.stopped = true
	l.keeper.drop(l.process)
	return l.process.provider.Stop(ctx)
}

// Close ends the process if it was stopped; others go on.
func (l *lent) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopped {
		return nil
	}
	return l.process.provider.Close()
}
