// Package validate validates a program against the schemas of its providers. It evaluates
// everything once, with unknown values for resources.
//
// It owns what is reported without a plan. It knows no state and configures
// no providers.
package validate

import (
	"context"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/eval/checks"
	"weir.dev/weir/internal/eval/deprecated"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/resourceconfig"
)

// Input is what a validation is a function of.
type Input struct {
	providerclient.Base
	Tree *program.Tree
	// Instances returns those of a call whose instances load different modules.
	Instances func(f *eval.Frame, c *program.Call) (eval.Expansion, bool)
	Facts     eval.Facts
	// Planned: a plan follows. It evaluates what has one instance for certain, and
	// finds circles instance by instance, so only the rest is evaluated here.
	Planned bool
	// Partial: the plan leaves something out, which is held to be right here. It warns about anything that it doesn't leave out.
	Partial bool
}

type host struct {
	Input
	ctx context.Context
}

// Run checks the program.
func Run(ctx context.Context, in Input) diag.List {
	h := &host{Input: in, ctx: ctx}
	const calls = 10
	rt := promise.NewRuntime(calls)
	in.Facts.Context = ctx
	ev := &eval.Evaluator{Host: h, Facts: in.Facts, Modular: true, Coarse: in.Planned}
	root := ev.NewRoot(in.Tree.Program)
	whole := h.walk(rt, root)
	rt.Wait()
	var extra diag.List
	for _, f := range whole() {
		rt.Do(func(t *promise.Task) {
			t.Try(func(t *promise.Task) { extra.Append(h.frame(t, f)) })
		})
	}
	var references diag.List
	checked := map[*program.Program]bool{}
	for _, f := range root.Frames() {
		if !checked[f.Program] {
			checked[f.Program] = true
			references.Append(h.references(f.Program))
			references.Append(h.metas(f.Program))
		}
	}
	diags := root.Diagnostics()
	diags.Append(extra)
	if in.Partial {
		diags = diags.Only(diag.Error)
	}
	diags.Append(eval.Bugs(rt))
	diags = merged(diags, references)
	diags.Append(ignored(in.Tree, map[*program.Program]bool{}))
	diags.Append(deprecated.Uses(in.Tree, func(a addr.Provider) *provider.Schemas {
		schemas, _ := h.Pool.Schemas(a) // who needs them has reported a problem
		return schemas
	}))
	return diags
}

// walk starts the evaluation, and returns how to list the frames that are
// evaluated whole once it is over.
func (h *host) walk(rt *promise.Runtime, root *eval.Frame) func() []*eval.Frame {
	if !h.Planned || h.Partial {
		root.Walk(rt)
		return root.Frames
	}
	var mu sync.Mutex
	var tops []*eval.Frame
	root.WalkRepeated(rt, func(f *eval.Frame) {
		mu.Lock()
		defer mu.Unlock()
		tops = append(tops, f)
	}, beyondValues)
	return func() []*eval.Frame {
		var list []*eval.Frame
		for _, f := range root.Frames() {
			if slices.ContainsFunc(tops, func(top *eval.Frame) bool { return top.Addr.Contains(f.Addr) }) {
				list = append(list, f)
			}
		}
		return list
	}
}

// beyondValues reports whether a block has something that a plan doesn't look at, or only when
// it results in that.
func beyondValues(r *program.Resource) bool {
	return r.Name.Mode == addr.Action || len(r.Triggers) > 0 || len(r.IgnoreChanges) > 0 || r.PreventDestroy != nil || len(r.Provisioners) > 0 || r.Connection != nil
}

// frame checks what isn't a value: providers, observers and imports.
func (h *host) frame(t *promise.Task, f *eval.Frame) diag.List {
	var diags diag.List
	for _, p := range f.Program.Providers {
		if f.IsProxy(p) {
			continue
		}
		for _, pi := range f.ProviderInstances(t, p, nil) {
			diags.Append(h.provider(t, pi))
		}
	}
	for _, o := range f.Program.Observers {
		diags.Append(checks.Evaluate(t, f, o, func([]eval.Outcome) {}).Without(checks.Pending))
	}
	if !h.Planned { // a plan knows more
		for _, im := range f.Program.Imports {
			diags.Append(h.importBlock(t, f, im))
		}
	}
	return diags
}

// provider validates the configuration of a provider.
func (h *host) provider(t *promise.Task, pi *eval.ProviderInstance) diag.List {
	if pi.Decl.Mocked {
		return nil
	}
	schemas, diags := h.Pool.Schemas(pi.Addr.Provider)
	if diags.HasErrors() {
		return providerclient.Locate(diags, pi.Decl.Config, "")
	}
	config, diags := providerclient.Config(t, pi, schemas)
	if diags.HasErrors() || t.Current().Failed() {
		return diags
	}
	running, more := h.Pool.Bare(pi.Addr.Provider)
	diags.Append(more)
	if more.HasErrors() {
		return diags
	}
	return append(diags, providerclient.Locate(running.ValidateConfig(h.ctx, config), pi.Decl.Config, "")...)
}

// Variable implements eval.Host: a program has to be right for any value.
func (h *host) Variable(v *program.Variable) (cty.Value, diag.List) {
	return cty.UnknownVal(v.Type.WithoutOptionalAttributesDeep()), nil
}

