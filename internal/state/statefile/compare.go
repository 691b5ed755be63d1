package statefile

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
)

// Equal reports whether two states have the same content. Lineage, serial and
// version don't count, nor does white space in attributes: the serial of a
// state grows only when this is false. No state equals only no state.
func Equal(a, b *state.Snapshot) bool {
	if a == nil || b == nil {
		return a == b
	}
	return maps.EqualFunc(a.Objects, b.Objects, SameObject) &&
		maps.EqualFunc(a.Outputs, b.Outputs, SameOutput) &&
		reflect.DeepEqual(a.Transfer, b.Transfer) &&
		slices.EqualFunc(sortedChecks(a.Checks), sortedChecks(b.Checks), sameCheck)
}

// SameObject reports whether two stored objects have the same content.
func SameObject(a, b *state.Object) bool {
	if a == b {
		return true
	}
	return a.Provider == b.Provider &&
		a.SchemaVersion == b.SchemaVersion &&
		a.IdentityVersion == b.IdentityVersion &&
		a.Tainted == b.Tainted &&
		a.Settings == b.Settings &&
		bytes.Equal(a.Private, b.Private) &&
		maps.Equal(a.Flat, b.Flat) &&
		slices.Equal(a.Dependencies, b.Dependencies) &&
		state.SameUses(a.Uses, b.Uses) &&
		samePaths(a.Sensitive, b.Sensitive) &&
		sameJSON(a.JSON, b.JSON) &&
		sameJSON(a.IdentityJSON, b.IdentityJSON)
}

// samePaths compares sets of paths.
func samePaths(a, b []cty.Path) bool {
	if len(a) != len(b) {
		return false
	}
	if slices.EqualFunc(a, b, cty.Path.Equals) {
		return true
	}
	x, y := cty.NewPathSet(a...), cty.NewPathSet(b...)
	return x.Equal(y)
}

// sameJSON compares two texts of JSON by what they mean.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	var x, y bytes.Buffer
	if json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes()) {
		return true
	}
	// Members in another order or characters escaped in another way.
	v, err := decode(a)
	w, werr := decode(b)
	return err == nil && werr == nil && reflect.DeepEqual(v, w)
}

func decode(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// SameOutput reports whether two stored outputs have the same content.
func SameOutput(a, b state.Output) bool {
	return a.Sensitive == b.Sensitive && a.Deprecated == b.Deprecated && a.Value.RawEquals(b.Value)
}

func sameCheck(a, b state.CheckResult) bool {
	return a.Kind == b.Kind && a.Address == b.Address && a.Status == b.Status &&
		slices.EqualFunc(a.Objects, b.Objects, func(x, y state.CheckObject) bool {
			return x.Address == y.Address && x.Status == y.Status && slices.Equal(x.Messages, y.Messages)
		})
}

// TranslateProviders gives objects of providers from the other public registry to
// the providers of the same name in this one, except those that required says the
// configuration asks for by exactly that address. required may be nil. Without
// anything to do the result is s itself.
func TranslateProviders(s *state.Snapshot, registry addr.Registry, required func(addr.Provider) bool) *state.Snapshot {
	if s == nil {
		return nil
	}
	out := s
	for at, o := range s.Objects {
		p := o.Provider.Provider
		if !registry.Other().Has(p) || required != nil && required(p) {
			continue
		}
		if out == s {
			out = s.Clone()
		}
		moved := *o
		moved.Provider.Provider.Host = string(registry)
		out.Objects[at] = &moved
	}
	return out
}
