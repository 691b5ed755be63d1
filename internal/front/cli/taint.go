package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/front/flags"
	"weir.dev/weir/internal/front/screen"
	"weir.dev/weir/internal/state/edit"
	"weir.dev/weir/internal/word/addr"
	"weir.dev/weir/internal/word/diag"
)

var taintCommand = &command{
	Name: "taint", Args: "ADDRESS", Min: 1, Max: 1,
	Synopsis: "Mark a resource instance as not fully functional",
	Long:     "The next plan replaces the object. plan -replace=ADDRESS does the same without a change to the state and shows the effect first.",
	JSON:     screen.Messages,
	Setup:    func(e *env, fs *flag.FlagSet) runner { return e.setupTaint(fs, "taint", true) },
}

var untaintCommand = &command{
	Name: "untaint", Args: "ADDRESS", Min: 1, Max: 1,
	Synopsis: "Remove the 'tainted' state from a resource instance",
	JSON:     screen.Messages,
	Setup:    func(e *env, fs *flag.FlagSet) runner { return e.setupTaint(fs, "untaint", false) },
}

func (e *env) setupTaint(fs *flag.FlagSet, operation string, taint bool) runner {
	var f flags.State
	f.Register(fs)
	flags.RemoteVersion(fs)
	missing := fs.Bool("allow-missing", false, "Succeed even if there is no such object.")
	return func(ctx context.Context, args []string) int {
		i, err := addr.ParseInstance(args[0])
		if err != nil {
			return e.Fail(diag.BadAddress.As("Invalid resource instance address"), "%s.", err)
		}
		if i.Name.Mode != addr.Managed {
			return e.Fail(diag.BadAddress.As("Invalid resource instance address"), "Resource instance %s cannot be tainted: only managed resources can.", i)
		}
		s := e.locked(ctx, f.Options(), operation)
		if s == nil {
			return 1
		}
		next, absent, diags := edit.Mark(s.Prior(), i, taint)
		switch {
		case absent != "" && *missing:
			return e.Diags(diag.NoInstance.Warnings("Resource instance %s was not found, but this is not an error because -allow-missing was set.", i))
		case absent != "":
			return e.Fail(diag.NoInstance, "%s", absent)
		case diags.HasErrors():
			return e.Diags(diags)
		}
		if code := e.commit(ctx, s, next); code != 0 {
			return code
		}
		if taint {
			e.Say("Resource instance %s has been marked as tainted.\n", i)
		} else {
			e.Say("Resource instance %s has been successfully untainted.\n", i)
		}
		return 0
	}
}
