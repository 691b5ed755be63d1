package static

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
)

// A Reason is a reference that keeps a value from being known before a plan is
// made, with the way to it.
type Reason struct {
	// Chain are the references from the expression to what isn't known; the
	// first one stands in the expression itself.
	Chain []*program.Ref
	// Why completes a sentence about the last reference of the chain.
	Why string
	// Declared: the declaration forbids it, whatever the value is.
	Declared bool
	// Call is the placeholder call whose each or count is meant, with the
	// module that calls; nil for other reasons.
	Call  *program.Call
	Frame *eval.Frame
}

// Explain finds the references that keep an expression's value from being
// known. call and each belong to the module call that the expression is an
// argument of, nil elsewhere.
func Explain(t *promise.Task, f *eval.Frame, call *program.Call, each *eval.Each, refs []*program.Ref) []Reason {
	x := &explainer{task: t, seen: map[any]bool{}}
	x.refs(f, call, each, refs, nil)
	return x.reasons
}

type explainer struct {
	// constants: only variables that are declared with const = true count as known.
	constants bool
	task      *promise.Task
	seen      map[any]bool
	reasons   []Reason
}

type seenAt struct {
	frame *eval.Frame
	what  any
}

func (x *explainer) visited(f *eval.Frame, what any) bool {
	key := seenAt{f, what}
	was := x.seen[key]
	x.seen[key] = true
	return was
}

func (x *explainer) because(chain []*program.Ref, format string, args ...any) {
	x.reasons = append(x.reasons, Reason{Chain: chain, Why: fmt.Sprintf(format, args...)})
}

func (x *explainer) refs(f *eval.Frame, call *program.Call, each *eval.Each, refs []*program.Ref, chain []*program.Ref) {
	for _, ref := range refs {
		next := append(chain[:len(chain):len(chain)], ref)
		switch ref.Kind {
		case program.RefVariable:
			x.variable(f, ref.Variable, next)
		case program.RefLocal:
			if ref.Local.Expr != nil && !x.visited(f, ref.Local) {
				if ref.Local.Expr.Broken() {
					x.because(next, "refers to something that isn't there")
				}
				x.refs(f, nil, nil, ref.Local.Expr.Refs, next)
			}
		case program.RefResource:
			x.because(next, "is an object that a provider answers for, and providers run only when a plan is made")
		case program.RefCall:
			x.call(f, ref, next)
		case program.RefEach, program.RefCount:
			x.each(f, call, each, next)
		case program.RefTerraform:
			if ref.Attr == "applying" {
				x.because(next, "differs from one phase of a run to the next")
			}
		}
	}
}

func (x *explainer) variable(f *eval.Frame, v *program.Variable, chain []*program.Ref) {
	switch {
	case v.NotConst:
		x.because(chain, "is declared with const = false")
		x.reasons[len(x.reasons)-1].Declared = true
	case x.constants && !v.Const:
		x.because(chain, "isn't declared with const = true")
		x.reasons[len(x.reasons)-1].Declared = true
	case v.Sensitive:
		x.because(chain, "is declared as sensitive, and the value would be shown and kept in files")
	case v.Ephemeral:
		x.because(chain, "is declared as ephemeral, and the value would be kept in files")
	case f.Parent == nil:
		value := cty.NilVal
		x.task.Try(func(t *promise.Task) { value, _ = f.Variable(t, v, nil) })
		if !value.IsWhollyKnown() {
			x.because(chain, "has no valid value. Give it one with -var, in a file of values or in the environment, also to init")
		}
	default:
		if in := f.Call.Input(v.Name); in != nil && in.Expr != nil && !x.visited(f, v) {
			x.refs(f.Parent, f.Call, f.Each, in.Expr.Refs, chain)
		}
	}
}

func (x *explainer) each(f *eval.Frame, call *program.Call, each *eval.Each, chain []*program.Ref) {
	if call == nil || each == nil {
		return
	}
	if each.Key.IsAny() && !x.visited(f, call) {
		x.reasons = append(x.reasons, Reason{Chain: chain, Why: "isn't known", Call: call, Frame: f})
	}
	if repeat := call.Repeat.Expr(); repeat != nil {
		x.refs(f, nil, nil, repeat.Refs, chain)
	}
}

func (x *explainer) call(f *eval.Frame, ref *program.Ref, chain []*program.Ref) {
	if x.visited(f, ref) {
		return
	}
	var children []*eval.Frame
	x.task.Try(func(t *promise.Task) { children = f.Calls(t, ref.Call, nil) })
	if len(children) == 0 {
		x.because(chain, "is a module that isn't loaded")
	}
	for _, child := range children {
		for _, o := range child.Program.Outputs {
			if (ref.Attr == "" || ref.Attr == o.Name) && o.Expr != nil {
				x.refs(child, nil, nil, o.Expr.Refs, chain)
			}
		}
	}
}

