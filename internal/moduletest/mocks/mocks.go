// Package mocks mocks providers. It answers from the schema, from values in tests, and with
// made-up values that depend only on the address.
//
// It owns the answers. It doesn't know where the values it is given stand, and starts nothing.
package mocks

import (
	"context"
	"errors"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/provider"
)

// Given are values for what a provider computes.
type Given struct {
	// Values is an object or map, NilVal without.
	Values cty.Value
	// Planned: what is computed is known from the plan on; otherwise only after
	// the apply.
	Planned bool
}

// Options say what a stand-in answers.
type Options struct {
	Schemas *provider.Schemas
	// Given returns the values of an instance; for a real provider whose objects
	// are partly made up, ok says whether this is one of them.
	Given func(addr.Instance) (g Given, ok bool)
	Seed  uint64
	// Strict: values that can't be used are errors. They are left out otherwise.
	Strict bool
	// Real gives the provider itself, for its functions.
	Real func() provider.Provider
}

// New makes a provider that answers everything itself.
func New(o Options) provider.Provider { return &mock{Options: o} }

// Override makes a provider that answers for those objects that there are given
// values for, and asks the real one about the others.
func Override(real provider.Provider, o Options) provider.Provider {
	return &overriding{Provider: real, mock: mock{Options: o}}
}

type mock struct {
	provider.Partial
	Options
}

func (m *mock) given(i addr.Instance) Given {
	g, _ := m.Given(i)
	return g
}

// AnswersByInstance implements provider.ByInstance.
func (*mock) AnswersByInstance() {}

// AnswersAlike implements provider.Repeatable.
func (*mock) AnswersAlike() {}

// UpgradeState decodes what a stand-in has made.
func (m *mock) UpgradeState(_ context.Context, r provider.UpgradeRequest) (cty.Value, diag.List) {
	var diags diag.List
	sch := m.Schemas.Resources.Schema(r.Type)
	v, err := value.FromJSON(r.JSON, sch.Block.ImpliedType())
	if err != nil {
		diags.Add(diag.StateUnreadable.As("Invalid object in the state").New(diag.Error, "An object of type %s doesn't have the form that its schema asks for: %s.", r.Type, err))
	}
	return v, diags
}

func (m *mock) UpgradeIdentity(_ context.Context, typ string, _ int64, json []byte) (cty.Value, diag.List) {
	var diags diag.List
	v, err := value.FromJSON(json, m.Schemas.Resources.Schema(typ).Identity.ElementType())
	if err != nil {
		diags.Add(diag.StateUnreadable.As("Invalid identity in the state").New(diag.Error, "An identity of type %s doesn't have the form that its schema asks for: %s.", typ, err))
	}
	return v, diags
}

// Read finds every object as it was.
func (*mock) Read(_ context.Context, r provider.ReadRequest) provider.ReadResponse {
	return provider.ReadResponse{New: r.Current, Private: r.Private, Identity: r.Identity}
}

func (m *mock) Plan(_ context.Context, r provider.PlanRequest) provider.PlanResponse {
	resp := provider.PlanResponse{Planned: r.ProposedNew, Private: r.PriorPrivate, Identity: r.PriorIdentity}
	if r.ProposedNew.IsNull() {
		return resp
	}
	c := m.composer(r.Addr, m.Schemas.Resources.Schema(r.Type).Block)
	c.planning = true
	resp.Planned, resp.Diags = c.compose(r.ProposedNew, r.Config)
	return resp
}

func (m *mock) Apply(_ context.Context, r provider.ApplyRequest) provider.ApplyResponse {
	resp := provider.ApplyResponse{New: r.Planned, Private: r.PlannedPrivate, Identity: r.PlannedIdentity}
	if r.Planned.IsNull() {
		return resp
	}
	resp.New, resp.Diags = m.composer(r.Addr, m.Schemas.Resources.Schema(r.Type).Block).compose(r.Planned, r.Config)
	return resp
}

