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
			found, _ := t.Try(func(t *promise.Task) { h.frame(t, f) })
			extra.Append(found)
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
func (h *host) frame(t *promise.Task, f *eval.Frame) {
	for _, p := range f.Program.Providers {
		if f.IsProxy(p) {
			continue
		}
		for _, pi := range f.ProviderInstances(t, p, nil) {
			h.provider(t, pi)
		}
	}
	for _, o := range f.Program.Observers {
		t.Amend(func(l diag.List) diag.List { return l.Without(checks.Pending) }, func() {
			checks.Evaluate(t, f, o, func([]eval.Outcome) {})
		})
	}
	if !h.Planned { // a plan knows more
		for _, im := range f.Program.Imports {
			h.importBlock(t, f, im)
		}
	}
}

// provider validates the configuration of a provider.
func (h *host) provider(t *promise.Task, pi *eval.ProviderInstance) {
	if pi.Decl.Mocked {
		return
	}
	schemas, diags := h.Pool.Schemas(pi.Addr.Provider)
	if diags.HasErrors() {
		t.Report(providerclient.Locate(diags, pi.Decl.Config, "")...)
		return
	}
	config, ok := providerclient.Config(t, pi, schemas)
	if !ok {
		return
	}
	if running, diags := h.Pool.Bare(pi.Addr.Provider); t.Report(diags...) {
		t.Report(providerclient.Locate(running.ValidateConfig(h.ctx, config), pi.Decl.Config, "")...)
	}
}

// Variable implements eval.Host: a program has to be right for any value.
func (h *host) Variable(v *program.Variable) (cty.Value, diag.List) {
	return cty.UnknownVal(v.Type.WithoutOptionalAttributesDeep()), nil
}

// Expand implements eval.Host: one instance stands for all that are alike.
func (h *host) Expand(_ *promise.Task, b eval.Block, configured func() (eval.Expansion, bool)) (eval.Expansion, bool) {
	e, ok := configured()
	if b.Call != nil && ok {
		if all, ok := h.Instances(b.Frame, b.Call); ok {
			return all, true
		}
	}
	if e.Kind == eval.Single && ok {
		return eval.Expansion{Count: 1}, true
	}
	e.Unknown = true
	return e, ok
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
func (h *host) Resource(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	i.DependsOn(t)
	use := i.Resource.Provider
	schemas, diags := h.Pool.Schemas(use.Provider)
	if diags.HasErrors() {
		for n := range diags {
			if diags[n].Subject == nil {
				diags[n].Subject = i.Resource.Range.Ptr()
			}
		}
		return cty.DynamicVal, t.Report(diags...)
	}
	sch := schemas.Resource(i.Addr.Name.Mode, i.Addr.Name.Type)
	if sch == nil {
		return cty.DynamicVal, t.Report(resourceconfig.Unsupported(i.Resource.TypeRange, use.Provider, i.Addr.Name, schemas)...)
	}
	ok := true
	// A module by itself is right with configurations that its callers pass.
	if i.Frame.Parent != nil || !i.Frame.Program.Requirements[use.LocalName].HasAlias(use.Alias) {
		ok = t.Report(i.Frame.CheckProvider(use)...)
	}
	config, fits := resourceconfig.ForCaller(t, i, sch, cty.DynamicVal) // by whatever caller
	result := cty.UnknownVal(sch.Block.ImpliedType())
	switch i.Addr.Name.Mode {
	case addr.Ephemeral:
		result = result.Mark(value.Ephemeral)
	case addr.List:
		result = listed()
	}
	if ok && fits {
		running, diags := h.Pool.Bare(use.Provider)
		if t.Report(diags...) {
			h.Pool.Call(func() { diags = running.ValidateResource(h.ctx, i.Addr.Name.Mode, i.Addr.Name.Type, config.Value) })
			t.Report(providerclient.Locate(diags, i.Resource.Config, "")...)
		}
		t.Report(instance.CheckPaths(sch, i.Resource)...)
	}
	h.rest(t, i, result)
	// Whatever is wrong with this configuration, what refers to it is checked
	// for itself.
	return result, true
}

// rest checks what the schema has nothing to do with.
func (h *host) rest(t *promise.Task, i *eval.Instance, self cty.Value) {
	resourceconfig.ExtentOf(t, i)
	res := i.Resource
	conditions := func(list []*program.Condition, self cty.Value) {
		for _, c := range list {
			eval.CheckCondition(t, c, i.Context(t, self))
		}
	}
	conditions(res.Preconditions, cty.NilVal)
	conditions(res.Postconditions, self)
	if res.PreventDestroy != nil && len(res.PreventDestroy.Refs) == 0 {
		instance.PreventDestroy(t, res, i.Frame)
	} else if res.PreventDestroy != nil {
		eval.Evaluate(t, res.PreventDestroy, i.Frame.Context(t, nil, cty.NilVal))
	}
	h.triggers(t, i, self)
	provisioners(t, i, self)
}

// triggers checks what invokes actions, and these for the instance as their caller.
func (h *host) triggers(t *promise.Task, i *eval.Instance, self cty.Value) {
	for _, of := range i.Resource.Triggers {
		resourceconfig.Wanted(t, i, of)
		for _, ref := range of.Actions {
			var actions []*eval.Instance
			diags, ok := t.Try(func(t *promise.Task) { actions, _ = i.Frame.Referents(t, ref, i.Context(t, cty.NilVal)) })
			if t.Report(diags...); !ok {
				continue // what is wrong with an action is reported there
			}
			for _, action := range actions {
				schemas, _ := h.Pool.Schemas(action.Resource.Provider.Provider)
				if schemas == nil {
					continue
				}
				if sch := schemas.Resource(addr.Action, action.Addr.Name.Type); sch != nil {
					resourceconfig.ForCaller(t, action, sch, self)
				}
			}
		}
	}
}
