// Package conform_test tests the provider contract with random schemas and values.
package conform_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/resource/contract"
)

// The generators below make random schemas and values of them.

func drawBlock(t *rapid.T, depth int) *schema.Block {
	b := &schema.Block{Attributes: drawAttributes(t, depth, "a")}
	if depth == 2 {
		// Write-only values within sets would let elements coalesce, so
		// that providers don't declare them there.
		b.Attributes["w"] = &schema.Attribute{Type: cty.String, Optional: true, WriteOnly: true}
	}
	if depth == 0 {
		return b
	}
	b.Blocks = make(map[string]*schema.NestedBlock)
	for i := range rapid.IntRange(0, 2).Draw(t, "blocks") {
		n := schema.Nesting(rapid.IntRange(int(schema.Single), int(schema.Map)).Draw(t, "nesting"))
		b.Blocks[fmt.Sprintf("b%d", i)] = &schema.NestedBlock{Block: drawBlock(t, depth-1), Nesting: n}
	}
	return b
}

func drawAttributes(t *rapid.T, depth int, prefix string) map[string]*schema.Attribute {
	as := make(map[string]*schema.Attribute)
	for i := range rapid.IntRange(1, 3).Draw(t, "attributes") {
		a := &schema.Attribute{}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			a.Required = true
		case 1:
			a.Optional = true
		case 2:
			a.Computed = true
		case 3:
			a.Optional, a.Computed = true, true
		}
		a.Sensitive = rapid.Bool().Draw(t, "sensitive")
		if depth > 0 && rapid.Bool().Draw(t, "object") {
			n := rapid.SampledFrom([]schema.Nesting{schema.Single, schema.List, schema.Set, schema.Map}).Draw(t, "nesting")
			a.Nested = &schema.Object{Attributes: drawAttributes(t, depth-1, "n"), Nesting: n}
		} else {
			a.Type = rapid.SampledFrom([]cty.Type{
				cty.String, cty.Number, cty.Bool, cty.List(cty.String), cty.Set(cty.String), cty.Map(cty.Number),
			}).Draw(t, "type")
		}
		as[fmt.Sprintf("%s%d", prefix, i)] = a
	}
	return as
}

// A maker makes values: configurations, or wholly known objects.
type maker struct {
	t       *rapid.T
	config  bool
	unknown bool
}

func (m maker) chance(label string) bool { return rapid.IntRange(0, 3).Draw(m.t, label) == 0 }

func (m maker) block(b *schema.Block) cty.Value {
	values := make(map[string]cty.Value)
	for _, name := range b.Names() {
		if a := b.Attributes[name]; a != nil {
			values[name] = m.attribute(a)
		} else {
			values[name] = m.nested(b.Blocks[name])
		}
	}
	return cty.ObjectVal(values)
}

func (m maker) nested(n *schema.NestedBlock) cty.Value {
	if n.Nesting == schema.Single && m.chance("absent") {
		return n.EmptyValue()
	}
	if n.Nesting == schema.Single || n.Nesting == schema.Group {
		return m.block(n.Block)
	}
	return m.collection(n.Nesting, n.EmptyValue(), func() cty.Value { return m.block(n.Block) })
}

func (m maker) collection(n schema.Nesting, empty cty.Value, element func() cty.Value) cty.Value {
	var list []cty.Value
	keyed := make(map[string]cty.Value)
	for i := range rapid.IntRange(0, 3).Draw(m.t, "length") {
		list = append(list, element())
		keyed[string(rune('k'+i))] = list[i]
	}
	ty := empty.Type()
	switch {
	case ty.IsTupleType() || len(list) > 0 && n == schema.List && !cty.CanListVal(list) || n == schema.Set && !cty.CanSetVal(list):
		return cty.TupleVal(list)
	case ty.IsObjectType() || n == schema.Map && !cty.CanMapVal(keyed):
		return cty.ObjectVal(keyed)
	case len(list) == 0:
		return empty
	case n == schema.Set:
		return cty.SetVal(list)
	case n == schema.Map:
		return cty.MapVal(keyed)
	}
	return cty.ListVal(list)
}

