package cli

import (
	"context"
	"flag"
	"fmt"
	"slices"

	"weir.dev/weir/internal/front/flags"
	"weir.dev/weir/internal/front/terminal"
	"weir.dev/weir/internal/operation/session"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/edit"
	"weir.dev/weir/internal/word/diag"
)

func setupStateHistory(e *env, fs *flag.FlagSet) runner {
	var f flags.State
	fs.StringVar(&f.Path, "state", "", "The state file is at `PATH`.")
	return func(ctx context.Context, _ []string) int {
		s := e.inState(ctx, f)
		if s == nil {
			return 1
		}
		if s.Base() != nil {
			e.Say("serial %d: %s (now)\n", s.Base().Serial, objectCount(s.Base()))
		}
		if why := s.NoHistory(); why != "" {
			e.Say("\n%s", terminal.Indent(why, 0, e.Prose()))
		}
		for _, k := range s.History() {
			snapshot, diags := k.Read()
			if snapshot == nil {
				e.Diags(diags)
				continue
			}
			e.Say("serial %d: %s, until %s\n", k.Serial, objectCount(snapshot), k.Until.Format("2006-01-02 15:04:05"))
		}
		return 0
	}
}

func objectCount(s *state.Snapshot) string {
	if n := len(s.Objects); n != 1 {
		return fmt.Sprintf("%d objects", n)
	}
	return "1 object"
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
		list := s.History()
		at := slices.IndexFunc(list, func(k session.Earlier) bool {
			return k.Serial == *to || *to == 0 && k.Serial < s.Base().Serial
		})
		if at < 0 {
			if why := s.NoHistory(); why != "" {
				return e.Fail(diag.StateUnreadable.As("No earlier state"), "%s", why)
			}
			return e.Fail(diag.StateUnreadable.As("No earlier state"), "There is no such state to go back to. Run \"%s state history\" to see which there are.", e.program)
		}
		earlier, diags := list[at].Read()
		if e.Diags(diags) != 0 || earlier == nil {
			return 1
		}
		if earlier.Lineage != s.Base().Lineage {
			return e.Fail(diag.StateUnreadable.As("Earlier state of another lineage"), "The state with serial %d has lineage %q, and the present one has lineage %q: they are about different things.", earlier.Serial, earlier.Lineage, s.Base().Lineage)
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
