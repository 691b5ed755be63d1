package eval

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/program"
)

// A Frame is a module instance: a program with the arguments and the cells of
// that instance.
type Frame struct {
	Program *program.Program
	Addr    addr.Module
	// Parent, Call and Each are those of the call, nil for the root.
	Parent *Frame
	Call   *program.Call
	Each   *Each

	ev *Evaluator

	variables []variableCells
	locals    []promise.Cell[cty.Value]
	outputs   []promise.Cell[result]
	resources []resourceCells
	calls     []callCells
	providers []providerCells
	observers []promise.Cell[struct{}]
	object    promise.Rare[cty.Value] // all outputs
	content   promise.Rare[struct{}]  // everything in the module
	awaited   promise.Rare[struct{}]  // what the module as a whole depends on
}

type variableCells struct {
	checked promise.Cell[result]
	raw     promise.Rare[cty.Value] // as it is before it is held to validations
}

// NewRoot makes the root frame.
func (ev *Evaluator) NewRoot(p *program.Program) *Frame {
	return ev.newFrame(p, addr.Root, nil, nil, nil)
}

func (ev *Evaluator) newFrame(p *program.Program, a addr.Module, parent *Frame, call *program.Call, each *Each) *Frame {
	return &Frame{
		Program: p, Addr: a, Parent: parent, Call: call, Each: each, ev: ev,
		variables: make([]variableCells, len(p.Variables)),
		locals:    make([]promise.Cell[cty.Value], len(p.Locals)),
		outputs:   make([]promise.Cell[result], len(p.Outputs)),
		resources: make([]resourceCells, len(p.Resources)),
		calls:     make([]callCells, len(p.Calls)+len(p.Gone)),
		providers: make([]providerCells, len(p.Providers)),
		observers: make([]promise.Cell[struct{}], len(p.Observers)),
	}
}

// Detached makes a frame that nobody refers to, for expressions that refer to
// nothing in their module.
func (f *Frame) Detached(p *program.Program, a addr.Module) *Frame {
	return f.ev.newFrame(p, a, nil, nil, nil)
}

// Label puts the module's address before a name.
func (f *Frame) Label(text string) string {
	if f.Addr.IsRoot() {
		return text
	}
	return f.Addr.String() + "." + text
}

// Evaluator returns the evaluator that the frame belongs to.
func (f *Frame) Evaluator() *Evaluator { return f.ev }

// newContext makes a context in which the module's provider functions can be
// called beside the built-in ones.
func (f *Frame) newContext(sc *scope) *hcl.EvalContext {
	functions := f.ev.Facts.Functions
	if sc.live && f.ev.Facts.Live != nil {
		functions = f.ev.Facts.Live
	}
	ctx := program.NewContext(sc, functions)
	if len(f.Program.Functions) == 0 {
		return ctx
	}
	ctx = ctx.NewChild()
	ctx.Functions = make(map[string]function.Function, len(f.Program.Functions))
	for _, pf := range f.Program.Functions {
		ctx.Functions[pf.Full] = f.providerFunction(sc.task, pf)
	}
	return ctx
}

// providerFunction makes a function that asks the host. It takes arguments of
// any type, since the signature belongs to the provider.
func (f *Frame) providerFunction(t *promise.Task, pf *program.ProviderFunction) function.Function {
	return function.New(&function.Spec{
		VarParam: &function.Parameter{
			Name: "args", Type: cty.DynamicPseudoType,
			AllowNull: true, AllowUnknown: true, AllowDynamicType: true,
		},
		Type: function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (v cty.Value, err error) {
			// How long a call may take is bounded by itself.
			t.Elsewhere(func() { v, err = f.ev.Host.Call(t, f, pf, args) })
			return v, err
		},
	})
}

// Variable returns the value of an input variable whose validations hold.
func (f *Frame) Variable(t *promise.Task, v *program.Variable, via *hcl.Range) (cty.Value, bool) {
	r, ok := get(f, &f.variables[v.Index].checked, t, subject{f, v}, via, func(t *promise.Task) (result, bool) {
		if len(v.Validations) == 0 {
			given, ok := prepared(f, t, v)
			return result{value: given}, ok
		}
		raw, ok := f.rawVariable(t, v, &v.Range)
		if !ok {
			return result{value: raw}, false
		}
		var outcomes []Outcome
		ctx := f.newContext(&scope{frame: f, task: t, raw: v})
		for _, c := range v.Validations {
			outcome := CheckCondition(t, c, ctx)
			outcomes = append(outcomes, outcome)
			if outcome.Status == Fail {
				problem := outcome.Problem(InvalidVariable, c)
				problem.Subject, problem.Context = valueRange(f, v).Ptr(), nil
				problem.Unmet = f.Checkable("input_variable", "var."+v.Name)
				problem.Detail += "\n\nThis was checked by the validation rule at " + rangeText(c.Condition.Range()) + "."
				t.Report(problem)
			}
		}
		return result{raw, outcomes}, true
	})
	return orUnknown(r.value), ok
}

