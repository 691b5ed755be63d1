package moduletest

import (
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/moduletest/testresult"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/moduletest/testfile"
)

// values are what the expressions of a run may refer to, and the inputs that
// come of them.
type values struct {
	w       *work
	outputs map[string]cty.Value // of the runs before this one
	vars    map[string]cty.Value
	// inputs are those of the variables that the module declares.
	inputs map[string]module.VariableInput
	// functions are made for a run once.
	functions *hcl.EvalContext
	// judging: what conditions refer to is checked with the module.
	judging bool
	// faulty is set when what belongs to the whole file can't be evaluated.
	faulty *atomic.Bool
}

// runs is the object run, with what the expressions refer to: all earlier runs would
// make each run dearer than the one before.
func (v *values) runs(exprs ...hcl.Expression) cty.Value {
	named := map[string]cty.Value{}
	for _, expr := range exprs {
		if expr == nil {
			continue
		}
		for _, t := range expr.Variables() {
			if t.RootName() != "run" {
				continue
			}
			if len(t) < 2 {
				return cty.ObjectVal(v.outputs)
			}
			step, ok := t[1].(hcl.TraverseAttr)
			if !ok {
				return cty.ObjectVal(v.outputs)
			}
			if outputs, there := v.outputs[step.Name]; there {
				named[step.Name] = outputs
			}
		}
	}
	return cty.ObjectVal(named)
}

// context is for one expression.
func (v *values) context(expr hcl.Expression) *hcl.EvalContext {
	ctx := v.functions.NewChild()
	ctx.Variables = map[string]cty.Value{"var": cty.ObjectVal(v.vars), "run": v.runs(expr)}
	return ctx
}

// eval evaluates an expression of the test file.
func (v *values) eval(expr hcl.Expression) (cty.Value, diag.List) {
	if diags := v.check(expr); diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	value, hd := expr.Value(v.context(expr))
	return value, eval.Diagnostics(hd)
}

// check reports references to runs that aren't there.
func (v *values) check(expr hcl.Expression) diag.List {
	var diags diag.List
	for _, t := range expr.Variables() {
		if len(t) < 2 {
			continue
		}
		step, ok := t[1].(hcl.TraverseAttr)
		if !ok {
			continue
		}
		if t.RootName() == "var" {
			diags.Append(v.available(step.Name, t))
			continue
		}
		if t.RootName() != "run" {
			continue
		}
		if _, there := v.outputs[step.Name]; there {
			continue
		}
		names := []string{}
		for _, r := range v.w.file.Runs {
			names = append(names, r.Name)
		}
		if slices.Contains(names, step.Name) {
			diags.Add(diag.BadReference.As("Reference to unavailable run block").Error(t.SourceRange(), "The run block %q has no results here: it comes later, or it couldn't be carried out.", step.Name))
		} else {
			diags.Add(diag.BadReference.As("Reference to unknown run block").Error(t.SourceRange(), "The run block %q does not exist within this test file.%s", step.Name, syntax.Suggest(step.Name, names)))
		}
	}
	return diags
}

// available reports a reference to a variable that has no value here.
func (v *values) available(name string, t hcl.Traversal) diag.List {
	var diags diag.List
	if _, ok := v.vars[name]; !ok && !v.judging {
		diags.Add(diag.BadReference.As("Reference to unavailable variable").Error(t.SourceRange(), "The input variable %q is not available here: neither the files, the command line and the environment nor a default in the module give it a value.%s", name, syntax.Suggest(name, slices.Sorted(maps.Keys(v.vars)))))
	}
	return diags
}

