package cli

import (
	"context"
	"flag"

	"weir.dev/weir/internal/operation"
)

var unlockCommand = &command{
	name: "force-unlock", args: "LOCK_ID", min: 1, max: 1,
	synopsis: "Release a stuck lock on the current workspace",
	long:     "Removes a lock that a run left behind. The ID is part of the message of those who were refused. Nothing happens to the infrastructure. Be sure that nobody holds the lock any more.",
	setup: func(e *env, fs *flag.FlagSet) runner {
		force := fs.Bool("force", false, "Don't ask for confirmation.")
		return func(ctx context.Context, args []string) int { return e.forceUnlock(ctx, args[0], *force) }
	},
}

func (e *env) forceUnlock(ctx context.Context, id string, force bool) int {
	b, diags := e.directory.CurrentBackend()
	if b == nil {
		return e.diags(diags)
	}
	s, more := e.directory.OpenSelected(b, operation.StateOptions{})
	diags.Append(more)
	if e.diags(diags) != 0 {
		return 1
	}
	if !force {
		answer, err := e.ask(ctx, question{
			query:       "Do you really want to force-unlock?",
			description: "The lock with this ID will be removed. That allows others to change the state, even if the run that holds the lock is still under way. Only 'yes' will be accepted to confirm.",
		})
		if err != nil {
			return e.fail("Error asking for confirmation", "The answer can't be read: %s. Use -force to remove the lock without asking.", err)
		}
		if answer != "yes" {
			e.say("force-unlock cancelled.\n")
			return 1
		}
	}
	if err := s.ForceUnlock(ctx, id); err != nil {
		return e.fail("Failed to unlock state", "%s.", err)
	}
	e.say("weir state has been successfully unlocked!\n\nThe state has been unlocked, and commands should now be able to obtain a new lock on the state.\n")
	return 0
}
