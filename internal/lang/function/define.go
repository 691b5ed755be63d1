package function

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"weir.dev/weir/internal/core/value"
)

// def declares a function of plain values: its body sees known arguments
// without marks and never a null, and its result is never null. Unknown
// arguments make the result unknown, and all marks of all arguments are put on
// the result.
type def struct {
	params   []function.Parameter
	variadic *function.Parameter
	result   cty.Type
	run      func(c *call) (cty.Value, error)
}

// call is one call of a def.
type call struct {
	args   []cty.Value
	hidden []bool // whether messages must not show the argument
}

func str(name string) function.Parameter { return function.Parameter{Name: name, Type: cty.String} }
func num(name string) function.Parameter { return function.Parameter{Name: name, Type: cty.Number} }

func param(name string, ty cty.Type) function.Parameter {
	return function.Parameter{Name: name, Type: ty}
}

func anything(name string) function.Parameter {
	return function.Parameter{Name: name, Type: cty.DynamicPseudoType}
}

// open lets everything through to the body of a function.
func open(p function.Parameter) function.Parameter {
	p.AllowDynamicType, p.AllowMarked, p.AllowNull, p.AllowUnknown = true, true, true, true
	return p
}

func openAll(params []function.Parameter, variadic *function.Parameter) ([]function.Parameter, *function.Parameter) {
	opened := make([]function.Parameter, len(params))
	for i, p := range params {
		opened[i] = open(p)
	}
	if variadic == nil {
		return opened, nil
	}
	last := open(*variadic)
	return opened, &last
}

func (d def) function() function.Function {
	params, variadic := openAll(d.params, d.variadic)
	return function.New(&function.Spec{
		Params:   params,
		VarParam: variadic,
		Type:     function.StaticReturnType(d.result),
		Impl:     d.call,
	})
}

// call prepares the arguments. The library could do the same, but would forget
// marks of unknown arguments, and bodies couldn't tell what to hide.
func (d def) call(args []cty.Value, _ cty.Type) (cty.Value, error) {
	c := &call{args: make([]cty.Value, len(args)), hidden: make([]bool, len(args))}
	all := make([]cty.ValueMarks, len(args))
	known := true
	for i, arg := range args {
		c.args[i], all[i] = arg.UnmarkDeep()
		c.hidden[i] = value.HiddenMarks(all[i])
		if c.args[i].IsNull() {
			return cty.NilVal, function.NewArgErrorf(i, "argument must not be null")
		}
		known = known && c.args[i].IsKnown()
	}
	ret := cty.UnknownVal(d.result)
	if known {
		var err error
		if ret, err = d.run(c); err != nil {
			return cty.NilVal, err
		}
	}
	if ret.Type() != cty.DynamicPseudoType {
		ret = ret.RefineNotNull()
	}
	return ret.WithMarks(all...), nil
}

func (c *call) str(i int) string { return c.args[i].AsString() }

// integer reads argument i as a whole number.
func (c *call) integer(i int) (int, error) {
	n, acc := c.args[i].AsBigFloat().Int64()
	if acc != 0 {
		return 0, c.fault(i, "a whole number is required, not %s", c.show(i))
	}
	return int(n), nil
}

// show writes argument i for a message, or says why it can't.
func (c *call) show(i int) string {
	switch v := c.args[i]; {
	case c.hidden[i]:
		return hiddenText
	case v.Type() == cty.String:
		return strconv.Quote(v.AsString())
	case v.Type() == cty.Number:
		return v.AsBigFloat().Text('f', -1)
	default:
		return v.Type().FriendlyName()
	}
}

const hiddenText = "(sensitive value)"

// fault is an error about argument i.
func (c *call) fault(i int, format string, args ...any) error {
	return function.NewArgErrorf(i, format, args...)
}

// because is an error about argument i whose cause may quote the argument.
func (c *call) because(i int, what string, err error) error {
	if c.hidden[i] {
		return c.fault(i, "%s; the reason isn't shown because the value is sensitive", what)
	}
	return c.fault(i, "%s: %s", what, err)
}

