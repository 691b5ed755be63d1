package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/edit"
)

var taintCommand = &command{
	name: "taint", args: "ADDRESS", min: 1, max: 1,
	synopsis: "Mark a resource instance as not fully functional",
	long:     "The next plan replaces the object. plan -replace=ADDRESS does the same without a change to the state and shows the effect first.",
	setup:    func(e *env, fs *flag.FlagSet) runner { return e.setupTaint(fs, "taint", true) },
}

var untaintCommand = &command{
	name: "untaint", args: "ADDRESS", min: 1, max: 1,
	synopsis: "Remove the 'tainted' state from a resource instance",
	setup:    func(e *env, fs *flag.FlagSet) runner { return e.setupTaint(fs, "untaint", false) },
}

func (e *env) setupTaint(fs *flag.FlagSet, operation string, taint bool) runner {
	var f stateFlags
	f.register(fs)
	remoteVersion(fs)
	missing := fs.Bool("allow-missing", false, "Succeed even if there is no such object.")
	return func(ctx context.Context, args []string) int {
		i, err := addr.ParseInstance(args[0])
		if err != nil {
			return e.fail("Invalid resource instance address", "%s.", err)
		}
		if i.Name.Mode != addr.Managed {
			return e.fail("Invalid resource instance address", "Resource instance %s cannot be tainted: only managed resources can.", i)
		}
		s := e.inState(ctx, f, operation)
		if s == nil {
			return 1
		}
		next, absent, diags := edit.Mark(s.Prior(), i, taint)
		switch {
		case absent != "" && *missing:
			return e.diags(diag.OneWarning("No such resource instance", "Resource instance %s was not found, but this is not an error because -allow-missing was set.", i))
		case absent != "":
			return e.fail("No such resource instance", "%s", absent)
		case diags.HasErrors():
			return e.diags(diags)
		}
		if code := e.commit(ctx, s, next); code != 0 {
			return code
		}
		if taint {
			e.say("Resource instance %s has been marked as tainted.\n", i)
		} else {
			e.say("Resource instance %s has been successfully untainted.\n", i)
		}
		return 0
	}
}