// evaluate computes the variables of a run: those from outside, then those of the
// file, then its own.
func (w *work) evaluate(r *testresult.Run, prog *program.Program) (*values, diag.List) {
	w.mu.Lock()
	outputs := maps.Clone(w.outputs)
	w.mu.Unlock()
	v := &values{w: w, outputs: outputs, vars: map[string]cty.Value{}, inputs: map[string]module.VariableInput{}, faulty: new(atomic.Bool)}
	now := w.World.Now()
	v.functions = function.Context(function.Env{Now: w.World.Now, PlanTimestamp: func() (time.Time, bool) { return now, true }, Files: w.World.Files})
	var diags diag.List
	outside := w.outside()
	for _, name := range slices.Sorted(maps.Keys(outside)) {
		in := outside[name]
		if declared := prog.VariableByName[name]; declared != nil {
			v.inputs[name] = in
			given, more := given(declared, in)
			if more.HasErrors() {
				continue // reported for the input itself
			}
			v.set(declared, given)
			continue
		}
		if in.Value != cty.NilVal {
			v.vars[name] = in.Value
		} else {
			v.vars[name] = cty.StringVal(in.Text)
		}
	}
	for _, declared := range prog.Variables {
		if _, ok := v.inputs[declared.Name]; !ok && !declared.Required() {
			v.set(declared, cty.NilVal)
		}
	}
	for _, declared := range w.file.Declared {
		diags.Append(v.declare(declared, prog))
	}
	// A value that the run has one of its own for isn't missed.
	diags.Append(v.assign(w.file.Variables, prog, r.Variables, false))
	diags.Append(v.assign(r.Variables, prog, nil, true))
	for name, made := range w.given {
		declared := prog.VariableByName[name]
		v.inputs[name] = module.VariableInput{Value: made, From: "test", Range: r.Generate.Range}
		v.set(declared, made)
	}
	return v, diags
}

// outside are the values for variables that the file's runs have from outside.
func (w *work) outside() map[string]module.VariableInput {
	if w.World.Dialect == dialect.Terraform && path.Dir(w.file.Name) != w.TestDir {
		return w.Inputs
	}
	all := maps.Clone(w.Inputs)
	maps.Copy(all, w.TestInputs)
	return all
}

// given reads an input by the type of its variable.
func given(v *program.Variable, in module.VariableInput) (cty.Value, diag.List) {
	switch {
	case in.Value != cty.NilVal:
		return in.Value, nil
	case v.Untyped || v.Type.IsPrimitiveType():
		return cty.StringVal(in.Text), nil
	}
	return module.ParseValue(module.Origin(v.Name), in.Text)
}

// set notes the value that a variable of the module has.
func (v *values) set(declared *program.Variable, given cty.Value) {
	if prepared, diags := eval.PrepareVariable(declared, given, declared.Range); !diags.HasErrors() {
		v.vars[declared.Name] = prepared
	}
}

// declare notes a variable that the test file declares itself.
func (v *values) declare(d *testfile.Variable, prog *program.Program) diag.List {
	var diags diag.List
	ty := cty.DynamicPseudoType
	if d.Type != nil {
		var hd hcl.Diagnostics
		var defaults *typeexpr.Defaults
		ty, defaults, hd = typeexpr.TypeConstraintWithDefaults(d.Type)
		_ = defaults
		if hd.HasErrors() {
			return diag.FromHCL(diag.Expression, hd)
		}
		ty = ty.WithoutOptionalAttributesDeep()
	}
	value, ok := v.vars[d.Name]
	if in, given := v.w.outside()[d.Name]; given && in.Value == cty.NilVal && !ty.IsPrimitiveType() && ty != cty.DynamicPseudoType {
		value, diags = module.ParseValue(module.Origin(d.Name), in.Text)
	}
	if !ok && d.Default != nil {
		value, diags = v.eval(d.Default)
		ok = true
	}
	if diags.HasErrors() {
		return diags
	}
	if !ok {
		diags.Add(eval.MissingVariable.Error(d.Range, "The test file declares the variable %q, which has no default value. Use a -var or -var-file command line argument to provide a value for it.", d.Name))
		return diags
	}
	converted, err := convert.Convert(value, ty)
	if err != nil {
		diags.Add(eval.WrongType.Error(d.Range, "The given value is not suitable for var.%s: %s.", d.Name, err))
		return diags
	}
	v.vars[d.Name] = converted
	if prog.VariableByName[d.Name] != nil {
		v.inputs[d.Name] = module.VariableInput{Value: converted, From: "test", Range: d.Range}
	}
	return diags
}

