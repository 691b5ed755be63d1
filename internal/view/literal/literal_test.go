package literal

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/value"
)

func TestValue(t *testing.T) {
	obj := cty.ObjectVal
	for _, c := range []struct {
		v    cty.Value
		want string
	}{
		{cty.StringVal("a\"b"), `"a\"b"`},
		{cty.StringVal("x\ny"), "<<EOT\nx\ny\nEOT"},
		{cty.StringVal("EOT\nEOT_"), "<<EOT__\nEOT\nEOT_\nEOT__"},
		{cty.MustParseNumberVal("1e3"), "1000"},
		{cty.MustParseNumberVal("0.1"), "0.1"},
		{cty.True, "true"},
		{cty.EmptyObjectVal, "{}"},
		{cty.EmptyTupleVal, "[]"},
		{cty.ListValEmpty(cty.String), "tolist([])"},
		{cty.TupleVal([]cty.Value{cty.Zero, cty.StringVal("a\nb")}), "[\n  0,\n  <<-EOT\n  a\n  b\n  EOT,\n]"},
		{cty.MapVal(map[string]cty.Value{"b": cty.Zero, "a": cty.Zero}), "tomap({\n  \"a\" = 0\n  \"b\" = 0\n})"},
		{cty.SetVal([]cty.Value{cty.Zero}), "toset([\n  0,\n])"},
		{obj(map[string]cty.Value{"a": obj(map[string]cty.Value{"b": cty.NullVal(cty.String)})}), "{\n  \"a\" = {\n    \"b\" = tostring(null)\n  }\n}"},
		{cty.NullVal(cty.DynamicPseudoType), "null"},
		{cty.NullVal(cty.List(cty.Number)), "tolist(null) /* of number */"},
		{cty.NullVal(cty.EmptyObject), "null /* object */"},
		{cty.UnknownVal(cty.String), "(known after apply)"},
		{cty.StringVal("s").Mark(value.Sensitive), "(sensitive value)"},
		{cty.StringVal("s").Mark(value.Ephemeral), "(ephemeral value)"},
		{cty.StringVal("s").Mark(value.Deprecation{Message: "m"}), `"s"`},
		{cty.TupleVal([]cty.Value{cty.StringVal("s").Mark(value.Sensitive)}), "[\n  (sensitive value),\n]"},
	} {
		if got := Value(c.v, 0); got != c.want {
			t.Errorf("%#v\ngot  %s\nwant %s", c.v, got, c.want)
		}
	}
	if got := Revealed(cty.StringVal("s").Mark(value.Sensitive), 0); got != `"s"` {
		t.Errorf("got %s", got)
	}
}

func TestType(t *testing.T) {
	for _, c := range []struct {
		ty   cty.Type
		want string
	}{
		{cty.String, "string"},
		{cty.DynamicPseudoType, "dynamic"},
		{cty.Map(cty.List(cty.Bool)), "map(list(bool))"},
		{cty.EmptyTuple, "tuple([])"},
		{cty.Tuple([]cty.Type{cty.Number, cty.EmptyObject}), "tuple([\n    number,\n    object({}),\n])"},
		{cty.Object(map[string]cty.Type{"b c": cty.Set(cty.Number), "a": cty.Object(map[string]cty.Type{"x": cty.String})}),
			"object({\n    a: object({\n        x: string,\n    }),\n    \"b c\": set(number),\n})"},
	} {
		if got := Type(c.ty, 0); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
