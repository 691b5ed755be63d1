package jsonstate

import (
	"bytes"
	"encoding/json"
	"fmt"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
)

// Identities is an object with the identity of each of some objects of a state by its
// address, as it is stored, with sorted names. Objects that have none are left out.
func Identities(s *state.Snapshot, list []addr.Object) ([]byte, error) {
	all := map[string]any{}
	for _, at := range list {
		o := s.Objects[at]
		if len(o.IdentityJSON) == 0 {
			continue
		}
		d := json.NewDecoder(bytes.NewReader(o.IdentityJSON))
		d.UseNumber() // all digits
		var identity map[string]any
		if err := d.Decode(&identity); err != nil {
			return nil, fmt.Errorf("the identity of %s: %w", at, err)
		}
		all[at.String()] = identity
	}
	return json.MarshalIndent(all, "", "  ")
}
