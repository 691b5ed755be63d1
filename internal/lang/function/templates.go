package function

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/program"
)

// stringTemplate names the source of a templatestring in messages.
const stringTemplate = "<template string>"

// addTemplates adds the functions that render templates, which may call all
// functions, themselves included.
func (env Env) addTemplates(ctx *hcl.EvalContext) {
	t := &templates{env: env, functions: ctx}
	maps.Copy(ctx.Functions, t.at(nil))
}

// templates renders templates with the functions of one context.
type templates struct {
	env       Env
	functions *hcl.EvalContext
}

// at makes the template functions for templates that are rendered inside of
// others, named from the outside in.
func (t *templates) at(stack []string) map[string]function.Function {
	vars := open(anything("vars"))
	file := dynamicFunc([]function.Parameter{open(str("path")), vars}, nil, func(args []cty.Value) (cty.Value, error) {
		return t.file(stack, args)
	})
	text := dynamicFunc([]function.Parameter{open(str("data")), vars}, nil, func(args []cty.Value) (cty.Value, error) {
		return t.text(stack, args)
	})
	return map[string]function.Function{
		"templatefile": file, namespace + "templatefile": file,
		"templatestring": text, namespace + "templatestring": text,
	}
}

// file renders a file. All marks of all variables are put on the result, used
// or not, so that it doesn't depend on the contents whether it is sensitive.
func (t *templates) file(stack []string, args []cty.Value) (cty.Value, error) {
	path, marks := args[0].Unmark()
	vars, varMarks := args[1].UnmarkDeep()
	marks = cty.NewValueMarks(marks, varMarks)
	if err := checkTemplateArgs(path, vars); err != nil {
		return cty.NilVal, err
	}
	if !path.IsKnown() || !vars.IsKnown() {
		return cty.DynamicVal.WithMarks(marks), nil
	}
	c := &call{args: []cty.Value{path}, hidden: []bool{value.Hidden(args[0])}}
	src, err := t.env.file(c)
	if err != nil {
		return cty.NilVal, err
	}
	name := path.AsString()
	if c.hidden[0] {
		name = hiddenText
	}
	ret, err := t.render(stack, name, src.AsString(), vars)
	return ret.WithMarks(marks), err
}

func (t *templates) text(stack []string, args []cty.Value) (cty.Value, error) {
	src, marks := args[0].Unmark()
	vars, varMarks := args[1].Unmark()
	marks = cty.NewValueMarks(marks, varMarks)
	if err := checkTemplateArgs(src, vars); err != nil {
		return cty.NilVal, err
	}
	if !src.IsKnown() || !vars.IsKnown() {
		return cty.DynamicVal.WithMarks(marks), nil
	}
	ret, err := t.render(stack, stringTemplate, src.AsString(), vars)
	if err != nil && value.HiddenMarks(marks) && !errors.As(err, new(*depthError)) {
		return cty.NilVal, function.NewArgErrorf(0, "the template can't be rendered; the reason isn't shown because the template is sensitive")
	}
	return ret.WithMarks(marks), err
}

func checkTemplateArgs(source, vars cty.Value) error {
	ty := vars.Type()
	switch {
	case source.IsNull():
		return function.NewArgErrorf(0, "argument must not be null")
	case vars.IsNull():
		return function.NewArgErrorf(1, "argument must not be null")
	case ty != cty.DynamicPseudoType && !ty.IsMapType() && !ty.IsObjectType():
		return function.NewArgErrorf(1, "invalid vars value: must be a map or an object, not %s", ty.FriendlyName())
	}
	return nil
}

// render evaluates a template that sees nothing but vars and the functions.
func (t *templates) render(stack []string, name, src string, vars cty.Value) (cty.Value, error) {
	if len(stack) > t.env.TemplateDepth {
		return cty.DynamicVal, &depthError{t.env.TemplateDepth, stack}
	}
	expr, diags := hclsyntax.ParseTemplate([]byte(src), name, hcl.InitialPos)
	if diags.HasErrors() {
		return cty.DynamicVal, function.NewArgErrorf(0, "%s", diagText(diags))
	}
	variables := vars.AsValueMap()
	for _, v := range slices.Sorted(keysOf(variables)) {
		if !hclsyntax.ValidIdentifier(v) {
			return cty.DynamicVal, function.NewArgErrorf(1, "invalid template variable name %q: must start with a letter, followed by zero or more letters, digits, and underscores", v)
		}
	}
	for _, ref := range expr.Variables() {
		if _, ok := variables[ref.RootName()]; !ok {
			return cty.DynamicVal, function.NewArgErrorf(1, "vars map does not contain key %q, referenced at %s", ref.RootName(), ref.SourceRange())
		}
	}
	// The inner template functions shadow the outer ones.
	ctx := t.functions.NewChild()
	ctx.Variables = variables
	ctx.Functions = t.at(append(slices.Clip(stack), name))
	ret, diags := program.BoundLoops(expr).Value(ctx)
	if diags.HasErrors() {
		return cty.DynamicVal, renderError(diags)
	}
	return ret, nil
}

func keysOf(m map[string]cty.Value) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

// renderError keeps a depth error as it is instead of wrapping it once for each
// level on the way out.
func renderError(diags hcl.Diagnostics) error {
	for _, diag := range diags {
		var deep *depthError
		if extra, ok := diag.Extra.(hclsyntax.FunctionCallDiagExtra); ok && errors.As(extra.FunctionCallError(), &deep) {
			return deep
		}
	}
	return errors.New(diagText(diags))
}

// diagText writes errors on one line, each after its position.
func diagText(diags hcl.Diagnostics) string {
	var parts []string
	for _, diag := range diags {
		if diag.Severity != hcl.DiagError {
			continue
		}
		text := diag.Summary
		if diag.Detail != "" {
			text += "; " + strings.TrimSuffix(diag.Detail, ".")
		}
		if diag.Subject != nil {
			text = diag.Subject.String() + ": " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", and ")
}

// depthError says that templates render templates without end.
type depthError struct {
	limit int
	stack []string
}

func (e *depthError) Error() string {
	const most = 16
	chain := e.stack
	for i, name := range chain {
		if i == most || slices.Contains(chain[:i], name) {
			chain = chain[:i+1]
			break
		}
	}
	return fmt.Sprintf("maximum recursion depth %d reached in %s ... ; if the templates do end, set TF_TEMPLATE_RECURSION_DEPTH to a higher number",
		e.limit, strings.Join(chain, ", "))
}
