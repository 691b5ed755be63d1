package edges

import (
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/eval/checks"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/resourceconfig"
	"weir.dev/weir/internal/state"
)

// A host answers the evaluator from a finished plan. It calls no provider.
type host struct {
	providerclient.Base
	plan    *plan.Plan
	changes map[addr.Instance]*plan.Change
	keys    *state.Keys

	mu        sync.Mutex
	providers map[addr.ProviderConfig]*promise.Cell[struct{}]
	reads     map[fmt.Stringer][]read
}

// A read is that one cell was read to compute another.
type read struct {
	of  fmt.Stringer
	via *hcl.Range // the reference, nil where none asked
}

// A configuration is the subject of the cell that a provider is configured in.
type configuration struct{ addr.ProviderConfig }

// replay evaluates the configuration with the values of a plan and records which cell
// reads which.
func replay(p *plan.Plan, tree *program.Tree, base providerclient.Base, facts eval.Facts) (*host, *eval.Frame) {
	h := &host{
		Base: base, plan: p, changes: map[addr.Instance]*plan.Change{}, keys: p.Refreshed.Keys(),
		providers: map[addr.ProviderConfig]*promise.Cell[struct{}]{}, reads: map[fmt.Stringer][]read{},
	}
	for _, c := range p.Changes {
		if c.Addr.Deposed == "" {
			h.changes[c.Addr.Instance] = c
		}
	}
	for _, d := range p.Deferred {
		h.changes[d.Change.Addr.Instance] = d.Change
	}
	rt := promise.NewRuntime(1)
	rt.Record(func(reader, of fmt.Stringer, via *hcl.Range) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if reader != nil {
			h.reads[reader] = append(h.reads[reader], read{of, via})
		}
	})
	ev := &eval.Evaluator{Host: h, Facts: facts, Lenient: true, Creates: p.Mode == plan.Normal}
	root := ev.NewRoot(tree.Program)
	root.Walk(rt)
	rt.Wait()
	rt.Do(func(t *promise.Task) {
		for _, f := range root.Frames() {
			for _, o := range f.Program.Observers {
				t.Try(func(t *promise.Task) { checks.Evaluate(t, f, o, func([]eval.Outcome) {}) })
			}
		}
	})
	return h, root
}

// Expand implements eval.Host: a plan to destroy has the instances of the state.
func (h *host) Expand(_ *promise.Task, b eval.Block, configured func() (eval.Expansion, bool)) (eval.Expansion, bool) {
	if h.plan.Mode == plan.Destroy {
		if e, ok := instance.Existing(h.keys, b); ok {
			return e, true
		}
	}
	return configured()
}

// Call implements eval.Host: functions of providers need these to run.
func (h *host) Call(*promise.Task, *eval.Frame, *program.ProviderFunction, []cty.Value) (cty.Value, error) {
	return cty.DynamicVal, errors.New("providers aren't called for this")
}

// Resource implements eval.Host: the planned value, after everything that the block
// refers to was read. Problems are nobody's: they were reported when the plan was made.
func (h *host) Resource(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	t.Try(func(t *promise.Task) { i.DependsOn(t) })
	t.Try(func(t *promise.Task) {
		if pi, _ := i.Provider(t); pi != nil {
			h.configure(t, pi)
		}
	})
	self := cty.NilVal
	if i.Addr.Name.Mode == addr.Action {
		self = cty.DynamicVal
	}
	sch := h.schemas(i.Resource.Provider.Provider).Resource(i.Addr.Name.Mode, i.Addr.Name.Type)
	if sch != nil {
		t.Try(func(t *promise.Task) { resourceconfig.ForCaller(t, i, sch, self) })
	}
	i.Resource.Parts(func(p program.Part) {
		switch {
		case p.Body == i.Resource.Config && p.Body != nil && sch != nil, p.Role == program.Repetition, p.Argument == string(DependsOn), p.AtDestroy:
			return
		}
		for _, ref := range p.References() {
			if ref.Resource != nil && ref.Resource.Name.Mode == addr.Action {
				continue // it may refer back: nothing of it flows
			}
			t.Try(func(t *promise.Task) {
				if _, hd := program.NewRefExpr(ref).Value(i.Context(t, cty.DynamicVal)); hd.HasErrors() {
					i.Frame.Depend(t, []*program.Ref{ref})
				}
			})
		}
	})
	return h.value(i), true
}

// configure reads what a provider's configuration refers to.
func (h *host) configure(t *promise.Task, pi *eval.ProviderInstance) {
	h.mu.Lock()
	cell := h.providers[pi.Addr]
	if cell == nil {
		cell = &promise.Cell[struct{}]{}
		h.providers[pi.Addr] = cell
	}
	h.mu.Unlock()
	cell.Get(t, configuration{pi.Addr}, nil, func(t *promise.Task) (struct{}, bool) {
		t.Try(func(t *promise.Task) { providerclient.Config(t, pi, h.schemas(pi.Addr.Provider)) })
		return struct{}{}, true
	})
}

// schemas are those of a provider, empty where the plan doesn't have them.
func (h *host) schemas(p addr.Provider) *provider.Schemas {
	if s := h.plan.Schemas[p]; s != nil {
		return s
	}
	return &provider.Schemas{}
}

// value is what references to an instance get.
func (h *host) value(i *eval.Instance) cty.Value {
	if c := h.changes[i.Addr]; c != nil {
		switch {
		case c.After != cty.NilVal && !c.After.IsNull():
			return c.After
		case c.Before != cty.NilVal && !c.Before.IsNull():
			return c.Before
		}
		return cty.DynamicVal
	}
	o := h.plan.Refreshed.Objects[addr.Object{Instance: i.Addr}]
	sch := h.schemas(i.Resource.Provider.Provider).Resource(i.Addr.Name.Mode, i.Addr.Name.Type)
	if o == nil || sch == nil {
		return cty.DynamicVal
	}
	s := lifecycle.Subject{Addr: i.Addr, Schema: sch}
	v, err := s.Decode(o)
	if err != nil {
		return cty.DynamicVal
	}
	return instance.Marked(sch, v, o)
}
