package function

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"weir.dev/weir/internal/core/value"
)

// inOnePass makes a function whose result has what the arguments hold use run, which
// answers false for what is best left to fn. The functions of the library go ten times
// through all that the arguments hold.
func inOnePass(fn function.Function, run func(args []cty.Value) (cty.Value, bool)) function.Function {
	fixed, last := fn.Params(), fn.VarParam()
	for i, p := range fixed {
		fixed[i] = viewed(p.Name)
	}
	if last != nil {
		*last = viewed(last.Name)
	}
	return dynamicFunc(fixed, last, func(views []cty.Value) (cty.Value, error) {
		args := make([]cty.Value, len(views))
		for i, v := range views {
			args[i] = v.EncapsulatedValue().(*view).v
		}
		if err := checkBound(args, inArguments); err != nil {
			return cty.NilVal, err
		}
		if v, ok := run(args); ok {
			return v, nil
		}
		return fn.Call(args)
	})
}

// isSequence reports whether a type is one of those whose values flatten takes apart.
func isSequence(ty cty.Type) bool { return ty.IsTupleType() || ty.IsListType() || ty.IsSetType() }

// concat joins known tuples and lists. Lists of different types are the library's,
// which knows what they have in common.
func concat(args []cty.Value) (cty.Value, bool) {
	var elements []cty.Value
	all := make([]cty.ValueMarks, len(args))
	lists := true
	for i, arg := range args {
		var bare cty.Value
		bare, all[i] = arg.Unmark()
		ty := bare.Type()
		if !isSequence(ty) || ty.IsSetType() || bare.IsNull() || !bare.IsKnown() {
			return cty.NilVal, false
		}
		lists = lists && ty.IsListType()
		if lists && !ty.Equals(args[0].Type()) {
			return cty.NilVal, false
		}
		for element := range value.Elements(bare) {
			elements = append(elements, element)
		}
	}
	switch {
	case len(args) == 0:
		return cty.NilVal, false
	case lists:
		return listOrEmpty(elements, args[0].Type().ElementType()).WithMarks(all...), true
	}
	return cty.TupleVal(elements).WithMarks(all...), true
}

// flatten takes known sequences apart. Where there is an unknown one within them, the
// library says what is known of the result.
func flatten(args []cty.Value) (cty.Value, bool) {
	var f flattening
	if !f.add(args[0]) {
		return cty.NilVal, false
	}
	return cty.TupleVal(f.elements).WithMarks(f.marks...), true
}

type flattening struct {
	elements []cty.Value
	marks    []cty.ValueMarks // of the sequences
}

func (f *flattening) add(v cty.Value) bool {
	v, marks := v.Unmark()
	if !isSequence(v.Type()) || v.IsNull() || !v.IsKnown() {
		return false
	}
	if len(marks) > 0 {
		f.marks = append(f.marks, marks)
	}
	for element := range value.Elements(v) {
		ty := element.Type()
		switch {
		case isSequence(ty) && !element.IsNull():
			if !f.add(element) {
				return false
			}
		case ty == cty.DynamicPseudoType && !element.IsKnown():
			return false
		default:
			f.elements = append(f.elements, element)
		}
	}
	return true
}
