package cli

import (
	"context"
	"flag"
	"fmt"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/state"
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
		absent := func(why string) int {
			if *missing {
				return e.diags(diag.OneWarning("No such resource instance", "Resource instance %s was not found, but this is not an error because -allow-missing was set.", i))
			}
			return e.fail("No such resource instance", "%s", why)
		}
		if s.Prior() == nil {
			return absent(fmt.Sprintf("The state currently contains no resource instances whatsoever, so %s cannot be changed. Perhaps nothing was applied yet, or the state is in another workspace.", i))
		}
		current := addr.Object{Instance: i}
		o := s.Prior().Objects[current]
		if o == nil {
			if hasDeposed(s.Prior(), i) {
				return absent(fmt.Sprintf("Resource instance %s is currently part-way through a create_before_destroy replacement action: it has no current object. Run apply to complete it.", i))
			}
			return absent(fmt.Sprintf("Resource instance %s was not found in the state.", i))
		}
		if o.Tainted == taint && !taint {
			return e.fail("Resource instance is not tainted", "Resource instance %s is not currently tainted, and so it cannot be untainted.", i)
		}
		changed := *o
		changed.Tainted = taint
		next := s.Prior().Clone()
		next.Objects[current] = &changed
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

func hasDeposed(s *state.Snapshot, i addr.Instance) bool {
	for at := range s.Objects {
		if at.Instance == i && at.Deposed != "" {
			return true
		}
	}
	return false
}
