package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/apply"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/core/trace"
	"weir.dev/weir/internal/engine/validate"
	"weir.dev/weir/internal/eval/deprecated"
	functions "weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/lang/lint"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/planner"
	"weir.dev/weir/internal/plan/query"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/state"
)

// Validate checks a loaded configuration against its providers' schemas.
func Validate(ctx context.Context, c *Config) diag.List {
	pool := c.pool(ctx)
	defer pool.Close()
	diags := c.validate(ctx, pool, false, false)
	if ctx.Err() != nil {
		return diag.Interrupted.List("The validation was interrupted before it was done.")
	}
	return diags
}

func (c *Config) validate(ctx context.Context, pool *providerclient.Pool, planned, partial bool) (diags diag.List) {
	ctx, span := trace.Begin(ctx, trace.Stage, "validate")
	defer func() { span.End(diags.HasErrors()) }()
	diags = validate.Run(ctx, validate.Input{
		Base: c.base(nil, pool), Tree: c.Tree, Instances: c.expansion, Planned: planned, Partial: partial,
		Facts: c.facts(cty.UnknownVal(cty.Bool), functions.Env{Pure: true, PlanTimestamp: c.noTimestamp}),
	})
	return append(diags, lint.Check(c.Tree, c.World.Lint, func(r *program.Resource) cty.Type {
		if all, _ := pool.Schemas(r.Provider.Provider); all != nil {
			if s := all.Resource(r.Name.Mode, r.Name.Type); s != nil && s.Block != nil {
				return s.Block.ImpliedType()
			}
		}
		return cty.DynamicPseudoType
	})...)
}

// ValidateBeside adds what Validate finds to the problems of loading a configuration, so that
// all of it is reported at once, if these are no more than references to what isn't there and
// provide finds all providers. Anything that is about the same text is reported already; what
// a reference would have given counts as unknown.
func ValidateBeside(ctx context.Context, c *Config, loading diag.List, provide func(*Config) (missing []addr.Provider, diags diag.List)) diag.List {
	if c == nil || c.Tree == nil || c.Tree.Program == nil || c.Tree.Program.Stack || loading.WithoutUses().HasErrors() {
		return loading
	}
	if missing, problems := provide(c); len(missing) > 0 || problems.HasErrors() {
		return loading
	}
	all := slices.Clone(loading)
	for _, d := range Validate(ctx, c).Beside(loading) {
		told := func(other diag.Diagnostic) bool { return other.Subject != nil && other.Subject.Overlaps(*d.Subject) }
		if d.Subject == nil || !slices.ContainsFunc(loading, told) {
			all.Add(d)
		}
	}
	return all
}

// pool runs the providers of one stage.
func (c *Config) pool(ctx context.Context) *providerclient.Pool {
	pool := providerclient.NewPool(ctx, c.World.Catalog, c.World.Parallelism)
	pool.Share(c.World.Calls)
	return pool
}

func (c *Config) noTimestamp() (time.Time, bool) { return time.Time{}, false }

// tell sends an event.
func (c *Config) tell(e event.Event) {
	if c.World.Sink != nil {
		c.World.Sink(e)
	}
}

// objects counts those of a state, which may be nil.
func objects(s *state.Snapshot) int {
	if s == nil {
		return 0
	}
	return len(s.Objects)
}

// Plan decides what has to be done to get from the prior state, which may be nil, to the
// configuration. Anything that is wrong with any values is found before anything is requested;
// destroying doesn't need the configuration to be right. Beside errors it returns what was
// planned so far; nil if nothing could be.
func Plan(ctx context.Context, c *Config, prior *state.Snapshot, o PlanOptions) (*plan.Plan, diag.List) {
	pool := c.pool(ctx)
	defer pool.Close()
	return c.plan(ctx, pool, prior, o)
}

func (c *Config) plan(ctx context.Context, pool *providerclient.Pool, prior *state.Snapshot, o PlanOptions) (*plan.Plan, diag.List) {
	in, diags := c.planning(prior, o)
	if diags.HasErrors() {
		return nil, diags
	}
	in.Pool, in.Facts.Context = pool, ctx
	var found diag.List
	if in.Mode != plan.Destroy && !o.Import {
		partial := len(in.Targets)+len(in.Excludes) > 0
		found = c.validate(ctx, in.Pool, true, partial)
		in.Pool.Reuse()
		if ctx.Err() != nil {
			return nil, diag.Interrupted.List("Planning was interrupted before it was done.")
		}
		if found.HasErrors() {
			// There is no plan to tell the rest of what is wrong.
			if all := c.validate(ctx, in.Pool, false, partial); all.HasErrors() {
				found = all
			}
			return nil, append(diags, found...)
		}
	}
	c.tell(event.Event{Kind: event.PlanBegin, Count: objects(prior)})
	p, more := c.create(ctx, in)
	c.tell(event.Event{Kind: event.PlanEnd})
	diags.Append(found.Beside(more))
	if p.Graph != nil {
		metrics.Steps.Add(len(p.Graph.Steps))
		metrics.Edges.Add(p.Graph.Edges())
	}
	diags.Append(more)
	if in.Mode != plan.Destroy {
		diags.Append(deprecated.Given(c.Tree.Program, func(name string) bool { _, given := c.Inputs[name]; return given }))
	}
	return p, diags
}

