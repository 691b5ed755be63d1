package deploy

import (
	"fmt"
	"maps"
	"slices"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/compiler/calls"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

// CheckInputs compares the inputs of the deployment with the stack's variables, all of which
// is given, by it or otherwise. Anything that is left open is a problem of the severity.
func (d *Deployment) CheckInputs(p *program.Program, all map[string]module.VariableInput, open diag.Severity) diag.List {
	var diags diag.List
	for _, v := range p.Variables {
		if _, given := all[v.Name]; given || !v.Required() {
			continue
		}
		if d.Range.Filename == "" && !d.Left {
			diags.Add(diag.UnknownDeployment.As("Missing deployment").Error(v.Range, "The stack needs a value for the variable %q, and there is no file with deployments that could give it. Write one whose name ends in .tfdeploy.hcl:\n    deployment \"NAME\" {\n      inputs = {\n        %s = VALUE\n      }\n    }", v.Name, v.Name))
			continue
		}
		detail := "The deployment %q gives no value for the input %q, which is required. Add it to inputs, or give it with -var."
		if d.Left {
			detail = "The deployment %q has no block any more, and a value for the input %q wasn't kept. Give it with -var."
		}
		diags.Add(diag.Diagnostic{Severity: open, Code: diag.Missing.Name, Summary: "Missing required input", Detail: fmt.Sprintf(detail, d.Name, v.Name)})
		if d.Range.Filename != "" {
			diags[len(diags)-1].Subject = d.Range.Ptr()
		}
	}
	diags.Append(d.checkPublished(p))
	return append(diags, d.UnusedInputs(p)...)
}

// checkPublished looks for outputs that are to be published and that the stack hasn't.
func (d *Deployment) checkPublished(p *program.Program) diag.List {
	var diags diag.List
	var names []string
	for _, o := range p.Outputs {
		names = append(names, o.Name)
	}
	for _, t := range d.published {
		if o, ok := at(t, 2); ok && !slices.Contains(names, o.Name) {
			diags.Add(diag.BadReference.As("Reference to undeclared output").Error(t.SourceRange(), "The stack has no output %q.%s", o.Name, among(o.Name, names)))
		}
	}
	return diags
}

// UnusedInputs warns of inputs that the stack has no variable for.
func (d *Deployment) UnusedInputs(p *program.Program) diag.List {
	var diags diag.List
	var names []string
	for _, v := range p.Variables {
		names = append(names, v.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Inputs)) {
		if p.VariableByName[name] == nil && !d.Left {
			diags.Add(calls.UnusedInput.Warning(d.Inputs[name].Range, "The input %q has no effect: the stack has no variable of that name.%s", name, syntax.Suggest(name, names)))
		}
	}
	return diags
}