func (m maker) attribute(a *schema.Attribute) cty.Value {
	ty := a.ImpliedType()
	switch {
	case m.config && a.Computed && !a.Optional, !m.config && a.WriteOnly:
		return cty.NullVal(ty)
	case m.config && m.unknown && m.chance("unknown"):
		return cty.UnknownVal(ty)
	case !a.Required && m.chance("null"):
		return cty.NullVal(ty)
	case a.Nested == nil:
		return m.value(ty)
	}
	element := func() cty.Value {
		values := make(map[string]cty.Value)
		for _, name := range slices.Sorted(maps.Keys(a.Nested.Attributes)) {
			values[name] = m.attribute(a.Nested.Attributes[name])
		}
		return cty.ObjectVal(values)
	}
	switch a.Nested.Nesting {
	case schema.Single:
		return element()
	case schema.Map:
		return m.collection(schema.Map, cty.MapValEmpty(ty.ElementType()), element)
	case schema.Set:
		return m.collection(schema.Set, cty.SetValEmpty(ty.ElementType()), element)
	}
	return m.collection(schema.List, cty.ListValEmpty(ty.ElementType()), element)
}

func (m maker) value(ty cty.Type) cty.Value {
	switch {
	case ty == cty.String:
		return cty.StringVal(rapid.SampledFrom([]string{"x", "y", "z"}).Draw(m.t, "text"))
	case ty == cty.Number:
		return cty.NumberIntVal(int64(rapid.IntRange(0, 3).Draw(m.t, "number")))
	case ty == cty.Bool:
		return cty.BoolVal(rapid.Bool().Draw(m.t, "bool"))
	case ty.IsListType():
		return m.collection(schema.List, cty.ListValEmpty(ty.ElementType()), func() cty.Value { return m.value(ty.ElementType()) })
	case ty.IsSetType():
		return m.collection(schema.Set, cty.SetValEmpty(ty.ElementType()), func() cty.Value { return m.value(ty.ElementType()) })
	case ty.IsMapType():
		return m.collection(schema.Map, cty.MapValEmpty(ty.ElementType()), func() cty.Value { return m.value(ty.ElementType()) })
	}
	values := make(map[string]cty.Value)
	for _, name := range slices.Sorted(maps.Keys(ty.AttributeTypes())) {
		values[name] = m.value(ty.AttributeType(name))
	}
	return cty.ObjectVal(values)
}

// compute does what a provider does with a proposal: null computed
// attributes become unknown.
func compute(v cty.Value, b *schema.Block) cty.Value {
	out, err := cty.Transform(v, func(p cty.Path, v cty.Value) (cty.Value, error) {
		if a := contract.AttributeAt(b, p); a != nil && a.Computed && v.IsNull() && a.Nested == nil {
			return cty.UnknownVal(v.Type()), nil
		}
		if a := contract.AttributeAt(b, p); a != nil && a.WriteOnly {
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		panic(err)
	}
	return out
}

// finish does what a provider does when it applies: nothing stays unknown.
func (m maker) finish(v cty.Value) cty.Value {
	out, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if !v.IsKnown() {
			return m.value(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		panic(err)
	}
	return out
}

func expectNone(t *rapid.T, what string, errs []error) {
	t.Helper()
	for _, err := range errs {
		t.Errorf("%s: %s", what, value.ErrorString("", err))
	}
}

func TestAnHonestProviderPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBlock(t, 2)
		config := maker{t, true, rapid.Bool().Draw(t, "unknowns")}.block(b)
		prior := cty.NullVal(b.ImpliedType())
		if rapid.Bool().Draw(t, "exists") {
			prior = maker{t, false, false}.block(b)
		}
		proposed := contract.ProposedNew(b, prior, config)
		expectNone(t, "type", contract.Conforms(proposed, b.ImpliedType()))
		expectNone(t, "proposal", contract.PlanValid(b, prior, config, proposed))

		planned := compute(proposed, b)
		expectNone(t, "plan", contract.PlanValid(b, prior, config, planned))
		expectNone(t, "write-only", contract.WriteOnlyNull(b, planned))

		m := maker{t, false, false}
		expectNone(t, "result", contract.Compatible(b, planned, m.finish(planned)))
		if !prior.IsNull() {
			again := contract.ProposedNew(b, prior, prior)
			if contract.Action(prior, again, nil, false) != contract.None {
				t.Errorf("proposing the prior object changes it:\n%#v\n%#v", prior, again)
			}
		}
	})
}

func TestDataIsKnownWhereConfigured(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBlock(t, 2)
		config := maker{t, true, false}.block(b)
		planned := contract.PlannedDataObject(b, config)
		expectNone(t, "type", contract.Conforms(planned, b.ImpliedType()))
		err := cty.Walk(planned, func(p cty.Path, v cty.Value) (bool, error) {
			if a := contract.AttributeAt(b, p); a != nil && a.Computed && !a.Optional && !v.RawEquals(cty.UnknownVal(v.Type())) {
				return false, p.NewErrorf("computed, but not unknown: %#v", v)
			}
			return true, nil
		})
		if err != nil {
			t.Error(value.ErrorString("", err))
		}
		expectNone(t, "read", contract.Compatible(b, planned, maker{t, false, false}.finish(planned)))
	})
}