// Expand implements eval.Host: one instance stands for all that are alike.
func (h *host) Expand(_ *promise.Task, b eval.Block, configured func() (eval.Expansion, diag.List)) (eval.Expansion, diag.List) {
	e, diags := configured()
	if b.Call != nil && !diags.HasErrors() {
		if all, ok := h.Instances(b.Frame, b.Call); ok {
			return all, diags
		}
	}
	if e.Kind == eval.Single && !diags.HasErrors() {
		return eval.Expansion{Count: 1}, diags
	}
	e.Unknown = true
	return e, diags
}

// Call implements eval.Host.
func (h *host) Call(t *promise.Task, f *eval.Frame, fn *program.ProviderFunction, args []cty.Value) (cty.Value, error) {
	if fn.Alias != "" {
		return cty.DynamicVal, nil
	}
	if _, diags := h.Pool.Schemas(fn.Provider); slices.ContainsFunc(diags, provider.Absent.Is) {
		t.Fail() // as is everything that this provider would have to answer
		return cty.DynamicVal, nil
	}
	return h.Base.Call(t, f, fn, args)
}

// Resource implements eval.Host.
func (h *host) Resource(t *promise.Task, i *eval.Instance) (cty.Value, diag.List) {
	i.DependsOn(t)
	use := i.Resource.Provider
	schemas, diags := h.Pool.Schemas(use.Provider)
	if diags.HasErrors() {
		for n := range diags {
			if diags[n].Subject == nil {
				diags[n].Subject = i.Resource.Range.Ptr()
			}
		}
		return cty.DynamicVal, diags
	}
	sch := schemas.Resource(i.Addr.Name.Mode, i.Addr.Name.Type)
	if sch == nil {
		diags.Append(resourceconfig.Unsupported(i.Resource.TypeRange, use.Provider, i.Addr.Name, schemas))
		return cty.DynamicVal, diags
	}
	// A module by itself is right with configurations that its callers pass.
	if i.Frame.Parent != nil || !i.Frame.Program.Requirements[use.LocalName].HasAlias(use.Alias) {
		diags.Append(i.Frame.CheckProvider(use))
	}
	config, more := resourceconfig.ForCaller(t, i, sch, cty.DynamicVal) // by whatever caller
	diags.Append(more)
	result := cty.UnknownVal(sch.Block.ImpliedType())
	switch i.Addr.Name.Mode {
	case addr.Ephemeral:
		result = result.Mark(value.Ephemeral)
	case addr.List:
		result = listed
	}
	if !diags.HasErrors() && !t.Current().Failed() {
		running, more := h.Pool.Bare(use.Provider)
		diags.Append(more)
		if !more.HasErrors() {
			h.Pool.Call(func() { more = running.ValidateResource(h.ctx, i.Addr.Name.Mode, i.Addr.Name.Type, config.Value) })
			diags.Append(providerclient.Locate(more, i.Resource.Config, ""))
		}
		diags.Append(instance.CheckPaths(sch, i.Resource))
	}
	diags.Append(h.rest(t, i, result))
	// Whatever is wrong with this configuration, what refers to it is checked
	// for itself.
	return result, diags
}

// rest checks what the schema has nothing to do with.
func (h *host) rest(t *promise.Task, i *eval.Instance, self cty.Value) diag.List {
	_, diags := resourceconfig.ExtentOf(t, i)
	res := i.Resource
	conditions := func(list []*program.Condition, self cty.Value) {
		for _, c := range list {
			diags.Append(eval.CheckCondition(t, c, i.Context(t, self)).Diags)
		}
	}
	conditions(res.Preconditions, cty.NilVal)
	conditions(res.Postconditions, self)
	if res.PreventDestroy != nil && len(res.PreventDestroy.Refs) == 0 {
		_, more := instance.PreventDestroy(t, res, i.Frame)
		diags.Append(more)
	} else if res.PreventDestroy != nil {
		_, more := eval.Evaluate(t, res.PreventDestroy, i.Frame.Context(t, nil, cty.NilVal))
		diags.Append(more)
	}
	diags.Append(h.triggers(t, i, self))
	return append(diags, provisioners(t, i, self)...)
}

// triggers checks what invokes actions, and these for the instance as their caller.
func (h *host) triggers(t *promise.Task, i *eval.Instance, self cty.Value) diag.List {
	var diags diag.List
	for _, of := range i.Resource.Triggers {
		_, more := resourceconfig.Wanted(t, i, of)
		diags.Append(more)
		for _, ref := range of.Actions {
			var actions []*eval.Instance
			wrong := t.Try(func(t *promise.Task) { actions, more = i.Frame.Referents(t, ref, i.Context(t, cty.NilVal)) })
			diags.Append(more)
			if wrong || more.HasErrors() {
				continue // what is wrong with an action is reported there
			}
			for _, action := range actions {
				schemas, _ := h.Pool.Schemas(action.Resource.Provider.Provider)
				if schemas == nil {
					continue
				}
				if sch := schemas.Resource(addr.Action, action.Addr.Name.Type); sch != nil {
					_, more := resourceconfig.ForCaller(t, action, sch, self)
					diags.Append(more)
				}
			}
		}
	}
	return diags
}
