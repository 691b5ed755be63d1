package view

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/value"
)

// TestParting: two values are reported by the one place where they differ, if there is one
// that may be shown.
func TestParting(t *testing.T) {
	object := func(list ...cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"a": cty.True, "list": cty.TupleVal(list)})
	}
	x, y := cty.StringVal("x"), cty.StringVal("y")
	for _, test := range []struct {
		before, after cty.Value
		want          string
	}{
		{object(x, x), object(x, y), `in.list[1]: "x" -> "y"`},
		{object(x, x), object(y, y), `in.list[0]: "x" -> "y", and more of it`},
		{object(x), object(x, y), "in.list: (list of 1) -> (list of 2)"},
		{object(x), object(cty.UnknownVal(cty.String)), `in.list[0]: "x" -> (known after apply)`},
		{object(x), object(y).Mark(value.Sensitive), "in: (object of 2) -> (sensitive value)"},
		{object(x), object(y.Mark(value.Sensitive)), "in: (object of 2) -> (sensitive value)"},
		{cty.StringVal(`{"a":[{"b":1,"c":2}]}`), cty.StringVal(`{"a":[{"b":1,"c":3}]}`), "in.a[0].c: 2 -> 3"},
		{cty.StringVal("a: 1\nb:\n  c: x\n"), cty.StringVal("a: 1\nb:\n  d: x\n"), `in.b.c: "x" -> nothing, and more of it`},
		{cty.StringVal(`{"a":1}`), cty.StringVal(`{"a":2}`).Mark(value.Sensitive), `in: "{\"a\":1}" -> (sensitive value)`},
		{cty.SetVal([]cty.Value{x}), cty.SetVal([]cty.Value{y}), "in: (set of 1) -> (set of 1)"},
	} {
		path, before, after, more := parting("in", test.before, test.after)
		got := path + ": " + sides(before, after)
		if more {
			got += ", and more of it"
		}
		if got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// TestLines: lines are broken between words, further in than they begin; nothing is changed
// where there is no terminal.
func TestLines(t *testing.T) {
	text := "  one two  three four\n\n    five\n"
	if got := (Options{}).lines(text); got != text {
		t.Errorf("got %q", got)
	}
	if got := (Options{Width: 12}).lines(text); got != "  one two\n      three\n      four\n\n    five\n" {
		t.Errorf("got %q", got)
	}
	if got := (Options{Width: 10}).lines("  " + strings.Repeat("x", 20) + "\n"); got != "  "+strings.Repeat("x", 20)+"\n" {
		t.Errorf("got %q", got)
	}
}
