// Package progress shows progress in the last lines of a terminal: finished and running
// operations, their durations and the time left. Finished operations move above, one line
// each.
//
// It owns the form of these lines and the estimate of the time that is left. It doesn't know
// why anything is done, and where experience from earlier runs is kept.
package progress

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/sanitize"
	"weir.dev/weir/internal/ui/view/stream"
)

// Options say how things are shown.
type Options struct {
	Pen ansi.Pen
	// Size is that of the terminal, in columns and lines.
	Size func() (width, height int)
	// Before is experience from earlier runs.
	Before Durations
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// every is how often the lines are drawn.
const every = 250 * time.Millisecond

// A Display is a stream.Progress for a terminal.
type Display struct {
	o     Options
	area  *Area
	above io.Writer
	lines stream.Progress // on above

	mu       sync.Mutex
	rows     []*row
	byKey    map[string]*row
	planning bool
	asked    int // objects whose present form providers were asked for
	of       int
	course   *course
	begun    time.Time
	stopped  bool
	frame    int
	// estimated is when it was found out last how long the rest takes.
	estimated time.Time
	left      time.Duration
	leftKnown bool

	closing sync.Once
	stop    chan struct{}
	done    chan struct{}
}

// A row is something that runs.
type row struct {
	key, name, verb string
	since           time.Time
	// id is the step of the course, where there is one.
	id     execgraph.ID
	isStep bool
	// behind is how many steps wait for it, as it was found out last.
	behind int
	looked time.Time
}

// New is a display in an area of a terminal; above is the writer over that area.
func New(area *Area, above io.Writer, o Options) *Display {
	if o.Now == nil {
		o.Now = time.Now
	}
	d := &Display{
		o: o, area: area, above: above, lines: stream.Human(byWords{above, o.Size}, stream.Options{Pen: o.Pen, Shown: stream.Ends, Now: o.Now}),
		byKey: map[string]*row{}, stop: make(chan struct{}), done: make(chan struct{}),
	}
	go d.run()
	return d
}

// byWords writes lines so that words stay whole on a narrow terminal.
type byWords struct {
	io.Writer
	size func() (width, height int)
}

func (w byWords) Write(text []byte) (int, error) {
	width, _ := w.size()
	if width < ansi.Narrow {
		if _, err := io.WriteString(w.Writer, ansi.Hang(string(text), width, "  ")); err != nil {
			return 0, err
		}
		return len(text), nil
	}
	return w.Writer.Write(text)
}

func (d *Display) run() {
	defer close(d.done)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-ticker.C:
			d.mu.Lock()
			d.draw()
			d.mu.Unlock()
		}
	}
}

// Close takes the lines away.
func (d *Display) Close() {
	d.closing.Do(func() {
		close(d.stop)
		<-d.done
		d.lines.Close()
		d.area.Draw(nil)
	})
}

// Experience is that of earlier runs with what was seen in this one; nil where that is
// nothing.
func (d *Display) Experience() Durations {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.course == nil || len(d.course.now) == 0 {
		return nil
	}
	out := Durations{}
	for what, took := range d.o.Before {
		out[what] = took
	}
	for what, took := range d.course.now {
		for range took.Runs {
			out.add(what, seconds(took.Seconds), remembered)
		}
	}
	return out
}

// Event implements stream.Progress.
func (d *Display) Event(e event.Event) {
	d.take(e)
	if e.Kind == event.Stopping {
		_, _ = io.WriteString(d.above, d.stopping())
		return
	}
	d.lines.Event(e)
}

// stopping says what becomes of a run that was interrupted.
func (d *Display) stopping() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	what := "Waiting for operations"
	switch n := len(d.rows); n {
	case 0:
	case 1:
		what = "Waiting for " + d.rows[0].name
	default:
		what = fmt.Sprintf("Waiting for %d operations", n)
	}
	return "\n" + ansi.Wrap("Interrupt received. "+what+"; nothing new starts, and the state is saved. After another Ctrl-C they get one more second.", d.width()) + "\n\n"
}

func (d *Display) width() int {
	width, _ := d.o.Size()
	return width
}

