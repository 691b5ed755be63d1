package function

import (
	"errors"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"weir.dev/weir/internal/core/value"
)

func addCollections(table map[string]function.Function) {
	listOf := func(name string, ety cty.Type) []function.Parameter {
		return []function.Parameter{param(name, cty.List(ety))}
	}
	table["alltrue"] = def{listOf("list", cty.Bool), nil, cty.Bool, allTrue}.function()
	table["anytrue"] = def{listOf("list", cty.Bool), nil, cty.Bool, anyTrue}.function()
	table["sum"] = def{[]function.Parameter{anything("list")}, nil, cty.Number, sum}.function()
	table["transpose"] = def{
		[]function.Parameter{param("values", cty.Map(cty.List(cty.String)))}, nil,
		cty.Map(cty.List(cty.String)), transpose,
	}.function()
	table["index"] = def{[]function.Parameter{anything("list"), anything("value")}, nil, cty.Number, index}.function()

	table["contains"] = dynamicFunc([]function.Parameter{open(anything("list")), open(anything("value"))}, nil, contains)
	anyValue := open(anything("vals"))
	anyValue.AllowMarked = false
	table["coalesce"] = dynamicFunc(nil, &anyValue, coalesce)
	table["distinct"] = typedFunc(listOf("list", cty.DynamicPseudoType), nil, typeOfFirst, distinct)
	anyList := anything("list")
	table["one"] = typedFunc([]function.Parameter{anyList}, nil, typeOfOne, one)
	table["matchkeys"] = typedFunc([]function.Parameter{
		param("values", cty.List(cty.DynamicPseudoType)),
		param("keys", cty.List(cty.DynamicPseudoType)),
		param("searchset", cty.List(cty.DynamicPseudoType)),
	}, nil, typeOfFirst, matchKeys)

	fallback := viewed("default")
	table["lookup"] = dynamicFunc([]function.Parameter{viewed("inputMap"), open(str("key"))}, &fallback, lookup)
	table["element"] = dynamicFunc([]function.Parameter{viewed("list"), open(num("index"))}, nil, element)
	table["length"] = dynamicFunc([]function.Parameter{viewed("value")}, nil, length)
}

func allTrue(c *call) (cty.Value, error) {
	for _, v := range c.args[0].Elements() {
		switch {
		case !v.IsKnown():
			return cty.UnknownVal(cty.Bool), nil
		case v.IsNull() || v.False():
			return cty.False, nil
		}
	}
	return cty.True, nil
}

func anyTrue(c *call) (cty.Value, error) {
	ret := cty.False
	for _, v := range c.args[0].Elements() {
		switch {
		case !v.IsKnown():
			ret = cty.UnknownVal(cty.Bool)
		case !v.IsNull() && v.True():
			return cty.True, nil
		}
	}
	return ret, nil
}

func sum(c *call) (cty.Value, error) {
	list := c.args[0]
	if ty := list.Type(); !ty.IsListType() && !ty.IsSetType() && !ty.IsTupleType() {
		return cty.NilVal, c.fault(0, "a list, set or tuple of numbers is required, not %s", ty.FriendlyName())
	}
	if !list.IsWhollyKnown() {
		return cty.UnknownVal(cty.Number), nil
	}
	if list.LengthInt() == 0 {
		return cty.NilVal, c.fault(0, "cannot sum an empty list")
	}
	total := cty.Zero
	infinite := 0
	for _, v := range list.Elements() {
		n, err := value.Convert(v, cty.Number)
		if err != nil || n.IsNull() {
			return cty.NilVal, c.fault(0, "all elements must be numbers")
		}
		if f := n.AsBigFloat(); f.IsInf() {
			if infinite == -f.Sign() {
				return cty.NilVal, c.fault(0, "there is no sum of opposing infinities")
			}
			infinite = f.Sign()
		}
		total = total.Add(n)
	}
	return total, nil
}

