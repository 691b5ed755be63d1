package function

import (
	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/value"
)

// addLibrary takes over the functions that cty has as both engines need them.
func addLibrary(table map[string]function.Function) {
	for name, fn := range map[string]function.Function{
		"abs":          stdlib.AbsoluteFunc,
		"ceil":         stdlib.CeilFunc,
		"chomp":        stdlib.ChompFunc,
		"chunklist":    stdlib.ChunklistFunc,
		"coalescelist": stdlib.CoalesceListFunc,
		"compact":      stdlib.CompactFunc,
		"floor":        stdlib.FloorFunc,
		"join":         stdlib.JoinFunc,
		"jsonencode":   jsonEncode(),
		"keys":         stdlib.KeysFunc,
		"log":          stdlib.LogFunc,
		"lower":        stdlib.LowerFunc,
		"max":          stdlib.MaxFunc,
		"merge":        stdlib.MergeFunc,
		"min":          stdlib.MinFunc,
		"pow":          stdlib.PowFunc,
		"range":        stdlib.RangeFunc,
		"reverse":      stdlib.ReverseListFunc,
		"signum":       stdlib.SignumFunc,
		"slice":        stdlib.SliceFunc,
		"sort":         stdlib.SortFunc,
		"split":        stdlib.SplitFunc,
		"strrev":       stdlib.ReverseFunc,
		"substr":       stdlib.SubstrFunc,
		"title":        stdlib.TitleFunc,
		"trim":         stdlib.TrimFunc,
		"trimprefix":   stdlib.TrimPrefixFunc,
		"trimspace":    stdlib.TrimSpaceFunc,
		"trimsuffix":   stdlib.TrimSuffixFunc,
		"upper":        stdlib.UpperFunc,
		"values":       stdlib.ValuesFunc,
		"yamlencode":   ctyyaml.YAMLEncodeFunc,
		"zipmap":       stdlib.ZipmapFunc,

		"setintersection": stdlib.SetIntersectionFunc,
		"setsubtract":     stdlib.SetSubtractFunc,
		"setunion":        stdlib.SetUnionFunc,
	} {
		table[name] = fromLibrary(fn, false, bounds[name])
	}
	for name, fn := range map[string]function.Function{
		"csvdecode":  stdlib.CSVDecodeFunc,
		"format":     stdlib.FormatFunc,
		"formatdate": stdlib.FormatDateFunc,
		"formatlist": stdlib.FormatListFunc,
		"jsondecode": jsonDecode(),
		"parseint":   stdlib.ParseIntFunc,
		"regex":      stdlib.RegexFunc,
		"regexall":   stdlib.RegexAllFunc,
		"timeadd":    stdlib.TimeAddFunc,
		"yamldecode": ctyyaml.YAMLDecodeFunc,
	} {
		table[name] = fromLibrary(fn, true, bounds[name])
	}
	table["concat"] = inOnePass(fromLibrary(stdlib.ConcatFunc, false, nil), concat)
	table["flatten"] = inOnePass(fromLibrary(stdlib.FlattenFunc, false, nil), flatten)
	table["setproduct"] = withBound(setProduct(), product)
}

// setProduct hands tuples on as lists, whose elements needn't be compared with
// each other for a common type.
func setProduct() function.Function {
	product := fromLibrary(stdlib.SetProductFunc, false, nil)
	variadic := product.VarParam()
	return dynamicFunc(nil, variadic, func(args []cty.Value) (cty.Value, error) {
		lists := make([]cty.Value, len(args))
		for i, arg := range args {
			lists[i] = arg
			if ty := arg.Type(); ty.IsTupleType() && ty.Length() > 0 {
				if list, err := value.Convert(arg, cty.List(cty.DynamicPseudoType)); err == nil {
					lists[i] = list
				}
			}
		}
		return product.Call(lists)
	})
}

// jsonDecode reads known texts itself, which is much faster for nested ones.
func jsonDecode() function.Function {
	library := stdlib.JSONDecodeFunc
	return function.New(&function.Spec{
		Description: library.Description(),
		Params:      library.Params(),
		Type:        function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if v := args[0]; v.IsKnown() && !v.IsNull() {
				text := []byte(v.AsString())
				if ty, err := ctyjson.ImpliedType(text); err == nil {
					return value.FromJSON(text, ty)
				}
			}
			return library.Call(args)
		},
	})
}

// jsonEncode writes known values itself, which is much faster for numbers.
func jsonEncode() function.Function {
	library := stdlib.JSONEncodeFunc
	return function.New(&function.Spec{
		Description: library.Description(),
		Params:      library.Params(),
		Type:        function.StaticReturnType(cty.String),
		RefineResult: func(b *cty.RefinementBuilder) *cty.RefinementBuilder {
			return b.NotNull()
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if v := args[0]; v.IsWhollyKnown() && !v.IsNull() {
				text, err := value.JSON(v, v.Type())
				return cty.StringVal(string(text)), err
			}
			return library.Call(args)
		},
	})
}
