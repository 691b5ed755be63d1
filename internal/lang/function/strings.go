package function

import (
	"regexp"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

func addStrings(table map[string]function.Function) {
	test := func(second string, answer func(s, part string) bool) function.Function {
		return def{[]function.Parameter{str("str"), str(second)}, nil, cty.Bool, func(c *call) (cty.Value, error) {
			return cty.BoolVal(answer(c.str(0), c.str(1))), nil
		}}.function()
	}
	table["endswith"] = test("suffix", strings.HasSuffix)
	table["strcontains"] = test("substr", strings.Contains)
	table["indent"] = def{[]function.Parameter{num("spaces"), str("str")}, nil, cty.String, indent}.function()
	table["startswith"] = startsWith(test("prefix", strings.HasPrefix))
	table["replace"] = def{[]function.Parameter{str("str"), str("substr"), str("replace")}, nil, cty.String, replace}.function()
}

// indent leaves the first line alone: it follows what is already indented.
func indent(c *call) (cty.Value, error) {
	spaces, err := c.integer(0)
	if err != nil {
		return cty.NilVal, err
	}
	if spaces < 0 {
		return cty.NilVal, c.fault(0, "must not be negative")
	}
	if err := sized(indented(spaces, c.str(1))); err != nil {
		return cty.NilVal, err
	}
	return cty.StringVal(strings.ReplaceAll(c.str(1), "\n", "\n"+strings.Repeat(" ", spaces))), nil
}

// startsWith can also answer for an unknown string whose beginning is known.
func startsWith(known function.Function) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{open(str("str")), open(str("prefix"))},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			s, marks := args[0].Unmark()
			prefix, prefixMarks := args[1].Unmark()
			if s.IsKnown() || !prefix.IsKnown() || prefix.IsNull() || s.Type() != cty.String {
				return known.Call(args)
			}
			begins, want := s.Range().StringPrefix(), prefix.AsString()
			ret := cty.UnknownVal(cty.Bool).RefineNotNull()
			switch {
			case strings.HasPrefix(begins, want):
				ret = cty.True
			case !strings.HasPrefix(want, begins):
				ret = cty.False
			}
			return ret.WithMarks(marks, prefixMarks), nil
		},
	})
}

// replace takes a search text between slashes as a regular expression, whose
// groups the replacement can name.
func replace(c *call) (cty.Value, error) {
	s, old, with := c.str(0), c.str(1), c.str(2)
	if len(old) > 1 && strings.HasPrefix(old, "/") && strings.HasSuffix(old, "/") {
		re, err := regexp.Compile(old[1 : len(old)-1])
		if err != nil {
			return cty.NilVal, c.because(1, "not a regular expression", err)
		}
		// Each group that the replacement names can be all of the text.
		found := float64(len(re.FindAllStringIndex(s, -1)))
		if err := sized(float64(len(s)) + found*float64(len(with)) + float64(strings.Count(with, "$"))*float64(len(s))); err != nil {
			return cty.NilVal, err
		}
		return cty.StringVal(re.ReplaceAllString(s, with)), nil
	}
	if err := sized(float64(len(s)) + float64(strings.Count(s, old))*float64(len(with))); err != nil {
		return cty.NilVal, err
	}
	return cty.StringVal(strings.ReplaceAll(s, old, with)), nil
}