func transpose(c *call) (cty.Value, error) {
	if !c.args[0].IsWhollyKnown() {
		return cty.UnknownVal(cty.Map(cty.List(cty.String))), nil
	}
	turned, bytes := map[string][]cty.Value{}, 0.0
	for key, list := range c.args[0].Elements() { // in the order of the keys, as the results are
		if list.IsNull() {
			return cty.NilVal, c.fault(0, "the list at %s must not be null", value.PathString(cty.IndexPath(key)))
		}
		i, keySize := 0, size(key)
		for v := range value.Elements(list) {
			if v.IsNull() {
				return cty.NilVal, c.fault(0, "the string at %s must not be null", value.PathString(cty.IndexPath(key).IndexInt(i)))
			}
			text := v.AsString()
			names, there := turned[text]
			if turned[text] = append(names, key); !there {
				bytes += 64
			}
			bytes += keySize
			i++
		}
	}
	if err := sized(bytes); err != nil {
		return cty.NilVal, err
	}
	if len(turned) == 0 {
		return cty.MapValEmpty(cty.List(cty.String)), nil
	}
	lists := make(map[string]cty.Value, len(turned))
	for text, names := range turned {
		lists[text] = cty.ListVal(names)
	}
	return cty.MapVal(lists), nil
}

func index(c *call) (cty.Value, error) {
	list := c.args[0]
	if ty := list.Type(); !ty.IsListType() && !ty.IsTupleType() {
		return cty.NilVal, c.fault(0, "a list or tuple is required, not %s", ty.FriendlyName())
	}
	if list.LengthInt() == 0 {
		return cty.NilVal, c.fault(0, "an empty list has nothing to find")
	}
	for i, v := range list.Elements() {
		equal, err := stdlib.Equal(v, c.args[1])
		if err != nil {
			return cty.NilVal, err
		}
		if !equal.IsKnown() {
			return cty.UnknownVal(cty.Number), nil
		}
		if equal.True() {
			return i, nil
		}
	}
	return cty.NilVal, c.fault(1, "item not found in the list")
}

// contains differs from the library's by having an answer for a bare null.
func contains(args []cty.Value) (cty.Value, error) {
	list, marks := args[0].UnmarkDeep()
	want, wantMarks := args[1].UnmarkDeep()
	ty := list.Type()
	ret := cty.False
	switch {
	case list.IsNull():
		return cty.NilVal, function.NewArgErrorf(0, "argument must not be null")
	case ty != cty.DynamicPseudoType && !ty.IsListType() && !ty.IsTupleType() && !ty.IsSetType():
		return cty.NilVal, function.NewArgErrorf(0, "argument must be list, tuple, or set, not %s", ty.FriendlyName())
	case !list.IsKnown() || !want.IsKnown() && list.LengthInt() > 0:
		ret = cty.UnknownVal(cty.Bool).RefineNotNull()
	default:
		for _, v := range list.Elements() {
			equal := want.IsNull() && v.IsNull()
			if !equal {
				answer := want.Equals(v)
				if !answer.IsKnown() || !v.IsKnown() {
					ret = cty.UnknownVal(cty.Bool).RefineNotNull()
					continue
				}
				equal = answer.True()
			}
			if equal {
				ret = cty.True
				break
			}
		}
	}
	return ret.WithMarks(marks, wantMarks), nil
}

func coalesce(args []cty.Value) (cty.Value, error) {
	types := make([]cty.Type, len(args))
	for i, arg := range args {
		types[i] = arg.Type()
	}
	ty := value.Unify(types)
	if ty == cty.NilType {
		return cty.NilVal, errors.New("all arguments must have the same type")
	}
	for i, arg := range args {
		v, err := value.Convert(arg, ty)
		if err != nil {
			return cty.NilVal, function.NewArgErrorf(i, "%s", value.ErrorString("", err))
		}
		switch {
		case v.Type() == cty.DynamicPseudoType && !v.IsNull():
			return cty.DynamicVal, nil
		case !v.IsKnown():
			return cty.UnknownVal(ty).RefineNotNull(), nil
		case v.IsNull() || ty == cty.String && v.AsString() == "":
			continue
		}
		return v, nil
	}
	return cty.NilVal, errors.New("all arguments are null or empty strings")
}

// valueSet finds equal values by their hashes. Values must be wholly known.
type valueSet map[int][]cty.Value

// add reports whether v is new.
func (s valueSet) add(v cty.Value) bool {
	if s.has(v) {
		return false
	}
	hash := v.Hash()
	s[hash] = append(s[hash], v)
	return true
}

