package jsonstate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// unknownText stands in flat attributes for what wasn't known.
const unknownText = "74D93920-ED26-11E3-AC10-0800200C9A66"

// fromFlat reads the attributes of an object as states had them before version 0.12: each
// value that isn't a collection by its path, such as "ports.0.from", beside the number of
// elements of each list and set ("ports.#") and map ("tags.%"). Elements of sets have hashes
// for indices. Anything that isn't there is null. Anything that doesn't fit the type is an
// error.
func fromFlat(attributes map[string]string, ty cty.Type) (cty.Value, error) {
	return flat{attributes, slices.Sorted(maps.Keys(attributes))}.object("", ty)
}

type flat struct {
	texts map[string]string
	names []string // sorted
}

// object reads the attributes whose names begin with the prefix, which is empty or ends in
// a dot.
func (f flat) object(prefix string, ty cty.Type) (cty.Value, error) {
	values := map[string]cty.Value{}
	for name, of := range ty.AttributeTypes() {
		v, err := f.value(prefix+name, of)
		if err != nil {
			return cty.NilVal, err
		}
		values[name] = v
	}
	return cty.ObjectVal(values), nil
}

func (f flat) value(name string, ty cty.Type) (cty.Value, error) {
	switch {
	case ty.IsPrimitiveType():
		text, ok := f.texts[name]
		switch {
		case !ok:
			return cty.NullVal(ty), nil
		case text == unknownText:
			return cty.UnknownVal(ty), nil
		}
		v, err := convert.Convert(cty.StringVal(text), ty)
		if err != nil {
			return cty.NilVal, fmt.Errorf("%s: %w", name, err)
		}
		return v, nil
	case ty.IsMapType():
		return f.mapping(name, ty)
	case ty.IsListType() || ty.IsSetType():
		return f.collection(name, ty)
	case ty.IsObjectType():
		return f.object(name+".", ty)
	}
	return cty.NilVal, fmt.Errorf("%s: flat attributes have no values of type %s", name, ty.FriendlyName())
}

// mapping reads a map, whose keys may have dots in them where the elements are primitive.
func (f flat) mapping(name string, ty cty.Type) (cty.Value, error) {
	count, ok := f.texts[name+".%"]
	switch {
	case !ok:
		return cty.NullVal(ty), nil
	case count == unknownText:
		return cty.UnknownVal(ty), nil
	}
	values := map[string]cty.Value{}
	for _, key := range f.keys(name+".", ty.ElementType().IsPrimitiveType()) {
		v, err := f.value(name+"."+key, ty.ElementType())
		if err != nil {
			return cty.NilVal, err
		}
		values[key] = v
	}
	if len(values) == 0 {
		return cty.MapValEmpty(ty.ElementType()), nil
	}
	return cty.MapVal(values), nil
}

func (f flat) collection(name string, ty cty.Type) (cty.Value, error) {
	count, ok := f.texts[name+".#"]
	switch {
	case !ok:
		return cty.NullVal(ty), nil
	case count == unknownText:
		return cty.UnknownVal(ty), nil
	}
	keys := f.keys(name+".", false)
	if ty.IsListType() {
		slices.SortFunc(keys, func(a, b string) int {
			x, _ := strconv.Atoi(a)
			y, _ := strconv.Atoi(b)
			return x - y
		})
	}
	var values []cty.Value
	for _, key := range keys {
		v, err := f.value(name+"."+key, ty.ElementType())
		if err != nil {
			return cty.NilVal, err
		}
		values = append(values, v)
	}
	switch {
	case len(values) == 0 && ty.IsListType():
		return cty.ListValEmpty(ty.ElementType()), nil
	case len(values) == 0:
		return cty.SetValEmpty(ty.ElementType()), nil
	case ty.IsListType():
		return cty.ListVal(values), nil
	}
	return cty.SetVal(values), nil
}

// keys are the keys of the elements of what is called so, which ends in a dot: whole, or
// up to the next dot.
func (f flat) keys(prefix string, whole bool) []string {
	var keys []string
	from, _ := slices.BinarySearch(f.names, prefix)
	for _, name := range f.names[from:] {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			break
		}
		if !whole {
			rest, _, _ = strings.Cut(rest, ".")
		}
		if rest != "#" && rest != "%" && !slices.Contains(keys, rest) {
			keys = append(keys, rest)
		}
	}
	return keys
}
