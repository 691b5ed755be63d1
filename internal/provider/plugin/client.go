package plugin

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin/batching"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
	"weir.dev/weir/internal/provider/providerproxy"
)

// A client is one running plugin. It speaks protocol 6; speak translates for
// plugins of protocol 5.
type client struct {
	store func([]byte) // keeps what the plugin declares; nil for nobody

	name         string // in diagnostics
	file         string
	limit        time.Duration // of one call; 0 for none
	version      string
	capabilities *tfplugin6.ClientCapabilities
	schemas      *provider.Schemas
	askFirst     bool // a process must be asked for its schemas first
	guarded      bool // a guard is between this process and the plugin

	conn       grpc.ClientConnInterface
	rpc        tfplugin6.ProviderClient
	supervisor *supervisor // nil for a plugin that somebody else runs
	// configured is the request with which the provider was configured.
	configured atomic.Pointer[tfplugin6.ConfigureProvider_Request]
	// stored is the request with which its state store was configured, chunk how many bytes of a
	// state a message may have.
	stored atomic.Pointer[tfplugin6.ConfigureStateStore_Request]
	chunk  atomic.Int64

	end     func() error
	endOnce sync.Once
	endErr  error
	ended   func() // called after the end, when set

	batches batching.Limits

	functionsOnce sync.Once
	functions     map[string]*provider.Function
	functionsErr  error
}

// repeatable reports whether a call changes nothing. Those under way when a process
// ended are made once more, one after the other, so that only the one that
// ends processes fails.
func repeatable(method string) bool {
	switch method {
	case tfplugin6.Provider_GetProviderSchema_FullMethodName,
		tfplugin6.Provider_GetResourceIdentitySchemas_FullMethodName,
		tfplugin6.Provider_GetFunctions_FullMethodName,
		tfplugin6.Provider_ValidateProviderConfig_FullMethodName,
		tfplugin6.Provider_ValidateResourceConfig_FullMethodName,
		tfplugin6.Provider_ValidateDataResourceConfig_FullMethodName,
		tfplugin6.Provider_ValidateEphemeralResourceConfig_FullMethodName,
		tfplugin6.Provider_ValidateActionConfig_FullMethodName,
		tfplugin6.Provider_ValidateListResourceConfig_FullMethodName,
		tfplugin6.Provider_PlanAction_FullMethodName,
		tfplugin6.Provider_UpgradeResourceState_FullMethodName,
		tfplugin6.Provider_UpgradeResourceIdentity_FullMethodName,
		tfplugin6.Provider_ReadResource_FullMethodName,
		tfplugin6.Provider_PlanResourceChange_FullMethodName,
		tfplugin6.Provider_ImportResourceState_FullMethodName,
		tfplugin6.Provider_MoveResourceState_FullMethodName,
		tfplugin6.Provider_GenerateResourceConfig_FullMethodName,
		tfplugin6.Provider_ReadDataSource_FullMethodName,
		tfplugin6.Provider_ValidateStateStoreConfig_FullMethodName,
		tfplugin6.Provider_GetStates_FullMethodName,
		tfplugin6.Provider_CallFunction_FullMethodName:
		return true
	}
	return false
}

func (c *client) use(conn grpc.ClientConnInterface) {
	conn = observed{conn, c.file, c.limit}
	c.conn, c.rpc = conn, tfplugin6.NewProviderClient(conn)
}

func (c *client) Close() error {
	c.endOnce.Do(func() {
		if c.end != nil {
			c.endErr = c.end()
		}
		if c.ended != nil {
			c.ended()
		}
	})
	return c.endErr
}

func (c *client) Stop(ctx context.Context) error {
	if c.supervisor != nil {
		c.supervisor.stop()
	}
	r, err := c.rpc.StopProvider(ctx, &tfplugin6.StopProvider_Request{})
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		return nil // there is nothing to stop
	}
	if err != nil {
		return c.callFailed("StopProvider", err).Err()
	}
	if r.Error != "" {
		return errors.New(r.Error)
	}
	return nil
}