// create makes a plan, which is seen from outside.
func (c *Config) create(ctx context.Context, in planner.Input) (*plan.Plan, diag.List) {
	ctx, span := trace.Begin(ctx, trace.Stage, "plan")
	span.Set(trace.Objects, objects(in.Prior))
	p, diags := planner.Create(ctx, in)
	span.End(diags.HasErrors())
	return p, diags
}

// Generate writes configuration for imports that have none. To be planned it
// has to be loaded with the rest.
func Generate(ctx context.Context, c *Config, prior *state.Snapshot, o PlanOptions) ([]planner.Generated, diag.List) {
	in, diags := c.planning(prior, o)
	if diags.HasErrors() {
		return nil, diags
	}
	in.Pool, in.Facts.Context = c.pool(ctx), ctx
	defer in.Pool.Close()
	list, more := planner.Generate(ctx, in)
	diags.Append(more)
	return list, diags
}

// Query asks the list resources of a configuration that was loaded with its query files
// which objects exist. Configuration is written for these where generate says so. Beside
// errors it returns what was found.
func Query(ctx context.Context, c *Config, prior *state.Snapshot, generate bool) ([]*plan.Listing, diag.List) {
	if !slices.ContainsFunc(c.Tree.Program.Resources, func(r *program.Resource) bool { return r.Name.Mode == addr.List }) {
		return nil, NoLists.List("There is no \"list\" block that says what to look for. These blocks stand in files whose names end in .tfquery.hcl, beside the configuration.")
	}
	in, diags := c.planning(prior, PlanOptions{Meaning: MeaningIn(c.World.Dialect)})
	if diags.HasErrors() {
		return nil, diags
	}
	in.Pool, in.Facts.Context = c.pool(ctx), ctx
	defer in.Pool.Close()
	f := &query.Finder{Context: ctx, Pool: in.Pool, Sink: c.World.Sink, Generate: generate}
	in.Find = f.Find
	root, more := planner.Query(ctx, in)
	if ctx.Err() != nil {
		more = diag.Interrupted.List("The query was interrupted before it was done.")
	}
	diags.Append(more)
	return f.Listings(root), diags
}

// planning is what a plan is a function of.
func (c *Config) planning(prior *state.Snapshot, o PlanOptions) (planner.Input, diag.List) {
	values, diags := c.values(false)
	if o.Mode != plan.Destroy {
		diags.Append(c.missing())
	}
	now := c.World.Now()
	return planner.Input{
		Options: o, Base: c.base(values, nil), Tree: c.Tree, Prior: prior,
		Facts: c.facts(cty.False, functions.Env{
			Pure: true, PlanTimestamp: func() (time.Time, bool) { return now, true },
		}),
		Parallelism: c.World.Parallelism, Lists: c.World.Lists, Sink: c.World.Sink, Now: now, NewKey: c.newKey,
	}, diags
}

// newKey makes the key of a deposed object.
func (c *Config) newKey() string {
	random := c.World.Random
	if random == nil {
		random = rand.Reader
	}
	var b [4]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		panic(err) // the system's never fails
	}
	return hex.EncodeToString(b[:])
}

// ApplyOptions say how to apply a plan.
type ApplyOptions = apply.Options

// Apply does what the plan says and returns the state afterwards, beside
// errors too.
func Apply(ctx context.Context, c *Config, p *plan.Plan, o ApplyOptions) (*state.Snapshot, diag.List) {
	values, diags := c.values(false)
	if diags.HasErrors() {
		return nil, diags
	}
	for name, v := range p.Variables {
		if !v.Ephemeral && v.Given {
			values[name] = v.Value
		}
	}
	ctx, span := trace.Begin(ctx, trace.Stage, "apply")
	span.Set(trace.Objects, len(p.Changes))
	c.watched.Settle()
	s, more := apply.Run(ctx, apply.Input{
		Options: o, Base: c.base(values, nil), Tree: c.Tree, Catalog: c.World.Catalog, Plan: p, Changed: c.watched.Changed,
		Facts: c.facts(cty.True, functions.Env{
			Now: c.World.Now, PlanTimestamp: func() (time.Time, bool) { return p.Timestamp, true },
		}),
		Parallelism: c.World.Parallelism, Calls: c.World.Calls, Sink: c.World.Sink, Commands: c.World.Commands,
	})
	span.End(more.HasErrors())
	diags.Append(more)
	if len(p.Targets)+len(p.Excludes) > 0 {
		diags.Add(diag.Diagnostic{Severity: diag.Warning, Code: planner.Targeting.Name, Summary: "Applied changes may be incomplete",
			Detail: "The plan was limited with -target or -exclude, so there may be further changes that the configuration asks for, and outputs may not be up to date. Run plan without these options to see whether anything is left to do."})
	}
	return s, diags
}
