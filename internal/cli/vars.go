package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/module"
	"weir.dev/weir/internal/program"
)

// inputs collects the values for variables of the root module: from the
// environment, from the files that are read by themselves, and from the
// command line, the later ones over the earlier ones.
func (e *env) inputs(flags varFlags) (map[string]engine.VariableInput, diag.List) {
	in := map[string]engine.VariableInput{}
	var diags diag.List
	for name, text := range e.vars {
		if variable, ok := strings.CutPrefix(name, "TF_VAR_"); ok {
			in[variable] = engine.VariableInput{Text: text, From: "environment"}
		}
	}
	automatic, err := automaticFiles(".")
	if err != nil {
		diags.Errorf("Failed to read directory", "Looking for files of variable values: %s.", err)
	}
	for _, name := range automatic {
		e.inputsFrom(name, in, &diags)
	}
	for _, f := range flags {
		if f.file {
			e.inputsFrom(f.value, in, &diags)
			continue
		}
		name, text, ok := strings.Cut(f.value, "=")
		if !ok {
			diags.Errorf("Invalid -var option", "The given -var option %q is not correctly specified. Must be a variable name and value separated by an equals sign, like -var=\"key=value\".", f.value)
			continue
		}
		if strings.HasSuffix(name, " ") {
			diags.Errorf("Invalid -var option", "Variable name %q is invalid due to trailing space. Did you mean -var=\"%s=%s\"?", name, strings.TrimSuffix(name, " "), strings.TrimPrefix(text, " "))
			continue
		}
		in[name] = engine.VariableInput{Text: text, From: "argument"}
	}
	return in, diags
}

// automaticFiles are the files of values in a directory that needn't be named.
func automaticFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var first, rest []string
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case entry.IsDir():
		case name == "terraform.tfvars", name == "terraform.tfvars.json":
			first = append(first, name)
		case strings.HasPrefix(name, "."), strings.HasSuffix(name, "~"):
		case strings.HasSuffix(name, ".auto.tfvars"), strings.HasSuffix(name, ".auto.tfvars.json"):
			rest = append(rest, name)
		}
	}
	slices.Sort(first)
	slices.Sort(rest)
	return append(first, rest...), nil
}

// inputsFrom adds the values of a file.
func (e *env) inputsFrom(name string, in map[string]engine.VariableInput, diags *diag.List) {
	data, err := os.ReadFile(name)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			diags.Errorf("Failed to read variables file", "Given variables file %s does not exist.", name)
		} else {
			diags.Errorf("Failed to read variables file", "Error while reading %s: %s.", name, cause(err))
		}
		return
	}
	e.sources[name] = data
	values, problems := module.ParseVariables(name, data)
	diags.Append(problems)
	for _, v := range values {
		in[v.Name] = engine.VariableInput{Value: v.Value, From: "file", Range: v.Range}
	}
}

// askForVariables asks for the variables that need a value and have none,
// where somebody can be asked. Otherwise compiling reports them.
func (e *env) askForVariables(ctx context.Context, in map[string]engine.VariableInput) diag.List {
	if !e.input || e.json {
		return nil
	}
	prog, diags := e.rootSettings()
	if diags.HasErrors() {
		return nil // loading reports them
	}
	missing := slices.Clone(prog.Variables)
	slices.SortFunc(missing, func(a, b *program.Variable) int { return strings.Compare(a.Name, b.Name) })
	for _, v := range missing {
		if _, given := in[v.Name]; given || !v.Required() {
			continue
		}
		text, err := e.ask(ctx, question{query: "var." + v.Name, description: v.Description, secret: v.Sensitive})
		if errors.Is(err, errNoInput) {
			return nil
		}
		if err != nil {
			return oneError("Failed to request interactive input", "weir attempted to request a value interactively for var.%s, but encountered an error: %s.", v.Name, err)
		}
		in[v.Name] = engine.VariableInput{Text: text, From: "input", Range: hcl.Range{Filename: fmt.Sprintf("<input for var.%s>", v.Name)}}
	}
	return nil
}
