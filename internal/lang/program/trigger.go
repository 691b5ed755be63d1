package program

import (
	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/actiontrigger"
)

// A Trigger says which actions are invoked around changes of a resource's instances.
type Trigger struct {
	Events    []actiontrigger.Event
	Condition *Expr // nil without
	// Actions are references to actions, with a key where the action is repeated.
	Actions []*Ref
	Failure actiontrigger.Failure
	Range   hcl.Range
}

// parts gives the parts of the trigger.
func (t *Trigger) parts(add func(Part)) {
	expression(add, Part{Argument: "condition", Role: Argument, Expr: t.Condition})
	references(add, "actions", t.Actions)
}