// leadsTo reports whether the error is about the path or, where a sensitive
// attribute hides what is wrong, about a part of it.
func leadsTo(err error, at cty.Path) bool {
	path := err.(cty.PathError).Path
	return at.HasPrefix(path) && (len(path) == len(at) || strings.Contains(err.Error(), "sensitive"))
}

// Whatever leaf a provider changes without leave, PlanValid or Compatible
// says so.
func TestADishonestProviderIsCaught(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBlock(t, 2)
		config := maker{t, true, false}.block(b)
		planned := compute(contract.ProposedNew(b, cty.NilVal, config), b)
		var leaves []cty.Path
		_ = cty.Walk(planned, func(p cty.Path, v cty.Value) (bool, error) {
			a := contract.AttributeAt(b, p)
			if a != nil && a.Type == cty.String && !a.WriteOnly && v.IsKnown() && !v.IsNull() {
				leaves = append(leaves, p.Copy())
			}
			return !v.Type().IsSetType(), nil
		})
		if len(leaves) == 0 {
			return
		}
		at := rapid.SampledFrom(leaves).Draw(t, "leaf")
		forged, _ := cty.Transform(planned, func(p cty.Path, v cty.Value) (cty.Value, error) {
			if p.Equals(at) {
				return cty.StringVal("forged"), nil
			}
			return v, nil
		})
		if errs := contract.PlanValid(b, cty.NilVal, config, forged); len(errs) != 1 || !leadsTo(errs[0], at) {
			t.Errorf("a plan with a change at %s gives %v", value.PathString(at), errs)
		}
		if errs := contract.Compatible(b, planned, maker{t, false, false}.finish(forged)); len(errs) != 1 || !leadsTo(errs[0], at) {
			t.Errorf("a result with a change at %s gives %v", value.PathString(at), errs)
		}
	})
}

func TestRepairsHoldAndAreStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBlock(t, 2)
		v := maker{t, true, true}.block(b)

		known := contract.UnknownAsNull(v)
		if !known.IsWhollyKnown() {
			t.Errorf("still unknown: %#v", known)
		}
		expectNone(t, "known", contract.Conforms(known, b.ImpliedType()))

		stripped := contract.StripWriteOnly(b, v)
		expectNone(t, "write-only", contract.WriteOnlyNull(b, stripped))
		expectNone(t, "stripped", contract.Conforms(stripped, b.ImpliedType()))

		normal := contract.NormalizeLegacy(b, v)
		if again := contract.NormalizeLegacy(b, normal); !again.RawEquals(normal) {
			t.Errorf("not stable: %#v", again)
		}
		coerced, err := contract.CoerceValue(b, v)
		if err != nil {
			t.Error(err)
		} else if !coerced.RawEquals(v) {
			t.Errorf("coerced to %#v", coerced)
		}
	})
}

func TestIgnoredPathsKeepThePriorValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBlock(t, 2)
		config := maker{t, true, true}.block(b)
		prior := maker{t, false, false}.block(b)
		var paths []cty.Path
		_ = cty.Walk(prior, func(p cty.Path, v cty.Value) (bool, error) {
			if len(p) > 0 && rapid.IntRange(0, 5).Draw(t, "pick") == 0 {
				paths = append(paths, p.Copy())
			}
			return !v.Type().IsSetType(), nil
		})
		got := contract.IgnoreChanges(prior, config, paths)
		expectNone(t, "type", contract.Conforms(got, b.ImpliedType()))
		for _, p := range paths {
			want, err := p.Apply(prior)
			if err != nil {
				t.Fatal(err)
			}
			have, err := p.Apply(got)
			if _, nowhere := p.Apply(config); nowhere != nil || err != nil {
				continue
			}
			if parent, _ := p[:len(p)-1].Apply(config); !parent.IsKnown() {
				continue
			}
			if !have.RawEquals(want) && reachable(p, config) {
				t.Errorf("%s is %#v, not %#v", value.PathString(p), have, want)
			}
		}
		if all := contract.IgnoreAllChanges(b, prior, config); !all.IsNull() {
			expectNone(t, "all", contract.PlanValid(b, prior, all, prior))
		}
	})
}

// reachable reports whether every step of the path is known.
func reachable(p cty.Path, v cty.Value) bool {
	for i := range p {
		if at, err := p[:i].Apply(v); err != nil || !at.IsKnown() {
			return false
		}
	}
	return true
}
