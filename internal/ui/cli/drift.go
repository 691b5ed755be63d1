package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/review"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/planoptions"
)

var driftCommand = &command{
	Name:     "drift",
	Synopsis: "Show objects that were changed outside",
	Long:     "Compares the objects of the state with the real ones. It takes no lock and changes neither objects nor the state. It exits with 0 without drift, 2 with drift, and 1 after an error. With -all it works on all root modules below the directory. With -since it leaves out objects that a recorded refresh found as they are now; plan -refresh=auto begins the record.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var d drifting
		d.RefreshOnly = true
		d.vars.Register(fs)
		flags.Stream(fs, e.Screen)
		flags.Input(fs, &e.input)
		d.RegisterScope(fs, "Work on")
		flags.Parallelism(fs, &d.Parallelism)
		fs.StringVar(&d.format, "format", "text", "Print the drift as `FORM`: text, or markdown for comments.")
		fs.StringVar(&d.since, "since", "", "Show changes since `WHEN`: a time, an age such as 24h, or refresh for the last.")
		d.roots.registerAll(fs)
		return func(ctx context.Context, _ []string) int {
			if code := d.prepare(e); code != 0 {
				return code
			}
			if d.roots.chosen() {
				return d.runAll(ctx, e)
			}
			return d.run(ctx, e)
		}
	},
}

// drifting has the flags of drift.
type drifting struct {
	planning
	format, since string
	from          time.Time // of since
	document      io.Writer // of the Markdown form, nil for text
}

// A drift is what was changed outside in one directory; the plan is nil if that couldn't be found out.
type drift struct {
	plan    *plan.Plan
	earlier int
}

// prepare reads the flags that no other command has.
func (d *drifting) prepare(e *env) int {
	switch d.format {
	case "text":
	case "markdown":
		if e.JSON {
			return e.Fail(diag.Incompatible, "With -json the drift is printed for programs, and with -format=markdown for comments. Choose one.")
		}
		// Warnings and progress must not mix with the document.
		d.document, e.Out, e.Terminal = e.Out, e.Err, e.ErrTerminal
	default:
		return e.Fail(diag.BadOption.As("Unsupported format"), "weir doesn't know the format %q. Use text or markdown.", d.format)
	}
	var ok bool
	if d.from, ok = moment(d.since, e.directory.Place.Now()); !ok {
		return e.Fail(diag.BadOption.As("Invalid time"), "The option -since takes a time such as 2030-01-31 or 2030-01-31T12:00:00Z, an age such as 24h, or refresh. It doesn't take %q.", d.since)
	}
	return 0
}

// moment is the time that a text names, the zero time for none.
func moment(text string, now time.Time) (at time.Time, ok bool) {
	switch text {
	case "":
		return time.Time{}, true
	case "refresh": // any that is recorded
		return now, true
	}
	if age, err := time.ParseDuration(text); err == nil {
		return now.Add(-age), age >= 0
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

func (d *drifting) run(ctx context.Context, e *env) int {
	if code := e.Start(); code != 0 {
		return code
	}
	options, diags := d.options(e, "drift")
	if diags.HasErrors() {
		return e.Diags(diags)
	}
	found, code := d.find(ctx, e, d.opening(e, "drift"), options)
	if found.plan == nil || d.document == nil {
		return code
	}
	if e.Written(review.Drift(d.document, found.plan, found.earlier, review.Limit)) != 0 {
		return 1
	}
	return code
}

// runAll shows the drift of all roots that are chosen.
func (d *drifting) runAll(ctx context.Context, e *env) int {
	t, code := d.together(ctx, e)
	if code != 0 {
		return code
	}
	all := make([]drift, len(t.list))
	code = t.each(true, func(one *env, i int) (code int) {
		options, opening, diags := t.options(&d.planning, one, i, "drift")
		if diags.HasErrors() {
			return one.Diags(diags)
		}
		if all[i], code = d.find(ctx, one, opening, options); all[i].plan != nil {
			t.sums[i].Drift, t.sums[i].Drifted = true, len(all[i].plan.Drift)
		}
		return code
	})
	if d.document != nil && e.Written(t.driftMarkdown(d.document, all)) != 0 {
		return 1
	}
	return code
}

// driftMarkdown writes the drift of all roots as one comment.
func (t *together) driftMarkdown(w io.Writer, all []drift) error {
	c := comment{columns: []string{"changed", "deleted"}}
	for i, d := range all {
		name := t.list[i].Name
		if d.plan == nil {
			c.row(name, "failed", "")
			continue
		}
		changed, deleted := view.DriftCounts(d.plan)
		c.row(name, fmt.Sprint(changed), fmt.Sprint(deleted))
		if changed+deleted > 0 {
			c.part(name, func(limit int) error { return review.Drift(&c.text, d.plan, d.earlier, limit) })
		}
	}
	return c.write(w)
}

// find shows what was changed outside. The exit code says whether anything was.
func (d *drifting) find(ctx context.Context, e *env, o workspace.Opening, options planoptions.Planning) (drift, int) {
	made, earlier, diags := workspace.Drift{Dir: e.directory, Opening: o, Options: options, Since: d.from}.Run(ctx)
	if made != nil && !made.Errored {
		if e.Stream != nil {
			e.Stream.Plan(made)
		}
		if !e.JSON && d.document == nil {
			e.Written(view.Drift(e.Out, made, earlier, e.Viewing()))
		}
	}
	if e.Diags(diags) != 0 {
		return drift{}, 1
	}
	if len(made.Drift) > 0 {
		return drift{made, earlier}, exitChanges
	}
	return drift{made, earlier}, 0
}
