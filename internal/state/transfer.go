package state

import (
	"fmt"

	"weir.dev/weir/internal/core/addr"
)

// A Transfer is a record in a state: objects are on their way between it and the state of
// another root. The source has it before the destination is written. The destination gets it
// with the objects, and has it until the source has neither. So whichever of the two states a run
// reads, it learns that there may be objects in both, and where the other state is.
type Transfer struct {
	ID string
	// Sends: the state is the source. Otherwise it is the destination, and has the objects.
	Sends bool
	// Dir is the directory of the other root as seen from this one, and Workspace its workspace.
	Dir, Workspace string
	// Lineage is that of the other state.
	Lineage string
	Moves   []Move
	// Providers are the configurations in the destination, by the addresses there; those that aren't
	// known stay what they are.
	Providers map[addr.Object]addr.ProviderConfig
}

// A Move gives an object another address.
type Move struct{ From, To addr.Object }

// String says what moves where, as part of a sentence.
func (t *Transfer) String() string {
	direction, where, objects := "from", t.Dir, fmt.Sprintf("%d objects", len(t.Moves))
	if t.Sends {
		direction = "to"
	}
	if t.Workspace != "default" {
		where += ", workspace " + t.Workspace
	}
	if len(t.Moves) == 1 {
		objects = "1 object"
	}
	return fmt.Sprintf("%s %s the root in %s", objects, direction, where)
}
