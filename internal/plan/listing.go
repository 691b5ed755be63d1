package plan

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
)

// A Listing is what an instance of a list resource was asked for, and what it has found.
type Listing struct {
	Addr addr.Instance
	// Config is the configuration with marks.
	Config cty.Value
	Found  []*Found
}

// A Found is an object that exists. Texts are configuration for it where that was asked
// for: a resource block and an import block.
type Found struct {
	Name            string // for people
	Identity        cty.Value
	IdentityVersion int64
	// Object has marks where it is sensitive; it is null unless it was asked for.
	Object           cty.Value
	Resource, Import string
}
