// Package state defines the state: an immutable snapshot of real objects.
//
// It owns the noun and its indexes. It rejects files (package statefile), locks (package
// storage) and configuration.
package state

import (
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/persisted"
)

// A Snapshot is a state at one moment. It isn't changed after it was made;
// With makes a changed copy that shares the objects.
type Snapshot struct {
	Lineage string
	Serial  uint64
	// Version is the version of the engine that wrote it, informative only.
	Version string

	// Objects has every object by address. An *Object is never changed.
	Objects map[addr.Object]*Object
	// Outputs are the values of the root module's outputs. Nulls are those of other programs:
	// an apply leaves them out.
	Outputs map[string]Output
	// Checks are the results of checks when they were last evaluated; nil
	// when they never were.
	Checks []CheckResult
	// Memory is what a stack remembers of the deployment whose state it is, as JSON
	// (package shardedstate); nil for any other state.
	Memory []byte
	// Transfer is a move to or from another state that hasn't ended; nil for none.
	Transfer *Transfer
}

// An Object is a stored object of a resource instance. Attributes stay in
// the JSON of the schema version they were written with.
type Object struct {
	Provider      addr.ProviderConfig
	SchemaVersion int64
	JSON          []byte            // attributes as a JSON object
	Flat          map[string]string // instead of JSON in very old states
	Sensitive     []cty.Path        // attributes that are sensitive
	Private       []byte
	Tainted       bool

	// Dependencies are the resources, without instance keys, that have to
	// outlive this object; sorted.
	Dependencies []addr.Resource
	// Uses narrows dependencies to instances. One without an entry means all
	// instances of the resource; an entry that isn't a dependency means nothing. It is
	// empty, not nil, where the object depends on nothing although its block refers to
	// resources.
	Uses []Uses
	persisted.Settings

	IdentityJSON    []byte
	IdentityVersion int64
}

// Uses says which instances of one dependency an object depends on directly. Without SameKey
// and Instances none exist: the object depends on the resource through its other dependencies
// only.
type Uses struct {
	Resource addr.Resource // without keys
	// SameKey is the instance in the object's own module that has the object's key.
	SameKey   bool
	Instances []addr.Instance
}

func (u Uses) equal(o Uses) bool {
	return u.Resource == o.Resource && u.SameKey == o.SameKey && slices.Equal(u.Instances, o.Instances)
}

// SameUses reports whether two lists say the same.
func SameUses(a, b []Uses) bool {
	return (a == nil) == (b == nil) && slices.EqualFunc(a, b, Uses.equal)
}

// ForgetUses widens the dependencies on and of resources with instances that have
// moved: the instances that were named may be others now.
func (s *Snapshot) ForgetUses(moved map[addr.Resource]bool) {
	for a, o := range s.Objects {
		if len(o.Uses) > 0 && (moved[a.Resource.Erase()] || slices.ContainsFunc(o.Uses, func(u Uses) bool { return moved[u.Resource] })) {
			fresh := *o
			fresh.Uses = nil
			s.Objects[a] = &fresh
		}
	}
}

// JoinUses narrows the joined dependencies of two objects: those that both narrow to
// the same instances, and those that only one of them has.
func JoinUses(a, b *Object) []Uses {
	var list []Uses
	add := func(from, other *Object) {
		for _, u := range from.Uses {
			has := slices.Contains(other.Dependencies, u.Resource)
			if (!has || slices.ContainsFunc(other.Uses, u.equal)) && !slices.ContainsFunc(list, u.equal) {
				list = append(list, u)
			}
		}
	}
	add(a, b)
	add(b, a)
	return list
}

// An Output is the value of a root output.
type Output struct {
	Value      cty.Value // without marks
	Sensitive  bool
	Deprecated string
}

// A CheckResult is the outcome of the conditions of one checkable object of
// the configuration.
type CheckResult struct {
	Kind    string // resource, output_value, check, input_variable
	Address string // without instance keys
	Status  string // pass, fail, error, unknown
	Objects []CheckObject
}

// A CheckObject is the outcome for one instance.
type CheckObject struct {
	Address  string
	Status   string
	Messages []string
}

// Empty is a state without objects, lineage and serial.
func Empty() *Snapshot {
	return &Snapshot{Objects: map[addr.Object]*Object{}, Outputs: map[string]Output{}}
}

// IsEmpty reports whether the state has neither objects nor outputs.
func (s *Snapshot) IsEmpty() bool { return s == nil || len(s.Objects) == 0 && len(s.Outputs) == 0 }

// Clone makes a copy whose maps can be changed; objects are shared.
func (s *Snapshot) Clone() *Snapshot {
	c := *s
	c.Objects = maps.Clone(s.Objects)
	c.Outputs = maps.Clone(s.Outputs)
	if c.Objects == nil {
		c.Objects = map[addr.Object]*Object{}
	}
	if c.Outputs == nil {
		c.Outputs = map[string]Output{}
	}
	return &c
}

// Addresses lists the objects in order.
func (s *Snapshot) Addresses() []addr.Object {
	list := slices.AppendSeq(make([]addr.Object, 0, len(s.Objects)), maps.Keys(s.Objects))
	slices.SortFunc(list, addr.Object.Compare)
	return list
}

// Providers lists the providers that objects belong to, in order.
func (s *Snapshot) Providers() []addr.Provider {
	set := map[addr.Provider]bool{}
	var last addr.Provider // most objects have the provider of another
	for _, o := range s.Objects {
		if p := o.Provider.Provider; p != last {
			set[p], last = true, p
		}
	}
	return slices.SortedFunc(maps.Keys(set), addr.Provider.Compare)
}

// JoinDependencies merges two lists of dependencies.
func JoinDependencies(a, b []addr.Resource) []addr.Resource {
	list := slices.Concat(a, b)
	slices.SortFunc(list, func(a, b addr.Resource) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(list)
}

// Behind are the given resources and all that their objects depend on, and so on:
// what has to stay while something that depends on them does.
func (s *Snapshot) Behind(resources []addr.Resource) map[addr.Resource]bool {
	behind := map[addr.Resource]bool{}
	if len(resources) == 0 || s == nil {
		return behind
	}
	needs := map[addr.Resource][]addr.Resource{}
	for at, o := range s.Objects {
		needs[at.Resource.Erase()] = append(needs[at.Resource.Erase()], o.Dependencies...)
	}
	for next := slices.Clone(resources); len(next) > 0; {
		r := next[len(next)-1].Erase()
		next = next[:len(next)-1]
		if !behind[r] {
			behind[r] = true
			next = append(next, needs[r]...)
		}
	}
	return behind
}
