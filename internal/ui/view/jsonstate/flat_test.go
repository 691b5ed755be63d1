package jsonstate

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/state"
)

// TestFlat reads the attributes of a state from before version 0.12.
func TestFlat(t *testing.T) {
	block := &schema.Block{
		Attributes: map[string]*schema.Attribute{
			"id":    {Type: cty.String, Computed: true},
			"size":  {Type: cty.Number, Optional: true},
			"on":    {Type: cty.Bool, Optional: true},
			"none":  {Type: cty.String, Optional: true},
			"later": {Type: cty.String, Computed: true},
			"tags":  {Type: cty.Map(cty.String), Optional: true},
			"empty": {Type: cty.Map(cty.String), Optional: true},
			"names": {Type: cty.List(cty.String), Optional: true},
			"zones": {Type: cty.Set(cty.String), Optional: true},
			"ports": {Type: cty.Set(cty.Object(map[string]cty.Type{"from": cty.Number, "of": cty.List(cty.String)})), Optional: true},
		},
	}
	many := map[string]string{
		"id": "i", "size": "3", "on": "true", "later": unknownText, "tags.%": "2", "tags.a.b": "x", "tags.c": "y", "empty.%": "0",
		"names.#": "11", "zones.#": "2", "zones.3": "b", "zones.77": "a", "ports.#": "1", "ports.12345.from": "80", "ports.12345.of.#": "1", "ports.12345.of.0": "o",
	}
	var names []cty.Value
	for _, n := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"} {
		many["names."+n] = "n" + n
		names = append(names, cty.StringVal("n"+n))
	}
	got, err := Decode(&state.Object{Flat: many}, &schema.Schema{Block: block})
	if err != nil {
		t.Fatal(err)
	}
	want := cty.ObjectVal(map[string]cty.Value{
		"id": cty.StringVal("i"), "size": cty.NumberIntVal(3), "on": cty.True, "none": cty.NullVal(cty.String), "later": cty.UnknownVal(cty.String),
		"tags": cty.MapVal(map[string]cty.Value{"a.b": cty.StringVal("x"), "c": cty.StringVal("y")}), "empty": cty.MapValEmpty(cty.String),
		"names": cty.ListVal(names), "zones": cty.SetVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b")}),
		"ports": cty.SetVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"from": cty.NumberIntVal(80), "of": cty.ListVal([]cty.Value{cty.StringVal("o")})})}),
	})
	if !got.RawEquals(want) {
		t.Errorf("got %#v", got)
	}
	// Anything that doesn't fit the schema of today is shown as it is.
	odd, err := Decode(&state.Object{Flat: map[string]string{"id": "i", "size": "big"}}, &schema.Schema{Block: block})
	if err != nil || !odd.RawEquals(cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("i"), "size": cty.StringVal("big")})) {
		t.Errorf("got %#v, %v", odd, err)
	}
}
