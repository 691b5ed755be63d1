package cli

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir.dev/weir/internal/state/edit"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/terminal"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/workspace/lockedstate"
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
		list := statehistory.Of{Session: s}.List()
		list = slices.DeleteFunc(list, func(one statehistory.State) bool { return e.Diags(one.Problems) != 0 })
		e.Say("%s", historyTable(list, e.Pen()))
		if why := s.NoHistory(); why != "" {
			e.Say("\n%s", terminal.Indent(why, 0, e.Prose()))
		}
		return 0
	}
}

// historyTable lists states in columns, the latest first: how many objects each has, what the
// run that wrote it changed, which command that was, whose, and when.
func historyTable(list []statehistory.State, pen ansi.Pen) string {
	var rows [][]string
	for _, one := range list {
		row := []string{fmt.Sprintf("serial %d: %s", one.Serial, view.Count(one.Objects, "object"))}
		switch r := one.Run; {
		case r != nil:
			counts := "no objects"
			if r.Added+r.Changed+r.Removed > 0 {
				counts = strings.Join([]string{
					sum(pen, '+', r.Added, ansi.Green), sum(pen, '~', r.Changed, ansi.Yellow), sum(pen, '-', r.Removed, ansi.Red),
				}, " ")
			}
			row = append(row, counts, r.Command, r.Who, r.Ended.Local().Format(time.DateTime)+lasted(r))
		case one.Until.IsZero():
			row = append(row, "run not recorded")
		default:
			row = append(row, "run not recorded", "until "+one.Until.Format(time.DateTime))
		}
		if one.Now {
			row[0] += " (now)"
		}
		rows = append(rows, row)
	}
	var width [4]int
	for _, row := range rows {
		for i, cell := range row[:min(len(row), len(width))] {
			if len(row) == 5 || i == 0 { // a state whose run isn't recorded has no columns
				width[i] = max(width[i], ansi.Width(cell))
			}
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			if b.WriteString(cell); i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", max(0, width[i]-ansi.Width(cell))+2))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// sum is how many objects a run added, changed or removed; zero isn't coloured.
func sum(pen ansi.Pen, sign byte, n int, colour ansi.Style) string {
	text := fmt.Sprintf("%c%d", sign, n)
	if n == 0 {
		return text
	}
	return pen.Paint(text, colour)
}

// lasted is how long a run took, where that is worth a word.
func lasted(r *lockedstate.Run) string {
	if d := r.Ended.Sub(r.Began).Round(time.Second); d > 0 {
		return ", took " + d.String()
	}
	return ""
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
