package engine

import (
	"context"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/eval"
	functions "weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/lang/program"
)

// An EarlyConfig is the configuration of a resource instance before a plan is made. It is
// unknown where it depends on objects.
type EarlyConfig struct {
	Instance *eval.Instance
	Value    cty.Value // without marks
}

// Early evaluates the configurations of the resources that pick gives a schema, without
// providers and states. Problems are left to a plan: what can't be evaluated is left out.
func (c *Config) Early(ctx context.Context, pick func(*program.Resource) *schema.Block) []EarlyConfig {
	if c.Tree == nil || c.Tree.Program == nil {
		return nil
	}
	values, _ := c.values(true)
	h := &earlyHost{config: c, values: values, pick: pick}
	facts := c.facts(cty.UnknownVal(cty.Bool), functions.Env{Pure: true, PlanTimestamp: c.noTimestamp})
	facts.Context = ctx
	root := (&eval.Evaluator{Host: h, Facts: facts, Lenient: true}).NewRoot(c.Tree.Program)
	rt := promise.NewRuntime(1)
	rt.Go(func(t *promise.Task) { h.walk(t, root) })
	rt.Wait()
	return h.found
}

// earlyHost answers the evaluator where nothing is known of objects.
type earlyHost struct {
	config *Config
	values map[string]cty.Value
	pick   func(*program.Resource) *schema.Block

	mu    sync.Mutex
	found []EarlyConfig
}

// walk evaluates the picked resources of a module instance and of the modules below it.
func (h *earlyHost) walk(t *promise.Task, f *eval.Frame) {
	for _, r := range f.Program.Resources {
		if h.pick(r) == nil {
			continue
		}
		t.Try(func(t *promise.Task) {
			for _, i := range f.Instances(t, r, nil) {
				t.Try(func(t *promise.Task) { i.Value(t, nil) })
			}
		})
	}
	for _, call := range f.Program.Calls {
		t.Try(func(t *promise.Task) {
			for _, child := range f.Calls(t, call, nil) {
				h.walk(t, child)
			}
		})
	}
}

// Variable implements eval.Host.
func (h *earlyHost) Variable(v *program.Variable) (cty.Value, diag.List) {
	if given, ok := h.values[v.Name]; ok {
		return given, nil
	}
	if v.Required() {
		return cty.DynamicVal, nil
	}
	return cty.NilVal, nil
}

// Resource implements eval.Host.
func (h *earlyHost) Resource(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	block := h.pick(i.Resource)
	if block == nil || i.Resource.Config == nil {
		return cty.DynamicVal, true
	}
	v, problems := block.Decode(i.Resource.Config.Body, i.Context(t, cty.NilVal))
	if !problems.HasErrors() {
		bare, _ := v.UnmarkDeep()
		h.mu.Lock()
		h.found = append(h.found, EarlyConfig{i, bare})
		h.mu.Unlock()
	}
	return cty.DynamicVal, true
}

// Expand implements eval.Host.
func (h *earlyHost) Expand(_ *promise.Task, _ eval.Block, configured func() (eval.Expansion, bool)) (eval.Expansion, bool) {
	return configured()
}

// Program implements eval.Host.
func (h *earlyHost) Program(t *promise.Task, f *eval.Frame, c *program.Call, k addr.Key) (*program.Program, bool) {
	p, diags := h.config.program(f, c, k)
	return p, t.Report(diags...)
}

// Call implements eval.Host.
func (h *earlyHost) Call(*promise.Task, *eval.Frame, *program.ProviderFunction, []cty.Value) (cty.Value, error) {
	return cty.DynamicVal, nil
}
