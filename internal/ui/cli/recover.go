package cli

import (
	"context"
	"flag"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/ui/commands"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/planoptions"
)

var recoverCommand = &command{
	Name:     "recover",
	Synopsis: "Resolve objects in doubt after an interrupted run",
	Long:     "Saves the results in the journal of an interrupted run, and lists objects in doubt. A provider got a request to create each of them and gave no answer. weir doesn't create them again until you resolve each one. Without options, recover only lists them.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var r recovering
		r.state.Register(fs)
		r.vars.Register(fs)
		flags.Parallelism(fs, &r.parallelism)
		fs.Var(&r.forget, "forget", "Resolve `ADDRESS`: the object doesn't exist; repeatable.")
		fs.BoolVar(&r.all, "forget-all", false, "Resolve all objects in doubt except imported ones: they don't exist.")
		fs.Var(&r.imports, "import", "Import an existing object in doubt by `ADDRESS=ID`; repeatable.")
		fs.StringVar(&r.importsFrom, "import-from", "", "Import the objects in `FILE`, one ADDRESS=ID per line; # starts a comment.")
		fs.BoolVar(&r.state.Damaged, "damaged", false, "Use the readable part of a damaged journal; other results are lost.")
		return func(ctx context.Context, _ []string) int { return r.run(ctx, e) }
	},
}

type recovering struct {
	importing
	forget  commands.Texts
	imports commands.Texts
	all     bool // forget all that is left

	importsFrom string // a file with more of imports
}

func (r *recovering) run(ctx context.Context, e *env) int {
	if len(r.forget)+len(r.imports) > 0 || r.all || r.importsFrom != "" {
		// A caller that answers knows which objects are in doubt; what is left comes at the
		// end.
		e.directory.Place.Aside = func(l diag.List) diag.List {
			return e.AsideDiags(slices.DeleteFunc(slices.Clone(l), diag.InDoubt.Is))
		}
	}
	// Imports first: they take the lock and read the configuration themselves.
	objects, err := planoptions.Imports(r.imports, r.importsFrom)
	if err != nil {
		return e.Fail(diag.BadImport, "%s.", err)
	}
	if len(objects) > 0 {
		if code := r.importing.run(ctx, e, objects...); code != 0 {
			return code
		}
		e.Progress = nil
	}
	var forget []addr.Instance
	for _, text := range r.forget {
		i, err := addr.ParseInstance(text)
		if err != nil {
			return e.Fail(diag.BadAddress, "%s.", err)
		}
		forget = append(forget, i)
	}
	forgotten, left, diags := workspace.Recover{Dir: e.directory, State: r.state.Options(), Forget: forget, ForgetAll: r.all}.Run(ctx)
	if e.Diags(diags) != 0 {
		return 1
	}
	for _, o := range forgotten {
		e.Say("%s doesn't exist; it may be created again.\n", o.Object.Instance)
	}
	if len(left) == 0 {
		e.Say("Nothing is in doubt.\n")
	} else if len(forgotten) > 0 || !e.Terminal { // else the warning above has them
		e.Say("In doubt:\n")
		for _, o := range left {
			e.Say("  %s\n", o.Object)
		}
	}
	return 0
}
