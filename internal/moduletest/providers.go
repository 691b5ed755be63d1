package moduletest

import (
	"context"
	"slices"
	"sync"
	"weir.dev/weir/internal/moduletest/testresult"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/moduletest/mocks"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/providerpool"
)

// overrides are what a run has made up instead of asking providers.
type overrides struct {
	// resources are those of the run before those of the file; of each the ones
	// for single instances come first.
	resources []override
	// modules are the overridden modules in the same order.
	modules []overriddenModule
	// mocks are the mocked provider configurations, mocked the providers that
	// have one.
	mocks   map[addr.ProviderConfig]*mocked
	mocked  map[addr.Provider]bool
	mu      *sync.Mutex // of the stubs of modules
	dialect dialect.Dialect
	planned bool // what isn't said otherwise is known from the plan on
}

// An overriddenModule has given outputs and no content.
type overriddenModule struct {
	target  addr.Target
	outputs cty.Value
	stubs   map[*program.Program]*program.Program
}

type override struct {
	target addr.Target
	given  mocks.Given
}

// mocked is a mocked provider configuration.
type mocked struct {
	overrides []override
	types     map[typeName]mocks.Given
	planned   bool
}

type typeName struct {
	mode addr.Mode
	name string
}

// overrides evaluates the override blocks of a run and its file.
func (w *work) overrides(r *testresult.Run, v *values) (overrides, diag.List) {
	o := overrides{
		mocks: map[addr.ProviderConfig]*mocked{}, mocked: map[addr.Provider]bool{},
		planned: w.World.Dialect == dialect.OpenTofu, mu: new(sync.Mutex), dialect: w.World.Dialect,
	}
	var diags diag.List
	for _, list := range [][]*testfile.Override{r.Overrides, w.file.Overrides} {
		resources, more := v.overriding(list, o.planned)
		diags.Append(more)
		o.resources = append(o.resources, resources...)
		for _, b := range list {
			if b.IsModule() {
				outputs, more := v.object(b.Values)
				diags.Append(more)
				o.modules = append(o.modules, overriddenModule{b.Target, outputs, map[*program.Program]*program.Program{}})
			}
		}
	}
	// Of those that mean an instance, the one that names it more closely counts.
	slices.SortStableFunc(o.modules, func(a, b overriddenModule) int { return keys(b.target.Module) - keys(a.target.Module) })
	return o, diags
}

// keys counts the instance keys in an address.
func keys(m addr.Module) int {
	n := 0
	for _, s := range m.Steps() {
		if s.Key != addr.NoKey {
			n++
		}
	}
	return n
}

