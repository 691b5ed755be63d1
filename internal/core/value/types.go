package value

import (
	"sync"

	"github.com/zclconf/go-cty/cty"
)

// Types has one copy of types that are equal. An object that is made has a type of its own,
// which takes as much memory as the object. The zero value is ready, and may be used by
// several tasks at once.
type Types struct {
	mu   sync.Mutex
	last map[string][recent]cty.Type
}

// recent is how many types of a name are known: those of attributes whose type is open differ.
const recent = 4

// Share is a value with the type that one of the last ones of the same name had, if one is
// equal.
func (t *Types) Share(name string, v cty.Value) cty.Value {
	ty := v.Type()
	if !ty.IsObjectType() {
		return v
	}
	t.mu.Lock()
	known := t.last[name]
	t.mu.Unlock()
	for _, last := range known {
		if last != cty.NilType && last.Equals(ty) {
			return WithType(v, last)
		}
	}
	copy(known[1:], known[:recent-1])
	known[0] = ty
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		t.last = map[string][recent]cty.Type{}
	}
	t.last[name] = known
	return v
}

var second = cty.NumberIntVal(1)

// WithType is a value with a type that is equal to its own, and isn't unknown itself. Elements of a list have the type
// of the first one.
func WithType(v cty.Value, ty cty.Type) cty.Value {
	return cty.ListVal([]cty.Value{cty.NullVal(ty), v}).Index(second)
}