// Problem is the diagnostic for an expression whose value has to be known.
// Without reasons it blames functions whose results differ between calls.
func Problem(reasons []Reason, where hcl.Range, what string) diag.Diagnostic {
	d := diag.Diagnostic{Severity: diag.Error, Code: NotKnown.Name, Summary: "Invalid " + what, Subject: where.Ptr()}
	if len(reasons) == 0 {
		d.Detail = fmt.Sprintf("The value of this %s must be known before a plan is made, and isn't: a function that it uses gives another result each time. Use variables, locals, each, count, and functions whose result depends only on their arguments.", what)
		return d
	}
	r := reasons[0]
	for _, other := range reasons {
		if other.Call == nil {
			r = other // the reason behind each
			break
		}
	}
	first, last := r.Chain[0], r.Chain[len(r.Chain)-1]
	d.Subject = first.Range.Ptr()
	if where.Filename == first.Range.Filename {
		d.Context = where.Ptr()
	}
	var way []string
	for i, ref := range r.Chain[1:] {
		way = append(way, fmt.Sprintf("%s uses %s (%s:%d)", r.Chain[i].Text, ref.Text, ref.Range.Filename, ref.Range.Start.Line))
	}
	d.Detail = fmt.Sprintf("The value of this %s must be known before a plan is made, and %s %s.", what, last.Text, r.Why)
	if way != nil {
		d.Detail += " The way there: " + strings.Join(way, "; ") + "."
	}
	d.Detail += " Variables, locals made of them, each, count, path, and functions can be used here."
	return d
}

// Text evaluates an argument of a module call that must be a known string
// without marks, or null, which is as if the argument weren't there. key is that of the
// call's instance. what names the value in messages. When each or count of calls that stand for all their instances
// keep it from being known, these calls are returned instead.
func Text(t *promise.Task, f *eval.Frame, c *program.Call, each *eval.Each, expr *program.Expr, what string) (string, []Reason, diag.List) {
	var v cty.Value
	diags, ok := t.Try(func(t *promise.Task) { v, _ = eval.Evaluate(t, expr, f.Context(t, each, cty.NilVal)) })
	if diags.HasErrors() {
		return "", nil, diags
	}
	if declared := forbidden(Explain(t, f, c, each, expr.Refs)); len(declared) > 0 {
		diags.Add(Problem(declared, expr.Range(), what))
		return "", nil, diags
	}
	v, marks := v.Unmark()
	if !ok || !v.IsKnown() || len(marks) > 0 {
		reasons := Explain(t, f, c, each, expr.Refs)
		switch {
		case len(reasons) > 0:
		case !ok:
			// Something that it uses has a problem of its own.
			if own := problems(f); own != nil {
				return "", nil, own
			}
		case len(marks) > 0:
			diags.Add(NotKnown.As("Invalid "+what).Error(expr.Range(), "The %s must not be sensitive or ephemeral, since it is shown and kept in files.", what))
			return "", nil, diags
		}
		var open []Reason
		for _, r := range reasons {
			if r.Call != nil {
				open = append(open, r)
			}
		}
		diags.Add(Problem(reasons, expr.Range(), what))
		return "", open, diags
	}
	if v.IsNull() {
		return "", nil, diags
	}
	if v.Type() != cty.String || v.AsString() == "" {
		diags.Add(NotKnown.As("Invalid "+what).Error(expr.Range(), "The %s must be a string that isn't empty.", what))
		return "", nil, diags
	}
	return v.AsString(), nil, diags
}

// forbidden are the reasons that hold whatever the values are.
func forbidden(reasons []Reason) []Reason {
	return slices.DeleteFunc(reasons, func(r Reason) bool { return !r.Declared })
}

// Constant checks that the value which a call gives to a variable with const = true is
// known before a plan is made. In Terraform mode it is made of such variables only, as
// Terraform evaluates it without any others. When each or count of calls that stand for
// all their instances keep it from being known, these calls are returned.
func Constant(t *promise.Task, f *eval.Frame, v *program.Variable, d dialect.Dialect) ([]Reason, diag.List) {
	in := f.Call.Input(v.Name)
	if in == nil || in.Expr == nil || in.Expr.Broken() {
		return nil, nil // its default, or reported
	}
	var value cty.Value
	_, ok := t.Try(func(t *promise.Task) { value, _ = f.Variable(t, v, nil) })
	x := &explainer{task: t, seen: map[any]bool{}, constants: d == dialect.Terraform}
	x.refs(f.Parent, f.Call, f.Each, in.Expr.Refs, nil)
	const what = "const variable"
	if declared := forbidden(slices.Clone(x.reasons)); len(declared) > 0 {
		return nil, diag.List{Problem(declared, in.Expr.Range(), what)}
	}
	if !ok && len(x.reasons) == 0 || ok && value.IsWhollyKnown() {
		return nil, nil // what failed has a problem of its own
	}
	problem := Problem(x.reasons, in.Expr.Range(), what)
	return slices.DeleteFunc(x.reasons, func(r Reason) bool { return r.Call == nil }), diag.List{problem}
}

// problems are the errors that the evaluation has found so far.
func problems(f *eval.Frame) diag.List {
	for f.Parent != nil {
		f = f.Parent
	}
	var list diag.List
	for _, d := range f.Diagnostics() {
		if d.Severity == diag.Error {
			list.Add(d)
		}
	}
	return list
}
