package statefile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
)

// dependencyKeysMember narrows the dependencies of an object to instances. It is a
// list with an entry for each dependency, in their order: 0 stands for all instances,
// 1 for the one with the object's own key, and a list has the addresses. OpenTofu and
// Terraform read states that have it, and leave it out of those that they write, so
// that it never belongs to dependencies that have changed since.
const dependencyKeysMember = "dependency_keys"

// dependencyKeys is that list for the sorted dependencies, nil where all of it is 0.
func dependencyKeys(o *state.Object, deps []string) []byte {
	switch {
	case o.Uses == nil:
		return nil
	case len(deps) == 0:
		return []byte("[]")
	}
	list := make([]any, len(deps))
	for i := range list {
		list[i] = 0
	}
	narrowed := false
	for _, u := range o.Uses {
		i, ok := slices.BinarySearch(deps, u.Resource.String())
		if !ok {
			continue
		}
		narrowed = true
		if u.SameKey {
			list[i] = 1
			continue
		}
		texts := make([]string, len(u.Instances))
		for n, at := range u.Instances {
			texts[n] = at.String()
		}
		list[i] = texts
	}
	if !narrowed {
		return nil
	}
	data, err := json.Marshal(list)
	if err != nil {
		panic("statefile: " + err.Error()) // numbers and texts
	}
	return data
}

// uses is usesOf with one copy for objects in a row that say the same.
func (r *reader) uses(raw []byte, deps []addr.Resource) []state.Uses {
	last := &r.narrowed
	if !bytes.Equal(last.keys, raw) || !slices.Equal(last.deps, deps) {
		last.keys, last.deps = raw, slices.Clone(deps)
		// Anything that can't be read narrows nothing: all instances are depended on then.
		last.uses, _ = usesOf(raw, deps)
	}
	return last.uses
}

// usesOf reads the list for the dependencies as they are in the file. Something else
// than weir writes narrows nothing.
func usesOf(raw []byte, deps []addr.Resource) ([]state.Uses, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || len(list) != len(deps) {
		return nil, fmt.Errorf("it has %s for other dependencies", dependencyKeysMember)
	}
	uses := make([]state.Uses, 0, len(list))
	for i, entry := range list {
		switch string(entry) {
		case "0":
		case "1":
			uses = append(uses, state.Uses{Resource: deps[i], SameKey: true})
		default:
			var texts []string
			if err := json.Unmarshal(entry, &texts); err != nil {
				return nil, err
			}
			u := state.Uses{Resource: deps[i]}
			for _, text := range texts {
				at, err := addr.ParseInstance(text)
				if err != nil {
					return nil, err
				}
				u.Instances = append(u.Instances, at)
			}
			uses = append(uses, u)
		}
	}
	return uses, nil
}
