package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/statemgr"
)

var unlockCommand = &command{
	Name: "force-unlock", Args: "LOCK_ID", Min: 1, Max: 1,
	Synopsis: "Release a stuck lock on the current workspace",
	Long:     "Removes a lock that a run left behind. Commands that wait for the lock print its ID. The infrastructure doesn't change. First make sure that nobody uses the lock.",
	JSON:     output.Messages,
	Setup: func(e *env, fs *flag.FlagSet) runner {
		force := fs.Bool("force", false, "Don't ask for confirmation.")
		return func(ctx context.Context, args []string) int { return e.forceUnlock(ctx, args[0], *force) }
	},
}

func (e *env) forceUnlock(ctx context.Context, id string, force bool) int {
	b, diags := e.directory.Settings.CurrentBackend()
	if b == nil {
		return e.Diags(diags)
	}
	s, more := e.directory.States.OpenSelected(b, statemgr.Options{})
	diags.Append(more)
	if e.Diags(diags) != 0 {
		return 1
	}
	if !force {
		q := question{
			query:       "Do you really want to force-unlock?",
			description: "The lock with this ID will be removed. That allows others to change the state, even if the run that holds the lock is still under way. Only 'yes' will be accepted to confirm.",
		}
		if yes, code := e.confirm(ctx, q, "Error asking for confirmation", "-force"); code != 0 {
			return code
		} else if !yes {
			e.Say("force-unlock cancelled.\n")
			return 1
		}
	}
	if err := s.ForceUnlock(ctx, id); err != nil {
		return e.Fail(lockedstate.NotReleased.As("Failed to unlock state"), "%s.", err)
	}
	e.Say("weir state has been successfully unlocked!\n\nThe state has been unlocked, and commands should now be able to obtain a new lock on the state.\n")
	return 0
}
