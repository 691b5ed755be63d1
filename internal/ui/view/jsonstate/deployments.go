package jsonstate

import (
	"encoding/json"

	"weir.dev/weir/internal/state"
)

type deployment struct {
	Serial     uint64                         `json:"serial"`
	Outputs    json.RawMessage                `json:"outputs"`
	Components map[string][]componentResource `json:"components"`
}

type componentResource struct {
	Address  string          `json:"address"`
	Provider string          `json:"provider_name"`
	Values   json.RawMessage `json:"values"`
}

// Deployments is an object with the states of a stack's deployments by name, and in
// each the objects by component instance.
func Deployments(states map[string]*state.Snapshot) ([]byte, error) {
	all := map[string]deployment{}
	for name, s := range states {
		out := deployment{Serial: s.Serial, Components: map[string][]componentResource{}}
		text, err := AllOutputs(s.Outputs)
		if err != nil {
			return nil, err
		}
		out.Outputs = json.RawMessage(text)
		for _, a := range s.Addresses() {
			if _, instance, ok := a.Module.Component(); ok {
				o := s.Objects[a]
				out.Components[instance.String()] = append(out.Components[instance.String()], componentResource{a.String(), o.Provider.Provider.String(), o.JSON})
			}
		}
		all[name] = out
	}
	return json.MarshalIndent(map[string]any{"format_version": "1.0", "deployments": all}, "", "  ")
}

// DeploymentOutputs is an object with the outputs of deployments by name, or with one
// of them.
func DeploymentOutputs(all map[string]map[string]state.Output, name string) ([]byte, error) {
	out := map[string]json.RawMessage{}
	for d, outputs := range all {
		text, err := AllOutputs(outputs)
		if name != "" {
			text, err = OneOutput(outputs[name])
		}
		if err != nil {
			return nil, err
		}
		out[d] = json.RawMessage(text)
	}
	return json.MarshalIndent(out, "", "  ")
}