func (d *Display) take(e event.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch e.Kind {
	case event.PlanBegin:
		d.planning, d.asked, d.of, d.begun = true, 0, e.Count, d.o.Now()
	case event.PlanEnd, event.ApplyEnd:
		d.planning, d.stopped, d.rows = false, false, nil
		clear(d.byKey)
		d.draw()
	case event.ApplyBegin:
		d.course, d.begun, d.leftKnown = newCourse(e.Plan, e.Count, d.o.Before), d.o.Now(), false
		d.planning, d.estimated = false, time.Time{}
	case event.StepEnd:
		d.course.end(e.Step, e.Ending)
	case event.RefreshComplete:
		d.asked++
	case event.Stopping:
		d.stopped = true
	case event.ReadStart, event.EphemeralStart, event.ApplyStart, event.ActionStart:
		if e.Kind != event.ApplyStart || e.Action != plan.NoOp {
			d.begin(e)
		}
	case event.ProvisionStart:
		if r := d.byKey[key(e)]; r != nil {
			r.verb = "provisioning"
		}
	case event.ReadComplete, event.EphemeralComplete, event.ApplyComplete, event.ApplyErrored, event.ActionComplete, event.ActionErrored:
		d.end(e)
	}
}

// key reports what runs from all else that may run at the same time.
func key(e event.Event) string {
	switch e.Kind {
	case event.EphemeralStart, event.EphemeralComplete:
		return "ephemeral " + e.Addr.String()
	case event.ActionStart, event.ActionComplete, event.ActionErrored:
		return "action " + e.Invocation.Label()
	}
	return e.Addr.String()
}

func (d *Display) begin(e event.Event) {
	r := &row{key: key(e), name: e.Addr.String(), verb: stream.Doing(e), since: d.o.Now()}
	if e.Invocation != nil {
		r.name = e.Invocation.Addr.String()
	}
	r.name = sanitize.Line(r.name)
	if d.course != nil {
		r.id, r.isStep = e.Step, e.Begins()
	}
	d.rows = append(d.rows, r)
	d.byKey[r.key] = r
}

func (d *Display) end(e event.Event) {
	r := d.byKey[key(e)]
	if r == nil {
		return
	}
	delete(d.byKey, r.key)
	for i := range d.rows {
		if d.rows[i] == r {
			d.rows = append(d.rows[:i], d.rows[i+1:]...)
			break
		}
	}
	if r.isStep && (e.Kind == event.ApplyComplete || e.Kind == event.ActionComplete) {
		d.course.took(r.id, d.o.Now().Sub(r.since))
	}
}

// draw is called with the lock held.
func (d *Display) draw() {
	d.frame++
	width, height := d.o.Size()
	switch {
	case width < 10 || height < 4:
		d.area.Draw(nil)
	case d.planning:
		d.area.Draw(d.plan(width-1, height))
	case d.course != nil && (d.course.running() || len(d.rows) > 0):
		d.area.Draw(d.apply(width-1, height))
	default:
		d.area.Draw(nil)
	}
}

// patience is how long something continues before it is shown.
const patience = time.Second

func (d *Display) plan(width, height int) []Line {
	if d.o.Now().Sub(d.begun) < patience/2 {
		return nil
	}
	var head Line
	head.add(width, d.o.Pen, "Planning", ansi.Bold)
	if d.asked > 0 {
		head.add(width, d.o.Pen, fmt.Sprintf("  refreshed %d/%d", d.asked, max(d.of, d.asked)))
	}
	if n := len(d.rows); n > 0 {
		head.add(width, d.o.Pen, fmt.Sprintf("  %d running", n))
	}
	head.add(width, d.o.Pen, "  "+stopwatch(d.o.Now().Sub(d.begun)))
	return append([]Line{head}, d.running(width, height)...)
}

func (d *Display) apply(width, height int) []Line {
	c := d.course
	verb := "Applying"
	if c.plan.Mode == plan.Destroy {
		verb = "Destroying"
	}
	if d.stopped {
		verb = "Stopping"
	}
	var head Line
	head.add(width, d.o.Pen, verb+"  ", ansi.Bold)
	text := d.totals(width - head.width)
	if bar := min(width-head.width-ansi.Width(text)-4, 30); bar >= 10 {
		full := bar * c.tally.Ended() / max(c.tally.Total, 1)
		head.add(width, d.o.Pen, "[")
		head.add(width, d.o.Pen, strings.Repeat("█", full), ansi.Green)
		head.add(width, d.o.Pen, strings.Repeat("─", bar-full), ansi.Gray)
		head.add(width, d.o.Pen, "]  ")
	}
	head.add(width, d.o.Pen, text)
	return append([]Line{head}, d.running(width, height)...)
}

