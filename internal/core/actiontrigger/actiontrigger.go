// Package actiontrigger defines the events of an object's change that invoke actions, and the
// effects of failures.
//
// It owns the words. It doesn't know what actions and changes are.
package actiontrigger

import "slices"

// An Event is a moment in the change of an object.
type Event uint8

const (
	BeforeCreate Event = iota + 1
	AfterCreate
	BeforeUpdate
	AfterUpdate
	BeforeDestroy
	AfterDestroy
)

var events = [...]string{"", "before_create", "after_create", "before_update", "after_update", "before_destroy", "after_destroy"}

func (e Event) String() string { return events[e] }

// ParseEvent is the inverse of String.
func ParseEvent(text string) (Event, bool) {
	i := slices.Index(events[1:], text)
	return Event(i + 1), i >= 0 // #nosec G115 -- an index of events
}

// Events are the texts of all events.
func Events() []string { return slices.Clone(events[1:]) }

// Before reports whether the event comes before the change.
func (e Event) Before() bool { return e%2 == 1 }

// Ends reports whether the event is about the end of an object.
func (e Event) Ends() bool { return e >= BeforeDestroy }

// A Failure is what becomes of everything else when an action fails.
type Failure uint8

const (
	Halt     Failure = iota // what waits for the object isn't done
	Taint                   // the same, and an object that was just created is replaced next time
	Continue                // the failure is a warning
)

var failures = [...]string{"halt", "taint", "continue"}

func (f Failure) String() string { return failures[f] }

// ParseFailure is the inverse of String.
func ParseFailure(text string) (Failure, bool) {
	i := slices.Index(failures[:], text)
	return Failure(max(i, 0)), i >= 0 // #nosec G115 -- an index of failures
}
