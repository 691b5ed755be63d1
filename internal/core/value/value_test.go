package value

import (
	"fmt"
	"math/rand"
	"reflect"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
)

func obj(pairs ...any) cty.Value {
	attrs := map[string]cty.Value{}
	for i := 0; i < len(pairs); i += 2 {
		attrs[pairs[i].(string)] = pairs[i+1].(cty.Value)
	}
	return cty.ObjectVal(attrs)
}

func TestMarks(t *testing.T) {
	deep := obj("a", cty.StringVal("x").Mark(Sensitive), "b", cty.ListVal([]cty.Value{cty.StringVal("y")}).Mark(Ephemeral))
	if !IsSensitive(deep) || !IsEphemeral(deep) || !Hidden(deep) || HasMark(deep, Sensitive) {
		t.Error("marks on parts must be found by deep questions alone")
	}
	if Hidden(cty.StringVal("x").Mark("another")) {
		t.Error("a deprecated value is not hidden")
	}
	if !HiddenMarks(cty.NewValueMarks(Ephemeral)) || HiddenMarks(nil) {
		t.Error("HiddenMarks")
	}
}

func TestPathString(t *testing.T) {
	path := cty.GetAttrPath("a").GetAttr("b").IndexInt(0).IndexString(`k"`)
	for _, c := range []struct {
		path cty.Path
		want string
	}{
		{nil, ""},
		{path, `.a.b[0]["k\""]`},
		{cty.IndexIntPath(12), `[12]`},
		{cty.IndexPath(cty.UnknownVal(cty.String)), `[(not yet known)]`},
		{cty.IndexPath(cty.NullVal(cty.String)), `[null]`},
		{cty.IndexPath(cty.True), `[...]`},
	} {
		if got := PathString(c.path); got != c.want {
			t.Errorf("%#v: got %s, want %s", c.path, got, c.want)
		}
	}
	if got := PathName(path); got != `a.b[0]["k\""]` {
		t.Error(got)
	}
	err := path.NewErrorf("bad")
	if got := ErrorString("var.x", err); got != `var.x.a.b[0]["k\""]: bad` {
		t.Error(got)
	}
	if got := ErrorString("", fmt.Errorf("bad")); got != "bad" {
		t.Error(got)
	}
}

func TestPathsJSON(t *testing.T) {
	paths := []cty.Path{
		cty.GetAttrPath("a").IndexInt(1).IndexString("k"),
		{},
	}
	want := `[[{"type":"get_attr","value":"a"},{"type":"index","value":{"value":1,"type":"number"}},{"type":"index","value":{"value":"k","type":"string"}}],[]]`
	raw, err := PathsToJSON(paths)
	if err != nil || string(raw) != want {
		t.Fatalf("%s %v", raw, err)
	}
	back, err := PathsFromJSON(raw)
	if err != nil || len(back) != 2 || !back[0].Equals(paths[0]) || len(back[1]) != 0 {
		t.Fatalf("%#v %v", back, err)
	}
	if raw, err := PathsToJSON(nil); err != nil || string(raw) != "[]" {
		t.Errorf("%s %v", raw, err)
	}
	if raw, err := PathSteps(paths[0]); err != nil || string(raw) != `["a",1,"k"]` {
		t.Errorf("%s %v", raw, err)
	}
	if _, err := PathsToJSON([]cty.Path{cty.IndexPath(cty.UnknownVal(cty.String))}); err == nil {
		t.Error("an unknown key can't be written")
	}
	for _, bad := range []string{`{}`, `[[{"type":"hop"}]]`, `[[{"type":"get_attr","value":1}]]`, `[[{"type":"get_attr"}]]`, `[[{"type":"index","value":3}]]`} {
		if got, err := PathsFromJSON([]byte(bad)); err == nil {
			t.Errorf("%s was read as %#v", bad, got)
		}
	}
	for _, none := range []string{``, `null`, `[]`} {
		if got, err := PathsFromJSON([]byte(none)); err != nil || len(got) != 0 {
			t.Errorf("%q: %v %v", none, got, err)
		}
	}
}