// totals say how far an apply is: what matters less is left out where there is no room.
func (d *Display) totals(width int) string {
	c := d.course
	parts := []string{fmt.Sprintf("%d/%d", c.tally.Ended(), c.tally.Total)}
	if c.tally.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", c.tally.Failed))
	}
	time := stopwatch(d.o.Now().Sub(d.begun))
	if left, known := d.timeLeft(); known && !d.stopped {
		time += ", about " + stopwatch(left) + " left"
	}
	running := parts
	if n := len(d.rows); n > 0 {
		running = append(slices.Clone(parts), fmt.Sprintf("%d running", n))
	}
	text := strings.Join(append(running, time), "   ")
	if ansi.Width(text) > width {
		text = strings.Join(append(parts, time), "  ")
	}
	return text
}

// spinner goes round where something runs.
var spinner = []string{"⠋", "⠙", "⠸", "⠴", "⠦", "⠇"}

// mostRows is how many rows are shown of what runs, where there is room for them.
const mostRows = 10

// running are the rows of what runs, those that began first on top.
func (d *Display) running(width, height int) []Line {
	now := d.o.Now()
	room := min(mostRows, height/2-1)
	var shown []*row
	for _, r := range d.rows {
		if now.Sub(r.since) >= patience {
			shown = append(shown, r)
		}
	}
	rest := 0
	if len(shown) > room {
		rest = len(shown) - room
		shown = shown[:room]
	}
	names, verbs := 0, 0
	for _, r := range shown {
		names, verbs = max(names, ansi.Width(r.name)), max(verbs, len(r.verb))
	}
	names = min(names, max(width/2, 12))
	var lines []Line
	for _, r := range shown {
		var l Line
		l.add(width, d.o.Pen, "  "+spinner[d.frame%len(spinner)]+" ", ansi.Cyan)
		at := l.width + names
		l.add(at, d.o.Pen, ending(r.name, names))
		l.add(width, d.o.Pen, strings.Repeat(" ", at-l.width)+"  "+r.verb+strings.Repeat(" ", verbs-len(r.verb)))
		l.add(width, d.o.Pen, fmt.Sprintf("  %4s", stopwatch(now.Sub(r.since))))
		d.details(&l, width, r)
		lines = append(lines, l)
	}
	if rest > 0 {
		var l Line
		l.add(width, d.o.Pen, fmt.Sprintf("  … %d more", rest), ansi.Gray)
		lines = append(lines, l)
	}
	return lines
}

// ending is the part of an address that fits: its end distinguishes instances.
func ending(name string, columns int) string {
	if ansi.Width(name) <= columns {
		return name
	}
	for i := range name {
		if ansi.Width(name[i:]) < columns {
			return "…" + name[i:]
		}
	}
	return ""
}

// details say what is known of a step beside that it runs, as far as there is room.
func (d *Display) details(l *Line, width int, r *row) {
	if !r.isStep {
		return
	}
	var notes []string
	if usual, known := d.o.Before[d.course.what[r.id]]; known && usual.Seconds >= 1 {
		notes = append(notes, "usually "+stopwatch(seconds(usual.Seconds)))
	}
	if now := d.o.Now(); now.Sub(r.looked) >= 2*time.Second {
		r.behind, r.looked = d.course.behind(r.id), now
	}
	if n := r.behind; n > 0 {
		wait := "wait"
		if n == 1 {
			wait = "waits"
		}
		notes = append(notes, fmt.Sprintf("%d %s for it", n, wait))
	}
	for _, note := range notes {
		if l.width+2+ansi.Width(note) > width {
			return
		}
		l.add(width, d.o.Pen, "  "+note, ansi.Gray)
	}
}

// timeLeft is estimated once a second.
func (d *Display) timeLeft() (time.Duration, bool) {
	now := d.o.Now()
	if since := now.Sub(d.estimated); d.estimated.IsZero() || since >= time.Second {
		running := map[execgraph.ID]time.Duration{}
		for _, r := range d.rows {
			if r.isStep {
				running[r.id] = now.Sub(r.since)
			}
		}
		d.left, d.leftKnown = d.course.left(running)
		d.estimated = now
	}
	// Anything that is left shrinks between two estimates, too.
	return max(d.left-now.Sub(d.estimated), 0), d.leftKnown && d.course.enough()
}

// stopwatch is a duration as people read it off: 41s, 1m12s, 2h05m.
func stopwatch(d time.Duration) string {
	s := int(d.Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
}