// AnyValue is a value of a variable that isn't known, with the marks that its
// declaration gives.
func AnyValue(v *program.Variable) cty.Value {
	return declaredMarks(v, cty.UnknownVal(v.Type.WithoutOptionalAttributesDeep()))
}

func declaredMarks(v *program.Variable, result cty.Value) cty.Value {
	if v.Sensitive {
		result = result.Mark(value.Sensitive)
	}
	if v.Ephemeral {
		result = result.Mark(value.Ephemeral)
	}
	return result
}

// valueRange is where a variable's value comes from.
func valueRange(f *Frame, v *program.Variable) hcl.Range {
	if f.Call != nil {
		if in := f.Call.Input(v.Name); in != nil {
			return in.Expr.Range()
		}
	}
	if at, ok := f.ev.Facts.Given[v.Name]; ok && f.Parent == nil && !v.Sensitive && !v.Ephemeral {
		return at
	}
	return v.Range
}

func (f *Frame) rawVariable(t *promise.Task, v *program.Variable, via *hcl.Range) (cty.Value, bool) {
	raw, ok := get(f, f.variables[v.Index].raw.Cell(), t, subject{f, v}, via, func(t *promise.Task) (cty.Value, bool) { return prepared(f, t, v) })
	return orUnknown(raw), ok
}

// prepared is what a variable is given, of its type.
func prepared(f *Frame, t *promise.Task, v *program.Variable) (cty.Value, bool) {
	given, ok := f.givenVariable(t, v)
	if !ok {
		return cty.DynamicVal, false
	}
	if given == cty.NilVal && f.Parent != nil && v.Required() {
		return AnyValue(v), false // reported where the call is checked
	}
	ready, diags := PrepareVariable(v, given, valueRange(f, v))
	ok = t.Report(diags...)
	if l := t.Reported(); len(l) > 0 && f.varies() {
		l.InAddress(f.Addr.String())
	}
	return ready, ok
}

// varies reports whether other instances of the frame's call load another
// program.
func (f *Frame) varies() bool {
	if f.Parent == nil {
		return false
	}
	fs, _ := f.Parent.calls[f.Call.Index].expansion.Peek()
	return slices.ContainsFunc(fs.list, func(other *Frame) bool { return other != nil && other.Program != f.Program })
}

// givenVariable is the value from outside or from the call, NilVal without.
func (f *Frame) givenVariable(t *promise.Task, v *program.Variable) (cty.Value, bool) {
	if f.Parent == nil {
		given, diags := f.ev.Host.Variable(v)
		return given, t.Report(diags...)
	}
	in := f.Call.Input(v.Name)
	if in == nil {
		return cty.NilVal, true
	}
	ctx := f.Parent.Context(t, f.Each, cty.NilVal)
	if f.Call.Object != nil {
		return givenIn(t, f.Call, v, ctx)
	}
	return Evaluate(t, in.Expr, ctx)
}

// givenIn is the value that an object with all inputs has for a variable, NilVal if
// it has none.
func givenIn(t *promise.Task, c *program.Call, v *program.Variable, ctx *hcl.EvalContext) (cty.Value, bool) {
	whole, ok := Evaluate(t, c.Object, ctx)
	if !ok {
		return cty.DynamicVal, false
	}
	inner, marks := whole.Unmark()
	var given cty.Value
	switch ty := inner.Type(); {
	case ty == cty.DynamicPseudoType && !inner.IsKnown():
		given = cty.DynamicVal
	case inner.IsNull() || !ty.IsObjectType() && !ty.IsMapType():
		return cty.DynamicVal, t.Report(WrongType.Error(c.Object.Range(), "The inputs of %s have to be an object, and this is %s.", c, inner.Type().FriendlyName()))
	case ty.IsMapType() && !inner.IsKnown():
		given = cty.UnknownVal(ty.ElementType())
	case ty.IsMapType() && inner.HasIndex(cty.StringVal(v.Name)).True():
		given = inner.Index(cty.StringVal(v.Name))
	case ty.IsObjectType() && ty.HasAttribute(v.Name):
		given = inner.GetAttr(v.Name)
	case v.Required():
		return cty.DynamicVal, t.Report(MissingVariable.Error(c.Object.Range(), "The input %q is required by %s, and the object that has its inputs has no attribute of that name.", v.Name, c))
	default:
		return cty.NilVal, true
	}
	return given.WithMarks(marks), true
}