func FuzzPathsFromJSON(f *testing.F) {
	f.Add([]byte(`[[{"type":"get_attr","value":"a"},{"type":"index","value":{"value":1,"type":"number"}}]]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		paths, err := PathsFromJSON(raw)
		if err != nil {
			return
		}
		again, err := PathsToJSON(paths)
		if err != nil {
			t.Fatal(err)
		}
		back, err := PathsFromJSON(again)
		if err != nil || len(back) != len(paths) {
			t.Fatalf("%s gave %s: %v", raw, again, err)
		}
	})
}

func TestSortPaths(t *testing.T) {
	sorted := []cty.Path{
		{},
		cty.GetAttrPath("a"),
		cty.GetAttrPath("a").GetAttr("z"),
		cty.GetAttrPath("a").IndexInt(2),
		cty.GetAttrPath("a").IndexInt(10),
		cty.GetAttrPath("a").IndexString("1"),
		cty.GetAttrPath("a").Index(cty.True),
		cty.GetAttrPath("b"),
		cty.IndexStringPath("a"),
	}
	rng := rand.New(rand.NewSource(1))
	for range 20 {
		got := append([]cty.Path(nil), sorted...)
		rng.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		SortPaths(got)
		for i := range got {
			if !got[i].Equals(sorted[i]) {
				t.Fatalf("at %d: %#v", i, got[i])
			}
		}
	}
}

func TestMarkPaths(t *testing.T) {
	s := cty.NewValueMarks(Sensitive)
	at := func(p cty.Path) cty.PathValueMarks { return cty.PathValueMarks{Path: p, Marks: s} }
	v := obj(
		"list", cty.ListVal([]cty.Value{obj("p", cty.StringVal("1")), obj("p", cty.StringVal("2"))}),
		"map", cty.MapVal(map[string]cty.Value{"k": cty.True, "l": cty.False}),
		"set", cty.SetVal([]cty.Value{obj("p", cty.StringVal("1"))}),
		"tuple", cty.TupleVal([]cty.Value{cty.True, cty.Zero}),
		"null", cty.NullVal(cty.Map(cty.String)),
		"unknown", cty.UnknownVal(cty.List(cty.String)),
		"was", cty.StringVal("x").Mark(Ephemeral),
	)
	pvms := []cty.PathValueMarks{
		at(cty.GetAttrPath("tuple").IndexInt(1)),
		at(cty.GetAttrPath("list").IndexInt(1).GetAttr("p")),
		at(cty.GetAttrPath("map").IndexString("k")),
		at(cty.GetAttrPath("map")),
		at(cty.GetAttrPath("was")),
	}
	ignored := []cty.PathValueMarks{
		at(cty.GetAttrPath("list").IndexInt(7)), at(cty.GetAttrPath("list").Index(cty.NumberFloatVal(0.5))),
		at(cty.GetAttrPath("list").IndexString("k")), at(cty.GetAttrPath("nope").GetAttr("x")),
		at(cty.GetAttrPath("null").IndexString("k")), at(cty.GetAttrPath("unknown").IndexInt(0)),
		at(cty.GetAttrPath("was").GetAttr("x")), at(cty.GetAttrPath("map").GetAttr("l")),
	}
	got := MarkPaths(v, append(append([]cty.PathValueMarks{}, ignored...), pvms...))
	if want := v.MarkWithPaths(pvms); !got.RawEquals(want) {
		t.Errorf("got  %#v\nwant %#v", got, want)
	}
	inSet := cty.GetAttrPath("set").Index(obj("p", cty.StringVal("1"))).GetAttr("p")
	if got := MarkPaths(v, []cty.PathValueMarks{at(inSet)}); !got.GetAttr("set").HasMark(Sensitive) {
		t.Error("a path into a set must mark the set")
	}
	bare, found := UnmarkDeepPaths(got)
	if bare.ContainsMarked() || len(found) != 5 {
		t.Fatalf("%#v", found)
	}
	for i := 1; i < len(found); i++ {
		if ComparePaths(found[i-1].Path, found[i].Path) >= 0 {
			t.Errorf("not sorted at %d", i)
		}
	}
	if again := MarkPaths(bare, found); !again.RawEquals(got) {
		t.Errorf("marks don't survive a round trip: %#v", again)
	}
	if paths := PathsMarked(found, Ephemeral); len(paths) != 1 || PathName(paths[0]) != "was" {
		t.Errorf("%#v", paths)
	}
	if paths := PathsMarked(append(found, found...), Sensitive); len(paths) != 5 {
		t.Errorf("%#v", paths)
	}
}

func TestJSON(t *testing.T) {
	v := obj("d", cty.StringVal("x").Mark(Sensitive), "n", cty.NumberIntVal(1))
	raw, err := JSON(v, cty.Object(map[string]cty.Type{"d": cty.DynamicPseudoType, "n": cty.Number}))
	if want := `{"d":{"value":"x","type":"string"},"n":1}`; err != nil || string(raw) != want {
		t.Errorf("%s %v", raw, err)
	}
	if _, err := JSON(obj("d", cty.UnknownVal(cty.String)), cty.Object(map[string]cty.Type{"d": cty.String})); err == nil {
		t.Error("unknown parts can't be stored")
	}
}

func TestPlanJSON(t *testing.T) {
	unknown := cty.UnknownVal(cty.String)
	secret := cty.StringVal("s").Mark(Sensitive)
	huge, _ := cty.ParseNumberVal("123456789012345678901234567890.5")
	for _, c := range []struct {
		v                  cty.Value
		after, unk, secret string
	}{
		{cty.StringVal("a<b"), `"a\u003cb"`, `none`, `false`},
		{huge, `123456789012345678901234567890.5`, `none`, `false`},
		{cty.True, `true`, `none`, `false`},
		{cty.NullVal(cty.EmptyObject), `null`, `none`, `false`},
		{cty.NullVal(cty.DynamicPseudoType), `null`, `none`, `false`},
		{unknown, ``, `true`, `false`},
		{cty.DynamicVal, ``, `true`, `false`},
		{unknown.Mark(Sensitive), ``, `true`, `true`},
		{secret, `"s"`, `none`, `true`},
		{cty.EmptyObjectVal, `{}`, `none`, `{}`},
		{cty.UnknownVal(cty.List(cty.String)), ``, `true`, `[]`},
		{cty.UnknownVal(cty.Map(cty.String)), ``, `true`, `{}`},
		{
			obj("a", unknown, "b", cty.StringVal("x"), "c", cty.NullVal(cty.String), "n", obj("k", unknown), "o", obj("k", cty.True), "u", cty.UnknownVal(cty.EmptyObject)),
			`{"b":"x","c":null,"n":{},"o":{"k":true}}`, `{"a":true,"n":{"k":true},"o":{},"u":true}`, `{"n":{},"o":{},"u":{}}`,
		},
		{
			cty.TupleVal([]cty.Value{unknown, cty.True, secret, cty.EmptyTupleVal, obj("p", secret)}),
			`[null,true,"s",[],{"p":"s"}]`, `[true,false,false,[],{}]`, `[false,false,true,[],{"p":true}]`,
		},
		{cty.ListValEmpty(cty.String), `[]`, `none`, `[]`},
		{cty.MapValEmpty(cty.String), `{}`, `none`, `{}`},
		{cty.MapVal(map[string]cty.Value{"b": secret, "a": cty.StringVal("z")}), `{"a":"z","b":"s"}`, `none`, `{"b":true}`},
		{cty.SetVal([]cty.Value{cty.StringVal("b"), cty.StringVal("a")}), `["a","b"]`, `none`, `[false,false]`},
		{cty.SetVal([]cty.Value{obj("p", cty.True)}).Mark(Sensitive), `[{"p":true}]`, `none`, `true`},
	} {
		after, err := After(c.v)
		if err != nil || string(after) != c.after {
			t.Errorf("After(%#v) = %s, %v", c.v, after, err)
		}
		if got := string(UnknownMask(c.v, "none")); got != c.unk {
			t.Errorf("UnknownMask(%#v) = %s, want %s", c.v, got, c.unk)
		}
		if got := string(SensitiveMask(c.v, nil)); got != c.secret {
			t.Errorf("SensitiveMask(%#v) = %s, want %s", c.v, got, c.secret)
		}
	}
	capsule := cty.CapsuleVal(cty.Capsule("c", typeOf[int]()), new(int))
	if _, err := After(capsule); err == nil {
		t.Error("a capsule has no JSON")
	}
	if _, err := After(cty.PositiveInfinity); err == nil {
		t.Error("infinity has no JSON")
	}
}

func TestSensitiveMaskPaths(t *testing.T) {
	v := obj("list", cty.ListVal([]cty.Value{obj("p", cty.True, "q", cty.True), obj("p", cty.True, "q", cty.True)}),
		"map", cty.MapVal(map[string]cty.Value{"k": cty.True, "l": cty.True}), "x", cty.NullVal(cty.String))
	at := func(p cty.Path, m Mark) cty.PathValueMarks {
		return cty.PathValueMarks{Path: p, Marks: cty.NewValueMarks(m)}
	}
	pvms := []cty.PathValueMarks{
		at(cty.GetAttrPath("x"), Sensitive),
		at(cty.GetAttrPath("list").IndexInt(1).GetAttr("q"), Sensitive),
		at(cty.GetAttrPath("map").IndexString("l"), Sensitive),
		at(cty.GetAttrPath("map").IndexString("k"), Ephemeral),
		at(cty.GetAttrPath("list").IndexInt(5), Sensitive),
	}
	if got, want := string(SensitiveMask(v, pvms)), `{"list":[{},{"q":true}],"map":{"l":true},"x":true}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := string(SensitiveMask(v, append(pvms, at(nil, Sensitive)))); got != "true" {
		t.Error(got)
	}
}

// randomType makes types that meet in interesting ways when unified.
func randomType(rng *rand.Rand, depth int, dynamic bool) cty.Type {
	n := 3
	if depth > 0 {
		n = 8
	}
	switch k := rng.Intn(n + 1); {
	case k == 0 && dynamic:
		return cty.DynamicPseudoType
	case k <= 1:
		return cty.String
	case k == 2:
		return cty.Number
	case k == 3:
		return cty.Bool
	case k == 4:
		return cty.List(randomType(rng, depth-1, dynamic))
	case k == 5:
		return cty.Set(randomType(rng, depth-1, dynamic))
	case k == 6:
		return cty.Map(randomType(rng, depth-1, dynamic))
	case k == 7:
		types := make([]cty.Type, rng.Intn(4))
		for i := range types {
			types[i] = randomType(rng, depth-1, dynamic)
		}
		return cty.Tuple(types)
	}
	attrs, optional := map[string]cty.Type{}, []string(nil)
	for _, name := range []string{"a", "b", "c"} {
		if rng.Intn(3) > 0 {
			attrs[name] = randomType(rng, depth-1, dynamic)
			if dynamic && rng.Intn(3) == 0 {
				optional = append(optional, name)
			}
		}
	}
	return cty.ObjectWithOptionalAttrs(attrs, optional)
}

func randomValue(rng *rand.Rand, ty cty.Type) cty.Value {
	switch rng.Intn(16) {
	case 0:
		return cty.UnknownVal(ty)
	case 1:
		return cty.NullVal(ty)
	case 2:
		return randomValue(rng, ty).Mark(Sensitive)
	}
	var elems []cty.Value
	switch {
	case ty == cty.String:
		return cty.StringVal([]string{"a", "true", "1"}[rng.Intn(3)])
	case ty == cty.Number:
		return cty.NumberIntVal(int64(rng.Intn(3)))
	case ty == cty.Bool:
		return cty.BoolVal(rng.Intn(2) == 0)
	case ty.IsTupleType():
		for _, ety := range ty.TupleElementTypes() {
			elems = append(elems, randomValue(rng, ety))
		}
		return cty.TupleVal(elems)
	case ty.IsObjectType():
		attrs := map[string]cty.Value{}
		for name, aty := range ty.AttributeTypes() {
			attrs[name] = randomValue(rng, aty)
		}
		return cty.ObjectVal(attrs)
	}
	for range rng.Intn(3) {
		elems = append(elems, randomValue(rng, ty.ElementType()))
	}
	switch {
	case len(elems) == 0 && ty.IsListType():
		return cty.ListValEmpty(ty.ElementType())
	case len(elems) == 0 && ty.IsSetType():
		return cty.SetValEmpty(ty.ElementType())
	case len(elems) == 0:
		return cty.MapValEmpty(ty.ElementType())
	case ty.IsListType():
		return cty.ListVal(elems)
	case ty.IsSetType():
		return cty.SetVal(elems)
	}
	return cty.MapVal(map[string]cty.Value{"k": elems[0]})
}

// TestConvertAgrees compares Convert with the library on random values.
func TestConvertAgrees(t *testing.T) {
	rng := rand.New(rand.NewSource(7))
	converted, failed := 0, 0
	for range 30000 {
		v := randomValue(rng, randomType(rng, 3, false))
		want := randomType(rng, 3, true)
		got, gotErr := Convert(v, want)
		lib, libErr := convertByLibrary(v, want)
		if (gotErr == nil) != (libErr == nil) {
			t.Fatalf("%#v to %#v: got %v, library %v", v, want, gotErr, libErr)
		}
		if gotErr != nil {
			failed++
			continue
		}
		converted++
		// The library loses the marks of nulls that go into sets.
		gotBare, gotMarks := got.UnmarkDeep()
		libBare, libMarks := lib.UnmarkDeep()
		if !gotBare.RawEquals(libBare) || len(gotMarks) < len(libMarks) {
			t.Fatalf("%#v to %#v:\ngot     %#v\nlibrary %#v", v, want, got, lib)
		}
	}
	if converted < 1000 || failed < 1000 {
		t.Errorf("too one-sided: %d converted, %d failed", converted, failed)
	}
}

// TestConvertIsLinear would run for minutes with a quadratic conversion.
func TestConvertIsLinear(t *testing.T) {
	const n = 50000
	elems, attrs := make([]cty.Value, n), make(map[string]cty.Value, n)
	for i := range elems {
		elems[i] = cty.NumberIntVal(int64(i))
		if i%2 == 0 {
			elems[i] = cty.StringVal(fmt.Sprint(i))
		}
		attrs[fmt.Sprint("k", i)] = elems[i]
	}
	start := time.Now()
	for _, c := range []struct {
		v    cty.Value
		want cty.Type
	}{
		{cty.TupleVal(elems), cty.List(cty.DynamicPseudoType)},
		{cty.TupleVal(elems), cty.Set(cty.DynamicPseudoType)},
		{cty.ObjectVal(attrs), cty.Map(cty.DynamicPseudoType)},
		{obj("l", cty.TupleVal(elems)), cty.Object(map[string]cty.Type{"l": cty.List(cty.String)})},
	} {
		if _, err := Convert(c.v, c.want); err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }
