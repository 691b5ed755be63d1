package eval

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/suggest"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/program"
)

// An ArgumentError is a problem of one argument of a provider function.
type ArgumentError struct {
	Parameter string
	Problem   error
}

func (e *ArgumentError) Error() string {
	return fmt.Sprintf("Invalid value for %q parameter: %s", e.Parameter, strings.TrimSuffix(e.Problem.Error(), "."))
}

func (e *ArgumentError) Unwrap() error { return e.Problem }

// Diagnostics converts problems of an evaluation and adds the values of the
// references in the expressions they are about.
func Diagnostics(hd hcl.Diagnostics) diag.List {
	var l diag.List
	for _, d := range hd {
		converted := diag.FromHCL(diag.Expression, hcl.Diagnostics{d})
		if d.Expression != nil && d.EvalContext != nil {
			for i := range converted {
				if converted[i].Values == nil { // references tell the keys that there are
					converted[i].Values = expressionValues(d.Expression, d.EvalContext, false)
				}
				converted[i].Compared = compared(d.Expression, d.EvalContext)
			}
		}
		if d.Expression != nil && (d.Summary == invalidIndex || d.Summary == missingElement) {
			for i := range converted {
				converted[i].Detail += indexed(d.Expression, d.EvalContext)
			}
		}
		if call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d); ok {
			for i := range converted {
				converted[i].Function = call.CalledFunctionName()
				converted[i].Signature = signature(call.CalledFunctionName(), d.EvalContext)
				var arg *ArgumentError
				if errors.As(call.FunctionCallError(), &arg) {
					converted[i].Summary = "Invalid function argument"
					converted[i].Detail = arg.Error() + "."
				}
			}
		}
		if unknown, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallUnknownDiagExtra](d); ok && unknown.CalledFunctionNamespace() == "" {
			for i := range converted {
				converted[i].Detail = "There is no function named " + addr.Quote(unknown.CalledFunctionName()) + "." + Suggestion(unknown.CalledFunctionName(), functionNames(d.EvalContext))
			}
		}
		l.Append(converted)
	}
	return l
}

// How the library calls an index or a key that a collection hasn't, and a key in the form of an
// attribute.
const (
	invalidIndex   = "Invalid index"
	missingElement = "Missing map element"
)

// indexed is a sentence about the index in an expression and what it may be; empty where
// that isn't known or mustn't be shown.
func indexed(e hcl.Expression, ctx *hcl.EvalContext) string {
	if probe, ok := e.(*program.ProbeExpr); ok {
		e = probe.Expression
	}
	if index, ok := e.(*hclsyntax.IndexExpr); ok {
		of, hd := index.Collection.Value(ctx)
		key, more := index.Key.Value(ctx)
		if hd.HasErrors() || more.HasErrors() {
			return ""
		}
		return indexes(of, key)
	}
	if of, ok := e.(*hclsyntax.RelativeTraversalExpr); ok {
		return stepped(of, ctx)
	}
	if ctx == nil {
		return ""
	}
	for _, ref := range program.References(e) {
		for n := len(ref.Rest) - 1; n >= 0; n-- {
			part := *ref
			part.Rest = ref.Rest[:n]
			of, hd := program.NewRefExpr(&part).Value(ctx)
			if hd.HasErrors() {
				continue
			}
			return atStep(of, ref.Rest[n])
		}
	}
	return ""
}

// stepped is indexed for a literal index behind an expression, as in split(",", "a,b")[7].
func stepped(e *hclsyntax.RelativeTraversalExpr, ctx *hcl.EvalContext) string {
	of, hd := e.Source.Value(ctx)
	for n := range e.Traversal {
		if hd.HasErrors() {
			return ""
		}
		next, more := e.Traversal[n : n+1].TraverseRel(of)
		if more.HasErrors() {
			return atStep(of, e.Traversal[n])
		}
		of, hd = next, more
	}
	return ""
}

