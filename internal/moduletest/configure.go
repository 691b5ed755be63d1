package moduletest

import (
	"cmp"
	"context"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"weir.dev/weir/internal/moduletest/testresult"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/plan"
)

// A Root is a module that runs are about: where it is, and under which key the
// list of installed modules has what it calls.
type Root struct {
	Dir string
	Key string // empty for the module under test
}

// Key is the key that the module of a run is installed under.
func Key(f *testfile.File, r *testfile.Run) string {
	dir, name := path.Split(f.Name)
	for _, ext := range []string{".json", ".hcl", ".tftest", ".tofutest"} {
		name = strings.TrimSuffix(name, ext)
	}
	parts := append([]string{"test"}, strings.FieldsFunc(dir, func(c rune) bool { return c == '/' })...)
	return strings.Join(append(parts, name, r.Name), ".")
}

// Request is what a run with a module asks for.
func Request(dir string, f *testfile.File, r *testfile.Run) module.Request {
	return module.Request{Key: Key(f, r), ParentDir: dir, Source: r.Module.Source, Constraint: r.Module.Version, Range: r.Module.Range}
}

// Prefixed resolves the calls of a module that is installed under a key.
func Prefixed(key string, resolve func(context.Context, module.Request) (string, diag.List)) func(context.Context, module.Request) (string, diag.List) {
	if key == "" {
		return resolve
	}
	return func(ctx context.Context, r module.Request) (string, diag.List) {
		r.Key = key + "." + r.Key
		return resolve(ctx, r)
	}
}

// planOptions are those that a run asks for.
func planOptions(d dialect.Dialect, r *testresult.Run) engine.PlanOptions {
	o := engine.PlanOptions{SkipRefresh: r.SkipRefresh, Meaning: engine.MeaningIn(d)}
	if r.RefreshOnly {
		o.Mode = plan.RefreshOnly
	}
	for _, a := range r.Targets {
		o.Targets = append(o.Targets, a.Target)
	}
	for _, a := range r.Replace {
		o.Replace = append(o.Replace, a.Instance())
	}
	return o
}

// configure loads the configuration of a run, with the values, providers and
// overrides that the test gives it.
func (w *work) configure(ctx context.Context, r *testresult.Run) (*engine.Config, *values, diag.List) {
	root := Root{Dir: w.Dir}
	var diags diag.List
	if r.Module != nil {
		request := Request(w.Dir, w.file.File, r.Run)
		root.Key = request.Key
		if root.Dir, diags = w.Resolve(ctx, request); diags.HasErrors() {
			return nil, nil, diags
		}
	}
	language := w.programs.language(engine.Modules(w.World.Dialect))
	_, prog, diags := language.Compile(w.Files, root.Dir, nil)
	if diags.HasErrors() {
		return nil, nil, diags // loading would say the same
	}
	v, diags := w.evaluate(r, prog)
	if diags.HasErrors() {
		return nil, v, diags
	}
	o, more := w.overrides(r, v)
	diags.Append(more)
	if diags.HasErrors() {
		return nil, nil, diags
	}
	world := w.World
	world.Catalog = &catalog{Keeper: w.keeper, overrides: &o, seed: w.Seed, strict: w.World.Dialect == dialect.OpenTofu}
	if w.Reader != nil {
		world.Files = w.Reader(w.file.File)
	}
	config, more := engine.Load(ctx, engine.LoadOptions{
		World: world, Dir: root.Dir, Files: w.Files, Inputs: v.inputs, Language: language,
		Resolve: Prefixed(root.Key, w.Resolve),
	})
	diags.Append(more)
	if config != nil {
		w.mu.Lock()
		maps.Copy(w.Sources, config.Sources)
		if w.Configured != nil && config.Tree != nil {
			w.Configured(w.file.File, config)
		}
		w.mu.Unlock()
	}
	if config == nil || config.Tree == nil || more.HasErrors() {
		return nil, nil, diags
	}
	diags.Append(w.targets(r, config.Tree, o.modules))
	if len(o.modules) > 0 {
		config.Override = o.module
	}
	providers, more := w.providers(r, v, config.Tree, &o)
	diags.Append(more)
	config.Tree.Program = withProviders(config.Tree.Program, providers)
	madeUp := o.madeUp(config.Tree)
	if madeUp || !config.World.Calls.Bounded() {
		config.World.Calls = nil // each run has its own
	}
	if madeUp {
		config.World.Parallelism = min(cmp.Or(config.World.Parallelism, defaultParallelism), runtime.GOMAXPROCS(0))
	}
	return config, v, diags
}

// madeUp reports whether nothing of a module is waited for outside the process, so
// that more at once than there are processors would only cost more.
func (o *overrides) madeUp(t *program.Tree) bool {
	for _, r := range t.Program.ResourceByName {
		p := r.Provider.Provider
		if len(r.Provisioners) > 0 || !o.mocked[p] && !(p.IsBuiltin() && r.Name.Mode == addr.Managed) {
			return false
		}
	}
	for _, p := range t.Program.Providers {
		if o.mocked[p.Provider] && !p.Mocked {
			return false
		}
	}
	return !slices.ContainsFunc(t.Calls(), func(child *program.Tree) bool { return child.Program != nil && !o.madeUp(child) })
}

// A cache keeps compiled sources for all runs.
type cache struct {
	prepare func(*program.Program)
	mu      sync.Mutex
	list    map[string]compiled
}

type compiled struct {
	source  *module.Source
	program *program.Program
	diags   diag.List
}

func newCache(prepare func(*program.Program)) *cache {
	return &cache{prepare: prepare, list: map[string]compiled{}}
}

// A language is that of modules, compiled once.
type language struct {
	engine.Language
	cache *cache
}

