// Package provisioner runs what resources ask for beside their provider:
// commands at the creation and the destruction of an object.
//
// It owns the built-in provisioners and their schemas. It refuses to know
// when one runs and what its failure means.
package provisioner

import (
	"context"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/schema"
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
}

var kinds = map[string]Provisioner{"local-exec": localExec{}, "file": file, "remote-exec": remoteExec}

// Runs reports whether provisioners of a type can be run. Those that can't are
// known so that configurations with them can be checked.
func Runs(typ string) bool {
	kind, ok := kinds[typ]
	_, only := kind.(described)
	return ok && !only
}

// Find returns the provisioner of a type, or nil.
func Find(typ string) Provisioner { return kinds[typ] }

// Types lists the provisioners there are.
func Types() []string { return slices.Sorted(maps.Keys(kinds)) }
