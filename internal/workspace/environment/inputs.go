package environment

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/module"
)

// A Var is a value for a variable of the root module, or a file with some.
type Var struct {
	File  bool
	Value string // NAME=VALUE, or the name of the file
}

// Inputs collects the values for variables of the root module: from the
// environment, from the files that are read by themselves, and from the
// command line, the later ones over the earlier ones.
func (d *Place) Inputs(vars []Var) (map[string]module.VariableInput, diag.List) {
	in := map[string]module.VariableInput{}
	var diags diag.List
	for name, text := range d.Environ {
		if variable, ok := strings.CutPrefix(name, "TF_VAR_"); ok {
			in[variable] = module.VariableInput{Text: text, From: "environment"}
		}
	}
	automatic, err := d.AutomaticFiles(".")
	if err != nil {
		diags.Add(diag.Unreadable.As("Failed to read directory").New(diag.Error, "Looking for files of variable values: %s.", err))
	}
	for _, name := range automatic {
		d.InputsFrom(name, in, &diags)
	}
	for _, f := range vars {
		if f.File {
			d.InputsFrom(f.Value, in, &diags)
			continue
		}
		name, text, ok := strings.Cut(f.Value, "=")
		if !ok {
			diags.Add(diag.BadOption.As("Invalid -var option").New(diag.Error, "The given -var option %q is not correctly specified. Must be a variable name and value separated by an equals sign, like -var=\"key=value\".", f.Value))
			continue
		}
		if strings.HasSuffix(name, " ") {
			diags.Add(diag.BadOption.As("Invalid -var option").New(diag.Error, "Variable name %q is invalid due to trailing space. Did you mean -var=\"%s=%s\"?", name, strings.TrimSuffix(name, " "), strings.TrimPrefix(text, " ")))
			continue
		}
		in[name] = module.VariableInput{Text: text, From: "argument"}
	}
	maps.Copy(in, d.Values)
	return in, diags
}

// AutomaticFiles are the files of values in a directory that needn't be named.
func (d *Place) AutomaticFiles(dir string) ([]string, error) {
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

// InputsFrom adds the values of a file.
func (d *Place) InputsFrom(name string, in map[string]module.VariableInput, diags *diag.List) {
	data, err := d.ReadFile(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			diags.Add(diag.Unreadable.As("Failed to read variables file").New(diag.Error, "Given variables file %s does not exist.", name))
		} else {
			diags.Add(diag.Unreadable.As("Failed to read variables file").New(diag.Error, "Error while reading %s: %s.", name, diag.Cause(err)))
		}
		return
	}
	d.AddSource(name, data)
	values, problems := module.ParseVariables(name, data)
	diags.Append(problems)
	for _, v := range values {
		in[v.Name] = module.VariableInput{Value: v.Value, From: "file", Range: v.Range}
	}
}