func (m *mock) Import(_ context.Context, r provider.ImportRequest) provider.ImportResponse {
	block := m.Schemas.Resources.Schema(r.Type).Block
	c := m.composer(r.Addr, block)
	c.lenient = true
	empty := block.EmptyValue()
	if a := block.Attributes["id"]; a != nil && a.Type == cty.String && r.ID != "" {
		values := empty.AsValueMap()
		values["id"] = cty.StringVal(r.ID)
		empty = cty.ObjectVal(values)
	}
	v, diags := c.compose(unknownComputed(block, empty), empty)
	return provider.ImportResponse{Objects: []provider.ImportedObject{{Type: r.Type, State: v}}, Diags: diags}
}

func (*mock) Move(_ context.Context, r provider.MoveRequest) provider.MoveResponse {
	var diags diag.List
	diags.Add(provider.Lacking.As("Move to a mocked resource").New(diag.Error, "An object of type %s can't become one of type %s in a mocked provider.", r.SourceType, r.TargetType))
	return provider.MoveResponse{Diags: diags}
}

func (m *mock) ReadData(_ context.Context, r provider.ReadDataRequest) provider.ReadDataResponse {
	block := m.Schemas.DataSources.Schema(r.Type).Block
	v, diags := m.composer(r.Addr, block).compose(unknownComputed(block, r.Config), r.Config)
	return provider.ReadDataResponse{New: v, Diags: diags}
}

func (m *mock) OpenEphemeral(_ context.Context, typ string, config cty.Value) provider.OpenResponse {
	block := m.Schemas.Ephemerals.Schema(typ).Block
	at := addr.Resource{Name: addr.Name{Mode: addr.Ephemeral, Type: typ}}.Instance(addr.NoKey)
	v, diags := m.composer(at, block).compose(unknownComputed(block, config), config)
	return provider.OpenResponse{Result: v, Diags: diags}
}

func (*mock) RenewEphemeral(context.Context, string, []byte) provider.OpenResponse {
	return provider.OpenResponse{}
}

func (*mock) CloseEphemeral(context.Context, string, []byte) diag.List { return nil }

// PlanAction lets any action be invoked.
func (*mock) PlanAction(context.Context, string, cty.Value) provider.PlanActionResponse {
	return provider.PlanActionResponse{}
}

// InvokeAction does nothing.
func (*mock) InvokeAction(context.Context, string, cty.Value, func(string)) diag.List { return nil }

// CallFunction asks the real provider, whose functions depend on nothing.
func (m *mock) CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, int, error) {
	p := m.Real()
	result, argument, err := p.CallFunction(ctx, name, args)
	return result, argument, errors.Join(err, p.Close())
}

// overriding is a real provider with some made-up objects.
type overriding struct {
	provider.Provider
	mock mock
}

// AnswersByInstance implements provider.ByInstance.
func (*overriding) AnswersByInstance() {}

func (o *overriding) overrides(i addr.Instance) bool {
	_, ok := o.mock.Given(i)
	return ok
}

func (o *overriding) Read(ctx context.Context, r provider.ReadRequest) provider.ReadResponse {
	if o.overrides(r.Addr) {
		return o.mock.Read(ctx, r)
	}
	return o.Provider.Read(ctx, r)
}

func (o *overriding) Plan(ctx context.Context, r provider.PlanRequest) provider.PlanResponse {
	if o.overrides(r.Addr) {
		return o.mock.Plan(ctx, r)
	}
	return o.Provider.Plan(ctx, r)
}

func (o *overriding) Apply(ctx context.Context, r provider.ApplyRequest) provider.ApplyResponse {
	if o.overrides(r.Addr) {
		return o.mock.Apply(ctx, r)
	}
	return o.Provider.Apply(ctx, r)
}

func (o *overriding) Import(ctx context.Context, r provider.ImportRequest) provider.ImportResponse {
	if o.overrides(r.Addr) {
		return o.mock.Import(ctx, r)
	}
	return o.Provider.Import(ctx, r)
}

func (o *overriding) ReadData(ctx context.Context, r provider.ReadDataRequest) provider.ReadDataResponse {
	if o.overrides(r.Addr) {
		return o.mock.ReadData(ctx, r)
	}
	return o.Provider.ReadData(ctx, r)
}