func (c *client) ValidateConfig(ctx context.Context, config cty.Value) diag.List {
	x := &exchange{c: c, call: "ValidateProviderConfig", schema: c.schemas.Provider}
	req := &tfplugin6.ValidateProviderConfig_Request{Config: x.encode(config)}
	if !x.failed() {
		r, err := c.rpc.ValidateProviderConfig(ctx, req)
		x.answered(err, r.GetDiagnostics())
	}
	return x.diags
}

func (c *client) Configure(ctx context.Context, config cty.Value) diag.List {
	x := &exchange{c: c, call: "ConfigureProvider", schema: c.schemas.Provider}
	req := &tfplugin6.ConfigureProvider_Request{
		TerraformVersion:   c.version,
		Config:             x.encode(config),
		ClientCapabilities: c.capabilities,
	}
	if !x.failed() {
		r, err := c.rpc.ConfigureProvider(ctx, req)
		x.answered(err, r.GetDiagnostics())
	}
	if !x.failed() {
		c.configured.Store(req)
	}
	return x.diags
}

// ready brings a new process to where the ended one was.
func (c *client) ready(ctx context.Context, n *incarnation) error {
	if c.askFirst {
		if err := n.call(ctx, tfplugin6.Provider_GetProviderSchema_FullMethodName,
			&tfplugin6.GetProviderSchema_Request{}, &emptypb.Empty{}); err != nil {
			return err
		}
	}
	req := c.configured.Load()
	if req == nil {
		return nil
	}
	var r tfplugin6.ConfigureProvider_Response
	if err := n.call(ctx, tfplugin6.Provider_ConfigureProvider_FullMethodName, req, &r); err != nil {
		return err
	}
	if err := diagnostics(r.Diagnostics).Err(); err != nil {
		return err
	}
	store := c.stored.Load()
	if store == nil {
		return nil
	}
	var s tfplugin6.ConfigureStateStore_Response
	if err := n.call(ctx, tfplugin6.Provider_ConfigureStateStore_FullMethodName, store, &s); err != nil {
		return err
	}
	return diagnostics(s.Diagnostics).Err()
}

func (c *client) ValidateResource(ctx context.Context, mode addr.Mode, typ string, config cty.Value) diag.List {
	call := map[addr.Mode]string{
		addr.Managed:   "ValidateResourceConfig",
		addr.Data:      "ValidateDataResourceConfig",
		addr.Ephemeral: "ValidateEphemeralResourceConfig",
		addr.Action:    "ValidateActionConfig",
		addr.List:      "ValidateListResourceConfig",
	}[mode]
	x := c.begin(call, mode, typ)
	value := x.encode(config)
	if x.failed() {
		return x.diags
	}
	switch mode {
	case addr.Data:
		r, err := c.rpc.ValidateDataResourceConfig(ctx, &tfplugin6.ValidateDataResourceConfig_Request{TypeName: typ, Config: value})
		x.answered(err, r.GetDiagnostics())
	case addr.Ephemeral:
		r, err := c.rpc.ValidateEphemeralResourceConfig(ctx, &tfplugin6.ValidateEphemeralResourceConfig_Request{TypeName: typ, Config: value})
		x.answered(err, r.GetDiagnostics())
	case addr.Action:
		r, err := c.rpc.ValidateActionConfig(ctx, &tfplugin6.ValidateActionConfig_Request{TypeName: typ, Config: value})
		x.answered(err, r.GetDiagnostics())
	case addr.List:
		r, err := c.rpc.ValidateListResourceConfig(ctx, &tfplugin6.ValidateListResourceConfig_Request{TypeName: typ, Config: value})
		x.answered(err, r.GetDiagnostics())
	default:
		r, err := c.rpc.ValidateResourceConfig(ctx, &tfplugin6.ValidateResourceConfig_Request{
			TypeName: typ, Config: value, ClientCapabilities: c.capabilities,
		})
		x.answered(err, r.GetDiagnostics())
	}
	return x.diags
}

