package function

import (
	"math"
	"math/big"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"weir.dev/weir/internal/core/value"
)

// addAssumptions adds the functions by which an author promises something
// about a value that isn't known yet. Where the value is known, the promise is
// checked.
func addAssumptions(table map[string]function.Function) {
	table["assumeequal"] = dynamicFunc([]function.Parameter{
		open(anything("actual_value")), open(anything("expected_value")),
	}, nil, assumeEqual)
	table["assumenotnull"] = assumption(cty.DynamicPseudoType, nil,
		func(v cty.Value, _ []cty.Value) (refinement, error) {
			if v.Type() == cty.DynamicPseudoType {
				return nil, function.NewArgErrorf(0, `the type of the value must be known; the "convert" function can set it`)
			}
			return func(b *cty.RefinementBuilder) { b.NotNull() }, nil
		})
	table["assumestringprefix"] = assumption(cty.String, []function.Parameter{str("prefix")},
		func(_ cty.Value, args []cty.Value) (refinement, error) {
			return func(b *cty.RefinementBuilder) { b.StringPrefix(args[0].AsString()) }, nil
		})
	for noun, ty := range map[string]cty.Type{
		"list": cty.List(cty.DynamicPseudoType),
		"map":  cty.Map(cty.DynamicPseudoType),
		"set":  cty.Set(cty.DynamicPseudoType),
	} {
		lower, upper := num("min_length"), num("max_length")
		atLeast := func(b *cty.RefinementBuilder, n int) { b.CollectionLengthLowerBound(n) }
		atMost := func(b *cty.RefinementBuilder, n int) { b.CollectionLengthUpperBound(n) }
		table["assume"+noun+"length"] = lengthAssumption(ty, []function.Parameter{lower, upper}, atLeast, atMost)
		table["assume"+noun+"lengthmin"] = lengthAssumption(ty, []function.Parameter{lower}, atLeast)
		table["assume"+noun+"lengthmax"] = lengthAssumption(ty, []function.Parameter{upper}, atMost)
	}
}

type refinement func(*cty.RefinementBuilder)

// assumption makes a function that refines its first argument by what promise
// makes of the others.
func assumption(ty cty.Type, more []function.Parameter, promise func(v cty.Value, args []cty.Value) (refinement, error)) function.Function {
	v := open(param("value", ty))
	v.AllowMarked = false
	return typedFunc(append([]function.Parameter{v}, more...), nil, typeOfFirst, func(args []cty.Value) (cty.Value, error) {
		refine, err := promise(args[0], args[1:])
		if err != nil {
			return cty.NilVal, err
		}
		ret, ok := refined(args[0], refine)
		if !ok {
			return cty.NilVal, function.NewArgErrorf(0, "the assumption was not upheld: the value is known to be different")
		}
		return ret, nil
	})
}

func lengthAssumption(ty cty.Type, bounds []function.Parameter, set ...func(*cty.RefinementBuilder, int)) function.Function {
	return assumption(ty, bounds, func(_ cty.Value, args []cty.Value) (refinement, error) {
		lengths := make([]int, len(args))
		for i, arg := range args {
			n, acc := arg.AsBigFloat().Int64()
			if acc != big.Exact || n < 0 || n >= math.MaxInt {
				return nil, function.NewArgErrorf(i+1, "a length must be a whole number that isn't negative")
			}
			lengths[i] = int(n)
		}
		return func(b *cty.RefinementBuilder) {
			for i, n := range lengths {
				set[i](b, n)
			}
		}, nil
	})
}

// refined applies a refinement, which the library rejects with a panic if the value
// contradicts it.
func refined(v cty.Value, refine refinement) (ret cty.Value, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	b := v.Refine()
	refine(b)
	return b.NewValue(), true
}

// assumeEqual answers with the expected value, whatever is unknown in the
// actual one. Marks that tell where a value is from stay; those that tell who
// may see it are the expected value's own.
func assumeEqual(args []cty.Value) (cty.Value, error) {
	actual, expected := args[0], args[1]
	actual, err := value.Convert(actual, expected.Type())
	if err != nil {
		return cty.NilVal, function.NewArgErrorf(0, "the type %s does not match the expected %s", args[0].Type().FriendlyName(), expected.Type().FriendlyName())
	}
	if equal, _ := actual.Equals(expected).Unmark(); equal.IsKnown() && equal.False() {
		return cty.NilVal, function.NewArgErrorf(0, "the actual value does not match the assumed value")
	}
	_, marks := value.UnmarkDeepPaths(actual)
	for _, at := range marks {
		delete(at.Marks, value.Sensitive)
		delete(at.Marks, value.Ephemeral)
	}
	return value.MarkPaths(expected, marks), nil
}
