package evil

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

// An honest provider answers every call of the protocol as it should. Its cloud is a
// folder with a file for each object.
type honest struct {
	tfplugin6.UnimplementedProviderServer
	cloud   string
	stopped chan struct{}
	// encode is how answers are written. An evil provider replaces it.
	encode func(v cty.Value, t cty.Type) *tfplugin6.DynamicValue
}

var (
	thingType = cty.Object(map[string]cty.Type{
		"id": cty.String, "name": cty.String, "size": cty.Number, "secret": cty.String, "tags": cty.List(cty.String),
	})
	lookType   = cty.Object(map[string]cty.Type{"id": cty.String, "name": cty.String})
	idType     = cty.Object(map[string]cty.Type{"id": cty.String})
	regionType = cty.Object(map[string]cty.Type{"region": cty.String})
)

// write encodes a value as it is.
func write(v cty.Value, t cty.Type) *tfplugin6.DynamicValue {
	data, err := msgpack.Marshal(v, t)
	if err != nil {
		panic(err)
	}
	return &tfplugin6.DynamicValue{Msgpack: data}
}

func read(d *tfplugin6.DynamicValue, t cty.Type) cty.Value {
	if len(d.GetMsgpack()) == 0 {
		return cty.NullVal(t)
	}
	v, err := msgpack.Unmarshal(d.Msgpack, t)
	if err != nil {
		panic(err)
	}
	return v
}

func text(v cty.Value, name string) string {
	if v = v.GetAttr(name); v.IsNull() || !v.IsKnown() {
		return ""
	}
	return v.AsString()
}

// object is what a thing with a name is once it exists.
func object(id, name string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"id": cty.StringVal(id), "name": cty.StringVal(name), "size": cty.NumberIntVal(int64(len(name))),
		"secret": cty.NullVal(cty.String), "tags": cty.NullVal(cty.List(cty.String)),
	})
}

func (h *honest) identity(id string) *tfplugin6.ResourceIdentityData {
	return &tfplugin6.ResourceIdentityData{IdentityData: h.encode(cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(id)}), idType)}
}

// create puts an object into the cloud. Each creation is another file, so that two
// objects of one name are seen.
func (h *honest) create(name string) string {
	f, err := os.CreateTemp(h.cloud, name+"-")
	if err != nil {
		panic(err)
	}
	f.Close()
	return filepath.Base(f.Name())
}

func attribute(name, typ string) *tfplugin6.Schema_Attribute {
	return &tfplugin6.Schema_Attribute{Name: name, Type: []byte(typ)}
}

func required(name, typ string) *tfplugin6.Schema_Attribute {
	a := attribute(name, typ)
	a.Required = true
	return a
}

func optional(name, typ string) *tfplugin6.Schema_Attribute {
	a := attribute(name, typ)
	a.Optional = true
	return a
}

func computed(name, typ string) *tfplugin6.Schema_Attribute {
	a := attribute(name, typ)
	a.Computed = true
	return a
}

func block(version int64, attributes ...*tfplugin6.Schema_Attribute) *tfplugin6.Schema {
	return &tfplugin6.Schema{Version: version, Block: &tfplugin6.Schema_Block{Attributes: attributes}}
}

func texts(name string) *tfplugin6.Function {
	return &tfplugin6.Function{
		Summary:    name,
		Parameters: []*tfplugin6.Function_Parameter{{Name: "text", Type: []byte(`"string"`)}},
		Return:     &tfplugin6.Function_Return{Type: []byte(`"string"`)},
	}
}

func (*honest) GetMetadata(context.Context, *tfplugin6.GetMetadata_Request) (*tfplugin6.GetMetadata_Response, error) {
	return &tfplugin6.GetMetadata_Response{Resources: []*tfplugin6.GetMetadata_ResourceMetadata{{TypeName: "evil_thing"}, {TypeName: "evil_other"}}}, nil
}

