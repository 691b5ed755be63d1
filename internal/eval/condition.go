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

// An Outcome is what a condition came to. Message is set when it failed;
// Diags has problems of the condition itself.
type Outcome struct {
	Status  Status
	Message string
	Diags   diag.List

	values   []diag.Value
	compared *diag.Comparison
}

// Missing reports whether the condition couldn't be evaluated for want of
// something that has a problem of its own.
func (o Outcome) Missing() bool { return o.Status == Failed && len(o.Diags) == 0 }

// CheckCondition evaluates a condition. A condition that doesn't hold is no
// problem by itself: what follows from it is the caller's to decide.
func CheckCondition(t *promise.Task, c *program.Condition, ctx *hcl.EvalContext) Outcome {
	var v cty.Value
	o := Outcome{Status: Failed}
	if t.Within(func(t *promise.Task) { v, o.Diags = Evaluate(t, c.Condition, ctx) }) {
		return o
	}
	v, _ = v.Unmark()
	if !v.IsKnown() {
		o.Status = Unknown
		o.explain(c, ctx)
		return o
	}
	if v.IsNull() {
		return o.wrong(c, ctx, "Condition expression must return either true or false, not null.")
	}
	b, err := convert.Convert(v, cty.Bool)
	if err != nil {
		return o.wrong(c, ctx, "Invalid condition result value: %s.", value.ErrorString("", err))
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

// wrong is the outcome of a condition whose value is none of true and false.
func (o Outcome) wrong(c *program.Condition, ctx *hcl.EvalContext, format string, args ...any) Outcome {
	d := diag.BadCondition.Error(c.Condition.Range(), format, args...)
	d.Values = expressionValues(c.Condition.Expression, ctx, false)
	o.Diags.Add(d)
	return o
}

// message evaluates the error message of a condition that doesn't hold.
func (o *Outcome) message(t *promise.Task, c *program.Condition, ctx *hcl.EvalContext) {
	const none = "This check failed, but its error message can't be shown: "
	if c.ErrorMessage == nil {
		return
	}
	v, hd := c.ErrorMessage.Value(ctx)
	o.Diags.Append(Diagnostics(hd))
	if hd.HasErrors() {
		o.Message = none + "it has an error of its own."
		return
	}
	v, marks := v.Unmark()
	s, err := convert.Convert(v, cty.String)
	switch {
	case marks.Has(value.Sensitive):
		o.Diags.Add(diag.Diagnostic{Severity: diag.Warning, Code: HiddenMessage.Name, Summary: HiddenMessage.Summary, Detail: "The error expression used to explain this condition refers to sensitive values, so the message isn't shown. Consider nonsensitive for the parts that may be shown.", Subject: c.ErrorMessage.Range().Ptr()})
		o.Message = none + "it refers to sensitive values."
	case marks.Has(value.Ephemeral):
		o.Diags.Add(diag.Diagnostic{Severity: diag.Warning, Code: HiddenMessage.Name, Summary: "Error message refers to ephemeral values", Detail: "The error expression used to explain this condition refers to ephemeral values, so the message isn't shown. Consider ephemeralasnull for the parts that may be shown.", Subject: c.ErrorMessage.Range().Ptr()})
		o.Message = none + "it refers to ephemeral values."
	case err != nil:
		o.Diags.Add(diag.BadCondition.As("Invalid error message").Error(c.ErrorMessage.Range(), "Unsuitable value for error message: %s.", value.ErrorString("", err)))
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

// Observe has an observer evaluated, once. Where its data source couldn't be read, which who
// tried has reported, there is nothing to look at.
func (f *Frame) Observe(t *promise.Task, o program.Observer, evaluate func(t *promise.Task, readable bool)) {
	get(f, &f.observers[o.Place()], t, subject{f, o}, nil, func(t *promise.Task) result {
		own := o.Own()
		failed := own != nil && t.Within(func(t *promise.Task) {
			if i := f.Instance(t, own, addr.NoKey); i != nil {
				i.Value(t, nil)
			}
		})
		evaluate(t, !failed)
		return result{}
	})
}

// ObserverNode is the place of an observer among the cells.
func (f *Frame) ObserverNode(o program.Observer) *promise.Node {
	return &f.observers[o.Place()].Node
}