// PrepareVariable turns a given value, or NilVal, into the one that
// references get: of the declared type, with defaults and marks.
func PrepareVariable(v *program.Variable, given cty.Value, where hcl.Range) (cty.Value, diag.List) {
	var diags diag.List
	if given == cty.NilVal || given.IsNull() && !v.Nullable && v.Default != cty.NilVal {
		given = v.Default
	}
	if given == cty.NilVal {
		diags.Add(MissingVariable.Error(where, "The root module input variable %q is not set, and has no default value. Use a -var or -var-file command line argument to provide a value for this variable.", v.Name))
		return cty.DynamicVal, diags
	}
	if v.Defaults != nil && !given.IsNull() {
		given = v.Defaults.Apply(given)
	}
	result, err := value.Convert(given, v.Type)
	if err != nil {
		diags.Add(WrongType.Error(where, "The given value is not suitable for var.%s declared at %s: %s.", v.Name, rangeText(v.Range), value.ErrorString("", err)))
		return cty.UnknownVal(v.Type.WithoutOptionalAttributesDeep()), diags
	}
	if result.IsNull() && !v.Nullable {
		diags.Add(WrongType.Error(where, "The given value is not suitable for var.%s declared at %s: required variable may not be set to null.", v.Name, rangeText(v.Range)))
		return cty.UnknownVal(v.Type.WithoutOptionalAttributesDeep()), diags
	}
	if !v.Ephemeral && value.IsEphemeral(result) {
		diags.Add(diag.Ephemeral.As("Variable does not allow ephemeral value").Error(where, "The value used for the variable %q is ephemeral, but it is not configured to allow one. Declare it with ephemeral = true, or use ephemeralasnull to leave the value out.", v.Name))
		return cty.UnknownVal(v.Type.WithoutOptionalAttributesDeep()), diags
	}
	return declaredMarks(v, result), diags
}

// Local returns the value of a local value.
func (f *Frame) Local(t *promise.Task, l *program.Local, via *hcl.Range) (cty.Value, bool) {
	v, ok := get(f, &f.locals[l.Index], t, subject{f, l}, via, func(t *promise.Task) (cty.Value, bool) {
		return Evaluate(t, l.Expr, f.Context(t, nil, cty.NilVal))
	})
	return orUnknown(v), ok
}

// Output returns the value of an output value as the calling module sees it.
func (f *Frame) Output(t *promise.Task, o *program.Output, via *hcl.Range) (cty.Value, bool) {
	r, ok := get(f, &f.outputs[o.Index], t, subject{f, o}, via, func(t *promise.Task) (result, bool) {
		f.Depend(t, o.DependsOn)
		var outcomes []Outcome
		ctx := f.Context(t, nil, cty.NilVal)
		for _, c := range o.Preconditions {
			outcome := CheckCondition(t, c, ctx)
			outcomes = append(outcomes, outcome)
			if outcome.Status == Fail {
				problem := outcome.Problem(Unmet.As("Module output value precondition failed"), c)
				problem.Unmet = f.Checkable("output_value", "output."+o.Name)
				if f.ev.Lenient {
					problem.Severity = diag.Warning
				}
				t.Report(problem)
			}
		}
		if t.Failures() > 0 {
			return result{cty.DynamicVal, outcomes}, false
		}
		v, ok := Evaluate(t, o.Expr, ctx)
		if ok {
			v, ok = checkOutput(f, t, o, v)
		}
		return result{v, outcomes}, ok
	})
	return orUnknown(r.value), ok
}

// stored reports whether the frame's outputs are kept: those of a root module and
// of components.
func (f *Frame) stored() bool { return f.Parent == nil || f.Call.Kind != addr.ModuleCall }

// checkOutput applies an output's declared type and marks.
func checkOutput(f *Frame, t *promise.Task, o *program.Output, v cty.Value) (cty.Value, bool) {
	if o.Type != cty.NilType {
		if o.Defaults != nil && !v.IsNull() {
			v = o.Defaults.Apply(v)
		}
		converted, err := value.Convert(v, o.Type)
		if err != nil {
			return cty.DynamicVal, t.Report(BadOutput.Error(o.Expr.Range(), "The value of output %q doesn't have the declared type: %s.", o.Name, value.ErrorString("", err)))
		}
		v = converted
	}
	if f.Parent == nil && !o.Sensitive && !f.Program.Stack && value.IsSensitive(v) {
		return cty.DynamicVal, t.Report(SensitiveOutput.Error(o.Range, "To reduce the risk of accidentally exporting sensitive data that was intended to be only internal, root module outputs that hold sensitive data have to say so. If you do intend to export this data, annotate the output value as sensitive by adding the following argument:\n    sensitive = true"))
	}
	if !o.Ephemeral && value.IsEphemeral(v) {
		return cty.DynamicVal, t.Report(diag.Ephemeral.As("Output does not allow ephemeral value").Error(o.Expr.Range(), "The value of output %q is ephemeral, but it is not configured to allow one. Declare the output with ephemeral = true in a child module, or use ephemeralasnull to leave the value out.", o.Name))
	}
	if path, found := value.Unwritable(v); found && f.stored() {
		return cty.DynamicVal, t.Report(NumberStored.Error(o.Expr.Range(), "The value of output %q%s is infinite or has too many digits to be written to a state. Check the calculation that it comes from.", o.Name, value.PathString(path)))
	}
	if o.Sensitive {
		v = v.Mark(value.Sensitive)
	}
	if o.Ephemeral {
		v = v.Mark(value.Ephemeral)
	}
	return v, true
}

// orUnknown replaces the value of a cell that was never computed.
func orUnknown(v cty.Value) cty.Value {
	if v == cty.NilVal {
		return cty.DynamicVal
	}
	return v
}
