package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// A scripted provider has the schemas and answers of script.json in the cloud's directory. It
// shows plans of any shape, without a cloud behind them. It can only plan.
type scripted struct {
	// Methods that planning doesn't call are those of the nil interface.
	tfprotov6.ProviderServer
	Types map[string]*scriptedType
}

// A scriptedType is a resource type with one object, and a data source.
type scriptedType struct {
	Schema scriptedBlock
	// Read replaces the object in the state, if it isn't empty.
	Read []byte
	// Planned is what the object becomes, as MessagePack. If it is empty, the type plans as
	// providers of the framework do: every computed attribute without a configuration becomes
	// unknown, if anything changes.
	Planned []byte
	// Keep is for types without Planned: what the engine proposes for computed attributes stays,
	// and only null becomes unknown.
	Keep bool
	// Replace are paths that force a replacement.
	Replace [][]any
}

type scriptedBlock struct {
	Attributes []scriptedAttribute
	Blocks     []struct {
		Name    string
		Nesting int32
		Block   scriptedBlock
	}
}

type scriptedAttribute struct {
	Name                                               string
	Type                                               json.RawMessage
	Nesting                                            int32 // 0 without attributes inside
	Attributes                                         []scriptedAttribute
	Required, Optional, Computed, Sensitive, WriteOnly bool
}