// together is an error that no argument alone is to blame for, so that the values of all
// of them are shown with it. Its cause may quote any of them.
func (c *call) together(what string, err error) error {
	if slices.Contains(c.hidden, true) {
		return fmt.Errorf("%s; the reason isn't shown because a value is sensitive", what)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// fromLibrary mends what a function of cty does with marks: it would forget those of unknown
// arguments, it may panic, and its messages may quote what must not be shown if quotes is set.
// It doesn't make what is too large by bound, which may be nil.
func fromLibrary(fn function.Function, quotes bool, bound estimate) function.Function {
	params, variadic := openAll(fn.Params(), fn.VarParam())
	return dynamicFunc(params, variadic, func(args []cty.Value) (cty.Value, error) {
		if bound != nil {
			if err := checkBound(args, bound); err != nil {
				return cty.NilVal, err
			}
		}
		v, err := fn.Call(args)
		var panicked function.PanicError
		switch {
		case errors.As(err, &panicked):
			return cty.NilVal, errors.New("the function has no result for these arguments")
		case err != nil && quotes:
			return cty.NilVal, hideError(args, err)
		case err != nil:
			return cty.NilVal, err
		case v.IsKnown():
			return v, nil
		}
		for _, arg := range args {
			_, marks := arg.UnmarkDeep()
			v = v.WithMarks(marks)
		}
		return v, nil
	})
}

func hideError(args []cty.Value, err error) error {
	if !slices.ContainsFunc(args, value.Hidden) {
		return err
	}
	const text = "the arguments don't fit; the reason isn't shown because a value is sensitive"
	if arg, ok := err.(function.ArgError); ok {
		return function.NewArgErrorf(arg.Index, text)
	}
	return errors.New(text)
}

// withLinearConversion makes a function convert collections itself: the
// conversion that comes with a call compares all elements with each other.
func withLinearConversion(fn function.Function) function.Function {
	return withConversion(fn, func(p function.Parameter) cty.Type {
		if p.Type.IsCollectionType() {
			return p.Type
		}
		return cty.NilType
	})
}

// withConversion converts arguments to what want answers for their parameter
// before fn sees them. NilType leaves them as they are.
func withConversion(fn function.Function, want func(function.Parameter) cty.Type) function.Function {
	fixed, last := fn.Params(), fn.VarParam()
	params, variadic := openAll(fixed, last)
	wants := make([]cty.Type, len(params))
	rest, changed := cty.NilType, false
	widen := func(p *function.Parameter, original function.Parameter) cty.Type {
		ty := want(original)
		if ty == cty.NilType {
			return ty
		}
		p.Type, changed = cty.DynamicPseudoType, true
		return ty
	}
	for i := range params {
		wants[i] = widen(&params[i], fixed[i])
	}
	if variadic != nil {
		rest = widen(variadic, *last)
	}
	if !changed {
		return fn
	}
	convert := func(args []cty.Value) ([]cty.Value, error) {
		ret := make([]cty.Value, len(args))
		for i, arg := range args {
			ty := rest
			if i < len(wants) {
				ty = wants[i]
			}
			ret[i] = arg
			if ty == cty.NilType {
				continue
			}
			var err error
			if ret[i], err = value.Convert(arg, ty); err != nil {
				return nil, function.NewArgErrorf(i, "%s", value.ErrorString("", err))
			}
		}
		return ret, nil
	}
	return function.New(&function.Spec{
		Params:   params,
		VarParam: variadic,
		// One pass is enough: what fn says of its result is checked inside.
		Type: function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			args, err := convert(args)
			if err != nil {
				return cty.NilVal, err
			}
			return fn.Call(args)
		},
	})
}

// wrongCount is the error of a function with optional arguments.
func wrongCount(name string, low, high, got int) error {
	return fmt.Errorf("%s takes %d to %d arguments, got %d", name, low, high, got)
}
