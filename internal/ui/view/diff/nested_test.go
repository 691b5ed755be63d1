package diff

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
)

// A nested attribute that becomes unknown keeps its attributes: each becomes known with it. The
// elements of a collection go away, because nobody knows which of them stay.
func TestNestedBecomesUnknown(t *testing.T) {
	attributes := map[string]*schema.Attribute{
		"name":   {Type: cty.String, Computed: true},
		"empty":  {Type: cty.String, Computed: true},
		"secret": {Type: cty.String, Computed: true, Sensitive: true},
		"written": {Type: cty.String, Optional: true,
			WriteOnly: true},
	}
	object := cty.ObjectVal(map[string]cty.Value{
		"name": cty.StringVal("a"), "empty": cty.NullVal(cty.String), "written": cty.NullVal(cty.String),
		"secret": cty.StringVal("hush").Mark(value.Sensitive),
	})
	for _, test := range []struct {
		name    string
		nesting schema.Nesting
		before  cty.Value
		want    string
	}{
		{"single", schema.Single, object, `{
      ~ part = {
          + empty   = (known after apply)
          ~ name    = "a" -> (known after apply)
          ~ secret  = (sensitive value)
          ~ written = (write-only attribute)
        } -> (known after apply)
    }`},
		{"list", schema.List, cty.ListVal([]cty.Value{object}), `{
      ~ part = [
          - {
              - name    = "a" -> null
              - secret  = (sensitive value) -> null
              - written = (write-only attribute) -> null
            },
        ] -> (known after apply)
    }`},
		{"map", schema.Map, cty.MapVal(map[string]cty.Value{"k": object}), `{
      ~ part = {
          - "k" = {
              - name    = "a" -> null
              - secret  = (sensitive value) -> null
              - written = (write-only attribute) -> null
            },
        } -> (known after apply)
    }`},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &schema.Block{Attributes: map[string]*schema.Attribute{
				"part": {Computed: true, Nested: &schema.Object{Nesting: test.nesting, Attributes: attributes}},
			}}
			before := cty.ObjectVal(map[string]cty.Value{"part": test.before})
			after := cty.ObjectVal(map[string]cty.Value{"part": cty.UnknownVal(test.before.Type())})
			if got := Object(before, after, b, nil, nil).Text(0, Options{}); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// A text that begins or ceases to hold JSON is shown as both, each in its own form.
func TestBecomesJSON(t *testing.T) {
	document, word := cty.StringVal(`{"a":1}`), cty.StringVal("b")
	for _, test := range []struct {
		before, after cty.Value
		want          string
	}{
		{document, word, `jsonencode(
        {
          - a = 1
        }
    ) -> "b"`},
		{word, document, `"b" -> jsonencode(
        {
          + a = 1
        }
    )`},
	} {
		if got := Typed(test.before, test.after).Text(0, Options{}); got != test.want {
			t.Errorf("got\n%s\nwant\n%s", got, test.want)
		}
	}
}

// A part of an unknown value may force a replacement; the value itself says it once.
func TestForcedOnce(t *testing.T) {
	b := &schema.Block{Attributes: map[string]*schema.Attribute{
		"name": {Type: cty.String, Computed: true},
		"part": {Computed: true, Nested: &schema.Object{Nesting: schema.Single, Attributes: map[string]*schema.Attribute{"a": {Type: cty.String, Computed: true}}}},
	}}
	part := cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("x")})
	before := cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("a"), "part": part})
	after := cty.ObjectVal(map[string]cty.Value{"name": cty.UnknownVal(cty.String), "part": cty.UnknownVal(part.Type())})
	replace := []cty.Path{cty.GetAttrPath("name"), cty.GetAttrPath("part").GetAttr("a")}
	want := `{
      ~ name = "a" -> (known after apply) # forces replacement
      ~ part = {
          ~ a = "x" -> (known after apply) # forces replacement
        } -> (known after apply)
    }`
	if got := Object(before, after, b, replace, nil).Text(0, Options{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// An object that is inserted into a list leaves its neighbors unchanged.
func TestInserted(t *testing.T) {
	object := func(key string) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(key)})
	}
	before := cty.ListVal([]cty.Value{object("a"), object("b")})
	after := cty.ListVal([]cty.Value{object("a"), object("new"), object("b")})
	want := `[
        {
            key = "a"
        },
      + {
          + key = "new"
        },
        {
            key = "b"
        },
    ]`
	if got := Typed(before, after).Text(0, Options{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Marks inside a value that is hidden as a whole don't make it look changed.
func TestHiddenInside(t *testing.T) {
	inside := cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("hush").Mark(value.Sensitive)}).Mark(value.Sensitive)
	plain := cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("hush")}).Mark(value.Sensitive)
	for _, pair := range [][2]cty.Value{{inside, plain}, {plain, inside}} {
		if n := Typed(pair[0], pair[1]); n.Action != plan.NoOp {
			t.Errorf("%v for one value with other marks inside", n.Action)
		}
	}
}
