package quickcheck

import (
	"math/big"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// Simpler lists values of the same shape that are simpler than a value, the
// simplest first.
func Simpler(v cty.Value) []cty.Value {
	if v.IsNull() || !v.IsKnown() {
		return nil
	}
	ty := v.Type()
	switch {
	case ty == cty.Bool:
		if v.True() {
			return []cty.Value{cty.False}
		}
	case ty == cty.Number:
		return simplerNumbers(v.AsBigFloat())
	case ty == cty.String:
		return simplerTexts(v.AsString())
	case ty.IsTupleType(), ty.IsListType(), ty.IsSetType():
		return simplerSequences(v)
	case ty.IsMapType(), ty.IsObjectType():
		return simplerObjects(v)
	}
	return nil
}

func simplerNumbers(n *big.Float) []cty.Value {
	var list []cty.Value
	add := func(c *big.Float) {
		if new(big.Float).Abs(c).Cmp(new(big.Float).Abs(n)) < 0 {
			list = append(list, cty.NumberVal(c))
		}
	}
	add(new(big.Float))
	whole, _ := n.Int(nil)
	add(new(big.Float).SetInt(whole))
	add(new(big.Float).SetInt(new(big.Int).Quo(whole, big.NewInt(2))))
	if n.Sign() < 0 {
		list = append(list, cty.NumberVal(new(big.Float).Neg(n)))
		add(new(big.Float).Add(n, big.NewFloat(1)))
	} else {
		add(new(big.Float).Sub(n, big.NewFloat(1)))
	}
	return list
}

func simplerTexts(s string) []cty.Value {
	signs := []rune(s)
	var list []cty.Value
	add := func(c []rune) {
		if len(c) < len(signs) {
			list = append(list, cty.StringVal(string(c)))
		}
	}
	add(nil)
	add(signs[:len(signs)/2])
	add(signs[len(signs)/2:])
	const most = 16 // where one sign each is left out
	for i := range signs[:min(len(signs), most)] {
		add(slices.Concat(signs[:i], signs[i+1:]))
	}
	for i, r := range signs[:min(len(signs), most)] {
		if r != 'a' {
			plain := slices.Clone(signs)
			plain[i] = 'a'
			list = append(list, cty.StringVal(string(plain)))
		}
	}
	return list
}

func simplerSequences(v cty.Value) []cty.Value {
	values := v.AsValueSlice()
	remake := func(values []cty.Value) cty.Value {
		if len(values) == 0 && !v.Type().IsTupleType() {
			return collection(v.Type(), nil)
		}
		return cty.TupleVal(values)
	}
	var list []cty.Value
	if len(values) > 1 {
		list = append(list, remake(nil), remake(values[:len(values)/2]))
	}
	for i := range values {
		list = append(list, remake(slices.Concat(values[:i], values[i+1:])))
	}
	for i, inner := range values {
		for _, simple := range Simpler(inner) {
			changed := slices.Clone(values)
			changed[i] = simple
			list = append(list, remake(changed))
		}
	}
	return list
}

func simplerObjects(v cty.Value) []cty.Value {
	values := v.AsValueMap()
	var names []string
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	with := func(name string, inner cty.Value) cty.Value {
		changed := map[string]cty.Value{}
		for n, other := range values {
			if n != name {
				changed[n] = other
			} else if inner != cty.NilVal {
				changed[n] = inner
			}
		}
		return cty.ObjectVal(changed)
	}
	var list []cty.Value
	for _, name := range names {
		list = append(list, with(name, cty.NilVal))
	}
	for _, name := range names {
		for _, simple := range Simpler(values[name]) {
			list = append(list, with(name, simple))
		}
	}
	return list
}