func (c *cache) language(inner engine.Language) *language {
	return &language{Language: inner, cache: c}
}

// Compile implements engine.Language. Sources are compiled once for all runs.
func (l *language) Compile(files module.Files, dir string, call *program.Call) (*module.Source, *program.Program, diag.List) {
	key := dir
	if call == nil {
		key += "\x00root"
	}
	l.cache.mu.Lock()
	c, ok := l.cache.list[key]
	if !ok {
		// Anything that only a root module may not have is no concern of tests.
		c.source, c.program, c.diags = l.Language.Compile(files, dir, &program.Call{})
		if c.program != nil && l.cache.prepare != nil {
			l.cache.prepare(c.program)
		}
		l.cache.list[key] = c
	}
	l.cache.mu.Unlock()
	return c.source, c.program, slices.Clone(c.diags)
}

// withOutputs is a module without content whose outputs are given. Anything that is asked of
// its variables still holds, and in OpenTofu what outputs ask of these.
func withOutputs(p *program.Program, values cty.Value, d dialect.Dialect) *program.Program {
	stub := &program.Program{
		Dir: p.Dir, Registry: p.Registry, Requirements: p.Requirements,
		ProviderMeta: map[string]*program.Body{}, VariableByName: map[string]*program.Variable{},
		LocalByName: map[string]*program.Local{}, OutputByName: map[string]*program.Output{},
		ResourceByName: map[addr.Name]*program.Resource{}, CallByName: map[addr.Call]*program.Call{},
	}
	for _, v := range p.Variables {
		if !slices.ContainsFunc(v.Validations, needsContent) {
			stub.Variables = append(stub.Variables, v)
			stub.VariableByName[v.Name] = v
			continue
		}
		v := *v
		v.Validations = withoutContent(v.Validations)
		stub.Variables = append(stub.Variables, &v)
		stub.VariableByName[v.Name] = &v
	}
	for _, o := range p.Outputs {
		o := *o
		v := cty.NullVal(cty.DynamicPseudoType)
		if values != cty.NilVal && values.Type().IsObjectType() && values.Type().HasAttribute(o.Name) {
			v = values.GetAttr(o.Name)
		}
		if o.DependsOn = nil; d == dialect.Terraform {
			o.Preconditions = nil
		} else {
			o.Preconditions = withoutContent(o.Preconditions)
		}
		o.Expr = &program.Expr{Expression: &hclsyntax.LiteralValueExpr{Val: v, SrcRange: o.Range}}
		stub.Outputs = append(stub.Outputs, &o)
		stub.OutputByName[o.Name] = &o
	}
	return stub
}

// withoutContent are the conditions that need nothing of the module but its
// variables.
func withoutContent(list []*program.Condition) []*program.Condition {
	return slices.DeleteFunc(slices.Clone(list), needsContent)
}

func needsContent(c *program.Condition) bool {
	refs := slices.Clone(c.Condition.Refs)
	if c.ErrorMessage != nil {
		refs = append(refs, c.ErrorMessage.Refs...)
	}
	return slices.ContainsFunc(refs, func(ref *program.Ref) bool {
		return ref.Kind != program.RefVariable && ref.Kind != program.RefPath && ref.Kind != program.RefTerraform
	})
}

// withProviders is a module with other provider configurations.
func withProviders(p *program.Program, providers []*program.Provider) *program.Program {
	changed := *p
	changed.Providers, changed.Functions = slices.Clone(p.Providers), slices.Clip(p.Functions)
	for _, own := range providers {
		at := slices.IndexFunc(changed.Providers, func(other *program.Provider) bool {
			return other.LocalName == own.LocalName && other.Alias == own.Alias
		})
		if at < 0 {
			at = len(changed.Providers)
			changed.Providers = append(changed.Providers, nil)
		}
		own.Index = at
		changed.Providers[at] = own
	}
	return &changed
}

// A boundBody is a body whose expressions are evaluated in a context of their
// own: that of the test rather than of the module.
type boundBody struct {
	hcl.Body
	values *values
}

func (b boundBody) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	content, diags := b.Body.Content(schema)
	return b.bind(content), diags
}

func (b boundBody) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	content, rest, diags := b.Body.PartialContent(schema)
	return b.bind(content), boundBody{rest, b.values}, diags
}

func (b boundBody) JustAttributes() (hcl.Attributes, hcl.Diagnostics) {
	attrs, diags := b.Body.JustAttributes()
	return b.attributes(attrs), diags
}

func (b boundBody) bind(content *hcl.BodyContent) *hcl.BodyContent {
	if content == nil {
		return nil
	}
	bound := *content
	bound.Attributes = b.attributes(content.Attributes)
	bound.Blocks = make(hcl.Blocks, len(content.Blocks))
	for i, block := range content.Blocks {
		inner := *block
		inner.Body = boundBody{block.Body, b.values}
		bound.Blocks[i] = &inner
	}
	return &bound
}

func (b boundBody) attributes(attrs hcl.Attributes) hcl.Attributes {
	bound := make(hcl.Attributes, len(attrs))
	for name, attr := range attrs {
		own := *attr
		own.Expr = boundExpr{attr.Expr, b.values}
		bound[name] = &own
	}
	return bound
}

type boundExpr struct {
	hcl.Expression
	values *values
}

// Value checks the references to runs as everywhere in a test file.
func (e boundExpr) Value(*hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if diags := e.values.check(e.Expression); diags.HasErrors() {
		e.values.faulty.Store(true)
		return cty.DynamicVal, diags.ToHCL()
	}
	return e.Expression.Value(e.values.context(e.Expression))
}

// Variables are none, as far as the module is concerned.
func (e boundExpr) Variables() []hcl.Traversal { return nil }