func (c *client) UpgradeState(ctx context.Context, r provider.UpgradeRequest) (cty.Value, diag.List) {
	x := c.begin("UpgradeResourceState", addr.Managed, r.Type)
	if x.failed() {
		return cty.NilVal, x.diags
	}
	resp, err := c.rpc.UpgradeResourceState(ctx, &tfplugin6.UpgradeResourceState_Request{
		TypeName: r.Type,
		Version:  r.Version,
		RawState: &tfplugin6.RawState{Json: r.JSON, Flatmap: r.Flat},
	})
	if !x.answered(err, resp.GetDiagnostics()) || x.failed() {
		return cty.NilVal, x.diags
	}
	return x.decode(resp.UpgradedState), x.diags
}

func (c *client) UpgradeIdentity(ctx context.Context, typ string, version int64, json []byte) (cty.Value, diag.List) {
	x := c.begin("UpgradeResourceIdentity", addr.Managed, typ)
	if x.failed() {
		return cty.NilVal, x.diags
	}
	resp, err := c.rpc.UpgradeResourceIdentity(ctx, &tfplugin6.UpgradeResourceIdentity_Request{
		TypeName:    typ,
		Version:     version,
		RawIdentity: &tfplugin6.RawState{Json: json},
	})
	if !x.answered(err, resp.GetDiagnostics()) || x.failed() {
		return cty.NilVal, x.diags
	}
	return x.decodeIdentity(resp.UpgradedIdentity), x.diags
}

func (c *client) Read(ctx context.Context, r provider.ReadRequest) provider.ReadResponse {
	x, req := c.readRequest(r)
	if x.failed() {
		return provider.ReadResponse{Diags: x.diags}
	}
	resp, err := c.rpc.ReadResource(ctx, req)
	return x.read(resp, err)
}

func (c *client) readRequest(r provider.ReadRequest) (*exchange, *tfplugin6.ReadResource_Request) {
	x := c.begin("ReadResource", addr.Managed, r.Type)
	return x, &tfplugin6.ReadResource_Request{
		TypeName:           r.Type,
		CurrentState:       x.encode(r.Current),
		Private:            r.Private,
		ProviderMeta:       x.encodeMeta(r.Meta),
		ClientCapabilities: c.capabilities,
		CurrentIdentity:    x.encodeIdentity(r.Identity),
	}
}

func (x *exchange) read(resp *tfplugin6.ReadResource_Response, err error) provider.ReadResponse {
	if !x.answered(err, resp.GetDiagnostics()) {
		return provider.ReadResponse{Diags: x.diags}
	}
	out := provider.ReadResponse{
		New:      x.decode(resp.NewState),
		Private:  resp.Private,
		Identity: x.decodeIdentity(resp.NewIdentity),
		Deferred: deferred(resp.Deferred),
	}
	out.Diags = x.diags
	return out
}

func (c *client) Plan(ctx context.Context, r provider.PlanRequest) provider.PlanResponse {
	x, req := c.planRequest(r)
	if x.failed() {
		return provider.PlanResponse{Diags: x.diags}
	}
	resp, err := c.rpc.PlanResourceChange(ctx, req)
	return x.planned(resp, err)
}

func (c *client) planRequest(r provider.PlanRequest) (*exchange, *tfplugin6.PlanResourceChange_Request) {
	x := c.begin("PlanResourceChange", addr.Managed, r.Type)
	return x, &tfplugin6.PlanResourceChange_Request{
		TypeName:           r.Type,
		PriorState:         x.encode(r.Prior),
		ProposedNewState:   x.encode(r.ProposedNew),
		Config:             x.encode(r.Config),
		PriorPrivate:       r.PriorPrivate,
		ProviderMeta:       x.encodeMeta(r.Meta),
		ClientCapabilities: c.capabilities,
		PriorIdentity:      x.encodeIdentity(r.PriorIdentity),
		PlannedPrivate:     r.PlannedPrivate,
	}
}

