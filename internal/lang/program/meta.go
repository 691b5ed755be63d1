package program

import "weir.dev/weir/internal/core/addr"

// Meta names the arguments and blocks of a resource that the language reads itself. All
// others belong to the provider's schema.
func Meta(m addr.Mode) (arguments, blocks []string) {
	switch m {
	case addr.Managed:
		return []string{"count", "for_each", "provider", "depends_on"}, []string{"lifecycle", "connection", "provisioner"}
	case addr.Data, addr.Ephemeral:
		return []string{"count", "for_each", "provider", "depends_on"}, []string{"lifecycle"}
	}
	return nil, nil
}
