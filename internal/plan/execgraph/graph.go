// Package execgraph defines the execution graph: every step of an apply and its prerequisites,
// decided once at plan.
//
// It owns the steps as data, their printed forms and their verification. It doesn't know how a
// step is done (package apply) or why it is there (package planner).
package execgraph

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
)

// Kind is what a step does.
type Kind uint8

const (
	Gate             Kind = iota + 1 // nothing: joins many steps for many others
	OpenProvider                     // configure a provider instance
	CloseProvider                    // end it
	OpenEphemeral                    // open an ephemeral resource instance
	CloseEphemeral                   // close it
	ReadData                         // read a data source
	Finalize                         // make the final plan of a replacement before its first effect
	Depose                           // put the current object aside
	Apply                            // create or update, after a final plan where no Finalize has made it
	RestoreDeposed                   // take the deposed object back where a failed create has left nothing
	Destroy                          // delete an object
	Forget                           // drop an object from the state
	Provision                        // run creation-time provisioners
	ProvisionDestroy                 // run destruction-time provisioners
	Condition                        // evaluate a check block, or the conditions of an output, a variable or an unchanged object
	Output                           // evaluate a root output
	Invoke                           // invoke an action
)

var kindNames = [...]string{"", "gate", "open-provider", "close-provider", "open-ephemeral", "close-ephemeral", "read-data", "finalize", "depose", "apply", "restore-deposed", "destroy", "forget", "provision", "provision-destroy", "condition", "output", "invoke"}

func (k Kind) String() string { return kindNames[k] }

// Calls reports whether steps of the kind call a provider that has to be open.
func (k Kind) Calls() bool {
	switch k {
	case Finalize, Apply, Destroy, ReadData, OpenEphemeral, Invoke:
		return true
	}
	return false
}

// Gives reports whether steps of the kind give their instance its value. Where several
// steps of an instance do, the last one gives it.
func (k Kind) Gives() bool {
	switch k {
	case Apply, Provision, ReadData, OpenEphemeral:
		return true
	}
	return false
}

// Counts reports whether people count steps of the kind when they ask how much is done.
func (k Kind) Counts() bool {
	switch k {
	case Apply, Destroy, Forget, ReadData, Invoke:
		return true
	}
	return false
}

// works reports whether steps of the kind work on an object. Some conditions do, too.
func (k Kind) works() bool {
	switch k {
	case OpenEphemeral, CloseEphemeral, ReadData, Forget:
		return true
	}
	return k.changes()
}

// changes reports whether steps of the kind have a change of the plan.
func (k Kind) changes() bool {
	switch k {
	case Finalize, Depose, Apply, RestoreDeposed, Destroy, Provision, ProvisionDestroy:
		return true
	}
	return false
}

// takes lists the kinds of steps that one of the kind takes up. An Apply may do without.
var takes = [len(kindNames)][]Kind{
	Apply: {Finalize}, RestoreDeposed: {Depose, Apply}, Provision: {Apply}, CloseEphemeral: {OpenEphemeral},
}

// Closes reports whether steps of the kind end what others have started: they are done also
// when the run is stopped.
func (k Kind) Closes() bool {
	return k == CloseProvider || k == CloseEphemeral || k == RestoreDeposed
}

// ParseKind is the inverse of String.
func ParseKind(text string) (Kind, error) {
	for i, name := range kindNames {
		if i > 0 && name == text {
			return Kind(i), nil
		}
	}
	return 0, fmt.Errorf("no step is called %q", text)
}

// An ID is a step's place in its graph. Steps wait for lower IDs only.
type ID int

// When says under which outcome of the steps it waits for a step runs.
type When uint8

const (
	OnSuccess When = iota // all succeeded
	Always                // all have ended, in whatever way
	OnFailure             // the step Of failed
)

// A Step is one operation.
type Step struct {
	Kind Kind
	// Object is what the step works on, nil for kinds that work on none. It is shared, and
	// isn't changed.
	Object *addr.Object
	// Provider is the provider instance that is opened, closed or called, nil for none. It
	// is shared, and isn't changed.
	Provider *addr.ProviderConfig
	// Name is that of a root output, or of what has conditions: check.NAME,
	// pluginlog.NAME or var.NAME; or it says which action is invoked, and when.
	Name string
	// Invocation is the number of what is invoked among the plan's, from 1.
	Invocation int
	// Module is where that is.
	Module addr.Module
	// Change is the number of the step's change among those of the plan, from 1; 0 is for
	// steps without one.
	Change int
	// After are the steps that have to end first, ascending, without
	// repetition. Conditions apply to all of them.
	After []ID
	When  When
	Of    ID // meaningful with OnFailure
	// Takes lists the steps whose results this step uses, ascending: the plan of Finalize, the
	// object of Depose or Apply, the value of OpenEphemeral. The step waits for them, perhaps
	// through other steps.
	Takes []ID
	// Batch is the same number, from 1, for steps that one call of the provider may do, as
	// many of them as are ready at the same time; 0 is for a step that is done by itself.
	Batch int
}