func (x *exchange) planned(resp *tfplugin6.PlanResourceChange_Response, err error) provider.PlanResponse {
	if !x.answered(err, resp.GetDiagnostics()) {
		return provider.PlanResponse{Diags: x.diags}
	}
	out := provider.PlanResponse{
		Planned:  x.decode(resp.PlannedState),
		Private:  resp.PlannedPrivate,
		Identity: x.decodeIdentity(resp.PlannedIdentity),
		Legacy:   resp.LegacyTypeSystem,
		Deferred: deferred(resp.Deferred),
	}
	for _, p := range resp.RequiresReplace {
		out.RequiresReplace = append(out.RequiresReplace, path(p))
	}
	out.Diags = x.diags
	return out
}

func (c *client) Apply(ctx context.Context, r provider.ApplyRequest) provider.ApplyResponse {
	x, req := c.applyRequest(r)
	if !x.failed() {
		ctx = x.keepAnswer(ctx, r)
	}
	if x.failed() {
		return provider.ApplyResponse{Unsent: true, Diags: x.diags}
	}
	resp, err := c.rpc.ApplyResourceChange(ctx, req)
	return x.appliedOr(resp, err)
}

func (c *client) applyRequest(r provider.ApplyRequest) (*exchange, *tfplugin6.ApplyResourceChange_Request) {
	x := c.begin("ApplyResourceChange", addr.Managed, r.Type)
	return x, &tfplugin6.ApplyResourceChange_Request{
		TypeName:        r.Type,
		PriorState:      x.encode(r.Prior),
		PlannedState:    x.encode(r.Planned),
		Config:          x.encode(r.Config),
		PlannedPrivate:  r.PlannedPrivate,
		ProviderMeta:    x.encodeMeta(r.Meta),
		PlannedIdentity: x.encodeIdentity(r.PlannedIdentity),
	}
}

// appliedOr is for an answer or none.
func (x *exchange) appliedOr(resp *tfplugin6.ApplyResourceChange_Response, err error) provider.ApplyResponse {
	if !x.answered(err, resp.GetDiagnostics()) {
		var refused *refusal
		return provider.ApplyResponse{Unsent: errors.As(err, &refused), Diags: x.diags}
	}
	return x.applied(resp)
}

func (x *exchange) applied(resp *tfplugin6.ApplyResourceChange_Response) provider.ApplyResponse {
	out := provider.ApplyResponse{
		New:      x.decode(resp.NewState),
		Private:  resp.Private,
		Identity: x.decodeIdentity(resp.NewIdentity),
		Legacy:   resp.LegacyTypeSystem,
	}
	out.Diags = x.diags
	return out
}

// keepAnswer has the answer to a creation kept where the context asks for it.
func (x *exchange) keepAnswer(ctx context.Context, r provider.ApplyRequest) context.Context {
	dir, ok := provider.AnswersIn(ctx)
	if !ok || r.Prior != cty.NilVal && !r.Prior.IsNull() {
		return ctx
	}
	file := provider.AnswerFile(dir, r.Addr)
	if x.c.guarded {
		return metadata.AppendToOutgoingContext(ctx, providerproxy.Header, file)
	}
	if err := providerproxy.Asked(file); err != nil {
		x.diags.Add(Unavailable.As("Failed to keep answers").New(diag.Error, "%s isn't created, because it couldn't be noted that it was asked for: %s.", r.Addr, diag.Cause(err)))
	}
	return ctx
}

// Answer reads the answer to a creation that a guard has kept, about an object of
// the given schema.
func Answer(data []byte, typ string, s *schema.Schema) provider.ApplyResponse {
	x := &exchange{c: &client{name: "the provider"}, call: "ApplyResourceChange", schema: s}
	resp := &tfplugin6.ApplyResourceChange_Response{}
	// The bytes of protocol 5 are the same.
	if err := proto.Unmarshal(data, resp); err != nil {
		x.diags.Add(diag.Unanswered.New(diag.Error, "The provider's answer for an object of type %s can't be read: %s.", typ, err))
		return provider.ApplyResponse{Diags: x.diags}
	}
	x.diags.Append(diagnostics(resp.Diagnostics))
	return x.applied(resp)
}

