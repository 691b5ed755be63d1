package stream

import (
	"encoding/json"
	"fmt"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/jsonplan"
	"weir.dev/weir/internal/ui/view/jsonstate"
	"weir.dev/weir/internal/ui/view/sanitize"
)

// invoked names an action and what it is invoked for.
func invoked(i *plan.Invocation) string {
	text := sanitize.Line(i.Addr.String())
	switch {
	case i.Event != 0:
		text += " (triggered by " + sanitize.Line(i.Object.String()) + ")"
	case i.Object != addr.Instance{}:
		text += " (for " + sanitize.Line(i.Object.String()) + ")"
	}
	return text
}

// action shows what happens to an action.
func (h *human) action(e event.Event) {
	name := invoked(e.Invocation)
	switch e.Kind {
	case event.ActionStart:
		if h.o.Shown == Ends {
			return
		}
		h.tell("Action started: " + name)
	case event.ActionProgress:
		for _, line := range outputLines(e.Text) {
			h.line(h.o.Pen.Paint("Action "+name+":", ansi.Bold) + " " + sanitize.Text(line))
		}
	case event.ActionComplete:
		h.tell("Action complete: " + name)
	case event.ActionErrored:
		h.line(h.o.Pen.Paint("Action failed: "+name+" - "+sanitize.Line(e.Text), ansi.Bold, ansi.Red))
	}
}

func (h *human) tell(text string) {
	if h.o.Shown != Concise {
		h.line(h.o.Pen.Paint(text, ansi.Bold))
	}
}

// An action is the address of an instance of one.
type action struct {
	Addr            string          `json:"addr"`
	Module          string          `json:"module"`
	Action          string          `json:"action"`
	ImpliedProvider string          `json:"implied_provider"`
	Type            string          `json:"action_type"`
	Name            string          `json:"action_name"`
	Key             json.RawMessage `json:"action_key"`
}

func actionOf(i addr.Instance) action {
	return action{
		i.String(), i.Module.String(), i.Name.String() + i.Key.String(), addr.ImpliedProvider(i.Name.Type),
		i.Name.Type, i.Name.Name, jsonstate.Index(i.Key),
	}
}

// A plannedInvocation is the payload of the message that an action will be invoked.
type plannedInvocation struct {
	Action    action            `json:"action_addr"`
	Lifecycle *plannedLifecycle `json:"lifecycle_trigger,omitempty"`
	Asked     *struct{}         `json:"action_trigger,omitempty"`
}

type plannedLifecycle struct {
	Resource resource `json:"triggering_resource"`
	Event    string   `json:"triggering_event"`
	Block    int      `json:"action_trigger_block_index"`
	Index    int      `json:"actions_list_index"`
	Failure  string   `json:"on_failure"`
}

// invocations writes which actions a plan invokes.
func (j *JSON) invocations(p *plan.Plan) {
	for _, i := range p.Invocations {
		out := plannedInvocation{Action: actionOf(i.Addr)}
		if i.Event != 0 {
			out.Lifecycle = &plannedLifecycle{resourceOf(i.Object), jsonplan.EventName(i.Event), i.Block, i.Index, jsonplan.FailureName(i.Failure)}
		} else {
			out.Asked = &struct{}{}
		}
		j.write("info", "planned action invocation: "+i.Addr.String(), "planned_action_invocation", map[string]any{"invocation": out})
	}
}

// An actionHook is the payload of a message of an action's progress.
type actionHook struct {
	Action    action           `json:"action"`
	Message   *string          `json:"message,omitempty"`
	Error     *string          `json:"error,omitempty"`
	Lifecycle *actionLifecycle `json:"lifecycle,omitempty"`
	Asked     *struct{}        `json:"invoke,omitempty"`
}

type actionLifecycle struct {
	Resource resource `json:"resource"`
	Block    int      `json:"trigger_index"`
	Index    int      `json:"actions_index"`
	Event    string   `json:"trigger_event"`
	Failure  string   `json:"on_failure"`
}

// action writes what happens to an action.
func (j *JSON) action(e event.Event) {
	i := e.Invocation
	h := actionHook{Action: actionOf(i.Addr)}
	of := ""
	if i.Event != 0 {
		h.Lifecycle = &actionLifecycle{resourceOf(i.Object), i.Block, i.Index, jsonplan.EventName(i.Event), jsonplan.FailureName(i.Failure)}
		of = fmt.Sprintf("%s (%d): ", i.Object, i.Block)
	} else {
		h.Asked = &struct{}{}
	}
	typ, text := "", ""
	switch e.Kind {
	case event.ActionStart:
		typ, text = "action_start", "Action started: "+h.Action.Addr
		if i.Event != 0 {
			of = fmt.Sprintf("%s.trigger[%d]: ", i.Object, i.Block)
		}
	case event.ActionProgress:
		typ, text, h.Message = "action_progress", h.Action.Addr+" - "+e.Text, &e.Text
	case event.ActionComplete:
		typ, text = "action_complete", "Action complete: "+h.Action.Addr
	case event.ActionErrored:
		typ, text, h.Error = "action_errored", "Action errored: "+h.Action.Addr+" - "+e.Text, &e.Text
	}
	j.write("info", of+text, typ, map[string]any{"hook": h})
}
