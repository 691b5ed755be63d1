// Package schema defines the shape of an object that a provider declares: attributes, nested
// blocks, and computed values.
//
// It owns the shape and what follows from only it (the implied type, an empty value). It
// doesn't know how a schema came over the wire.
package schema

import (
	"sort"
	"sync"

	"github.com/zclconf/go-cty/cty"
)

// Nesting says how the objects of a nested block or attribute are grouped.
type Nesting uint8

const (
	Single Nesting = iota + 1
	Group          // like Single but never null
	List
	Set
	Map
)

// A Schema is the shape of a resource, data source, ephemeral resource or
// provider configuration, with the version that stored objects carry.
type Schema struct {
	Version int64
	Block   *Block
	// Identity is the shape of the resource's identity, nil without one.
	Identity        *Object
	IdentityVersion int64
}

// A Block is the body of a block.
type Block struct {
	Attributes  map[string]*Attribute
	Blocks      map[string]*NestedBlock
	Description string
	Markdown    bool
	Deprecated  bool
	// DeprecationMessage says what to use instead, or is empty.
	DeprecationMessage string
	// Computed: the provider chooses the blocks of this type where none is written.
	Computed bool
	// Unwritten are nested blocks that states leave out while they are null, so that
	// engines whose schema hasn't got them can read these.
	Unwritten []string

	once  sync.Once
	typ   cty.Type
	names []string

	decodeOnce sync.Once
	decoder    decoder
}

// An Attribute is one argument or result. Exactly one of Type and Nested is
// set.
type Attribute struct {
	Type   cty.Type
	Nested *Object

	Required, Optional, Computed bool
	Sensitive, WriteOnly         bool
	Deprecated                   bool
	DeprecationMessage           string
	Description                  string
	Markdown                     bool
}

// An Object is the type of an attribute with nested attributes, or of an
// identity.
type Object struct {
	Attributes map[string]*Attribute
	Nesting    Nesting
}

// A NestedBlock is a block type within a block. Max 0 means no limit.
type NestedBlock struct {
	*Block
	Nesting  Nesting
	Min, Max int
}

// ImpliedType is the type of a value of the block, with all attributes.
func (b *Block) ImpliedType() cty.Type {
	b.init()
	return b.typ
}

// Names lists the attributes and nested blocks in order.
func (b *Block) Names() []string {
	b.init()
	return b.names
}

func (b *Block) init() {
	b.once.Do(func() {
		types := make(map[string]cty.Type, len(b.Attributes)+len(b.Blocks))
		for name, a := range b.Attributes {
			types[name] = a.ImpliedType()
			b.names = append(b.names, name)
		}
		for name, nested := range b.Blocks {
			types[name] = nested.ImpliedType()
			b.names = append(b.names, name)
		}
		sort.Strings(b.names)
		b.typ = cty.Object(types)
	})
}

// ImpliedType is the type of the attribute's values.
func (a *Attribute) ImpliedType() cty.Type {
	if a.Nested != nil {
		return a.Nested.ImpliedType()
	}
	return a.Type
}

// ImpliedType is the type of all objects together, by nesting.
func (o *Object) ImpliedType() cty.Type {
	return nest(o.ElementType(), o.Nesting)
}

// ElementType is the type of one object.
func (o *Object) ElementType() cty.Type {
	types := make(map[string]cty.Type, len(o.Attributes))
	for name, a := range o.Attributes {
		types[name] = a.ImpliedType()
	}
	return cty.Object(types)
}

// ImpliedType is the type of all blocks together, by nesting. Lists and maps
// whose blocks can differ in type are tuples and objects, of which only the
// dynamic type is known beforehand.
func (n *NestedBlock) ImpliedType() cty.Type {
	element := n.Block.ImpliedType()
	if element.HasDynamicTypes() && (n.Nesting == List || n.Nesting == Map) {
		return cty.DynamicPseudoType
	}
	return nest(element, n.Nesting)
}

func nest(element cty.Type, n Nesting) cty.Type {
	switch n {
	case List:
		return cty.List(element)
	case Set:
		return cty.Set(element)
	case Map:
		return cty.Map(element)
	}
	return element
}

// EmptyValue is the value of the block when it is written without content:
// attributes null, nested blocks absent.
func (b *Block) EmptyValue() cty.Value {
	values := make(map[string]cty.Value, len(b.Attributes)+len(b.Blocks))
	for name, a := range b.Attributes {
		values[name] = cty.NullVal(a.ImpliedType())
	}
	for name, nested := range b.Blocks {
		values[name] = nested.EmptyValue()
	}
	return cty.ObjectVal(values)
}

// EmptyValue is the value of the block type when no such block is written.
func (n *NestedBlock) EmptyValue() cty.Value {
	element := n.Block.ImpliedType()
	dynamic := element.HasDynamicTypes()
	switch n.Nesting {
	case Group:
		return n.Block.EmptyValue()
	case List:
		if dynamic {
			return cty.EmptyTupleVal
		}
		return cty.ListValEmpty(element)
	case Set:
		return cty.SetValEmpty(element)
	case Map:
		if dynamic {
			return cty.EmptyObjectVal
		}
		return cty.MapValEmpty(element)
	}
	return cty.NullVal(element)
}

// HasSensitive reports whether any attribute in the block is sensitive, so
// that callers can skip the search in values.
func (b *Block) HasSensitive() bool {
	for _, a := range b.Attributes {
		if a.Sensitive || a.Nested != nil && a.Nested.hasSensitive() {
			return true
		}
	}
	for _, nested := range b.Blocks {
		if nested.HasSensitive() {
			return true
		}
	}
	return false
}

func (o *Object) hasSensitive() bool {
	for _, a := range o.Attributes {
		if a.Sensitive || a.Nested != nil && a.Nested.hasSensitive() {
			return true
		}
	}
	return false
}

// Decides reports whether the provider decides about what is at a path in an object. Without a
// schema it may decide about all of it.
func (s *Schema) Decides(path cty.Path) bool {
	if s == nil || s.Block == nil {
		return true
	}
	attributes, blocks := s.Block.Attributes, s.Block.Blocks
	for _, step := range path {
		name, ok := step.(cty.GetAttrStep)
		if !ok {
			continue // the key of an element
		}
		if block := blocks[name.Name]; block != nil {
			if block.Computed {
				return true
			}
			attributes, blocks = block.Attributes, block.Blocks
			continue
		}
		a := attributes[name.Name]
		switch {
		case a == nil:
			return true
		case a.Computed || a.Nested == nil:
			return a.Computed
		}
		attributes, blocks = a.Nested.Attributes, nil
	}
	return false
}