func atStep(of cty.Value, step hcl.Traverser) string {
	switch step := step.(type) {
	case hcl.TraverseIndex:
		return indexes(of, step.Key)
	case hcl.TraverseAttr:
		return indexes(of, cty.StringVal(step.Name))
	}
	return ""
}

// mostKeys is how many keys are listed.
const mostKeys = 10

func indexes(of, key cty.Value) string {
	if of.IsMarked() || key.IsMarked() || !of.IsKnown() || of.IsNull() || !key.IsWhollyKnown() || key.IsNull() {
		return ""
	}
	switch ty := of.Type(); {
	case (ty.IsListType() || ty.IsTupleType()) && key.Type() == cty.Number:
		said := " The index is " + key.AsBigFloat().Text('f', -1)
		switch n := of.LengthInt(); n {
		case 0:
			return "" // the library says it
		case 1:
			return said + ", and there is 1 element, with index 0."
		default:
			return fmt.Sprintf("%s, and there are %d elements, with indexes 0 to %d.", said, n, n-1)
		}
	case (ty.IsMapType() || ty.IsObjectType()) && key.Type() == cty.String:
		names := slices.Sorted(maps.Keys(of.AsValueMap()))
		said := " The key is " + addr.Quote(key.AsString())
		if len(names) == 0 {
			return said + ", and there are no elements."
		}
		shown := make([]string, 0, mostKeys)
		for _, name := range names[:min(len(names), mostKeys)] {
			shown = append(shown, addr.Quote(name))
		}
		if len(names) > mostKeys {
			shown = append(shown, fmt.Sprintf("and %d more", len(names)-mostKeys))
		}
		return said + ", and the keys are " + strings.Join(shown, ", ") + "." + Suggestion(key.AsString(), names)
	}
	return ""
}

// signature finds a function of the language. Those of providers take anything
// here, and what they are declared to take isn't known.
func signature(name string, ctx *hcl.EvalContext) *function.Function {
	if strings.HasPrefix(name, "provider::") {
		return nil
	}
	for ; ctx != nil; ctx = ctx.Parent() {
		if f, ok := ctx.Functions[name]; ok {
			return &f
		}
	}
	return nil
}

// compared evaluates the two sides of an expression that compares them. Nil
// where it is another expression, or where a side is secret.
func compared(e hcl.Expression, ctx *hcl.EvalContext) *diag.Comparison {
	if probe, ok := e.(*program.ProbeExpr); ok {
		e = probe.Expression
	}
	op, ok := e.(*hclsyntax.BinaryOpExpr)
	if !ok || op.Op != hclsyntax.OpEqual {
		return nil
	}
	left, _ := op.LHS.Value(ctx)
	right, _ := op.RHS.Value(ctx)
	if left.ContainsMarked() || right.ContainsMarked() {
		return nil
	}
	return &diag.Comparison{Left: left, Right: right}
}

// functionNames are those of the language that can be called.
func functionNames(ctx *hcl.EvalContext) []string {
	var names []string
	for ; ctx != nil; ctx = ctx.Parent() {
		for name := range ctx.Functions {
			if !strings.Contains(name, "::") {
				names = append(names, name)
			}
		}
	}
	return names
}

// Values describes the references in an expression whose value is wrong.
func Values(expr *program.Expr, ctx *hcl.EvalContext) []diag.Value {
	return expressionValues(expr, ctx, false)
}