func (s valueSet) has(v cty.Value) bool {
	return slices.ContainsFunc(s[v.Hash()], v.RawEquals)
}

func listOrEmpty(elems []cty.Value, ety cty.Type) cty.Value {
	if len(elems) == 0 {
		return cty.ListValEmpty(ety)
	}
	return cty.ListVal(elems)
}

func distinct(args []cty.Value) (cty.Value, error) {
	list := args[0]
	if !list.IsWhollyKnown() {
		return cty.UnknownVal(list.Type()).RefineNotNull(), nil
	}
	seen := valueSet{}
	var elems []cty.Value
	for _, v := range list.Elements() {
		if seen.add(v) {
			elems = append(elems, v)
		}
	}
	return listOrEmpty(elems, list.Type().ElementType()), nil
}

func typeOfOne(args []cty.Value) cty.Type {
	switch ty := args[0].Type(); {
	case ty.IsListType() || ty.IsSetType():
		return ty.ElementType()
	case ty.IsTupleType() && ty.Length() == 1:
		return ty.TupleElementType(0)
	}
	return cty.DynamicPseudoType
}

func one(args []cty.Value) (cty.Value, error) {
	list := args[0]
	ty := list.Type()
	switch {
	case ty.IsTupleType() && ty.Length() == 0:
		return cty.NullVal(cty.DynamicPseudoType), nil
	case ty.IsTupleType() && ty.Length() == 1:
		return list.Index(cty.Zero), nil
	case ty.IsListType() || ty.IsSetType():
		length := list.Length()
		if !length.IsKnown() {
			return cty.UnknownVal(ty.ElementType()), nil
		}
		switch list.LengthInt() {
		case 0:
			return cty.NullVal(ty.ElementType()), nil
		case 1:
			for _, v := range list.Elements() {
				return v, nil
			}
		}
	}
	return cty.NilVal, function.NewArgErrorf(0, "must be a list, set, or tuple value with either zero or one elements")
}

func matchKeys(args []cty.Value) (cty.Value, error) {
	values, keys, search := args[0], args[1], args[2]
	keyType := value.Unify([]cty.Type{keys.Type(), search.Type()})
	if keyType == cty.NilType {
		return cty.NilVal, errors.New("keys and searchset must be of the same type")
	}
	if values.LengthInt() != keys.LengthInt() {
		return cty.NilVal, function.NewArgErrorf(1, "must be as long as values: there are %d values and %d keys", values.LengthInt(), keys.LengthInt())
	}
	ety := values.Type().ElementType()
	if search.LengthInt() == 0 {
		return cty.ListValEmpty(ety), nil
	}
	if !values.IsWhollyKnown() || !keys.IsWhollyKnown() || !search.IsWhollyKnown() {
		return cty.UnknownVal(cty.List(ety)).RefineNotNull(), nil
	}
	keys, err := value.Convert(keys, keyType)
	if err != nil {
		return cty.NilVal, function.NewArgErrorf(1, "%s", value.ErrorString("", err))
	}
	if search, err = value.Convert(search, keyType); err != nil {
		return cty.NilVal, function.NewArgErrorf(2, "%s", value.ErrorString("", err))
	}
	wanted := valueSet{}
	for _, v := range search.Elements() {
		wanted.add(v)
	}
	var elems []cty.Value
	all := values.AsValueSlice()
	for i, key := range keys.AsValueSlice() {
		if wanted.has(key) {
			elems = append(elems, all[i])
		}
	}
	return listOrEmpty(elems, ety), nil
}

