package value

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

var jsonTypes = []cty.Type{
	cty.String, cty.Number, cty.Bool, cty.DynamicPseudoType,
	cty.List(cty.String), cty.Set(cty.Number), cty.Map(cty.Bool), cty.Map(cty.DynamicPseudoType),
	cty.Tuple([]cty.Type{cty.String, cty.Number}), cty.EmptyTuple, cty.EmptyObject,
	cty.Object(map[string]cty.Type{"a": cty.String, "b": cty.List(cty.Object(map[string]cty.Type{"c": cty.Number})), "d": cty.DynamicPseudoType}),
}

// FuzzFromJSON holds the fast reader to the one of package cty.
func FuzzFromJSON(f *testing.F) {
	for _, text := range []string{
		`null`, `"a"`, `"\u00e9\n"`, `"` + "e\u0301" + `"`, "\"\xff\"", `true`, `"true"`, `12`, `"12"`, `-0.5e+3`, `01`, `1.`, `[]`, `{}`, `[1, 1, 2]`,
		`["a", 3]`, `["a"]`, `["a", 3, 4]`, `{"x": true, "x": false}`, `{"value":[1,"x"],"type":["tuple",["number","string"]]}`,
		`{"type":"string","value":"x"}`, `{"value":1}`, `{"a":"x","b":[{"c":1},{}],"d":{"value":null,"type":"string"}}`, `{"a":"x","e":1}`,
		` { "a" : "x" , "b" : null } `, `{"a":"x"} {`, `{"a":`, strings.Repeat("[", 300), `nulL`, `{"a":"x",}`, "\"a\tb\"", `"\ud800"`,
	} {
		f.Add(text, uint8(0))
		f.Add(text, uint8(3))
		f.Add(text, uint8(11))
	}
	f.Fuzz(func(t *testing.T, text string, n uint8) {
		for _, ty := range []cty.Type{jsonTypes[int(n)%len(jsonTypes)], cty.DynamicPseudoType} {
			r := jsonReader{src: []byte(text)}
			got, ok := r.value(ty, 0)
			if !ok || r.peek() != 0 || r.pos != len(text) {
				continue // left to the other reader
			}
			want, err := ctyjson.Unmarshal([]byte(text), ty)
			if err != nil {
				t.Fatalf("%q as %#v: got %#v, want the error %s", text, ty, got, err)
			}
			if !got.RawEquals(want) {
				t.Fatalf("%q as %#v: got %#v, want %#v", text, ty, got, want)
			}
			back, err := JSON(got, ty)
			if err != nil {
				t.Fatalf("%#v: %s", got, err)
			}
			if wantBack, _ := ctyjson.Marshal(want, ty); string(back) != string(wantBack) {
				t.Fatalf("%#v as %#v: wrote %s, want %s", got, ty, back, wantBack)
			}
		}
	})
}

func TestFromJSONIsFast(t *testing.T) {
	ty := jsonTypes[len(jsonTypes)-1]
	for _, text := range []string{`{"a":"x","b":[{"c":1},{"c":null}],"d":{"value":"v","type":"string"}}`, `null`} {
		r := jsonReader{src: []byte(text)}
		if _, ok := r.value(ty, 0); !ok {
			t.Errorf("%s is left to the slow reader", text)
		}
	}
}

func TestFitsJSON(t *testing.T) {
	ty := jsonTypes[len(jsonTypes)-1]
	for text, want := range map[string]bool{
		`{"a":"x","b":[{"c":1}],"d":{"value":{"any":1},"type":"string"}}`: true,
		`{"a":"x","b":[{"c":1,"old":2}]}`:                                 false,
		`{"a":"x","old":2}`:                                               false,
		`{"a":`:                                                           false,
		`{"a":"x"}}`:                                                      false,
	} {
		if got := FitsJSON([]byte(text), ty); got != want {
			t.Errorf("%s: got %t", text, got)
		}
	}
}
