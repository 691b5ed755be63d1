package planfile

import (
	"fmt"

	"weir.dev/weir/internal/core/actiontrigger"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
)

// An invokedRecord is an action that is to be invoked, or one that waits for a later
// round where Reason is set.
type invokedRecord struct {
	Addr     string      `msgpack:"a"`
	Provider string      `msgpack:"p,omitempty"`
	Config   valueRecord `msgpack:"c"`
	Object   string      `msgpack:"o,omitempty"`
	Event    string      `msgpack:"e,omitempty"`
	Block    int         `msgpack:"b,omitempty"`
	Index    int         `msgpack:"i,omitempty"`
	Failure  string      `msgpack:"f"`
	Reason   string      `msgpack:"r,omitempty"`
}

func fromInvocations(types *typeTable, p *plan.Plan) ([]invokedRecord, error) {
	var out []invokedRecord
	add := func(i *plan.Invocation, reason string) error {
		r := invokedRecord{Addr: i.Addr.String(), Block: i.Block, Index: i.Index, Failure: i.Failure.String(), Event: i.Event.String(), Reason: reason}
		if i.Provider != (addr.ProviderConfig{}) {
			r.Provider = i.Provider.String()
		}
		if i.Object != (addr.Instance{}) {
			r.Object = i.Object.String()
		}
		if err := types.fill(hint{kind: "action", name: i.Addr.Name}, pair{&r.Config, i.Config}); err != nil {
			return fmt.Errorf("%s: %w", i.Addr, err)
		}
		out = append(out, r)
		return nil
	}
	for _, i := range p.Invocations {
		if err := add(i, ""); err != nil {
			return nil, err
		}
	}
	for _, d := range p.DeferredInvocations {
		if err := add(d.Invocation, d.Reason); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func toInvocations(p *plan.Plan, types typeReader, list []invokedRecord) error {
	for _, r := range list {
		i := &plan.Invocation{Block: r.Block, Index: r.Index}
		var err error
		if i.Addr, err = addr.ParseInstance(r.Addr); err != nil {
			return err
		}
		if i.Addr.Name.Mode != addr.Action {
			return fmt.Errorf("%s isn't an action", i.Addr)
		}
		if r.Provider != "" {
			if i.Provider, err = addr.ParseProviderConfig(r.Provider); err != nil {
				return err
			}
		}
		if r.Object != "" {
			if i.Object, err = addr.ParseInstance(r.Object); err != nil {
				return err
			}
		}
		known := r.Event == ""
		if !known {
			i.Event, known = actiontrigger.ParseEvent(r.Event)
		}
		failure, ok := actiontrigger.ParseFailure(r.Failure)
		if i.Failure = failure; !known || !ok || i.Block < 0 || i.Index < 0 {
			return fmt.Errorf("%s is invoked in a way that can't be read", i.Addr)
		}
		if err := types.fill(into{&i.Config, r.Config}); err != nil {
			return fmt.Errorf("%s: %w", i.Addr, err)
		}
		if r.Reason != "" {
			p.DeferredInvocations = append(p.DeferredInvocations, &plan.DeferredInvocation{Invocation: i, Reason: r.Reason})
		} else {
			p.Invocations = append(p.Invocations, i)
		}
	}
	return nil
}