func (c *client) Import(ctx context.Context, r provider.ImportRequest) provider.ImportResponse {
	x := c.begin("ImportResourceState", addr.Managed, r.Type)
	req := &tfplugin6.ImportResourceState_Request{
		TypeName:           r.Type,
		Id:                 r.ID,
		ClientCapabilities: c.capabilities,
		Identity:           x.encodeIdentity(r.Identity),
	}
	if x.failed() {
		return provider.ImportResponse{Diags: x.diags}
	}
	resp, err := c.rpc.ImportResourceState(ctx, req)
	if !x.answered(err, resp.GetDiagnostics()) {
		return provider.ImportResponse{Diags: x.diags}
	}
	out := provider.ImportResponse{Deferred: deferred(resp.Deferred), Diags: x.diags}
	for _, imported := range resp.ImportedResources {
		each := c.begin(x.call, addr.Managed, imported.TypeName)
		if !each.failed() {
			out.Objects = append(out.Objects, provider.ImportedObject{
				Type:     imported.TypeName,
				State:    each.decode(imported.State),
				Private:  imported.Private,
				Identity: each.decodeIdentity(imported.Identity),
			})
		}
		out.Diags.Append(each.diags)
	}
	return out
}

func (c *client) Move(ctx context.Context, r provider.MoveRequest) provider.MoveResponse {
	x := c.begin("MoveResourceState", addr.Managed, r.TargetType)
	if x.failed() {
		return provider.MoveResponse{Diags: x.diags}
	}
	req := &tfplugin6.MoveResourceState_Request{
		SourceProviderAddress:       r.SourceProvider.String(),
		SourceTypeName:              r.SourceType,
		SourceSchemaVersion:         r.SourceVersion,
		SourceState:                 &tfplugin6.RawState{Json: r.SourceJSON, Flatmap: r.SourceFlat},
		SourcePrivate:               r.SourcePrivate,
		SourceIdentitySchemaVersion: r.SourceIdentityVersion,
		TargetTypeName:              r.TargetType,
	}
	if r.SourceIdentityJSON != nil {
		req.SourceIdentity = &tfplugin6.RawState{Json: r.SourceIdentityJSON}
	}
	resp, err := c.rpc.MoveResourceState(ctx, req)
	if !x.answered(err, resp.GetDiagnostics()) || x.failed() {
		return provider.MoveResponse{Diags: x.diags}
	}
	out := provider.MoveResponse{
		Target:   x.decode(resp.TargetState),
		Private:  resp.TargetPrivate,
		Identity: x.decodeIdentity(resp.TargetIdentity),
	}
	out.Diags = x.diags
	return out
}

func (c *client) GenerateConfig(ctx context.Context, typ string, object cty.Value) (cty.Value, diag.List) {
	x := c.begin("GenerateResourceConfig", addr.Managed, typ)
	req := &tfplugin6.GenerateResourceConfig_Request{TypeName: typ, State: x.encode(object)}
	if x.failed() {
		return cty.NilVal, x.diags
	}
	resp, err := c.rpc.GenerateResourceConfig(ctx, req)
	if !x.answered(err, resp.GetDiagnostics()) || x.failed() {
		return cty.NilVal, x.diags
	}
	config := x.decode(resp.Config)
	return config, x.diags
}

func (c *client) ReadData(ctx context.Context, r provider.ReadDataRequest) provider.ReadDataResponse {
	x := c.begin("ReadDataSource", addr.Data, r.Type)
	req := &tfplugin6.ReadDataSource_Request{
		TypeName:           r.Type,
		Config:             x.encode(r.Config),
		ProviderMeta:       x.encodeMeta(r.Meta),
		ClientCapabilities: c.capabilities,
	}
	if x.failed() {
		return provider.ReadDataResponse{Diags: x.diags}
	}
	resp, err := c.rpc.ReadDataSource(ctx, req)
	if !x.answered(err, resp.GetDiagnostics()) {
		return provider.ReadDataResponse{Diags: x.diags}
	}
	out := provider.ReadDataResponse{New: x.decode(resp.State), Deferred: deferred(resp.Deferred)}
	out.Diags = x.diags
	return out
}
