// Package provider defines the interface of providers in cty terms: their schemas and calls.
//
// It owns the contract between the stages and whatever runs a provider (a plugin process, a
// built-in, a scripted one in tests). It rejects wire formats, processes and installation.
package provider

import (
	"context"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
)

// Schemas is everything that a provider declares.
type Schemas struct {
	Provider    *schema.Schema
	Meta        *schema.Schema // provider_meta, nil without
	Resources   Types
	DataSources Types
	Ephemerals  Types
	Functions   map[string]*Function
	// Lists and Actions have the schemas of list resources and actions.
	Lists   Types
	Actions Types
	// StateStores are the places where a StateStorer stores states.
	StateStores Types

	// PlanDestroy: deletions are planned by the provider too.
	PlanDestroy bool
	// MoveState: the provider can take over objects of other types.
	MoveState bool
	// GenerateConfig: the provider writes configurations of its objects.
	GenerateConfig bool
}

// Resource returns the schema of a resource type, or nil.
func (s *Schemas) Resource(mode addr.Mode, typ string) *schema.Schema {
	switch mode {
	case addr.Data:
		return s.DataSources.Schema(typ)
	case addr.Ephemeral:
		return s.Ephemerals.Schema(typ)
	case addr.Action:
		return s.Actions.Schema(typ)
	case addr.List:
		return s.Lists.Schema(typ)
	}
	return s.Resources.Schema(typ)
}

// Found is the type of what a list resource reports an object: its name for people, its
// identity and, where it was asked for, the object. It is NilType for types of objects that
// lists can't have, because they have no identity.
func (s *Schemas) Found(typ string) cty.Type {
	of := s.Resources.Schema(typ)
	if of == nil || of.Identity == nil {
		return cty.NilType
	}
	return cty.Object(map[string]cty.Type{"display_name": cty.String, "identity": of.Identity.ImpliedType(), "state": of.Block.ImpliedType()})
}

// A Function is the signature of a provider function.
type Function struct {
	Parameters  []Parameter
	Variadic    *Parameter
	Return      cty.Type
	Summary     string
	Description string
	Markdown    bool
	Deprecated  string
}

// A Parameter is a parameter of a function.
type Parameter struct {
	Name         string
	Type         cty.Type
	AllowNull    bool
	AllowUnknown bool
	Description  string
	Markdown     bool
}

// Absent are providers that aren't installed, where that is no mistake.
var Absent = diag.Code{Name: "provider-absent", Summary: "Providers not installed"}

// A Catalog finds providers. Schemas of a provider are fetched at most once.
type Catalog interface {
	// Schemas returns what the provider declares; the error says what is
	// missing and how to get it.
	Schemas(ctx context.Context, p addr.Provider) (*Schemas, diag.List)
	// Start gives a provider that nobody else uses and that isn't configured.
	Start(ctx context.Context, p addr.Provider) (Provider, diag.List)
}

// A Mocker is a catalog that also has stand-ins for providers, one for each
// configuration.
type Mocker interface {
	Mock(ctx context.Context, p addr.ProviderConfig) (Provider, diag.List)
}

// A Repeatable provider answers the same question alike, however often it is asked.
type Repeatable interface{ AnswersAlike() }

// A ByInstance provider may answer the same question otherwise for another instance.
type ByInstance interface{ AnswersByInstance() }

// A Provider is one running provider. Its methods may be called at the same
// time. Values cross this border without marks; configuration and planned
// values have the implied type of the schema.
type Provider interface {
	ValidateConfig(ctx context.Context, config cty.Value) diag.List
	Configure(ctx context.Context, config cty.Value) diag.List

	ValidateResource(ctx context.Context, mode addr.Mode, typ string, config cty.Value) diag.List
	UpgradeState(ctx context.Context, r UpgradeRequest) (cty.Value, diag.List)
	UpgradeIdentity(ctx context.Context, typ string, version int64, json []byte) (cty.Value, diag.List)
	Read(ctx context.Context, r ReadRequest) ReadResponse
	Plan(ctx context.Context, r PlanRequest) PlanResponse
	Apply(ctx context.Context, r ApplyRequest) ApplyResponse
	Import(ctx context.Context, r ImportRequest) ImportResponse
	Move(ctx context.Context, r MoveRequest) MoveResponse
	// GenerateConfig returns the configuration of an object that exists; what a configuration
	// needn't set is null.
	GenerateConfig(ctx context.Context, typ string, object cty.Value) (cty.Value, diag.List)

	ReadData(ctx context.Context, r ReadDataRequest) ReadDataResponse
	OpenEphemeral(ctx context.Context, typ string, config cty.Value) OpenResponse
	RenewEphemeral(ctx context.Context, typ string, private []byte) OpenResponse
	CloseEphemeral(ctx context.Context, typ string, private []byte) diag.List

	// PlanAction asks whether an action may be invoked like this later; config may
	// have unknown parts.
	PlanAction(ctx context.Context, typ string, config cty.Value) PlanActionResponse
	// InvokeAction has an action done, and reports what the provider says of it meanwhile.
	InvokeAction(ctx context.Context, typ string, config cty.Value, progress func(message string)) diag.List
	// List reports the objects that a list resource finds, until found returns false.
	List(ctx context.Context, r ListRequest, found func(ListResult) bool) diag.List

	// CallFunction calls a function; argument is the index of the argument
	// that an error is about, or -1.
	CallFunction(ctx context.Context, name string, args []cty.Value) (result cty.Value, argument int, err error)

	// Stop asks the provider to abort calls under way.
	Stop(ctx context.Context) error
	// Close ends the provider; nothing may be called after it.
	Close() error
}