// readScript returns nil if the cloud has no script.
func readScript() (*scripted, error) {
	data, err := os.ReadFile(filepath.Join(os.Getenv("SIM_CLOUD"), "script.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &scripted{}
	return s, json.Unmarshal(data, s)
}

func (b scriptedBlock) schema() (*tfprotov6.SchemaBlock, error) {
	attributes, err := schemaAttributes(b.Attributes)
	if err != nil {
		return nil, err
	}
	out := &tfprotov6.SchemaBlock{Attributes: attributes}
	for _, inner := range b.Blocks {
		block, err := inner.Block.schema()
		if err != nil {
			return nil, err
		}
		out.BlockTypes = append(out.BlockTypes, &tfprotov6.SchemaNestedBlock{
			TypeName: inner.Name, Block: block, Nesting: tfprotov6.SchemaNestedBlockNestingMode(inner.Nesting),
		})
	}
	return out, nil
}

func schemaAttributes(list []scriptedAttribute) (out []*tfprotov6.SchemaAttribute, err error) {
	for _, a := range list {
		s := &tfprotov6.SchemaAttribute{
			Name: a.Name, Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, WriteOnly: a.WriteOnly,
		}
		if a.Nesting == 0 {
			s.Type, err = tftypes.ParseJSONType(a.Type) //nolint:staticcheck // nothing else reads the protocol's form
		} else {
			s.NestedType = &tfprotov6.SchemaObject{Nesting: tfprotov6.SchemaObjectNestingMode(a.Nesting)}
			s.NestedType.Attributes, err = schemaAttributes(a.Attributes)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (s *scripted) GetMetadata(context.Context, *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	return &tfprotov6.GetMetadataResponse{}, nil
}

func (s *scripted) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	resp := &tfprotov6.GetProviderSchemaResponse{
		Provider:           &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{}},
		ResourceSchemas:    map[string]*tfprotov6.Schema{},
		DataSourceSchemas:  map[string]*tfprotov6.Schema{},
		ServerCapabilities: &tfprotov6.ServerCapabilities{},
	}
	for name, t := range s.Types {
		block, err := t.Schema.schema()
		if err != nil {
			return nil, err
		}
		resp.ResourceSchemas[name] = &tfprotov6.Schema{Block: block}
		resp.DataSourceSchemas[name] = &tfprotov6.Schema{Block: block}
	}
	return resp, nil
}

func (s *scripted) GetResourceIdentitySchemas(context.Context, *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return &tfprotov6.GetResourceIdentitySchemasResponse{}, nil
}

func (s *scripted) GetFunctions(context.Context, *tfprotov6.GetFunctionsRequest) (*tfprotov6.GetFunctionsResponse, error) {
	return &tfprotov6.GetFunctionsResponse{}, nil
}

func (s *scripted) ValidateProviderConfig(_ context.Context, r *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: r.Config}, nil
}

func (s *scripted) ConfigureProvider(context.Context, *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	return &tfprotov6.ConfigureProviderResponse{}, nil
}

func (s *scripted) StopProvider(context.Context, *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	return &tfprotov6.StopProviderResponse{}, nil
}

func (s *scripted) ValidateResourceConfig(context.Context, *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return &tfprotov6.ValidateResourceConfigResponse{}, nil
}

func (s *scripted) ValidateDataResourceConfig(context.Context, *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return &tfprotov6.ValidateDataResourceConfigResponse{}, nil
}

func (s *scripted) UpgradeResourceState(_ context.Context, r *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	block, err := s.Types[r.TypeName].Schema.schema()
	if err != nil {
		return nil, err
	}
	v, err := r.RawState.Unmarshal(block.ValueType())
	if err != nil {
		return nil, err
	}
	state, err := tfprotov6.NewDynamicValue(block.ValueType(), v)
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &state}, err
}

func (s *scripted) ReadResource(_ context.Context, r *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	resp := &tfprotov6.ReadResourceResponse{NewState: r.CurrentState}
	if read := s.Types[r.TypeName].Read; len(read) > 0 {
		resp.NewState = &tfprotov6.DynamicValue{MsgPack: read}
	}
	return resp, nil
}

func (s *scripted) PlanResourceChange(_ context.Context, r *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	t := s.Types[r.TypeName]
	resp := &tfprotov6.PlanResourceChangeResponse{PlannedState: r.ProposedNewState}
	if isNull(r.ProposedNewState) {
		return resp, nil
	}
	for _, steps := range t.Replace {
		p := tftypes.NewAttributePath()
		for _, step := range steps {
			switch step := step.(type) {
			case string:
				p = p.WithAttributeName(step)
			case float64:
				p = p.WithElementKeyInt(int(step))
			}
		}
		resp.RequiresReplace = append(resp.RequiresReplace, p)
	}
	if len(t.Planned) > 0 {
		resp.PlannedState = &tfprotov6.DynamicValue{MsgPack: t.Planned}
		return resp, nil
	}
	block, err := t.Schema.schema()
	if err != nil {
		return nil, err
	}
	ty := block.ValueType()
	var values [3]tftypes.Value
	for i, v := range []*tfprotov6.DynamicValue{r.PriorState, r.ProposedNewState, r.Config} {
		if values[i], err = v.Unmarshal(ty); err != nil {
			return nil, err
		}
	}
	if values[0].Equal(values[1]) {
		return resp, nil
	}
	planned, err := unknown{t.Keep}.block(block, values[1], values[2])
	if err != nil {
		return nil, err
	}
	state, err := tfprotov6.NewDynamicValue(ty, planned)
	resp.PlannedState = &state
	return resp, err
}

// unknown turns computed attributes without a configuration into unknown values, or those without a
// value.
type unknown struct{ keep bool }

func (u unknown) block(b *tfprotov6.SchemaBlock, v, config tftypes.Value) (tftypes.Value, error) {
	return eachMember(v, config, func(members, configs map[string]tftypes.Value) error {
		if err := u.attributes(b.Attributes, members, configs); err != nil {
			return err
		}
		for _, inner := range b.BlockTypes {
			one := func(v, config tftypes.Value) (tftypes.Value, error) { return u.block(inner.Block, v, config) }
			if inner.Nesting != tfprotov6.SchemaNestedBlockNestingModeSingle && inner.Nesting != tfprotov6.SchemaNestedBlockNestingModeGroup {
				one = eachElement(one)
			}
			next, err := one(members[inner.TypeName], configs[inner.TypeName])
			if err != nil {
				return err
			}
			members[inner.TypeName] = next
		}
		return nil
	})
}

func (u unknown) attributes(list []*tfprotov6.SchemaAttribute, members, configs map[string]tftypes.Value) error {
	for _, a := range list {
		v, config := members[a.Name], configs[a.Name]
		switch {
		case a.WriteOnly:
			members[a.Name] = tftypes.NewValue(v.Type(), nil)
		case a.Computed && (config.Type() == nil || config.IsNull()) && !(u.keep && !v.IsNull()):
			members[a.Name] = tftypes.NewValue(v.Type(), tftypes.UnknownValue)
		case a.NestedType != nil:
			one := func(v, config tftypes.Value) (tftypes.Value, error) {
				return eachMember(v, config, func(members, configs map[string]tftypes.Value) error {
					return u.attributes(a.NestedType.Attributes, members, configs)
				})
			}
			if a.NestedType.Nesting != tfprotov6.SchemaObjectNestingModeSingle {
				one = eachElement(one)
			}
			next, err := one(v, config)
			if err != nil {
				return err
			}
			members[a.Name] = next
		}
	}
	return nil
}

// eachMember rewrites the attributes of an object, if it is there and known.
func eachMember(v, config tftypes.Value, rewrite func(members, configs map[string]tftypes.Value) error) (tftypes.Value, error) {
	if v.IsNull() || !v.IsKnown() {
		return v, nil
	}
	var members, configs map[string]tftypes.Value
	if err := v.As(&members); err != nil {
		return v, err
	}
	if config.Type() != nil && !config.IsNull() && config.IsKnown() {
		if err := config.As(&configs); err != nil {
			return v, err
		}
	}
	if err := rewrite(members, configs); err != nil {
		return v, err
	}
	return tftypes.NewValue(v.Type(), members), nil
}

// eachElement rewrites the elements of a list, set or map beside those of the configuration
// with the same index or key. An element of a set has the configuration of its place.
func eachElement(one func(v, config tftypes.Value) (tftypes.Value, error)) func(v, config tftypes.Value) (tftypes.Value, error) {
	return func(v, config tftypes.Value) (tftypes.Value, error) {
		if v.IsNull() || !v.IsKnown() {
			return v, nil
		}
		there := config.Type() != nil && !config.IsNull() && config.IsKnown()
		if v.Type().Is(tftypes.Map{}) {
			var members, configs map[string]tftypes.Value
			if err := v.As(&members); err != nil {
				return v, err
			}
			if there {
				if err := config.As(&configs); err != nil {
					return v, err
				}
			}
			for key, member := range members {
				next, err := one(member, configs[key])
				if err != nil {
					return v, err
				}
				members[key] = next
			}
			return tftypes.NewValue(v.Type(), members), nil
		}
		var members, configs []tftypes.Value
		if err := v.As(&members); err != nil {
			return v, err
		}
		if there {
			if err := config.As(&configs); err != nil {
				return v, err
			}
		}
		for i, member := range members {
			var beside tftypes.Value
			if i < len(configs) {
				beside = configs[i]
			}
			next, err := one(member, beside)
			if err != nil {
				return v, err
			}
			members[i] = next
		}
		return tftypes.NewValue(v.Type(), members), nil
	}
}
