package contract

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
)

// computing is a block with computed blocks of a nesting, and further ones in each.
func computing(n schema.Nesting) *schema.Block {
	content := func(blocks map[string]*schema.NestedBlock) *schema.Block {
		return &schema.Block{Computed: true, Blocks: blocks, Attributes: map[string]*schema.Attribute{
			"gb": {Type: cty.String, Optional: true, Computed: true},
		}}
	}
	inner := &schema.NestedBlock{Block: content(nil), Nesting: schema.List}
	return &schema.Block{
		Attributes: map[string]*schema.Attribute{"name": {Type: cty.String, Optional: true}},
		Blocks: map[string]*schema.NestedBlock{
			"disk": {Block: content(map[string]*schema.NestedBlock{"part": inner}), Nesting: n},
			"note": {Block: &schema.Block{Attributes: map[string]*schema.Attribute{"text": {Type: cty.String, Optional: true}}}, Nesting: schema.List},
		},
	}
}

// some is the value of n blocks, with parts as given.
func some(n schema.Nesting, size string, parts ...string) cty.Value {
	all := []cty.Value{}
	for _, p := range parts {
		all = append(all, obj(object{"gb": str(p)}))
	}
	part := cty.ListValEmpty(cty.Object(map[string]cty.Type{"gb": cty.String}))
	if len(all) > 0 {
		part = cty.ListVal(all)
	}
	one := obj(object{"gb": str(size), "part": part})
	switch n {
	case schema.List:
		return list(one)
	case schema.Set:
		return set(one)
	case schema.Map:
		return cty.MapVal(object{"k": one})
	}
	return one
}

func TestOpenComputedBlocks(t *testing.T) {
	plain := server(schema.List)
	if v := plain.EmptyValue(); !OpenComputedBlocks(plain, v).RawEquals(v) {
		t.Error("a configuration without computed blocks changes")
	}
	for _, n := range []schema.Nesting{schema.Single, schema.List, schema.Set, schema.Map} {
		b := computing(n)
		open := OpenComputedBlocks(b, b.EmptyValue())
		if !open.GetAttr("disk").IsNull() || open.GetAttr("note").IsNull() {
			t.Errorf("nesting %d, nothing written: %#v", n, open)
		}
		if again := OpenComputedBlocks(b, open); !again.RawEquals(open) {
			t.Errorf("nesting %d: %#v changes again", n, open)
		}
		unknown := with(b, object{"disk": cty.UnknownVal(b.Blocks["disk"].ImpliedType())})
		if got := OpenComputedBlocks(b, unknown); !got.RawEquals(unknown) {
			t.Errorf("nesting %d, unknown blocks: %#v", n, got)
		}
		one := func(v cty.Value) cty.Value {
			disk := OpenComputedBlocks(b, with(b, object{"disk": v})).GetAttr("disk")
			if n == schema.Single {
				return disk
			}
			it := disk.ElementIterator()
			it.Next()
			_, element := it.Element()
			return element
		}
		if got := one(some(n, "1")); !got.GetAttr("part").IsNull() || !got.GetAttr("gb").RawEquals(str("1")) {
			t.Errorf("nesting %d, a block without parts: %#v", n, got)
		}
		if got := one(some(n, "1", "2")); got.GetAttr("part").LengthInt() != 1 {
			t.Errorf("nesting %d, a block with parts: %#v", n, got)
		}
	}
}

func TestComputedBlocks(t *testing.T) {
	for _, n := range []schema.Nesting{schema.Single, schema.List, schema.Set, schema.Map} {
		b := computing(n)
		ty := b.Blocks["disk"].ImpliedType()
		open := OpenComputedBlocks(b, b.EmptyValue())
		written := with(b, object{"disk": some(n, "1", "2")})
		whole := func(v cty.Value) cty.Value { return with(b, object{"disk": v}) }
		none := b.Blocks["disk"].EmptyValue()

		if proposed := ProposedNew(b, whole(some(n, "1")), open); !proposed.GetAttr("disk").IsNull() {
			t.Errorf("nesting %d: blocks that aren't written are proposed: %#v", n, proposed)
		}
		for name, p := range map[string]struct {
			config, planned cty.Value
			wrong           bool
		}{
			"chosen":                 {open, whole(some(n, "1", "2")), false},
			"chosen later":           {open, whole(cty.UnknownVal(ty)), false},
			"none chosen":            {open, whole(none), false},
			"null":                   {open, whole(cty.NullVal(ty)), n != schema.Single},
			"written, as written":    {written, written, false},
			"written, unknown":       {written, whole(cty.UnknownVal(ty)), true},
			"written, none":          {written, whole(none), n != schema.Set}, // sets are the provider's
			"unknown, chosen":        {whole(cty.UnknownVal(ty)), whole(some(n, "1")), true},
			"parts chosen, in sizes": {OpenComputedBlocks(b, whole(some(n, "1"))), whole(some(n, "1", "2")), false},
		} {
			if errs := PlanValid(b, cty.NullVal(b.ImpliedType()), p.config, p.planned); (len(errs) > 0) != p.wrong {
				t.Errorf("nesting %d, planned %s: %v", n, name, errs)
			}
		}
		for name, p := range map[string]struct {
			planned, actual cty.Value
			wrong           bool
		}{
			"later":             {whole(cty.UnknownVal(ty)), whole(some(n, "1")), false},
			"later none":        {whole(cty.UnknownVal(ty)), whole(none), false},
			"never null":        {whole(cty.UnknownVal(ty).RefineNotNull()), whole(cty.NullVal(ty)), true},
			"null after apply":  {whole(some(n, "1")), whole(cty.NullVal(ty)), true},
			"the planned ones":  {whole(some(n, "1")), whole(some(n, "1")), false},
			"other than chosen": {whole(some(n, "1")), whole(some(n, "2")), true},
		} {
			if errs := Compatible(b, p.planned, p.actual); (len(errs) > 0) != p.wrong {
				t.Errorf("nesting %d, %s: %v", n, name, errs)
			}
		}
	}
	if s := (&schema.Schema{Block: computing(schema.List)}); !s.Decides(path("disk", 0)) || s.Decides(path("note", 0, cty.GetAttrStep{Name: "text"})) {
		t.Error("the provider decides about computed blocks, and about no others")
	}
}
