package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state/edit"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/output"
)

var taintCommand = &command{
	Name: "taint", Args: "ADDRESS", Min: 1, Max: 1,
	Synopsis: "Mark a resource instance as not fully functional",
	Long:     "The next plan replaces the object. plan -replace=ADDRESS does the same without a change to the state, and shows the effect first. ADDRESS may be a pattern, quoted for the shell: 'aws_instance.web[*]'.",
	JSON:     output.Messages,
	Setup:    func(e *env, fs *flag.FlagSet) runner { return e.setupTaint(fs, "taint", true) },
}

var untaintCommand = &command{
	Name: "untaint", Args: "ADDRESS", Min: 1, Max: 1,
	Synopsis: "Remove the 'tainted' state from a resource instance",
	Long:     "ADDRESS may be a pattern, quoted for the shell: 'aws_instance.web[*]'. Only tainted objects change.",
	JSON:     output.Messages,
	Setup:    func(e *env, fs *flag.FlagSet) runner { return e.setupTaint(fs, "untaint", false) },
}

func (e *env) setupTaint(fs *flag.FlagSet, operation string, taint bool) runner {
	var f flags.State
	f.Register(fs)
	flags.RemoteVersion(fs)
	missing := fs.Bool("allow-missing", false, "Succeed even if the object doesn't exist.")
	return func(ctx context.Context, args []string) int {
		at, diags := edit.Markable(args[0])
		if diags != nil {
			return e.Diags(diags)
		}
		s := e.locked(ctx, f.Options(), operation)
		if s == nil {
			return 1
		}
		next, marked, absent, diags := edit.Mark(s.Prior(), at, taint)
		switch {
		case absent != "" && *missing:
			return e.Diags(diag.NoInstance.Warnings("Resource instance %s was not found, but this is not an error because -allow-missing was set.", at))
		case absent != "":
			return e.Fail(diag.NoInstance, "%s", absent)
		case diags.HasErrors():
			return e.Diags(diags)
		}
		if code := e.commit(ctx, s, next); code != 0 {
			return code
		}
		did := map[bool]string{true: "marked as tainted", false: "successfully untainted"}[taint]
		for _, i := range marked {
			e.Say("Resource instance %s has been %s.\n", i, did)
		}
		return 0
	}
}
