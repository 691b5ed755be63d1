package provider

import (
	"sync"

	"weir.dev/weir/internal/core/schema"
)

// Types are the schemas of one kind of types, such as data sources, by name.
type Types map[string]*Type

// A Type is the schema of one type. Large providers have more than a thousand
// types of which a configuration uses a few, so it may be made when it is first
// asked for.
type Type struct {
	once sync.Once
	make func() *schema.Schema
	made *schema.Schema
}

// Known is a type whose schema is at hand.
func Known(s *schema.Schema) *Type { return &Type{made: s} }

// Late is a type whose schema is made when it is first asked for, once.
func Late(make func() *schema.Schema) *Type { return &Type{make: make} }

// AllKnown are types whose schemas are at hand.
func AllKnown(all map[string]*schema.Schema) Types {
	types := make(Types, len(all))
	for name, s := range all {
		types[name] = Known(s)
	}
	return types
}

// Schema returns the schema of a type, or nil where there is no such type.
func (t Types) Schema(name string) *schema.Schema {
	one := t[name]
	if one == nil {
		return nil
	}
	return one.Schema()
}

// Schema returns the type's schema.
func (t *Type) Schema() *schema.Schema {
	t.once.Do(func() {
		if t.make != nil {
			t.made = t.make()
		}
	})
	return t.made
}