// UpgradeRequest has a stored object: JSON of the stored schema version, or
// the flat map of very old states.
type UpgradeRequest struct {
	Type    string
	Version int64
	JSON    []byte
	Flat    map[string]string
}

// ReadRequest asks for the present form of an object. Addr, here and in the
// other requests, is whose it is, for providers that are part of the engine.
type ReadRequest struct {
	Addr     addr.Instance
	Type     string
	Current  cty.Value
	Private  []byte
	Identity cty.Value // NilVal without
	Meta     cty.Value // NilVal without
}

// ReadResponse has the object as it is now, null when it is gone.
type ReadResponse struct {
	New      cty.Value
	Private  []byte
	Identity cty.Value
	Deferred DeferredReason
	Diags    diag.List
}

// PlanRequest asks what the provider would do.
type PlanRequest struct {
	Addr          addr.Instance
	Type          string
	Prior         cty.Value
	ProposedNew   cty.Value
	Config        cty.Value
	PriorPrivate  []byte
	PriorIdentity cty.Value
	Meta          cty.Value
	// PlannedPrivate is the private data of an earlier plan of the same change, nil for none.
	PlannedPrivate []byte
}

// PlanResponse is the provider's plan. Legacy is set by providers on the old
// SDK, whose answers are held to looser rules.
type PlanResponse struct {
	Planned         cty.Value
	RequiresReplace []cty.Path
	Private         []byte
	Identity        cty.Value
	Legacy          bool
	Deferred        DeferredReason
	Diags           diag.List
}

// ApplyRequest has a planned change; Planned is null for a deletion.
type ApplyRequest struct {
	Addr            addr.Instance
	Type            string
	Prior           cty.Value
	Planned         cty.Value
	Config          cty.Value
	PlannedPrivate  []byte
	PlannedIdentity cty.Value
	Meta            cty.Value
}

// ApplyResponse has the new object. It may be set beside errors: then it is
// what exists of the object. NilVal beside errors says that there was no
// answer, so that it isn't known what exists.
type ApplyResponse struct {
	New cty.Value
	// Unsent: the provider was never asked, so nothing has changed.
	Unsent   bool
	Private  []byte
	Identity cty.Value
	Legacy   bool
	Diags    diag.List
}

// ImportRequest names an existing object by ID or Identity.
type ImportRequest struct {
	Addr     addr.Instance
	Type     string
	ID       string
	Identity cty.Value
}

// ImportResponse has the objects that the provider found.
type ImportResponse struct {
	Objects  []ImportedObject
	Deferred DeferredReason
	Diags    diag.List
}

// An ImportedObject is a first, often partial form of an imported object.
type ImportedObject struct {
	Type     string
	State    cty.Value
	Private  []byte
	Identity cty.Value
}

// MoveRequest has the stored object of another resource type.
type MoveRequest struct {
	SourceProvider        addr.Provider
	SourceType            string
	SourceVersion         int64
	SourceJSON            []byte
	SourceFlat            map[string]string // instead of SourceJSON in very old states
	SourcePrivate         []byte
	SourceIdentityJSON    []byte
	SourceIdentityVersion int64
	TargetType            string
}

// MoveResponse has the object in its new type.
type MoveResponse struct {
	Target   cty.Value
	Private  []byte
	Identity cty.Value
	Diags    diag.List
}

// ReadDataRequest asks for the result of a data source.
type ReadDataRequest struct {
	Addr   addr.Instance
	Type   string
	Config cty.Value
	Meta   cty.Value
}

// ReadDataResponse has the result.
type ReadDataResponse struct {
	New      cty.Value
	Deferred DeferredReason
	Diags    diag.List
}

// OpenResponse has an opened or renewed ephemeral resource. RenewAt is zero
// when there is nothing to renew.
type OpenResponse struct {
	Result   cty.Value
	Private  []byte
	RenewAt  time.Time
	Deferred DeferredReason
	Diags    diag.List
}

// DeferredReason is why a provider can't answer yet; empty when it can.
type DeferredReason string

const (
	ResourceConfigUnknown DeferredReason = "resource_config_unknown"
	ProviderConfigUnknown DeferredReason = "provider_config_unknown"
	AbsentPrerequisite    DeferredReason = "absent_prereq"
)

// PlanActionResponse is what a provider says of an action that is to be invoked later.
type PlanActionResponse struct {
	Deferred DeferredReason
	Diags    diag.List
}

// ListRequest asks for objects that exist.
type ListRequest struct {
	Type   string
	Config cty.Value
	// Objects: the objects are asked for whole, beside their identities.
	Objects bool
	Limit   int64
}

// A ListResult is an object that was found. Problems that it has don't end the list.
type ListResult struct {
	Name     string // for people
	Identity cty.Value
	Object   cty.Value // NilVal unless it was asked for
	Diags    diag.List
}
