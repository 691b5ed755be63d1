// Package webrun plans and applies with a page in the browser. It sends progress to the page,
// takes the approval from it, and plans again when files change.
//
// It owns when another plan is made and when the run is over. It doesn't know how pages are
// served, and leaves planning, locks and the terminal to whom they belong.
package webrun

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/secret"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/moduletest/filewatch"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/edges"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/state/edit"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/graphview"
	"weir.dev/weir/internal/ui/view/masking"
	"weir.dev/weir/internal/ui/view/page"
	"weir.dev/weir/internal/ui/view/sanitize"
	"weir.dev/weir/internal/ui/view/steptimes"
	"weir.dev/weir/internal/ui/view/stream"
	"weir.dev/weir/internal/ui/webui"
	"weir.dev/weir/internal/workspace/statehistory"
)

// interval is how often files are inspected.
const interval = 300 * time.Millisecond

// The possible answers of the page.
const (
	approve = "approve"
	refuse  = "refuse"
	again   = "again"
	end     = "end"
)

// A Work is what is planned and applied.
type Work interface {
	// Stored describes the stored state.
	Stored() (serial uint64, all bool)
	// Doubts are of objects that may exist.
	Doubts() []journal.Operation
}

// An Approver follows an apply of W, with limits L, that results in O, and decides about it.
type Approver[W Work, O, L any] interface {
	Opened(diag.List)
	Planned(ctx context.Context, w W, p *plan.Plan, found diag.List) (left diag.List, approved bool)
	Limits() (l L, ended func())
	Applied(p *plan.Plan, o O, found diag.List)
	Problem(diag.List)
	Again(round int)
}

// A Past is the history of a state: whether it has any, the serials that one may go back to,
// and all of it.
type Past interface {
	Any() bool
	Serials() []uint64
	List() []statehistory.State
}

// A Run is a plan and an apply with a page: an Approver itself, before the one that reports
// the terminal.
type Run[W Work, O, L any] struct {
	Approver[W, O, L]
	Screen  *output.Screen
	Server  *webui.Server
	Program string
	// Apply makes a plan, and carries it out when the approver says so. It reports whether
	// everything was done.
	Apply func(context.Context, event.Sink, Approver[W, O, L]) bool
	// Tree is the configuration of a work.
	Tree func(W) *program.Tree
	// Edges says why the steps of a plan wait for one another; nil where nobody does.
	Edges func(W, *plan.Plan) *edges.Of
	// Note puts the causes of changes into a plan.
	Note func(W, *plan.Plan)
	// Past are the earlier states of a work; nil where none are offered.
	Past func(W) Past
	// GoBack goes back to an earlier state by its serial, once nothing holds the state.
	GoBack func(context.Context, uint64) diag.List
	// Came says what came of an apply: whether it was carried out, whether something is in
	// doubt, and what is reported beside.
	Came func(O) (done, doubted bool, left diag.List)
	// Approved: nobody is asked, and nothing is waited for.
	Approved bool
	// Files are watched beside those of the configuration.
	Files []string
	// Stop stops an apply as an interrupt does, and Restart forgets that it was stopped; nil
	// where neither is offered.
	Stop, Restart func()
	// Once: one plan is made, whatever becomes of files, and nothing is waited for after it.
	Once bool

	watcher filewatch.Watcher
	dirs    []string
	changed []string // files that did, so that another plan is to be made
	why     string   // another plan is made

	ask     func(choices ...string) string
	number  int // of the plan
	work    W
	made    *plan.Plan
	hide    *secret.Known
	times   *steptimes.Recorder
	told    diag.List
	decided string // what was answered about the plan
	serials []uint64
	stopped bool    // the apply, before it was complete
	ending  *ending // of an apply; nil without one
}

// An ending is what the page shows last.
type ending struct {
	heading, text string
	mood          webui.Mood
}