// expressionValues describes the references in an expression. Pending says that the
// problem is that something isn't known yet; of no other problem that is the cause.
func expressionValues(expr hcl.Expression, ctx *hcl.EvalContext, pending bool) []diag.Value {
	var values []diag.Value
	seen := map[string]bool{}
	add := func(text string, v cty.Value) {
		if statement := describe(v, pending); statement != "" && !seen[text] {
			seen[text] = true
			values = append(values, diag.Value{Traversal: text, Statement: statement})
		}
	}
	for _, ref := range program.References(expr) {
		n, v := followed(len(ref.Rest)+1, func(n int) (cty.Value, hcl.Diagnostics) {
			part := *ref
			part.Rest = ref.Rest[:n-1]
			return program.NewRefExpr(&part).Value(ctx)
		})
		if n > 0 {
			add(strings.TrimSuffix(ref.Text, traversalText(ref.Rest[n-1:])), v)
		}
	}
	for _, traversal := range expr.Variables() {
		n, v := followed(len(traversal), func(n int) (cty.Value, hcl.Diagnostics) { return traversal[:n].TraverseAbs(ctx) })
		if n > 0 {
			add(traversalText(traversal[:n]), v)
		}
	}
	return values
}

// followed is the longest part of a reference that has a value, of at most so many steps, and
// its value. It searches by halves, because trying each part takes the square of the steps.
func followed(most int, valueOf func(n int) (cty.Value, hcl.Diagnostics)) (n int, v cty.Value) {
	n = sort.Search(most, func(n int) bool {
		at, hd := valueOf(n + 1)
		if !hd.HasErrors() {
			v = at
		}
		return hd.HasErrors()
	})
	return n, v
}

// describe says what a value is, without showing what mustn't be shown;
// empty when there is nothing to say. Pending is as for expressionValues.
func describe(v cty.Value, pending bool) string {
	if value.HasMark(v, value.Sensitive) {
		return "has a sensitive value"
	}
	if value.HasMark(v, value.Ephemeral) {
		return "has an ephemeral value"
	}
	v, _ = v.Unmark()
	ty := v.Type()
	switch {
	case ty == cty.DynamicPseudoType && !v.IsKnown():
		if pending {
			return "will be known only after apply"
		}
		return ""
	case !v.IsKnown():
		if pending {
			return "is a " + ty.FriendlyName() + ", known only after apply"
		}
		return "is a " + ty.FriendlyName()
	case v.IsNull():
		return "is null"
	case ty == cty.Bool:
		if v.True() {
			return "is true"
		}
		return "is false"
	case ty == cty.Number:
		return "is " + v.AsBigFloat().Text('g', 10)
	case ty == cty.String:
		text := v.AsString()
		if len(text) > 1000 {
			return fmt.Sprintf("is a string of %d bytes", len(text))
		}
		return "is " + addr.Quote(text)
	case ty.IsCollectionType() || ty.IsTupleType():
		if v.LengthInt() == 0 {
			return "is empty " + ty.FriendlyName()
		}
		return fmt.Sprintf("is %s with %s", ty.FriendlyName(), plural(v.LengthInt(), "element"))
	case ty.IsObjectType():
		switch names := slices.Collect(maps.Keys(ty.AttributeTypes())); len(names) {
		case 0:
			return "is object with no attributes"
		case 1:
			return "is object with 1 attribute " + addr.Quote(names[0])
		default:
			return fmt.Sprintf("is object with %d attributes", len(names))
		}
	}
	return "is " + ty.FriendlyName()
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// traversalText is a traversal as it was written.
func traversalText(t hcl.Traversal) string {
	var b strings.Builder
	for _, step := range t {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			b.WriteString(step.Name)
		case hcl.TraverseAttr:
			b.WriteString("." + step.Name)
		case hcl.TraverseIndex:
			if k, err := KeyOf(step.Key); err == nil {
				b.WriteString(k.String())
			} else {
				b.WriteString("[...]")
			}
		}
	}
	return b.String()
}

// rangeText is a place as people write it: main.tf:12,3.
func rangeText(r hcl.Range) string {
	return fmt.Sprintf("%s:%d,%d", r.Filename, r.Start.Line, r.Start.Column)
}

// Suggestion is " Did you mean …?" with the closest of the names when it is
// close to the given one, and empty otherwise.
func Suggestion(given string, names []string) string {
	best := suggest.Proper(given, names)
	if best == "" {
		return ""
	}
	return " Did you mean " + addr.Quote(best) + "?"
}
