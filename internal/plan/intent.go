package plan

import "weir.dev/weir/internal/core/addr"

// An Intent is what is about to be done to an object, for who keeps it until it is
// known what came of it.
type Intent struct {
	Object   addr.Object
	Action   Action // Create, Update or Delete
	Provider addr.ProviderConfig
	// Key and ID are an attribute that names the object and its value; empty
	// where nothing is known yet.
	Key, ID string
	// Needs are the resources that have to outlive the object, where it is created.
	Needs []addr.Resource
}
