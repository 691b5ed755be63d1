// Package event defines the events that the engine sends while it works. It has no clock and
// no terminal.
package event

import (
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/resource/ratelimit"
)

// Kind is what happened.
type Kind uint8

const (
	RefreshStart      Kind = iota + 1 // a provider is requested the present form of an object
	RefreshComplete                   //
	ReadStart                         // a data source is read
	ReadComplete                      //
	ApplyStart                        // Action reports what is done to the object
	ApplyComplete                     //
	ApplyErrored                      //
	ProvisionStart                    // Provisioner is the type
	ProvisionOutput                   // Text is one line of output
	ProvisionComplete                 //
	ProvisionErrored                  //
	EphemeralStart                    // Text is opening, renewing or closing
	EphemeralComplete                 //
	Stopping                          // an interrupt was received
	ImportPrepare                     // a plan looks for an object to import; IDValue is its id
	ImportStart                       // the state takes an imported object; IDValue is its id
	ImportComplete                    //
	Forgotten                         // an object left the state and stays as it is
	ActionStart                       // an action is invoked, Invocation
	ActionProgress                    // Text is what the provider says of it
	ActionComplete                    //
	ActionErrored                     // Text is why
	ListStart                         // a list resource is asked, Listing
	ListFound                         // Found is what the provider reports
	ListComplete                      //
	PlanBegin                         // a plan is made; Count objects are in the state
	PlanEnd                           //
	ApplyBegin                        // Plan is carried out, at most Count calls at once
	StepEnd                           // Step of that plan's graph has ended: Ending, and Text is why it failed
	ApplyEnd                          //
	Slowed                            // a service was asked too often and is asked less now, or calls wait for a budget: Slowed
)

// An Ending is what became of a step.
type Ending uint8

const (
	Done Ending = iota
	Failed
	Skipped  // because of a step before it, or because the run was stopped
	Needless // it was for a failure that hasn't come
)

// An Event is one step of work on one object. IDKey and IDValue name the
// object where it has an attribute that identifies it. Sinks are called from
// several goroutines at once.
type Event struct {
	Kind        Kind
	Addr        addr.Object
	Action      plan.Action
	IDKey       string
	IDValue     string
	Provisioner string
	Text        string
	// Invocation is the one that an action is about.
	Invocation *plan.Invocation
	Count      int
	Plan       *plan.Plan
	// Step is the one of the plan's graph that begins or ends: see Begins and StepEnd.
	Step   execgraph.ID
	Ending Ending
	// Listing is that of a list resource, which grows until ListComplete; Found is the
	// last of it.
	Listing *plan.Listing
	Found   *plan.Found
	Slowed  *ratelimit.Slowed
}

// Begins reports whether the event reports the beginning of a step that people count.
func (e Event) Begins() bool { return e.Kind == ApplyStart || e.Kind == ActionStart }

// A Sink receives events. It must not block for long.
type Sink func(Event)
