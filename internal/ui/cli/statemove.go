package cli

import (
	"context"
	"flag"
	"fmt"
	"os"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state/edit"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/workspace/lockedstate"
)

func setupStateMove(e *env, fs *flag.FlagSet) runner {
	var f flags.State
	f.RegisterLock(fs)
	fs.StringVar(&f.Path, "state", "", "Move from the state file at `PATH`.")
	fs.StringVar(&f.Backup, "backup", "", "Write a backup of the state to `PATH`; \"-\" for none.")
	out := fs.String("state-out", "", "Move to the state file at `PATH`.")
	fs.String("backup-out", "", "")
	flags.RemoteVersion(fs)
	dry := fs.Bool("dry-run", false, "Print the moves without making them.")
	return func(ctx context.Context, args []string) int {
		s := e.locked(ctx, f.Options(), "state-mv")
		if s == nil || !e.isThere(s.Session) {
			return 1
		}
		target := s.Prior()
		var other *lockedstate.Claimed
		if *out != "" && *out != f.Path {
			var diags diag.List
			o := flags.State{Path: *out, Backup: "-", Lock: f.Lock, Timeout: f.Timeout}.Options()
			if info, err := os.Stat(e.directory.Place.Path(*out)); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
				o.Unread = true // an empty file to move into has no state, as tools make one
			}
			other, diags = e.directory.States.StateIn(ctx, e.directory.Settings.Opener().Local(nil), s.Workspace(), o, "state-mv")
			if e.Diags(diags) != 0 {
				return 1
			}
			target = other.Snapshot()
		}
		moves, refused := edit.Moves(s.Prior(), target, args[0], args[1])
		if refused != nil {
			return e.Diags(refused)
		}
		shown := map[string]bool{}
		for _, m := range moves {
			line := fmt.Sprintf("%s %q to %q\n", view.Either(*dry, "Would move", "Move"), m.From.Instance, m.To.Instance)
			if !shown[line] {
				shown[line] = true
				e.Say("%s", line)
			}
		}
		if *dry {
			return 0
		}
		from, to := edit.Moved(s.Prior(), target, moves)
		if other != nil {
			// The target first: an object in two states is better than one in none.
			if code := e.commit(ctx, other, to); code != 0 {
				return code
			}
		}
		if code := e.commit(ctx, s, from); code != 0 {
			return code
		}
		e.Say("Successfully moved %d object(s).\n", len(shown))
		return 0
	}
}
