package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/view"
	"weir.dev/weir/internal/view/jsonstate"
)

var outputCommand = &command{
	name: "output", args: "[NAME]", max: 1,
	synopsis: "Show output values from your root module",
	long:     "Without a name all outputs are listed.",
	setup: func(e *env, fs *flag.FlagSet) runner {
		var o outputOptions
		fs.BoolVar(&o.json, "json", false, "Print JSON. Sensitive values are not hidden.")
		fs.BoolVar(&o.raw, "raw", false, "Print the value itself, without quotes or a line end. Only for a single string, number or bool.")
		fs.StringVar(&o.state, "state", "", "Read the state from the file at `PATH`.")
		fs.BoolVar(&e.view.ShowSensitive, "show-sensitive", false, "Show sensitive values.")
		return func(ctx context.Context, args []string) int {
			if len(args) > 0 {
				o.name = args[0]
			}
			return e.outputs(ctx, o)
		}
	},
}

type outputOptions struct {
	name, state string
	json, raw   bool
}

func (e *env) outputs(ctx context.Context, o outputOptions) int {
	switch {
	case o.json && o.raw:
		return e.fail("Invalid output format", "The -raw and -json options are mutually-exclusive.")
	case o.raw && o.name == "":
		return e.fail("Output name required", "You must give the name of a single output value when using the -raw option.")
	}
	s := e.inState(ctx, stateFlags{state: o.state}, "")
	if s == nil {
		return 1
	}
	all := s.Snapshot().Outputs
	if o.name == "" {
		return e.allOutputs(all, o)
	}
	out, ok := all[o.name]
	switch {
	case len(all) == 0:
		e.json = true // keep standard output for the value
		return e.diags(diag.OneWarning("No outputs found", "The state file either has no outputs defined, or all the defined outputs are empty. Please define an output in your configuration with the `output` keyword and run apply for it to become available."))
	case !ok:
		return e.fail("Output \""+o.name+"\" not found", "The output variable requested could not be found in the state file. If you recently added this to your configuration, be sure to run apply, since the state won't be updated with new output variables until that command is run.")
	case o.raw:
		return e.rawOutput(o.name, out)
	case o.json:
		text, err := jsonstate.OneOutput(out)
		if err != nil {
			return e.fail("Failed to write the output as JSON", "%s.", err)
		}
		e.say("%s", text)
		return 0
	}
	e.say("%s\n", view.Value(out.Value, 0))
	return 0
}

func (e *env) allOutputs(all map[string]state.Output, o outputOptions) int {
	if o.json {
		text, err := jsonstate.AllOutputs(all)
		if err != nil {
			return e.fail("Failed to write the outputs as JSON", "%s.", err)
		}
		e.say("%s", text)
		return 0
	}
	if len(all) == 0 {
		return e.diags(diag.OneWarning("No outputs found", "The state file either has no outputs defined, or all the defined outputs are empty. Please define an output in your configuration with the `output` keyword and run apply for it to become available."))
	}
	return e.written(view.Outputs(e.out, all, e.viewing()))
}

func (e *env) rawOutput(name string, o state.Output) int {
	text, diags := view.RawOutput(name, o.Value)
	if diags.HasErrors() {
		return e.diags(diags)
	}
	e.say("%s", text)
	return 0
}
