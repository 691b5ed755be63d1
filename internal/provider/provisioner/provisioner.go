// Package provisioner runs the provisioners of resources: commands at the creation and the
// destruction of an object.
//
// It owns the built-in provisioners and their schemas. It doesn't know when one runs and what
// its failure means.
package provisioner

import (
	"context"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
)

// A Provisioner is a kind of provisioner.
type Provisioner interface {
	Schema() *schema.Block
	// Run does the work. Config has the schema's implied type, is wholly
	// known and has no marks; output gets each line that is printed.
	Run(ctx context.Context, at Place, config cty.Value, output func(line string)) error
}

// A Place is where commands are run. That of the process itself is the zero one.
type Place struct {
	Dir     string
	Environ []string
	// Connection is how to reach another machine, of the implied type of the schema of
	// Connection; cty.NilVal for none.
	Connection cty.Value
}

func kinds() map[string]Provisioner {
	return map[string]Provisioner{"local-exec": localExec{}, "file": file{}, "remote-exec": remoteExec{}}
}

// Check says what is wrong with a configuration beside its types. It need not be known.
func Check(kind Provisioner, config cty.Value) error {
	if c, ok := kind.(interface{ check(cty.Value) error }); ok {
		unmarked, _ := config.UnmarkDeep()
		return c.check(unmarked)
	}
	return nil
}

// Connects reports whether provisioners of a type work on another machine.
func Connects(typ string) bool { return typ == "file" || typ == "remote-exec" }

// Find returns the provisioner of a type, or nil.
func Find(typ string) Provisioner { return kinds()[typ] }

// Types lists the provisioners there are.
func Types() []string { return slices.Sorted(maps.Keys(kinds())) }