// Run plans until something is applied or rejected, and returns the exit code. Where there is
// nothing to do, or planning fails, it waits for files to change.
func (r *Run[W, O, L]) Run(ctx context.Context) int {
	r.ask = func(choices ...string) string { return r.await(ctx, choices...) }
	r.watcher = filewatch.Watcher{Dir: ".", Interval: interval, Only: matters}
	r.dirs = []string{"."}
	if r.Stop != nil {
		r.Server.Stoppable(r.Stop)
	}
	var left diag.List
	for {
		if !r.Once {
			r.watcher.Begin(r.Files, r.dirs)
		}
		r.Server.Planning(r.why)
		r.changed, r.number, r.made, r.hide, r.told, r.decided, r.serials, r.ending = nil, 0, nil, nil, nil, "", nil, nil
		r.times, r.why, r.stopped = steptimes.Record(time.Now), "", false
		r.tell(left)
		done := r.Apply(ctx, r.event, r)
		if r.number == 0 && ctx.Err() == nil {
			r.number = r.Server.Planned("Planning failed", true, nil)
		}
		if r.changed == nil && r.repeats(ctx) {
			e := r.ending
			if e == nil {
				e = &ending{"Discarded", "Nothing was changed.", webui.Discarded}
			}
			r.Server.Result(e.heading, e.text, e.mood)
			r.Screen.Notice("\nTo plan again or to end, use the page. An interrupt ends, too.\n")
			if choice := r.ask(again, end); choice == again {
				r.why, r.decided = "Asked for in the page.", ""
			}
		} else if r.changed == nil && !r.over(ctx) {
			r.Screen.Notice("\nWaiting for files to change, or for the end in the page.\n")
			r.decided = r.ask(end)
		}
		if left = r.goBack(ctx); r.changed != nil {
			r.why = strings.Join(r.changed, ", ") + " changed."
		}
		if r.why == "" {
			return r.close(done)
		}
		// Also after an edit: an apply that was stopped must not stop the next one.
		if r.Restart != nil {
			r.Restart()
		}
		r.Screen.Notice("\n" + r.why + " Planning again.\n\n")
	}
}

// Of runs one part of several: once, and the page decides where a rule doesn't.
func (r *Run[W, O, L]) Of(ctx context.Context, rule *func(*plan.Plan, diag.List) (approved, refused bool), apply func(event.Sink, Approver[W, O, L]) bool) int {
	r.Once = true
	first := *rule
	*rule = func(made *plan.Plan, found diag.List) (approved, refused bool) {
		if approved, refused = first(made, found); approved || refused {
			return approved, refused
		}
		return r.Decide(made, found)
	}
	r.Apply = func(_ context.Context, sink event.Sink, by Approver[W, O, L]) bool { return apply(sink, by) }
	return r.Run(ctx)
}

// back is before the serial of the state to go back to, in an answer.
const back = "back "

// earlier is the history as the page shows it.
func (r *Run[W, O, L]) earlier(states []statehistory.State) (list []webui.Earlier) {
	for _, s := range states {
		one := webui.Earlier{
			Serial: s.Serial, Now: s.Now, Objects: s.Objects, Changes: signed(s.Changes), Back: signed(s.Differences),
			Problem: r.Screen.PlainText(s.Problems),
		}
		if !s.Until.IsZero() {
			one.Until = s.Until.Format(time.DateTime)
		}
		if w := s.Run; w != nil {
			one.Run = &webui.Run{
				Who: w.Who, Command: w.Command, At: w.Ended.Local().Format(time.DateTime), Seconds: int(w.Ended.Sub(w.Began).Seconds()),
				Added: w.Added, Changed: w.Changed, Removed: w.Removed,
			}
		}
		list = append(list, one)
	}
	return list
}

func signed(differences []edit.Difference) []string {
	var list []string
	for _, d := range differences {
		list = append(list, string(d.Sign)+" "+d.Object.String())
	}
	return list
}

// goBack goes back to an earlier state if that was the answer. Whatever comes of it, another
// plan reports the present state.
func (r *Run[W, O, L]) goBack(ctx context.Context) diag.List {
	text, is := strings.CutPrefix(r.decided, back)
	serial, err := strconv.ParseUint(text, 10, 64)
	if !is || err != nil {
		return nil
	}
	diags := r.GoBack(ctx, serial)
	if r.why = "The state has the content of serial " + text + " again."; diags.HasErrors() {
		r.why = "The state is as it was."
	}
	r.Approver.Problem(diags)
	return diags
}

// repeats reports whether a plan may be made again although this one was applied in part,
// or discarded.
func (r *Run[W, O, L]) repeats(ctx context.Context) bool {
	return !r.Approved && !r.Once && ctx.Err() == nil && (r.ending != nil && r.ending.mood != webui.Done || r.decided == refuse)
}

