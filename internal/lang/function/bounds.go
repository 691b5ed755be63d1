package function

import (
	"fmt"
	"strconv"
	"strings"

	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/core/value"
)

// An estimate is the size of a result that can be much larger than the arguments, in
// bytes, before anything is made. Arguments are known, not null and without marks.
type estimate func(args []cty.Value) float64

// bounds has the estimates of functions of the library.
var bounds = map[string]estimate{
	"chunklist":  inArguments,
	"format":     formatted,
	"formatlist": formattedList,
	"join":       joined,
	"jsonencode": inArguments,
	"merge":      inArguments,
	"yamldecode": aliased,
	"yamlencode": inArguments,
}

// withBound makes a function reject to make what is too large.
func withBound(fn function.Function, bound estimate) function.Function {
	params, variadic := openAll(fn.Params(), fn.VarParam())
	return dynamicFunc(params, variadic, func(args []cty.Value) (cty.Value, error) {
		if err := checkBound(args, bound); err != nil {
			return cty.NilVal, err
		}
		return fn.Call(args)
	})
}

func checkBound(args []cty.Value, bound estimate) error {
	bare := make([]cty.Value, len(args))
	for i, arg := range args {
		bare[i], _ = arg.Unmark()
		if bare[i].IsNull() || !bare[i].IsKnown() {
			return nil
		}
	}
	return sized(bound(bare))
}

// sized rejects a result of so many bytes.
func sized(bytes float64) error {
	if bytes <= float64(value.MaxSize) {
		return nil
	}
	return fmt.Errorf("the result would take more than %d MiB, or has a number with too many digits", value.MaxSize>>20)
}

func size(v cty.Value) float64 { return float64(value.Size(v, value.MaxSize)) }

// inArguments: what the arguments hold is in the result.
func inArguments(args []cty.Value) float64 {
	total := 0.0
	for _, arg := range args {
		total += size(arg)
	}
	return total
}

// product: one tuple for each combination.
func product(args []cty.Value) float64 {
	combinations := 1.0
	for _, arg := range args {
		if arg.CanIterateElements() {
			combinations *= float64(arg.LengthInt())
		}
	}
	return combinations * float64(len(args)+1) * 64
}

func joined(args []cty.Value) float64 {
	if args[0].Type() != cty.String {
		return 0
	}
	total := inArguments(args[1:])
	separator := float64(len(args[0].AsString()))
	for _, list := range args[1:] {
		if list.CanIterateElements() {
			total += separator * float64(list.LengthInt())
		}
	}
	return total
}

var verb = lazyregexp.New(`%[^%a-zA-Z]*[a-zA-Z]`)
var digits = lazyregexp.New(`[0-9]+`)

// aliased: in YAML, a few lines can repeat what they have named before, and so on.
func aliased(args []cty.Value) float64 {
	if args[0].Type() != cty.String {
		return 0
	}
	text := args[0].AsString()
	if !strings.Contains(text, "*") || !strings.Contains(text, "&") {
		return 0
	}
	ty, err := ctyyaml.Standard.ImpliedType([]byte(text))
	if err != nil {
		return 0 // the function says so
	}
	return float64(value.TypeSize(ty, value.MaxSize))
}

// width is the most that the verbs of a format can fill up to, and how many
// verbs there are.
func width(format cty.Value) (width float64, verbs int) {
	if format.Type() != cty.String {
		return 0, 0
	}
	for _, v := range verb.Get().FindAllString(format.AsString(), -1) {
		verbs++
		for _, n := range digits.Get().FindAllString(v, -1) {
			w, err := strconv.ParseFloat(n, 64)
			if err == nil {
				width += w
			}
		}
	}
	return width, verbs
}

// formatted: a verb may name any argument, so each may be there as often as
// there are verbs.
func formatted(args []cty.Value) float64 {
	width, verbs := width(args[0])
	return width + float64(verbs)*inArguments(args[1:]) + size(args[0])
}

// formattedList: what isn't a list is in each result.
func formattedList(args []cty.Value) float64 {
	width, verbs := width(args[0])
	rows, lists, single := 1.0, 0.0, 0.0
	for _, arg := range args[1:] {
		if ty := arg.Type(); ty.IsListType() || ty.IsSetType() || ty.IsTupleType() {
			rows = max(rows, float64(arg.LengthInt()))
			lists += size(arg)
		} else {
			single += size(arg)
		}
	}
	return rows*(width+size(args[0])+float64(verbs)*single) + float64(verbs)*lists
}

// indented is what indent adds.
func indented(spaces int, text string) float64 {
	return float64(spaces)*float64(strings.Count(text, "\n")) + float64(len(text))
}
