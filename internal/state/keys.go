package state

import (
	"slices"
	"sync"

	"weir.dev/weir/internal/core/addr"
)

// Keys are the instance keys that a state has objects under: of resources,
// and of module calls as far as there is anything in them.
type Keys struct {
	objects   map[addr.Object]*Object
	once      sync.Once // the first question indexes them
	resources map[addr.Resource][]addr.Key
	calls     map[addr.Module][]addr.Key // by the call's address without key
}

// Keys are those of the snapshot's current objects.
func (s *Snapshot) Keys() *Keys { return &Keys{objects: s.Objects} }

func (k *Keys) index() {
	k.resources, k.calls = map[addr.Resource][]addr.Key{}, map[addr.Module][]addr.Key{}
	seen := map[addr.Module]bool{}
	for a := range k.objects {
		if a.Deposed == "" {
			k.resources[a.Resource] = append(k.resources[a.Resource], a.Key)
		}
		for m := a.Module; !m.IsRoot() && !seen[m]; {
			seen[m] = true
			parent, step, _ := m.Parent()
			call := parent.Child(step.Call, addr.NoKey)
			k.calls[call] = append(k.calls[call], step.Key)
			m = parent
		}
	}
	for _, list := range k.resources {
		slices.SortFunc(list, addr.Key.Compare)
	}
	for _, list := range k.calls {
		slices.SortFunc(list, addr.Key.Compare)
	}
}

// Resource lists the keys of a resource's instances.
func (k *Keys) Resource(r addr.Resource) []addr.Key {
	k.once.Do(k.index)
	return k.resources[r]
}

// Call lists the keys of a module call's instances.
func (k *Keys) Call(caller addr.Module, c addr.Call) []addr.Key {
	k.once.Do(k.index)
	return k.calls[caller.Child(c, addr.NoKey)]
}
