package backendinit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/workspace/environment"
)

// Given are the values for variables of the root module: those that Inputs has, those that a
// service keeps for runs, and those that ask has where it isn't nil.
func (d *Reader) Given(ctx context.Context, vars []environment.Var, runs bool, ask func(context.Context, *program.Variable) (string, error)) (map[string]module.VariableInput, diag.List) {
	inputs, diags := d.Place.Inputs(vars)
	if diags.HasErrors() {
		return nil, diags
	}
	diags.Append(d.ServiceInputs(ctx, inputs, runs))
	if diags.HasErrors() {
		return nil, diags
	}
	if ask != nil {
		if more := d.AskForVariables(ctx, inputs, ask); more.HasErrors() {
			return nil, append(diags, more...)
		}
	}
	return inputs, diags
}

// AskForVariables asks for the variables that need a value and have none,
// where somebody can be asked. Otherwise compiling reports them.
func (d *Reader) AskForVariables(ctx context.Context, in map[string]module.VariableInput, ask func(context.Context, *program.Variable) (string, error)) diag.List {
	prog, diags := d.RootSettings()
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
		if errors.Is(err, environment.ErrNoAnswer) {
			return nil
		}
		if err != nil {
			return diag.Unanswered.As("Failed to request interactive input").List("weir attempted to request a value interactively for var.%s, but encountered an error: %s.", v.Name, err)
		}
		in[v.Name] = module.VariableInput{Text: text, From: "input", Range: hcl.Range{Filename: fmt.Sprintf("<input for var.%s>", v.Name)}}
	}
	return nil
}