func (*honest) GetProviderSchema(context.Context, *tfplugin6.GetProviderSchema_Request) (*tfplugin6.GetProviderSchema_Response, error) {
	secret := optional("secret", `"string"`)
	secret.WriteOnly = true
	thing := block(2, computed("id", `"string"`), required("name", `"string"`), computed("size", `"number"`), secret, optional("tags", `["list","string"]`))
	look := block(0, computed("id", `"string"`), required("name", `"string"`))
	return &tfplugin6.GetProviderSchema_Response{
		Provider:                 block(0, optional("region", `"string"`)),
		ResourceSchemas:          map[string]*tfplugin6.Schema{"evil_thing": thing, "evil_other": thing},
		DataSourceSchemas:        map[string]*tfplugin6.Schema{"evil_look": look},
		EphemeralResourceSchemas: map[string]*tfplugin6.Schema{"evil_token": look},
		ListResourceSchemas:      map[string]*tfplugin6.Schema{"evil_thing": block(0, optional("name", `"string"`))},
		ActionSchemas:            map[string]*tfplugin6.ActionSchema{"evil_act": {Schema: block(0, required("name", `"string"`))}},
		Functions:                map[string]*tfplugin6.Function{"shout": texts("shout")},
		StateStoreSchemas:        map[string]*tfplugin6.Schema{"evil_store": block(0, optional("name", `"string"`))},
		ServerCapabilities:       &tfplugin6.ServerCapabilities{PlanDestroy: true, MoveResourceState: true},
	}, nil
}

func (*honest) GetResourceIdentitySchemas(context.Context, *tfplugin6.GetResourceIdentitySchemas_Request) (*tfplugin6.GetResourceIdentitySchemas_Response, error) {
	id := &tfplugin6.ResourceIdentitySchema{Version: 2, IdentityAttributes: []*tfplugin6.ResourceIdentitySchema_IdentityAttribute{
		{Name: "id", Type: []byte(`"string"`), RequiredForImport: true},
	}}
	return &tfplugin6.GetResourceIdentitySchemas_Response{IdentitySchemas: map[string]*tfplugin6.ResourceIdentitySchema{"evil_thing": id, "evil_other": id}}, nil
}

func (*honest) ValidateProviderConfig(context.Context, *tfplugin6.ValidateProviderConfig_Request) (*tfplugin6.ValidateProviderConfig_Response, error) {
	return &tfplugin6.ValidateProviderConfig_Response{}, nil
}

func (*honest) ValidateResourceConfig(context.Context, *tfplugin6.ValidateResourceConfig_Request) (*tfplugin6.ValidateResourceConfig_Response, error) {
	return &tfplugin6.ValidateResourceConfig_Response{}, nil
}

func (*honest) ValidateDataResourceConfig(context.Context, *tfplugin6.ValidateDataResourceConfig_Request) (*tfplugin6.ValidateDataResourceConfig_Response, error) {
	return &tfplugin6.ValidateDataResourceConfig_Response{}, nil
}

func (*honest) ValidateEphemeralResourceConfig(context.Context, *tfplugin6.ValidateEphemeralResourceConfig_Request) (*tfplugin6.ValidateEphemeralResourceConfig_Response, error) {
	return &tfplugin6.ValidateEphemeralResourceConfig_Response{}, nil
}

func (*honest) ValidateListResourceConfig(context.Context, *tfplugin6.ValidateListResourceConfig_Request) (*tfplugin6.ValidateListResourceConfig_Response, error) {
	return &tfplugin6.ValidateListResourceConfig_Response{}, nil
}

func (*honest) ValidateActionConfig(context.Context, *tfplugin6.ValidateActionConfig_Request) (*tfplugin6.ValidateActionConfig_Response, error) {
	return &tfplugin6.ValidateActionConfig_Response{}, nil
}

func (*honest) ConfigureProvider(_ context.Context, r *tfplugin6.ConfigureProvider_Request) (*tfplugin6.ConfigureProvider_Response, error) {
	if region := text(read(r.Config, regionType), "region"); region != "north" {
		return nil, fmt.Errorf("configured for %q", region)
	}
	return &tfplugin6.ConfigureProvider_Response{}, nil
}

