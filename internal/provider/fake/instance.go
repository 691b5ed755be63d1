package fake

import (
	"context"
	"fmt"
	"sync"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider"
)

// An instance is one running provider.
type instance struct {
	*Provider

	mu         sync.Mutex
	configured bool
	closed     bool
}

// begin starts a call about a type and finds the type. Calls in an order that
// the contract doesn't allow fail.
func (i *instance) begin(ctx context.Context, call string, types map[string]*Type, typ string, about cty.Value, needsConfig bool) (*Type, diag.List) {
	diags := i.before(ctx, call, typ, about)
	if diags.HasErrors() {
		return nil, diags
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	t := types[typ]
	switch {
	case i.closed:
		diags.Add(provider.Reported.As("Provider is closed").New(diag.Error, "%s %s was called after Close.", call, typ))
	case needsConfig && !i.configured:
		diags.Add(provider.Reported.As("Provider isn't configured").New(diag.Error, "%s %s was called before Configure.", call, typ))
	case t == nil:
		diags.Add(provider.Lacking.As("Unsupported type").New(diag.Error, "%s was called with type %q.", call, typ))
	}
	return t, diags
}

func (i *instance) ValidateConfig(ctx context.Context, config cty.Value) diag.List {
	diags := i.before(ctx, "ValidateConfig", "", config)
	if !diags.HasErrors() && i.Provider.Config.Validate != nil {
		diags = i.Provider.Config.Validate(config)
	}
	return diags
}

func (i *instance) Configure(ctx context.Context, config cty.Value) diag.List {
	diags := i.before(ctx, "Configure", "", config)
	if diags.HasErrors() {
		return diags
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.configured || i.closed {
		diags.Add(provider.Reported.As("Provider was configured").New(diag.Error, "Configure is called once, and before Close."))
		return diags
	}
	i.configured = true
	i.Provider.mu.Lock()
	defer i.Provider.mu.Unlock()
	i.configs = append(i.configs, config)
	return nil
}

func (i *instance) ValidateResource(ctx context.Context, mode addr.Mode, typ string, config cty.Value) diag.List {
	types := map[addr.Mode]map[string]*Type{addr.Managed: i.Resources, addr.Data: i.DataSources, addr.Ephemeral: i.Ephemerals, addr.Action: i.Actions, addr.List: i.Lists}[mode]
	t, diags := i.begin(ctx, "ValidateResource", types, typ, config, false)
	if !diags.HasErrors() && t.Validate != nil {
		diags = t.Validate(config)
	}
	return diags
}

// UpgradeState decodes what is stored in the present schema.
func (i *instance) UpgradeState(ctx context.Context, r provider.UpgradeRequest) (cty.Value, diag.List) {
	t, diags := i.begin(ctx, "UpgradeState", i.Resources, r.Type, cty.NilVal, false)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	if t.Upgrade != nil {
		return t.Upgrade(r)
	}
	v, err := ctyjson.Unmarshal(r.JSON, t.Schema.Block.ImpliedType())
	if err != nil {
		diags.Add(provider.Reported.As("Can't upgrade").New(diag.Error, "The stored %s doesn't have the present schema: %s.", r.Type, err))
	}
	return v, diags
}

func (i *instance) UpgradeIdentity(ctx context.Context, typ string, version int64, json []byte) (cty.Value, diag.List) {
	t, diags := i.begin(ctx, "UpgradeIdentity", i.Resources, typ, cty.NilVal, false)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	if t.Schema.Identity == nil {
		diags.Add(provider.Reported.As("No identity").New(diag.Error, "%s has no identity.", typ))
		return cty.NilVal, diags
	}
	if t.UpgradeIdentity != nil {
		return t.UpgradeIdentity(version, json)
	}
	v, err := ctyjson.Unmarshal(json, t.Schema.Identity.ElementType())
	if err != nil {
		diags.Add(provider.Reported.As("Can't upgrade").New(diag.Error, "The identity of %s doesn't have the present schema: %s.", typ, err))
	}
	return v, diags
}

// found returns what SetRemote says of an object with that id.
func (i *instance) found(id cty.Value) (cty.Value, bool) {
	if id == cty.NilVal || id.IsNull() || !id.IsKnown() || id.Type() != cty.String {
		return cty.NilVal, false
	}
	i.Provider.mu.Lock()
	defer i.Provider.mu.Unlock()
	v, ok := i.remote[id.AsString()]
	return v, ok
}

func idOf(v cty.Value) cty.Value {
	if !v.IsNull() && v.Type().HasAttribute("id") {
		return v.GetAttr("id")
	}
	return cty.NilVal
}

func (i *instance) Read(ctx context.Context, r provider.ReadRequest) provider.ReadResponse {
	t, diags := i.begin(ctx, "Read", i.Resources, r.Type, r.Current, true)
	if diags.HasErrors() {
		return provider.ReadResponse{Diags: diags}
	}
	if t.Read != nil {
		return t.Read(r)
	}
	out := provider.ReadResponse{New: r.Current, Private: r.Private, Identity: r.Identity}
	if v, ok := i.found(idOf(r.Current)); ok {
		out.New = v
		if v.IsNull() {
			out.New = cty.NullVal(t.Schema.Block.ImpliedType())
		}
	}
	return out
}

func (i *instance) Plan(ctx context.Context, r provider.PlanRequest) provider.PlanResponse {
	t, diags := i.begin(ctx, "Plan", i.Resources, r.Type, r.ProposedNew, true)
	if diags.HasErrors() {
		return provider.PlanResponse{Diags: diags}
	}
	if t.Plan != nil {
		return t.Plan(r)
	}
	return t.DefaultPlan(r)
}

func (i *instance) Apply(ctx context.Context, r provider.ApplyRequest) provider.ApplyResponse {
	t, diags := i.begin(ctx, "Apply", i.Resources, r.Type, r.Planned, true)
	if diags.HasErrors() {
		// Nothing happened, so what was there still is.
		return provider.ApplyResponse{New: r.Prior, Private: r.PlannedPrivate, Diags: diags}
	}
	if t.Apply != nil {
		return t.Apply(r)
	}
	return t.DefaultApply(r, func() int { return i.number(r.Type) })
}

// Import finds what SetRemote set, or an object with nothing but the id.
func (i *instance) Import(ctx context.Context, r provider.ImportRequest) provider.ImportResponse {
	t, diags := i.begin(ctx, "Import", i.Resources, r.Type, cty.StringVal(r.ID), true)
	if diags.HasErrors() {
		return provider.ImportResponse{Diags: diags}
	}
	if t.Import != nil {
		return t.Import(r)
	}
	v, ok := i.found(cty.StringVal(r.ID))
	if ok && v.IsNull() {
		return provider.ImportResponse{}
	}
	if !ok {
		values := t.Schema.Block.EmptyValue().AsValueMap()
		values["id"] = cty.StringVal(r.ID)
		v = cty.ObjectVal(values)
	}
	return provider.ImportResponse{Objects: []provider.ImportedObject{{Type: r.Type, State: v}}}
}

func (i *instance) Move(ctx context.Context, r provider.MoveRequest) provider.MoveResponse {
	t, diags := i.begin(ctx, "Move", i.Resources, r.TargetType, cty.NilVal, false)
	if !diags.HasErrors() && t.Move != nil {
		return t.Move(r)
	}
	if !diags.HasErrors() {
		diags.Add(provider.Reported.As("Unsupported move").New(diag.Error, "%s can't take over a %s.", r.TargetType, r.SourceType))
	}
	return provider.MoveResponse{Diags: diags}
}

func (i *instance) GenerateConfig(ctx context.Context, typ string, object cty.Value) (cty.Value, diag.List) {
	t, diags := i.begin(ctx, "GenerateConfig", i.Resources, typ, object, true)
	if diags.HasErrors() || t.Generate == nil {
		return cty.NilVal, diags
	}
	return t.Generate(object)
}

func (i *instance) ReadData(ctx context.Context, r provider.ReadDataRequest) provider.ReadDataResponse {
	t, diags := i.begin(ctx, "ReadData", i.DataSources, r.Type, r.Config, true)
	if diags.HasErrors() {
		return provider.ReadDataResponse{Diags: diags}
	}
	if t.ReadData != nil {
		return t.ReadData(r)
	}
	return provider.ReadDataResponse{New: t.DefaultReadData(r.Config)}
}

func (i *instance) OpenEphemeral(ctx context.Context, typ string, config cty.Value) provider.OpenResponse {
	t, diags := i.begin(ctx, "OpenEphemeral", i.Ephemerals, typ, config, true)
	if diags.HasErrors() {
		return provider.OpenResponse{Diags: diags}
	}
	if t.Open != nil {
		return t.Open(config)
	}
	return provider.OpenResponse{Result: t.DefaultReadData(config)}
}

func (i *instance) RenewEphemeral(ctx context.Context, typ string, private []byte) provider.OpenResponse {
	t, diags := i.begin(ctx, "RenewEphemeral", i.Ephemerals, typ, cty.NilVal, true)
	if diags.HasErrors() || t.Renew == nil {
		return provider.OpenResponse{Private: private, Diags: diags}
	}
	return t.Renew(private)
}

func (i *instance) CloseEphemeral(ctx context.Context, typ string, private []byte) diag.List {
	t, diags := i.begin(ctx, "CloseEphemeral", i.Ephemerals, typ, cty.NilVal, true)
	if diags.HasErrors() || t.Close == nil {
		return diags
	}
	return t.Close(private)
}

func (i *instance) PlanAction(ctx context.Context, typ string, config cty.Value) provider.PlanActionResponse {
	t, diags := i.begin(ctx, "PlanAction", i.Actions, typ, config, true)
	if diags.HasErrors() || t.PlanAction == nil {
		return provider.PlanActionResponse{Diags: diags}
	}
	return t.PlanAction(config)
}

func (i *instance) InvokeAction(ctx context.Context, typ string, config cty.Value, progress func(string)) diag.List {
	t, diags := i.begin(ctx, "InvokeAction", i.Actions, typ, config, true)
	if diags.HasErrors() || t.Invoke == nil {
		return diags
	}
	return t.Invoke(config, progress)
}

func (i *instance) List(ctx context.Context, r provider.ListRequest, found func(provider.ListResult) bool) diag.List {
	t, diags := i.begin(ctx, "List", i.Lists, r.Type, r.Config, true)
	if diags.HasErrors() || t.List == nil {
		return diags
	}
	return t.List(r, found)
}

func (i *instance) CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, int, error) {
	if err := i.before(ctx, "CallFunction", "", cty.TupleVal(args)).Err(); err != nil {
		return cty.DynamicVal, -1, err
	}
	f, ok := i.Functions[name]
	if !ok {
		return cty.DynamicVal, -1, fmt.Errorf("there is no function %q", name)
	}
	v, err := f.Call(args)
	return v, -1, err
}

// Stop opens all gates, as a real provider would give up.
func (i *instance) Stop(ctx context.Context) error {
	err := i.before(ctx, "Stop", "", cty.NilVal).Err()
	i.Provider.mu.Lock()
	defer i.Provider.mu.Unlock()
	i.stopped = true
	for _, g := range i.gates {
		g.Open()
	}
	return err
}

func (i *instance) Close() error {
	err := i.before(context.Background(), "Close", "", cty.NilVal).Err()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return fmt.Errorf("the provider was closed twice")
	}
	i.closed = true
	i.Provider.mu.Lock()
	defer i.Provider.mu.Unlock()
	i.running--
	return err
}
