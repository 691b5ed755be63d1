package operation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/module"
	"weir.dev/weir/internal/program"
)

// A Var is a value for a variable of the root module, or a file with some.
type Var struct {
	File  bool
	Value string // NAME=VALUE, or the name of the file
}

// Inputs collects the values for variables of the root module: from the
// environment, from the files that are read by themselves, and from the
// command line, the later ones over the earlier ones.
func (d *Directory) Inputs(vars []Var) (map[string]engine.VariableInput, diag.List) {
	in := map[string]engine.VariableInput{}
	var diags diag.List
	for name, text := range d.Environ {
		if variable, ok := strings.CutPrefix(name, "TF_VAR_"); ok {
			in[variable] = engine.VariableInput{Text: text, From: "environment"}
		}
	}
	automatic, err := d.automaticFiles(".")
	if err != nil {
		diags.Errorf("Failed to read directory", "Looking for files of variable values: %s.", err)
	}
	for _, name := range automatic {
		d.inputsFrom(name, in, &diags)
	}
	for _, f := range vars {
		if f.File {
			d.inputsFrom(f.Value, in, &diags)
			continue
		}
		name, text, ok := strings.Cut(f.Value, "=")
		if !ok {
			diags.Errorf("Invalid -var option", "The given -var option %q is not correctly specified. Must be a variable name and value separated by an equals sign, like -var=\"key=value\".", f.Value)
			continue
		}
		if strings.HasSuffix(name, " ") {
			diags.Errorf("Invalid -var option", "Variable name %q is invalid due to trailing space. Did you mean -var=\"%s=%s\"?", name, strings.TrimSuffix(name, " "), strings.TrimPrefix(text, " "))
			continue
		}
		in[name] = engine.VariableInput{Text: text, From: "argument"}
	}
	maps.Copy(in, d.Values)
	return in, diags
}

// automaticFiles are the files of values in a directory that needn't be named.
func (d *Directory) automaticFiles(dir string) ([]string, error) {
	names, err := d.Files().List(dir)
	if err != nil {
		return nil, err
	}
	var first, rest []string
	for _, name := range names {
		switch {
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
func (d *Directory) inputsFrom(name string, in map[string]engine.VariableInput, diags *diag.List) {
	data, err := d.readFile(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			diags.Errorf("Failed to read variables file", "Given variables file %s does not exist.", name)
		} else {
			diags.Errorf("Failed to read variables file", "Error while reading %s: %s.", name, diag.Cause(err))
		}
		return
	}
	d.addSource(name, data)
	values, problems := module.ParseVariables(name, data)
	diags.Append(problems)
	for _, v := range values {
		in[v.Name] = engine.VariableInput{Value: v.Value, From: "file", Range: v.Range}
	}
}

// askForVariables asks for the variables that need a value and have none,
// where somebody can be asked. Otherwise compiling reports them.
func (d *Directory) askForVariables(ctx context.Context, in map[string]engine.VariableInput, ask func(context.Context, *program.Variable) (string, error)) diag.List {
	prog, diags := d.rootSettings()
	if diags.HasErrors() {
		return nil // loading reports them
	}
	missing := slices.Clone(prog.Variables)
	slices.SortFunc(missing, func(a, b *program.Variable) int { return strings.Compare(a.Name, b.Name) })
	for _, v := range missing {
		if _, given := in[v.Name]; given || !v.Required() {
			continue
		}
		text, err := ask(ctx, v)
		if errors.Is(err, ErrNoAnswer) {
			return nil
		}
		if err != nil {
			return diag.OneError("Failed to request interactive input", "weir attempted to request a value interactively for var.%s, but encountered an error: %s.", v.Name, err)
		}
		in[v.Name] = engine.VariableInput{Text: text, From: "input", Range: hcl.Range{Filename: fmt.Sprintf("<input for var.%s>", v.Name)}}
	}
	return nil
}