// UpgradeResourceState reads a state of version 0, whose attribute "label" is "name" now.
func (h *honest) UpgradeResourceState(_ context.Context, r *tfplugin6.UpgradeResourceState_Request) (*tfplugin6.UpgradeResourceState_Response, error) {
	v, err := stored(r.RawState.GetJson())
	if err != nil {
		return nil, err
	}
	return &tfplugin6.UpgradeResourceState_Response{UpgradedState: h.encode(v, thingType)}, nil
}

// stored reads an object from the JSON of a state, whichever version it has.
func stored(json []byte) (cty.Value, error) {
	t, err := ctyjson.ImpliedType(json)
	if err != nil {
		return cty.NilVal, err
	}
	v, err := ctyjson.Unmarshal(json, t)
	if err != nil {
		return cty.NilVal, err
	}
	name := "name"
	if t.HasAttribute("label") {
		name = "label"
	}
	made := object(text(v, "id"), text(v, name)).AsValueMap()
	if t.HasAttribute("tags") && !v.GetAttr("tags").IsNull() {
		made["tags"], err = convert.Convert(v.GetAttr("tags"), cty.List(cty.String))
	}
	return cty.ObjectVal(made), err
}

func (h *honest) UpgradeResourceIdentity(_ context.Context, r *tfplugin6.UpgradeResourceIdentity_Request) (*tfplugin6.UpgradeResourceIdentity_Response, error) {
	v, err := ctyjson.Unmarshal(r.RawIdentity.GetJson(), idType)
	if err != nil {
		return nil, err
	}
	return &tfplugin6.UpgradeResourceIdentity_Response{UpgradedIdentity: h.identity(text(v, "id"))}, nil
}

func (h *honest) ReadResource(_ context.Context, r *tfplugin6.ReadResource_Request) (*tfplugin6.ReadResource_Response, error) {
	v := read(r.CurrentState, thingType)
	return &tfplugin6.ReadResource_Response{NewState: h.encode(v, thingType), Private: r.Private, NewIdentity: h.identity(text(v, "id"))}, nil
}

func (h *honest) PlanResourceChange(_ context.Context, r *tfplugin6.PlanResourceChange_Request) (*tfplugin6.PlanResourceChange_Response, error) {
	prior, next := read(r.PriorState, thingType), read(r.ProposedNewState, thingType)
	out := &tfplugin6.PlanResourceChange_Response{PlannedPrivate: []byte("planned")}
	if prior.IsNull() {
		attributes := next.AsValueMap()
		attributes["id"], attributes["size"] = cty.UnknownVal(cty.String), cty.UnknownVal(cty.Number)
		attributes["secret"] = cty.NullVal(cty.String)
		next = cty.ObjectVal(attributes)
	}
	out.PlannedState = h.encode(next, thingType)
	return out, nil
}

func (h *honest) ApplyResourceChange(_ context.Context, r *tfplugin6.ApplyResourceChange_Request) (*tfplugin6.ApplyResourceChange_Response, error) {
	prior, planned := read(r.PriorState, thingType), read(r.PlannedState, thingType)
	if planned.IsNull() {
		if err := os.Remove(filepath.Join(h.cloud, text(prior, "id"))); err != nil {
			return nil, err
		}
		return &tfplugin6.ApplyResourceChange_Response{NewState: h.encode(planned, thingType)}, nil
	}
	name, id := text(planned, "name"), text(planned, "id")
	if prior.IsNull() {
		id = h.create(name)
	}
	switch name {
	case "slow": // long enough for the renewal of what is open
		time.Sleep(400 * time.Millisecond)
	case "stop": // until the provider is asked to stop
		if prior.IsNull() {
			<-h.stopped
		}
	}
	made := object(id, name).AsValueMap()
	made["tags"] = planned.GetAttr("tags")
	return &tfplugin6.ApplyResourceChange_Response{
		NewState: h.encode(cty.ObjectVal(made), thingType), Private: []byte("applied"), NewIdentity: h.identity(id),
	}, nil
}

func (h *honest) ImportResourceState(_ context.Context, r *tfplugin6.ImportResourceState_Request) (*tfplugin6.ImportResourceState_Response, error) {
	return &tfplugin6.ImportResourceState_Response{ImportedResources: []*tfplugin6.ImportResourceState_ImportedResource{{
		TypeName: r.TypeName, State: h.encode(object(r.Id, r.Id), thingType), Identity: h.identity(r.Id),
	}}}, nil
}

func (h *honest) MoveResourceState(_ context.Context, r *tfplugin6.MoveResourceState_Request) (*tfplugin6.MoveResourceState_Response, error) {
	v, err := stored(r.SourceState.GetJson())
	if err != nil {
		return nil, err
	}
	return &tfplugin6.MoveResourceState_Response{TargetState: h.encode(v, thingType), TargetIdentity: h.identity(text(v, "id"))}, nil
}

func (h *honest) GenerateResourceConfig(_ context.Context, r *tfplugin6.GenerateResourceConfig_Request) (*tfplugin6.GenerateResourceConfig_Response, error) {
	return &tfplugin6.GenerateResourceConfig_Response{Config: r.State}, nil
}

func (h *honest) look(d *tfplugin6.DynamicValue) *tfplugin6.DynamicValue {
	name := read(d, lookType).GetAttr("name")
	return h.encode(cty.ObjectVal(map[string]cty.Value{"id": name, "name": name}), lookType)
}

func (h *honest) ReadDataSource(_ context.Context, r *tfplugin6.ReadDataSource_Request) (*tfplugin6.ReadDataSource_Response, error) {
	return &tfplugin6.ReadDataSource_Response{State: h.look(r.Config)}, nil
}

// soon is when what is open has to be renewed.
func soon() *timestamppb.Timestamp { return timestamppb.New(time.Now().Add(100 * time.Millisecond)) }

func (h *honest) OpenEphemeralResource(_ context.Context, r *tfplugin6.OpenEphemeralResource_Request) (*tfplugin6.OpenEphemeralResource_Response, error) {
	return &tfplugin6.OpenEphemeralResource_Response{Result: h.look(r.Config), RenewAt: soon(), Private: []byte("open")}, nil
}

func (*honest) RenewEphemeralResource(_ context.Context, r *tfplugin6.RenewEphemeralResource_Request) (*tfplugin6.RenewEphemeralResource_Response, error) {
	if string(r.Private) == "" {
		return nil, errors.New("renewed without what was kept")
	}
	return &tfplugin6.RenewEphemeralResource_Response{Private: r.Private}, nil
}

func (*honest) CloseEphemeralResource(context.Context, *tfplugin6.CloseEphemeralResource_Request) (*tfplugin6.CloseEphemeralResource_Response, error) {
	return &tfplugin6.CloseEphemeralResource_Response{}, nil
}

func (h *honest) CallFunction(_ context.Context, r *tfplugin6.CallFunction_Request) (*tfplugin6.CallFunction_Response, error) {
	arg := read(r.Arguments[0], cty.String).AsString()
	return &tfplugin6.CallFunction_Response{Result: h.encode(cty.StringVal(strings.ToUpper(arg)), cty.String)}, nil
}

func (*honest) PlanAction(context.Context, *tfplugin6.PlanAction_Request) (*tfplugin6.PlanAction_Response, error) {
	return &tfplugin6.PlanAction_Response{}, nil
}

func (h *honest) StopProvider(context.Context, *tfplugin6.StopProvider_Request) (*tfplugin6.StopProvider_Response, error) {
	close(h.stopped)
	return &tfplugin6.StopProvider_Response{}, nil
}

// list has the events of ListResource.
func (h *honest) list() []proto.Message {
	var events []proto.Message
	for _, id := range []string{"one", "two"} {
		events = append(events, &tfplugin6.ListResource_Event{Identity: h.identity(id), DisplayName: id, ResourceObject: h.encode(object(id, id), thingType)})
	}
	return events
}

// invoke has the events of InvokeAction.
func (*honest) invoke() []proto.Message {
	return []proto.Message{
		&tfplugin6.InvokeAction_Event{Type: &tfplugin6.InvokeAction_Event_Progress_{Progress: &tfplugin6.InvokeAction_Event_Progress{Message: "half"}}},
		&tfplugin6.InvokeAction_Event{Type: &tfplugin6.InvokeAction_Event_Completed_{Completed: &tfplugin6.InvokeAction_Event_Completed{}}},
	}
}
