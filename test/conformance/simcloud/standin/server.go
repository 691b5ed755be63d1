package main

import (
	"context"
	"crypto/rand"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// server answers what planning and applying ask. Other methods are those of the nil interface, and nobody calls them.
type server struct {
	tfprotov6.ProviderServer
	d description
}

func (s *server) GetMetadata(context.Context, *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	return &tfprotov6.GetMetadataResponse{}, nil
}

func (s *server) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	return s.d.answer(), nil
}

func (s *server) GetResourceIdentitySchemas(context.Context, *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return s.d.identities(), nil
}

func (s *server) GetFunctions(context.Context, *tfprotov6.GetFunctionsRequest) (*tfprotov6.GetFunctionsResponse, error) {
	return &tfprotov6.GetFunctionsResponse{Functions: s.d.answer().Functions}, nil
}

func (s *server) ValidateProviderConfig(_ context.Context, r *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: r.Config}, nil
}

func (s *server) ConfigureProvider(context.Context, *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	return &tfprotov6.ConfigureProviderResponse{}, nil
}

func (s *server) StopProvider(context.Context, *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	return &tfprotov6.StopProviderResponse{}, nil
}

func (s *server) ValidateResourceConfig(context.Context, *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return &tfprotov6.ValidateResourceConfigResponse{}, nil
}

func (s *server) ValidateDataResourceConfig(context.Context, *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return &tfprotov6.ValidateDataResourceConfigResponse{}, nil
}

func (s *server) ValidateEphemeralResourceConfig(context.Context, *tfprotov6.ValidateEphemeralResourceConfigRequest) (*tfprotov6.ValidateEphemeralResourceConfigResponse, error) {
	return &tfprotov6.ValidateEphemeralResourceConfigResponse{}, nil
}

func (s *server) ValidateActionConfig(context.Context, *tfprotov6.ValidateActionConfigRequest) (*tfprotov6.ValidateActionConfigResponse, error) {
	return &tfprotov6.ValidateActionConfigResponse{}, nil
}

func (s *server) PlanAction(context.Context, *tfprotov6.PlanActionRequest) (*tfprotov6.PlanActionResponse, error) {
	return &tfprotov6.PlanActionResponse{}, nil
}

func (s *server) InvokeAction(context.Context, *tfprotov6.InvokeActionRequest) (*tfprotov6.InvokeActionServerStream, error) {
	return &tfprotov6.InvokeActionServerStream{Events: func(yield func(tfprotov6.InvokeActionEvent) bool) {
		yield(tfprotov6.InvokeActionEvent{Type: tfprotov6.CompletedInvokeActionEventType{}})
	}}, nil
}

func (s *server) UpgradeResourceState(_ context.Context, r *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	ty := s.d.Resources[r.TypeName].schema().ValueType()
	v, err := r.RawState.Unmarshal(ty)
	if err != nil {
		return nil, err
	}
	state, err := tfprotov6.NewDynamicValue(ty, v)
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &state}, err
}

func (s *server) ReadResource(_ context.Context, r *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return &tfprotov6.ReadResourceResponse{NewState: r.CurrentState, NewIdentity: r.CurrentIdentity}, nil
}

func (s *server) PlanResourceChange(_ context.Context, r *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	attrs := s.d.Resources[r.TypeName]
	state, _, err := fill(attrs, r.ProposedNewState, func(ty tftypes.Type) any { return tftypes.UnknownValue })
	return &tfprotov6.PlanResourceChangeResponse{PlannedState: state}, err
}

func (s *server) ApplyResourceChange(_ context.Context, r *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	state, id, err := fill(s.d.Resources[r.TypeName], r.PlannedState, madeUp)
	a := &tfprotov6.ApplyResourceChangeResponse{NewState: state}
	for _, name := range s.d.Identities {
		if name == r.TypeName && err == nil {
			a.NewIdentity, err = identity(id)
		}
	}
	return a, err
}

func identity(id tftypes.Value) (*tfprotov6.ResourceIdentityData, error) {
	ty := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"id": tftypes.String}}
	v, err := tfprotov6.NewDynamicValue(ty, tftypes.NewValue(ty, map[string]tftypes.Value{"id": id}))
	return &tfprotov6.ResourceIdentityData{IdentityData: &v}, err
}

func (s *server) ReadDataSource(_ context.Context, r *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	state, _, err := fill(s.d.Data[r.TypeName], r.Config, madeUp)
	return &tfprotov6.ReadDataSourceResponse{State: state}, err
}

func (s *server) OpenEphemeralResource(_ context.Context, r *tfprotov6.OpenEphemeralResourceRequest) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	result, _, err := fill(s.d.Ephemerals[r.TypeName], r.Config, madeUp)
	return &tfprotov6.OpenEphemeralResourceResponse{Result: result}, err
}

func (s *server) CloseEphemeralResource(context.Context, *tfprotov6.CloseEphemeralResourceRequest) (*tfprotov6.CloseEphemeralResourceResponse, error) {
	return &tfprotov6.CloseEphemeralResourceResponse{}, nil
}

func (s *server) CallFunction(_ context.Context, r *tfprotov6.CallFunctionRequest) (*tfprotov6.CallFunctionResponse, error) {
	return &tfprotov6.CallFunctionResponse{Result: r.Arguments[0]}, nil
}

// madeUp is a value for a computed attribute.
func madeUp(ty tftypes.Type) any {
	switch {
	case ty.Is(tftypes.String):
		return rand.Text()
	case ty.Is(tftypes.Bool):
		return false
	}
	return nil
}

// fill has the computed attributes of an object that have no value yet filled in, and
// forgets what is only written. It also gives the object's id.
func fill(attrs attributes, object *tfprotov6.DynamicValue, with func(tftypes.Type) any) (*tfprotov6.DynamicValue, tftypes.Value, error) {
	ty := attrs.schema().ValueType()
	v, err := object.Unmarshal(ty)
	if err != nil || v.IsNull() {
		return object, tftypes.Value{}, err
	}
	values := map[string]tftypes.Value{}
	if err := v.As(&values); err != nil {
		return nil, tftypes.Value{}, err
	}
	for name, old := range values {
		switch {
		case attrs.has(name, "write-only"):
			values[name] = tftypes.NewValue(old.Type(), nil)
		case attrs.has(name, "computed") && (old.IsNull() || !old.IsKnown()):
			values[name] = tftypes.NewValue(old.Type(), with(old.Type()))
		}
	}
	filled, err := tfprotov6.NewDynamicValue(ty, tftypes.NewValue(ty, values))
	return &filled, values["id"], err
}