// Label is the step in words, unique within a graph except for gates.
func (s *Step) Label() string {
	switch s.Kind {
	case OpenProvider, CloseProvider:
		return s.Kind.String() + " " + s.Provider.String()
	case Invoke:
		return s.Kind.String() + " " + s.Name
	case Output, Gate:
		return strings.TrimSpace(s.Kind.String() + " " + s.Name)
	case Condition:
		if s.Name != "" {
			return s.Kind.String() + " " + s.Check()
		}
	}
	return s.Kind.String() + " " + s.At().String()
}

// At is the address of what the step works on; zero where it works on nothing.
func (s *Step) At() addr.Object {
	if s.Object == nil {
		return addr.Object{}
	}
	return *s.Object
}

// Check is the address of the check block, output or variable that a Condition
// evaluates; empty for the conditions of an object.
func (s *Step) Check() string {
	switch {
	case s.Kind != Condition || s.Name == "":
		return ""
	case s.Module.IsRoot():
		return s.Name
	}
	return s.Module.String() + "." + s.Name
}

// A Graph is the steps in a topological order. It isn't changed once it is made.
type Graph struct {
	Steps []Step
}

// Edges counts what steps wait for.
func (g *Graph) Edges() int {
	n := 0
	for _, s := range g.Steps {
		n += len(s.After)
	}
	return n
}

// Print lists every step with what it waits for, one per line.
func (g *Graph) Print(w io.Writer) error {
	for id, s := range g.Steps {
		if _, err := fmt.Fprintf(w, "%d %s", id, s.Label()); err != nil {
			return err
		}
		if len(s.After) > 0 {
			after := make([]string, len(s.After))
			for i, a := range s.After {
				after[i] = fmt.Sprint(a)
			}
			fmt.Fprintf(w, " after %s", strings.Join(after, " "))
		}
		switch s.When {
		case Always:
			fmt.Fprint(w, " always")
		case OnFailure:
			fmt.Fprintf(w, " if %d fails", s.Of)
		}
		if s.Batch > 0 {
			fmt.Fprintf(w, " in batch %d", s.Batch)
		}
		fmt.Fprintln(w)
	}
	return nil
}

// Verify reports the first violation of what apply relies on: steps wait for
// earlier steps only, once each, follow a failure of one of these, and take up what
// such steps leave. changes is how many the plan has.
func (g *Graph) Verify(changes int) error {
	for id, s := range g.Steps {
		if s.Kind == 0 || int(s.Kind) >= len(kindNames) {
			return fmt.Errorf("step %d has no kind", id)
		}
		if s.Object == nil && (s.Kind.works() || s.Kind == Condition && s.Name == "") {
			return fmt.Errorf("step %d works on nothing", id)
		}
		if s.Provider == nil && (s.Kind.Calls() || s.Kind == OpenProvider || s.Kind == CloseProvider) {
			return fmt.Errorf("step %d calls no provider", id)
		}
		last := ID(-1)
		for _, a := range s.After {
			if a <= last || a >= ID(id) || a < 0 {
				return fmt.Errorf("step %d (%s) waits for step %d", id, s.Label(), a)
			}
			last = a
		}
		if s.When > OnFailure || s.When == OnFailure && !slices.Contains(s.After, s.Of) {
			return fmt.Errorf("step %d (%s) has a condition that can't come true", id, s.Label())
		}
		if s.Change < 0 || s.Change > changes || s.Change == 0 && s.Kind.changes() {
			return fmt.Errorf("step %d (%s) has no change", id, s.Label())
		}
		if s.Batch != 0 && (s.Batch < 0 || s.Kind != Apply && s.Kind != Destroy) {
			return fmt.Errorf("step %d (%s) can't be done in a batch", id, s.Label())
		}
		if err := g.verifyTakes(ID(id), &s); err != nil {
			return err
		}
	}
	return nil
}

// verifyTakes is Verify for what a step takes up.
func (g *Graph) verifyTakes(id ID, s *Step) error {
	kinds := takes[s.Kind]
	if s.Kind == Invoke && len(s.Takes) == 1 && slices.Contains([]Kind{Finalize, Apply, Provision}, g.Steps[max(0, min(s.Takes[0], id))].Kind) {
		kinds = []Kind{g.Steps[s.Takes[0]].Kind}
	}
	if len(s.Takes) != len(kinds) && (s.Kind != Apply || s.Takes != nil) {
		return fmt.Errorf("step %d (%s) takes up %d steps", id, s.Label(), len(s.Takes))
	}
	for i, a := range s.Takes {
		if a < 0 || a >= id || g.Steps[a].Kind != kinds[i] || g.Steps[a].At() != s.At() {
			return fmt.Errorf("step %d (%s) can't take up step %d", id, s.Label(), a)
		}
	}
	return nil
}
