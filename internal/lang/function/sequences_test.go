package function

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"weir.dev/weir/internal/core/value"
)

// TestSequences holds what is done in one pass to what the library says.
func TestSequences(t *testing.T) {
	a, n := cty.StringVal("a"), cty.NumberIntVal(1)
	unknown := cty.UnknownVal(cty.String)
	list := cty.ListVal([]cty.Value{a, a})
	tuple := cty.TupleVal([]cty.Value{a, n, cty.NullVal(cty.DynamicPseudoType)})
	args := []cty.Value{
		a, n, list, tuple, cty.EmptyTupleVal, cty.ListValEmpty(cty.String), cty.ListVal([]cty.Value{n}),
		list.Mark("m"), tuple.Mark("m"), cty.ListVal([]cty.Value{a.Mark("e"), unknown}), cty.TupleVal([]cty.Value{a.Mark("e"), unknown, list.Mark("l")}),
		cty.UnknownVal(cty.List(cty.String)), cty.UnknownVal(cty.Tuple([]cty.Type{cty.String})).Mark("m"), cty.DynamicVal, cty.DynamicVal.Mark("m"),
		cty.NullVal(cty.List(cty.String)), cty.NullVal(cty.DynamicPseudoType), cty.SetVal([]cty.Value{a, cty.StringVal("b")}),
		cty.TupleVal([]cty.Value{cty.DynamicVal, a}), cty.TupleVal([]cty.Value{cty.UnknownVal(cty.List(cty.String)), a}),
		cty.TupleVal([]cty.Value{cty.EmptyTupleVal.Mark("empty"), list, cty.NullVal(cty.List(cty.String)), cty.TupleVal([]cty.Value{tuple})}),
		cty.ListVal([]cty.Value{list, list}), cty.MapVal(map[string]cty.Value{"k": a}),
	}
	table := called(Context(Env{}))
	call := func(name string, library function.Function, args ...cty.Value) {
		t.Helper()
		views := make([]cty.Value, len(args))
		for i, arg := range args {
			views[i] = cty.CapsuleVal(viewType, &view{arg})
		}
		got, err := table[name].Call(views)
		want, wantErr := fromLibrary(library, false, nil).Call(args)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() || err == nil && !got.RawEquals(want) {
			t.Errorf("%s %#v:\ngot  %#v %v\nwant %#v %v", name, args, got, err, want, wantErr)
		}
	}
	call("concat", stdlib.ConcatFunc)
	for _, one := range args {
		call("flatten", stdlib.FlattenFunc, one)
		call("concat", stdlib.ConcatFunc, one)
		for _, other := range args {
			call("concat", stdlib.ConcatFunc, one, other)
			call("flatten", stdlib.FlattenFunc, cty.TupleVal([]cty.Value{one, other}))
		}
	}
}

// TestOnePass counts what joining long sequences makes: the elements themselves are inspected
// and not wrapped.
func TestOnePass(t *testing.T) {
	long := make([]cty.Value, 10_000)
	for i := range long {
		long[i] = cty.StringVal("x")
	}
	tuple := cty.TupleVal(long)
	fn := called(Context(Env{}))["concat"]
	args := []cty.Value{cty.CapsuleVal(viewType, &view{tuple}), cty.CapsuleVal(viewType, &view{tuple})}
	if n := testing.AllocsPerRun(1, func() {
		if _, err := fn.Call(args); err != nil {
			t.Fatal(err)
		}
	}); n > 1000 {
		t.Errorf("concat of 20,000 elements made %v things", n)
	}
	fn = called(Context(Env{}))["flatten"]
	args = []cty.Value{cty.CapsuleVal(viewType, &view{cty.TupleVal([]cty.Value{tuple, tuple})})}
	if n := testing.AllocsPerRun(1, func() {
		if _, err := fn.Call(args); err != nil {
			t.Fatal(err)
		}
	}); n > 1000 {
		t.Errorf("flatten of 20,000 elements made %v things", n)
	}
	if n := testing.AllocsPerRun(1, func() { value.Size(tuple, value.MaxSize) }); n > 100 {
		t.Errorf("the size of 10,000 elements made %v things", n)
	}
}

// TestLengthOfText holds the length of texts to what the library says.
func TestLengthOfText(t *testing.T) {
	for _, text := range []string{"", "abc", "a\r\nb", "\r\r\n\n\r", "\x00\x7f", "größe", "e\u0301\r\n", "👩‍👩‍👧"} {
		want, _ := stdlib.Strlen(cty.StringVal(text))
		got, err := length([]cty.Value{cty.CapsuleVal(viewType, &view{cty.StringVal(text)})})
		if err != nil || !got.RawEquals(want) {
			t.Errorf("%q: %#v %v, want %#v", text, got, err, want)
		}
	}
}