// module is what a module instance has in place of what was loaded.
func (o *overrides) module(at addr.Module, loaded *program.Program) *program.Program {
	for _, m := range o.modules {
		if !selects(m.target.Module, at) {
			continue
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if m.stubs[loaded] == nil {
			m.stubs[loaded] = withOutputs(loaded, m.outputs, o.dialect)
		}
		return m.stubs[loaded]
	}
	return loaded
}

// selects reports whether a target means a module instance. A step without a key
// means all instances.
func selects(target, at addr.Module) bool {
	want, have := target.Steps(), at.Steps()
	return slices.EqualFunc(want, have, func(a, b addr.Step) bool {
		return a.Call == b.Call && (a.Key == addr.NoKey || a.Key == b.Key)
	})
}

// overriding evaluates the blocks that are about resources.
func (v *values) overriding(list []*testfile.Override, planned bool) ([]override, diag.List) {
	var out []override
	var diags diag.List
	for _, b := range list {
		if b.IsModule() {
			continue
		}
		given, more := v.object(b.Values)
		diags.Append(more)
		out = append(out, override{b.Target, mocks.Given{Values: given, Planned: during(b.During, planned)}})
	}
	slices.SortStableFunc(out, func(a, b override) int { return specific(b.target) - specific(a.target) })
	return out, diags
}

func specific(t addr.Target) int {
	if t.HasKey {
		return 1 + keys(t.Module)
	}
	return keys(t.Module)
}

// during reports whether values are known from the plan on.
func during(d testfile.During, otherwise bool) bool {
	if d == testfile.Unsaid {
		return otherwise
	}
	return d == testfile.Plan
}

func find(list []override, i addr.Instance) (mocks.Given, bool) {
	for _, o := range list {
		if o.target.Matches(i) {
			return o.given, true
		}
	}
	return mocks.Given{}, false
}

// given is what a mocked provider has for an instance.
func (o *overrides) given(m *mocked, i addr.Instance) (mocks.Given, bool) {
	if g, ok := find(o.resources, i); ok {
		return g, true
	}
	if m == nil {
		return mocks.Given{}, false
	}
	if g, ok := find(m.overrides, i); ok {
		return g, true
	}
	if g, ok := m.types[typeName{i.Name.Mode, i.Name.Type}]; ok {
		return g, true
	}
	return mocks.Given{Planned: m.planned}, true
}

// providers are the configurations that a run gives to its module.
func (w *work) providers(r *testresult.Run, v *values, tree *program.Tree, o *overrides) ([]*program.Provider, diag.List) {
	var list []*program.Provider
	var diags diag.List
	add := func(name testfile.ProviderName, p *testfile.Provider) {
		decl, more := v.provider(name, p, tree.Program, o)
		diags.Append(more)
		list = append(list, decl)
	}
	if len(r.Providers) == 0 {
		for _, p := range w.file.Providers {
			if Needs(tree, Provider(tree.Program, p.Local)) {
				add(p.ProviderName, p)
			}
		}
		return list, diags
	}
	for _, passed := range r.Providers {
		n := slices.IndexFunc(w.file.Providers, func(p *testfile.Provider) bool { return p.ProviderName == passed.Outer })
		if n < 0 {
			diags.Add(NoProvider.As("Missing provider definition for "+passed.Outer.String()).Error(passed.Range, "This provider block references a provider definition that does not exist."))
			continue
		}
		add(passed.Inner, w.file.Providers[n])
	}
	return list, diags
}

// provider makes the configuration of one provider block.
func (v *values) provider(name testfile.ProviderName, p *testfile.Provider, prog *program.Program, o *overrides) (*program.Provider, diag.List) {
	source := Provider(prog, name.Local)
	decl := &program.Provider{LocalName: name.Local, Alias: name.Alias, Provider: source, Range: p.Range}
	own := *v // as it is now: conditions are checked otherwise
	if p.ForEach != nil {
		decl.ForEach = &program.Expr{Expression: boundExpr{p.ForEach, &own}}
	}
	if p.Mock == nil {
		decl.Config = &program.Body{Body: boundBody{p.Config, &own}, Range: p.Range}
		return decl, nil
	}
	decl.Mocked = true
	decl.Config = &program.Body{Body: hcl.EmptyBody(), Range: p.Range}
	m := &mocked{types: map[typeName]mocks.Given{}, planned: during(p.Mock.During, o.planned)}
	list, diags := v.overriding(p.Mock.Overrides, m.planned)
	m.overrides = list
	for _, res := range p.Mock.Resources {
		values, more := v.object(res.Defaults)
		diags.Append(more)
		m.types[typeName{res.Mode, res.Type}] = mocks.Given{Values: values, Planned: during(res.During, m.planned)}
	}
	o.mocks[addr.ProviderConfig{Provider: source, Alias: name.Alias}] = m
	o.mocked[source] = true
	return decl, diags
}

// Provider is the provider that a local name means in a module.
func Provider(prog *program.Program, local string) addr.Provider {
	if req := prog.Requirements[local]; req != nil {
		return req.Provider
	}
	return prog.Registry.Provider(local)
}

// Needs reports whether a module, or one that it calls, has a use for a provider.
func Needs(tree *program.Tree, p addr.Provider) bool {
	for _, req := range tree.Program.Requirements {
		if req.Provider == p {
			return true
		}
	}
	return slices.ContainsFunc(tree.Calls(), func(child *program.Tree) bool { return child.Program != nil && Needs(child, p) })
}

// A catalog has the providers of one run.
type catalog struct {
	*providerpool.Keeper
	overrides *overrides
	seed      uint64
	strict    bool
}

func (c *catalog) options(ctx context.Context, p addr.Provider, m *mocked) (mocks.Options, diag.List) {
	schemas, diags := c.Schemas(ctx, p)
	return mocks.Options{
		Schemas: schemas, Seed: c.seed, Strict: c.strict,
		Given: func(i addr.Instance) (mocks.Given, bool) { return c.overrides.given(m, i) },
		Real:  func() provider.Provider { return c.Lend(p) },
	}, diags
}

// Mock implements provider.Mocker.
func (c *catalog) Mock(ctx context.Context, p addr.ProviderConfig) (provider.Provider, diag.List) {
	o, diags := c.options(ctx, p.Provider, c.overrides.mocks[addr.ProviderConfig{Provider: p.Provider, Alias: p.Alias}])
	if diags.HasErrors() {
		return nil, diags
	}
	return mocks.New(o), diags
}

// Start implements provider.Catalog. Of a provider that is mocked, nothing is
// started to check configurations: what the schema says is checked anyway.
func (c *catalog) Start(ctx context.Context, p addr.Provider) (provider.Provider, diag.List) {
	running := c.Lend(p)
	running.Unchecked = c.overrides.mocked[p]
	if len(c.overrides.resources) == 0 {
		return running, nil
	}
	o, diags := c.options(ctx, p, nil)
	if diags.HasErrors() {
		return nil, diags
	}
	return mocks.Override(running, o), diags
}
