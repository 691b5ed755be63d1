package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/suggest"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/jsonstate"
)

var outputCommand = &command{
	Name: "output", Args: "[NAME]", Max: 1,
	Synopsis: "Show output values from your root module",
	Long:     "Without a name it prints all outputs. JSON includes sensitive values.",
	JSON:     output.Document,
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var o outputOptions
		fs.BoolVar(&o.raw, "raw", false, "Print one string, number or bool without quotes and line end.")
		fs.StringVar(&o.state, "state", "", "Read the state from the file at `PATH`.")
		flags.Sensitive(fs, e.Screen)
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
	raw         bool
}

func (e *env) outputs(ctx context.Context, o outputOptions) int {
	switch {
	case e.JSON && o.raw:
		return e.Fail(diag.BadOption.As("Invalid output format"), "The -raw and -json options are mutually-exclusive.")
	case o.raw && o.name == "":
		return e.Fail(view.NoOutputs.As("Output name required"), "You must give the name of a single output value when using the -raw option.")
	}
	s := e.outlined(ctx, flags.State{Path: o.state})
	if s == nil {
		return 1
	}
	all := s.Snapshot().Outputs
	if o.name == "" {
		return e.Result("outputs", func() ([]byte, error) { return jsonstate.AllOutputs(all) }, func() int {
			if len(all) == 0 {
				return e.noOutputs()
			}
			return e.Written(view.Outputs(e.Out, all, e.Viewing()))
		})
	}
	out, ok := all[o.name]
	switch {
	case len(all) == 0:
		e.JSON = true // keep standard output for the value
		return e.noOutputs()
	case !ok:
		return e.Fail(view.NoOutputs.As("Output \""+o.name+"\" not found"), "The output variable requested could not be found in the state file. If you recently added this to your configuration, be sure to run apply, since the state won't be updated with new output variables until that command is run.%s", suggest.Ask(o.name, sortedKeys(all)))
	}
	return e.Result("output", func() ([]byte, error) { return jsonstate.OneOutput(out) }, func() int {
		if o.raw {
			return e.rawOutput(o.name, out)
		}
		e.Say("%s\n", view.Value(out.Value, 0))
		return 0
	})
}

func (e *env) noOutputs() int {
	return e.Diags(view.NoOutputs.Warnings("The state file either has no outputs defined, or all the defined outputs are empty. Please define an output in your configuration with the `output` keyword and run apply for it to become available."))
}

func (e *env) rawOutput(name string, o state.Output) int {
	text, diags := view.RawOutput(name, o.Value)
	if diags.HasErrors() {
		return e.Diags(diags)
	}
	e.Say("%s", text)
	return 0
}
