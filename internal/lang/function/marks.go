package function

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"weir.dev/weir/internal/core/value"
)

func addMarks(table map[string]function.Function) {
	same := func(run func(cty.Value) (cty.Value, error)) function.Function {
		return dynamicFunc([]function.Parameter{open(anything("value"))}, nil,
			func(args []cty.Value) (cty.Value, error) { return run(args[0]) })
	}
	table["sensitive"] = same(func(v cty.Value) (cty.Value, error) { return v.Mark(value.Sensitive), nil })
	table["nonsensitive"] = same(func(v cty.Value) (cty.Value, error) {
		v, marks := v.Unmark()
		delete(marks, value.Sensitive)
		return v.WithMarks(marks), nil
	})
	table["issensitive"] = same(func(v cty.Value) (cty.Value, error) {
		// The final value of an unknown may come from another branch, with
		// other marks.
		if !v.IsKnown() {
			return cty.UnknownVal(cty.Bool).RefineNotNull(), nil
		}
		return cty.BoolVal(v.HasMark(value.Sensitive)), nil
	})
	table["ephemeralasnull"] = same(ephemeralAsNull)
}

// ephemeralAsNull replaces each ephemeral part by a null of its type. Unknown parts stay: they
// are resolved when they are known.
func ephemeralAsNull(v cty.Value) (cty.Value, error) {
	if !value.IsEphemeral(v) {
		return v, nil
	}
	return cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if !v.HasMark(value.Ephemeral) {
			return v, nil
		}
		v, marks := v.Unmark()
		delete(marks, value.Ephemeral)
		if v.IsKnown() {
			v = cty.NullVal(v.Type())
		}
		return v.WithMarks(marks), nil
	})
}