// assign evaluates a variables block. Variables that the module doesn't declare are for other expressions of the test; a file may give values that only some runs
// can have. A variable that a later block sets isn't missing here.
func (v *values) assign(list []*testfile.Assignment, prog *program.Program, later []*testfile.Assignment, own bool) diag.List {
	var diags diag.List
	results := map[string]cty.Value{}
	// In Terraform, those of a file may refer to one another.
	mutual := !own && v.w.World.Dialect == dialect.Terraform
	if mutual {
		list = referredFirst(list)
	}
	for _, a := range list {
		declared := prog.VariableByName[a.Name]
		value, more := v.eval(a.Expr)
		if more.HasErrors() {
			if own || declared != nil && !slices.ContainsFunc(later, func(l *testfile.Assignment) bool { return l.Name == a.Name }) {
				diags.Append(more)
				v.faulty.Store(v.faulty.Load() || !own)
			}
			delete(v.vars, a.Name)
			continue
		}
		diags.Append(more)
		if !value.IsWhollyKnown() && own {
			diags.Add(diag.BadReference.As("Reference to unknown value").Error(a.Expr.Range(), "The value of %s isn't known: it depends on a run that was only planned. Apply that run.", a.Name))
			continue
		}
		if declared == nil {
			results[a.Name] = value
			if mutual {
				v.vars[a.Name] = value
			}
			if own {
				diags.Add(engine.Undeclared.Warning(a.Range, "The module under test does not declare a variable named %q, but it is given a value in this run. Expressions of the test may refer to it all the same.", a.Name))
			}
			continue
		}
		v.inputs[a.Name] = module.VariableInput{Value: value, From: "test", Range: a.Expr.Range()}
		if prepared, problems := eval.PrepareVariable(declared, value, a.Expr.Range()); !problems.HasErrors() {
			results[a.Name] = prepared
		} else {
			diags.Append(problems)
		}
		if mutual {
			maps.Copy(v.vars, results)
		}
	}
	maps.Copy(v.vars, results)
	return diags
}

// referredFirst puts what others refer to before them. In a circle, what comes
// first in the file stays first.
func referredFirst(list []*testfile.Assignment) []*testfile.Assignment {
	byName := map[string]*testfile.Assignment{}
	for _, a := range list {
		byName[a.Name] = a
	}
	var ordered []*testfile.Assignment
	seen := map[*testfile.Assignment]bool{}
	var add func(*testfile.Assignment)
	add = func(a *testfile.Assignment) {
		if a == nil || seen[a] {
			return
		}
		seen[a] = true
		for _, t := range a.Expr.Variables() {
			if len(t) < 2 || t.RootName() != "var" {
				continue
			}
			if step, ok := t[1].(hcl.TraverseAttr); ok {
				add(byName[step.Name])
			}
		}
		ordered = append(ordered, a)
	}
	for _, a := range list {
		add(a)
	}
	return ordered
}

// object evaluates what mocks and overrides give.
func (v *values) object(expr hcl.Expression) (cty.Value, diag.List) {
	if expr == nil {
		return cty.NilVal, nil
	}
	value, diags := v.eval(expr)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	value, _ = value.UnmarkDeep()
	if !value.IsKnown() || value.IsNull() || !value.Type().IsObjectType() && !value.Type().IsMapType() {
		diags.Add(testfile.BadTarget.As("Object expected").Error(expr.Range(), "The values of mocks and overrides have to be an object, and this is %s.", strings.TrimSpace(value.Type().FriendlyName())))
		return cty.NilVal, diags
	}
	return value, diags
}
