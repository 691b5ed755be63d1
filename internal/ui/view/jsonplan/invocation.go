package jsonplan

import (
	"encoding/json"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/actiontrigger"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view/jsonstate"
)

// An invocation is an action that is to be invoked.
type invocation struct {
	Address         string          `json:"address"`
	Type            string          `json:"type"`
	Name            string          `json:"name"`
	Config          json.RawMessage `json:"config_values,omitempty"`
	ConfigSensitive json.RawMessage `json:"config_sensitive,omitempty"`
	ConfigUnknown   json.RawMessage `json:"config_unknown,omitempty"`
	Provider        string          `json:"provider_name,omitempty"`
	Lifecycle       *lifecycle      `json:"lifecycle_action_trigger,omitempty"`
	Asked           *asked          `json:"invoke_action_trigger,omitempty"`
}

// A lifecycle is the change that an action is invoked for.
type lifecycle struct {
	Resource string `json:"triggering_resource_address"`
	Event    string `json:"action_trigger_event,omitempty"`
	Block    int    `json:"action_trigger_block_index"`
	Index    int    `json:"actions_list_index"`
	Failure  string `json:"on_failure"`
}

type asked struct {
	Caller string `json:"calling_resource_address,omitempty"`
}

type deferredInvocation struct {
	Reason     string      `json:"reason"`
	Invocation *invocation `json:"action_invocation"`
}

// EventName is what programs know an event by.
func EventName(e actiontrigger.Event) string {
	return [...]string{"", "BeforeCreate", "AfterCreate", "BeforeUpdate", "AfterUpdate", "BeforeDestroy", "AfterDestroy"}[e]
}

// FailureName is what programs know it by.
func FailureName(f actiontrigger.Failure) string {
	return [...]string{"ActionOnFailureHalt", "ActionOnFailureTaint", "ActionOnFailureContinue"}[f]
}

func invocations(p *plan.Plan) ([]*invocation, error) {
	var out []*invocation
	for _, i := range p.Invocations {
		converted, err := convertInvocation(i)
		if err != nil {
			return nil, err
		}
		out = append(out, converted)
	}
	return out, nil
}

func deferredInvocations(p *plan.Plan) ([]deferredInvocation, error) {
	var out []deferredInvocation
	for _, d := range p.DeferredInvocations {
		converted, err := convertInvocation(d.Invocation)
		if err != nil {
			return nil, err
		}
		out = append(out, deferredInvocation{d.Reason, converted})
	}
	return out, nil
}

func convertInvocation(i *plan.Invocation) (*invocation, error) {
	out := &invocation{Address: i.Addr.String(), Type: i.Addr.Name.Type, Name: i.Addr.Name.Name}
	if i.Provider != (addr.ProviderConfig{}) {
		out.Provider = i.Provider.Provider.String()
	}
	if i.Event != 0 {
		out.Lifecycle = &lifecycle{i.Object.String(), EventName(i.Event), i.Block, i.Index, FailureName(i.Failure)}
	} else {
		out.Asked = &asked{}
		if i.Object != (addr.Instance{}) {
			out.Asked.Caller = i.Object.String()
		}
	}
	if i.Config == cty.NilVal {
		return out, nil
	}
	marked := jsonstate.Mark(i.Config, nil, nil)
	var err error
	if out.Config, err = value.After(marked); err != nil {
		return nil, err
	}
	bare, _ := marked.UnmarkDeep()
	out.ConfigUnknown, out.ConfigSensitive = value.UnknownMask(bare, "{}"), value.SensitiveMask(marked, nil)
	return out, nil
}