// over reports whether there is nothing to wait for: something was applied or rejected, or the
// run was interrupted.
func (r *Run[W, O, L]) over(ctx context.Context) bool {
	return r.Approved || r.Once || ctx.Err() != nil || r.decided != "" || r.ending != nil && r.made.HasChanges()
}

// close has the page show the end.
func (r *Run[W, O, L]) close(done bool) int {
	e := r.ending
	switch {
	case e != nil:
	case done && r.Once:
		e = &ending{"Nothing to do", "", webui.Done}
	case r.decided == refuse:
		e = &ending{"Discarded", "Nothing was changed. To plan again:\n  " + r.Screen.Run(r.Program, "ui").String(), webui.Discarded}
	case done:
		e = &ending{"Closed", "Nothing was changed.", webui.Done}
	default:
		e = &ending{"Closed", "Nothing was changed.", webui.Stopped}
	}
	r.Server.End(e.heading, e.text, e.mood)
	if done {
		return 0
	}
	return 1
}

// await asks in the page until somebody answers, files change, or the context ends. The
// answer is empty then.
func (r *Run[W, O, L]) await(ctx context.Context, choices ...string) string {
	for _, serial := range r.serials {
		choices = append(choices, back+strconv.FormatUint(serial, 10))
	}
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	edits := make(chan []string, 1)
	go func() {
		if r.Once {
			<-asking.Done()
			close(edits)
			return
		}
		edits <- r.watcher.Wait(asking, r.Files, r.dirs)
		cancel()
	}()
	choice, err := r.Server.Ask(asking, r.number, r.outdated, choices...)
	cancel()
	if changed := <-edits; err != nil && len(changed) > 0 {
		r.changed = changed
	}
	return choice
}

// outdated says why a plan can't be approved any more: an edit may be so young that nothing
// was planned because of it yet.
func (r *Run[W, O, L]) outdated(choice string) string {
	if choice != approve || r.Once {
		return ""
	}
	changed := r.watcher.Changed(r.Files, r.dirs)
	if len(changed) == 0 {
		return ""
	}
	return sanitize.Line(strings.Join(changed, ", ")) + " changed after this plan was made. Look at the one that comes in its place."
}

// Decide has the page decide about a plan.
func (r *Run[W, O, L]) Decide(*plan.Plan, diag.List) (approved, refused bool) {
	r.Screen.Notice("\nWaiting for the answer in the page.\n")
	r.decided = r.ask(approve, refuse)
	if r.decided == refuse {
		r.Screen.Notice("\nDiscarded in the page.\n")
	}
	return r.decided == approve, r.decided != approve
}

// Loaded has the page show a configuration that was loaded, until there is a plan.
func (r *Run[W, O, L]) Loaded(tree *program.Tree) {
	if tree == nil || tree.Program == nil {
		return
	}
	r.follow(tree)
	var b bytes.Buffer
	if c := graphview.OfTree(tree, false); len(c.Nodes) > 0 && c.WritePage(&b) == nil {
		r.Server.Loaded(b.Bytes())
	}
}

// Opened implements Approver.
func (r *Run[W, O, L]) Opened(found diag.List) {
	r.tell(found)
	r.Approver.Opened(found)
}

// Problem implements Approver.
func (r *Run[W, O, L]) Problem(l diag.List) {
	r.tell(l)
	r.Approver.Problem(l)
}

// Planned implements Approver.
func (r *Run[W, O, L]) Planned(ctx context.Context, w W, made *plan.Plan, found diag.List) (diag.List, bool) {
	r.work, r.made = w, made
	r.follow(r.Tree(w))
	if r.Past != nil {
		before := r.Past(w)
		if r.serials = before.Serials(); before.Any() {
			r.Server.Remember(func() []webui.Earlier { return r.earlier(before.List()) })
		}
	}
	if made != nil {
		r.Note(w, made)
		r.show(w, made, found.HasErrors())
	}
	r.tell(found)
	return r.Approver.Planned(ctx, w, made, found)
}

// show has the page show a plan.
func (r *Run[W, O, L]) show(w W, made *plan.Plan, failed bool) {
	r.hide = masking.Secrets(made, r.Tree(w))
	beside := page.Beside{Tree: r.Tree(w), Framed: true}
	if r.Edges != nil {
		beside.Edges = r.Edges(w, made)
	}
	if r.Screen.Memory != nil {
		beside.Durations = r.Screen.Memory.Durations()
	}
	var document bytes.Buffer
	if err := page.Plan(&document, made, beside); err != nil {
		r.tell(diag.Unwritable.As("Failed to write the page of the plan").List("%s.", err))
	}
	heading, errored := page.Heading(made)
	if failed {
		heading = "Planning failed"
	}
	r.number = r.Server.Planned(heading, failed || errored, document.Bytes())
}

