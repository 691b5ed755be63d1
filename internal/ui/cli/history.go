package cli

import (
	"context"
	"flag"
	"fmt"
	"time"

	"weir.dev/weir/internal/state/edit"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/terminal"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/workspace/statehistory"
)

func setupStateHistory(e *env, fs *flag.FlagSet) runner {
	var f flags.State
	fs.StringVar(&f.Path, "state", "", "Use the state file at `PATH`.")
	return func(ctx context.Context, _ []string) int {
		s := e.inState(ctx, f)
		if s == nil {
			return 1
		}
		if s.Base() != nil {
			e.Say("serial %d: %s (now)\n", s.Base().Serial, view.Count(len(s.Base().Objects), "object"))
		}
		if why := s.NoHistory(); why != "" {
			e.Say("\n%s", terminal.Indent(why, 0, e.Prose()))
		}
		for _, k := range (statehistory.Of{Session: s}).List() {
			if e.Diags(k.Problems) == 0 {
				e.Say("serial %d: %s, until %s\n", k.Serial, view.Count(k.Objects, "object"), k.Until.Format(time.DateTime))
			}
		}
		return 0
	}
}

func setupStateUndo(e *env, fs *flag.FlagSet) runner {
	var f flags.State
	f.Register(fs)
	approve := fs.Bool("auto-approve", false, "Don't ask for approval.")
	to := fs.Uint64("to", 0, "Go back to the state with the serial `N` rather than to the one before.")
	flags.Input(fs, &e.input)
	return func(ctx context.Context, _ []string) int {
		s := e.locked(ctx, f.Options(), "state-undo")
		if s == nil {
			return 1
		}
		if s.Base() == nil {
			return e.noState()
		}
		earlier, diags := statehistory.Of{Session: s.Session}.Find(*to, e.program)
		if e.Diags(diags) != 0 || earlier == nil {
			return 1
		}
		for _, d := range edit.Differences(s.Base(), earlier) {
			e.Say("  %c %s\n", d.Sign, d.Object)
		}
		if !*approve {
			q := question{
				query:       fmt.Sprintf("Do you want to go back to the state with serial %d?", earlier.Serial),
				description: "Only the state changes, not the infrastructure: the next plan compares the two. Only 'yes' will be accepted to confirm.",
			}
			if yes, code := e.confirm(ctx, q, "Approval required", "-auto-approve"); code != 0 {
				return code
			} else if !yes {
				e.Say("Cancelled.\n")
				return 1
			}
		}
		if code := e.commit(ctx, s, earlier); code != 0 {
			return code
		}
		e.Say("The state has the content of serial %d again.\n", earlier.Serial)
		return 0
	}
}
