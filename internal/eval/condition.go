package eval

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/program"
)

// Status is the outcome of a condition; the texts are those of the JSON
// formats.
type Status string

const (
	Pass    Status = "pass"
	Fail    Status = "fail"
	Failed  Status = "error" // the condition couldn't be evaluated
	Unknown Status = "unknown"
)

// An Outcome is the result of a condition. Message is set when it failed.
type Outcome struct {
	Status  Status
	Message string

	missing bool // see Missing

	values   []diag.Value
	compared *diag.Comparison
}

// Missing reports whether the condition couldn't be evaluated for want of
// something that has a problem of its own.
func (o Outcome) Missing() bool { return o.missing }

// CheckCondition evaluates a condition and reports problems of the condition itself. A condition
// that doesn't hold is no problem by itself: what follows from it is the caller's to decide.
func CheckCondition(t *promise.Task, c *program.Condition, ctx *hcl.EvalContext) Outcome {
	o := Outcome{Status: Failed}
	before := len(t.Reported())
	v, ok := Evaluate(t, c.Condition, ctx)
	if !ok {
		o.missing = len(t.Reported()) == before
		return o
	}
	v, _ = v.Unmark()
	if !v.IsKnown() {
		o.Status = Unknown
		o.explain(c, ctx)
		return o
	}
	if v.IsNull() {
		wrong(t, c, ctx, "Condition expression must return either true or false, not null.")
		return o
	}
	b, err := convert.Convert(v, cty.Bool)
	if err != nil {
		wrong(t, c, ctx, "Invalid condition result value: %s.", value.ErrorString("", err))
		return o
	}
	b, _ = b.Unmark()
	if b.True() {
		o.Status = Pass
		return o
	}
	o.Status = Fail
	o.explain(c, ctx)
	o.message(t, c, ctx)
	return o
}

// explain notes the values that the condition depends on.
func (o *Outcome) explain(c *program.Condition, ctx *hcl.EvalContext) {
	o.values, o.compared = expressionValues(c.Condition.Expression, ctx, false), compared(c.Condition.Expression, ctx)
}

// wrong reports that the value of a condition is none of true and false.
func wrong(t *promise.Task, c *program.Condition, ctx *hcl.EvalContext, format string, args ...any) {
	d := diag.BadCondition.Error(c.Condition.Range(), format, args...)
	d.Values = expressionValues(c.Condition.Expression, ctx, false)
	t.Report(d)
}

// message evaluates the error message of a condition that doesn't hold.
func (o *Outcome) message(t *promise.Task, c *program.Condition, ctx *hcl.EvalContext) {
	const none = "This check failed, but its error message can't be shown: "
	if c.ErrorMessage == nil {
		return
	}
	v, hd := c.ErrorMessage.Value(ctx)
	if !t.Report(Diagnostics(hd)...) {
		o.Message = none + "it has an error of its own."
		return
	}
	v, marks := v.Unmark()
	s, err := convert.Convert(v, cty.String)
	switch {
	case marks.Has(value.Sensitive):
		t.Report(HiddenMessage.Warning(c.ErrorMessage.Range(), "The error expression used to explain this condition refers to sensitive values, so the message isn't shown. Consider nonsensitive for the parts that may be shown."))
		o.Message = none + "it refers to sensitive values."
	case marks.Has(value.Ephemeral):
		t.Report(HiddenMessage.As("Error message refers to ephemeral values").Warning(c.ErrorMessage.Range(), "The error expression used to explain this condition refers to ephemeral values, so the message isn't shown. Consider ephemeralasnull for the parts that may be shown."))
		o.Message = none + "it refers to ephemeral values."
	case err != nil:
		t.Report(diag.BadCondition.As("Invalid error message").Error(c.ErrorMessage.Range(), "Unsuitable value for error message: %s.", value.ErrorString("", err)))
		o.Message = none + "it isn't a string."
	case !s.IsKnown():
		o.Message = none + "it is known only after apply."
	case s.IsNull():
		o.Message = none + "it is null."
	default:
		s, _ = s.Unmark()
		o.Message = strings.TrimSpace(s.AsString())
	}
}

// Problem is the error that a condition doesn't hold.
func (o Outcome) Problem(code diag.Code, c *program.Condition) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: code.Name, Summary: code.Summary, Detail: o.Message,
		Subject: c.Condition.Range().Ptr(), Values: o.values, Compared: o.compared,
	}
}

// Checkable names an object of the frame that has conditions.
func (f *Frame) Checkable(kind, name string) *diag.Checkable {
	return &diag.Checkable{Kind: kind, Address: f.Erased(name), Instance: f.Label(name)}
}

// Erased puts the module's address without instance keys before a name.
func (f *Frame) Erased(name string) string {
	if m := f.Addr.Erase(); !m.IsRoot() {
		return m.String() + "." + name
	}
	return name
}

// Observe evaluates an observer once. readable is false if its data source couldn't be read, which
// the read has reported; the conditions then have no value to check.
func (f *Frame) Observe(t *promise.Task, o program.Observer, evaluate func(t *promise.Task, readable bool)) {
	get(f, &f.observers[o.Place()], t, subject{f, o}, nil, func(t *promise.Task) (struct{}, bool) {
		readable := true
		if own := o.Own(); own != nil {
			readable = t.Within(func(t *promise.Task) {
				if i := f.Instance(t, own, addr.NoKey); i != nil {
					i.Value(t, nil)
				}
			})
		}
		evaluate(t, readable)
		return struct{}{}, true
	})
}

// ObserverNode is the place of an observer among the cells.
func (f *Frame) ObserverNode(o program.Observer) *promise.Node {
	return &f.observers[o.Place()].Node
}
