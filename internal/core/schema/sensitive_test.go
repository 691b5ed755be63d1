package schema

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func TestSensitivePaths(t *testing.T) {
	secret := &Attribute{Type: cty.String, Sensitive: true}
	open := &Attribute{Type: cty.String}
	inner := &Block{Attributes: map[string]*Attribute{"secret": secret, "open": open}}
	b := &Block{
		Attributes: map[string]*Attribute{
			"open": open, "secret": secret,
			"map": {Nested: &Object{Attributes: map[string]*Attribute{"secret": secret, "open": open}, Nesting: Map}},
		},
		Blocks: map[string]*NestedBlock{
			"list":    {Block: inner, Nesting: List},
			"set":     {Block: inner, Nesting: Set},
			"single":  {Block: inner, Nesting: Single},
			"nothing": {Block: &Block{Attributes: map[string]*Attribute{"open": open}}, Nesting: List},
		},
	}
	object := cty.ObjectVal(map[string]cty.Value{"secret": cty.StringVal("x"), "open": cty.StringVal("y")})
	v := cty.ObjectVal(map[string]cty.Value{
		"open": cty.NullVal(cty.String), "secret": cty.NullVal(cty.String),
		"map":     cty.MapVal(map[string]cty.Value{"k": object}),
		"list":    cty.ListVal([]cty.Value{object, object}),
		"set":     cty.SetVal([]cty.Value{object}),
		"single":  cty.NullVal(object.Type()),
		"nothing": cty.ListValEmpty(cty.Object(map[string]cty.Type{"open": cty.String})),
	})
	var got []string
	for _, path := range b.SensitivePaths(v) {
		text := ""
		for _, step := range path {
			switch step := step.(type) {
			case cty.GetAttrStep:
				text += "." + step.Name
			case cty.IndexStep:
				switch {
				case step.Key.Type() == cty.Number:
					text += fmt.Sprintf("[%s]", step.Key.AsBigFloat().Text('f', -1))
				case step.Key.Type() == cty.String:
					text += "[" + step.Key.AsString() + "]"
				default:
					text += "[…]"
				}
			}
		}
		got = append(got, text)
	}
	slices.Sort(got)
	want := []string{".list[0].secret", ".list[1].secret", ".map[k].secret", ".secret", ".set[…].secret"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := b.SensitivePaths(cty.UnknownVal(b.ImpliedType())); got != nil {
		t.Errorf("an unknown value has paths: %v", got)
	}
}