func lookup(args []cty.Value) (cty.Value, error) {
	if len(args) > 3 {
		return cty.NilVal, wrongCount("lookup", 2, 3, len(args))
	}
	from, marks := look(args[0])
	key, keyMarks := args[1].Unmark()
	marks = cty.NewValueMarks(marks, keyMarks)
	ty := from.Type()
	switch {
	case from.IsNull():
		return cty.NilVal, function.NewArgErrorf(0, "argument must not be null")
	case key.IsNull():
		return cty.NilVal, function.NewArgErrorf(1, "argument must not be null")
	case ty == cty.DynamicPseudoType:
		return cty.DynamicVal.WithMarks(marks), nil
	case !ty.IsObjectType() && !ty.IsMapType():
		return cty.NilVal, function.NewArgErrorf(0, "lookup requires a map or an object, not %s", ty.FriendlyName())
	case !key.IsKnown() && ty.IsObjectType():
		return cty.DynamicVal.WithMarks(marks), nil
	case ty.IsObjectType():
		if ty.HasAttribute(key.AsString()) {
			return from.GetAttr(key.AsString()).WithMarks(marks), nil
		}
	}
	var instead cty.Value
	if len(args) == 3 {
		instead = args[2].EncapsulatedValue().(*view).v
	}
	if ty.IsMapType() {
		if len(args) == 3 {
			var err error
			if instead, err = value.Convert(instead, ty.ElementType()); err != nil {
				return cty.NilVal, function.NewArgErrorf(2, "the default value must have the same type as the map elements")
			}
		}
		if !key.IsKnown() || !from.IsKnown() {
			return cty.UnknownVal(ty.ElementType()).WithMarks(marks), nil
		}
		if from.HasIndex(key).True() {
			return from.Index(key).WithMarks(marks), nil
		}
	}
	if len(args) == 3 {
		return instead.WithMarks(marks), nil
	}
	shown := value.PathString(cty.IndexPath(key))
	if value.HiddenMarks(keyMarks) {
		shown = hiddenText
	}
	return cty.NilVal, function.NewArgErrorf(0, "lookup failed to find key %s; give a third argument to use when it is missing", shown)
}

func element(args []cty.Value) (cty.Value, error) {
	list, marks := look(args[0])
	at, atMarks := args[1].Unmark()
	marks = cty.NewValueMarks(marks, atMarks)
	ty := list.Type()
	switch {
	case list.IsNull():
		return cty.NilVal, function.NewArgErrorf(0, "argument must not be null")
	case at.IsNull():
		return cty.NilVal, function.NewArgErrorf(1, "argument must not be null")
	case ty == cty.DynamicPseudoType:
		return cty.DynamicVal.WithMarks(marks), nil
	case !ty.IsListType() && !ty.IsTupleType():
		return cty.NilVal, function.NewArgErrorf(0, "cannot use element function with %s; a list or tuple is required", ty.FriendlyName())
	case ty.IsListType() && (!list.IsKnown() || !at.IsKnown()):
		return cty.UnknownVal(ty.ElementType()).WithMarks(marks), nil
	case ty.IsTupleType() && !at.IsKnown():
		return cty.DynamicVal.WithMarks(marks), nil
	}
	i, acc := at.AsBigFloat().Int(nil)
	if i == nil || acc != big.Exact {
		return cty.NilVal, function.NewArgErrorf(1, "a whole number is required")
	}
	length := 0
	if ty.IsTupleType() {
		length = ty.Length()
	} else {
		length = list.LengthInt()
	}
	if length == 0 {
		return cty.NilVal, errors.New("cannot use element function with an empty list")
	}
	i.Mod(i, big.NewInt(int64(length)))
	return list.Index(cty.NumberIntVal(i.Int64())).WithMarks(marks), nil
}

// isASCII reports whether each character of a text is a byte, for which the library
// takes fifty times as long as for looking at it.
func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func length(args []cty.Value) (cty.Value, error) {
	v, marks := look(args[0])
	ty := v.Type()
	ret := cty.UnknownVal(cty.Number).RefineNotNull()
	switch {
	case v.IsNull():
		return cty.NilVal, function.NewArgErrorf(0, "argument must not be null")
	case ty.IsTupleType():
		ret = cty.NumberIntVal(int64(ty.Length()))
	case ty.IsObjectType():
		ret = cty.NumberIntVal(int64(len(ty.AttributeTypes())))
	case ty == cty.String && v.IsKnown() && isASCII(v.AsString()):
		text := v.AsString()
		ret = cty.NumberIntVal(int64(len(text) - strings.Count(text, "\r\n")))
	case ty == cty.String:
		var err error
		if ret, err = stdlib.Strlen(v); err != nil {
			return cty.NilVal, err
		}
	case ty.IsCollectionType():
		ret = v.Length()
	case ty != cty.DynamicPseudoType:
		return cty.NilVal, function.NewArgErrorf(0, "argument must be a string, a collection type, or a structural type")
	}
	return ret.WithMarks(marks), nil
}