// Applied implements Approver.
func (r *Run[W, O, L]) Applied(p *plan.Plan, o O, found diag.List) {
	r.Approver.Applied(p, o, found)
	r.tell(found)
	if t := r.times.Times(); t != nil {
		r.Server.Lived(page.LivedOf(p, t))
	}
	done, doubted, left := r.Came(o)
	r.tell(left)
	switch {
	case !done:
		r.ending = r.partial(p)
	case doubted:
		r.ending = &ending{stream.DoubtedText(r.Screen.Counter.Counts(), p.Mode == plan.Destroy), "", webui.Failed}
	default:
		var text bytes.Buffer
		_ = view.NextRound(&text, p, r.Program, view.Options{}) // into memory
		r.ending = &ending{stream.AppliedText(r.Screen.Counter.Counts(), p.Mode == plan.Destroy), r.masked(text.String()), webui.Done}
		if len(left) > 0 {
			r.ending.mood = webui.Failed
		}
	}
}

// partial is the ending of an apply that didn't do everything.
func (r *Run[W, O, L]) partial(p *plan.Plan) *ending {
	serial, saved := r.work.Stored()
	e := view.End{
		Plan: p, Endings: r.Screen.Counter.Endings(), Doubts: journal.Instances(r.work.Doubts()), Serial: serial, Saved: saved,
		Program: r.Program, Command: r.Screen.Command,
	}
	var text bytes.Buffer
	if e.Endings != nil {
		_ = e.Write(&text, view.Options{}) // into memory
	}
	// A stop makes running provisioners and calls fail, so failures don't tell the two apart.
	if r.stopped {
		return &ending{"Apply stopped", r.masked(text.String()), webui.Stopped}
	}
	return &ending{"Apply failed", r.masked(text.String()), webui.Failed}
}

// event hands events to the page and to the screen.
func (r *Run[W, O, L]) event(e event.Event) {
	r.stopped = r.stopped || e.Kind == event.Stopping
	shown := e
	if e.Kind == event.StepEnd && e.Text != "" {
		shown.Text = r.masked(e.Text)
	}
	r.Server.Event(shown)
	r.times.Event(e)
	if sink := r.Screen.Sink(); sink != nil {
		sink(e)
	}
}

// tell has the page show problems that it doesn't show yet.
func (r *Run[W, O, L]) tell(l diag.List) {
	l = slices.DeleteFunc(slices.Clone(l), func(d diag.Diagnostic) bool { return slices.ContainsFunc(r.told, d.Same) })
	r.told = append(r.told, l...)
	for _, severity := range []diag.Severity{diag.Error, diag.Warning} {
		if part := slices.Clone(l).Only(severity); len(part) > 0 {
			r.Server.Problems(r.masked(r.Screen.PlainText(part)), severity == diag.Error)
		}
	}
}

// masked is a text without what is sensitive anywhere in the plan: a page is inspected by more
// people than a terminal.
func (r *Run[W, O, L]) masked(text string) string {
	text = r.Screen.Secrets.Mask(text)
	if r.hide != nil {
		text = r.hide.Mask(text)
	}
	return strings.TrimSpace(text)
}

// follow has the directories of modules watched, too.
func (r *Run[W, O, L]) follow(tree *program.Tree) {
	dirs := []string{"."}
	var add func(*program.Tree)
	add = func(t *program.Tree) {
		if t == nil || t.Program == nil {
			return
		}
		if dir := filepath.Clean(t.Program.Dir); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		for _, child := range t.Calls() {
			add(child)
		}
	}
	if r.Once {
		return
	}
	add(tree)
	r.dirs = dirs
	r.watcher.Extend(r.Files, r.dirs)
}

// matters reports whether a file is one that plans are made of.
func matters(name string) bool {
	if name == ".terraform.lock.hcl" {
		return true
	}
	return slices.ContainsFunc([]string{".tf", ".tf.json", ".tofu", ".tofu.json", ".tfvars", ".tfvars.json"}, func(end string) bool { return strings.HasSuffix(name, end) })
}
