package stream

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/sanitize"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Options say how lines for people are set.
type Options struct {
	Pen   ansi.Pen
	Shown Amount
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// An Amount is how much is shown.
type Amount uint8

const (
	Everything Amount = iota
	// Ends leaves out what begins, continues or is only asked for: that is shown elsewhere.
	Ends
	// Concise leaves out all but provisioners' output and interruptions.
	Concise
)

type human struct {
	*tracker
	w io.Writer
	o Options
	// tally is of the apply that continues; `told` is when it was shown last.
	tally *event.Tally
	told  time.Time
}

// Human shows events as lines for people.
func Human(w io.Writer, o Options) Progress {
	h := &human{w: w, o: o}
	h.tracker = track(o.Now, h.remind)
	h.mu.Lock()
	h.also = h.count
	h.mu.Unlock()
	return h
}

// Close stops the reminders.
func (h *human) Close() { h.tracker.close() }

// verbs are the words for an operation.
type verbs struct{ starts, goes, noun string }

func verbsOf(a plan.Action) verbs {
	switch {
	case a == plan.Create:
		return verbs{"Creating...", "creating", "Creation"}
	case a == plan.Update:
		return verbs{"Modifying...", "modifying", "Modifications"}
	case a == plan.Delete:
		return verbs{"Destroying...", "destroying", "Destruction"}
	case a == plan.Read:
		return verbs{"Reading...", "reading", "Read"}
	case a == plan.Forget:
		return verbs{"Removing from state...", "removing from state", "Removal from state"}
	case a.IsReplace():
		return verbs{"Replacing...", "replacing", "Replacement"}
	}
	return verbs{"Applying...", "applying", "Apply"}
}

func ephemeralVerbs(text string) verbs {
	switch text {
	case "renewing":
		return verbs{"Renewing...", "renewing", "Renew"}
	case "closing":
		return verbs{"Closing...", "closing", "Close"}
	}
	return verbs{"Opening...", "opening", "Open"}
}

// wordsOf are the words for whatever an event is about.
func wordsOf(e event.Event) verbs {
	switch e.Kind {
	case event.EphemeralStart, event.EphemeralComplete:
		return ephemeralVerbs(e.Text)
	case event.ReadStart, event.ReadComplete:
		return verbsOf(plan.Read)
	}
	return verbsOf(e.Action)
}

// Doing is the word for what an event begins: creating, reading, invoking.
func Doing(e event.Event) string {
	if e.Kind == event.ActionStart {
		return "invoking"
	}
	return wordsOf(e).goes
}

// Event shows one event.
func (h *human) Event(e event.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	switch e.Kind {
	case event.ApplyBegin:
		h.tally, h.told = event.Tallied(e.Plan), h.now()
	case event.StepEnd:
		h.tally.End(e.Step, e.Ending)
	case event.ApplyEnd:
		h.tally = nil
	case event.ImportPrepare:
		h.note(e, "Preparing import..."+id(e))
	case event.ImportStart:
		h.note(e, "Importing..."+id(e))
	case event.ImportComplete:
		h.say(e, "Import complete"+id(e))
	case event.RefreshStart:
		h.note(e, "Refreshing state..."+id(e))
	case event.ReadStart, event.ApplyStart, event.EphemeralStart:
		if e.Kind == event.ApplyStart && e.Action == plan.NoOp {
			return
		}
		h.begin(e)
		h.note(e, wordsOf(e).starts+id(e))
	case event.ReadComplete, event.ApplyComplete, event.EphemeralComplete:
		if e.Kind == event.ApplyComplete && e.Action == plan.NoOp {
			return
		}
		_, took := h.end(e)
		if e.Kind == event.ReadComplete {
			h.note(e, fmt.Sprintf("%s complete after %s%s", wordsOf(e).noun, took, id(e)))
			return
		}
		h.say(e, fmt.Sprintf("%s complete after %s%s", wordsOf(e).noun, took, id(e)))
	case event.ApplyErrored:
		h.end(e)
	case event.ProvisionStart:
		h.note(e, fmt.Sprintf("Provisioning with '%s'...", sanitize.Line(e.Provisioner)))
	case event.ProvisionOutput:
		prefix := h.o.Pen.Paint(fmt.Sprintf("%s (%s):", sanitize.Line(e.Addr.Instance.String()), sanitize.Line(e.Provisioner)), ansi.Bold)
		for _, line := range outputLines(e.Text) {
			h.line(prefix + " " + sanitize.Text(line))
		}
	case event.ActionStart, event.ActionProgress, event.ActionComplete, event.ActionErrored:
		h.action(e)
	case event.Slowed:
		if h.o.Shown != Concise {
			h.line(h.o.Pen.Paint(slowed(e), ansi.Bold))
		}
	case event.Stopping:
		h.line("\nInterrupt received.\nPlease wait for weir to exit or data loss may occur.\nGracefully shutting down...\n")
	}
}

// slowed is what people are reported when a service is asked less, or calls wait for a budget.
func slowed(e event.Event) string {
	if s := e.Slowed; s.Budget {
		about, budget := "", fmt.Sprintf("%d at once", s.AtOnce)
		if s.Type != "" {
			about = " about " + sanitize.Line(s.Type)
		}
		if s.AtOnce == 0 {
			budget = strconv.FormatFloat(s.PerSecond, 'f', -1, 64) + " a second"
		}
		return fmt.Sprintf("%s: calls%s wait for their turn, since the CLI configuration has a budget of %s", s.Provider.ForDisplay(), about, budget)
	}
	return fmt.Sprintf("%s: too many calls about %s for the service, going on with about %.0f a second", e.Slowed.Provider.ForDisplay(), sanitize.Line(e.Slowed.Type), e.Slowed.PerSecond)
}

func (h *human) remind(e event.Event, elapsed time.Duration) {
	inside := elapsed.String() + " elapsed"
	if e.IDKey != "" && e.IDValue != "" {
		inside = sanitize.Line(e.IDKey) + "=" + shorten(sanitize.Line(e.IDValue), 80) + ", " + inside
	}
	h.note(e, fmt.Sprintf("Still %s... [%s]", wordsOf(e).goes, inside))
}

// count says every ten seconds how far an apply is.
func (h *human) count(now time.Time) {
	if h.tally == nil || h.o.Shown != Everything || now.Sub(h.told) < remindEvery {
		return
	}
	h.told = now
	text := fmt.Sprintf("%d of %d done", h.tally.Ended(), h.tally.Total)
	if n := len(h.ops); n > 0 {
		text += fmt.Sprintf(", %d running", n)
	}
	h.line(h.o.Pen.Paint(text, ansi.Bold))
}

// note reports what isn't an end.
func (h *human) note(e event.Event, text string) {
	if h.o.Shown == Everything {
		h.say(e, text)
	}
}

func (h *human) say(e event.Event, text string) {
	if h.o.Shown != Concise {
		h.line(h.o.Pen.Paint(sanitize.Line(e.Addr.String())+": "+text, ansi.Bold))
	}
}

// line writes at once, so that other writers don't get between. An output that
// can't be written is no reason to stop the work.
func (h *human) line(text string) { _, _ = io.WriteString(h.w, text+"\n") }

// id names the object in brackets, or is empty.
func id(e event.Event) string {
	if e.IDKey == "" || e.IDValue == "" {
		return ""
	}
	return fmt.Sprintf(" [%s=%s]", sanitize.Line(e.IDKey), sanitize.Line(e.IDValue))
}

// shorten leaves out the middle of what is longer than limit characters.
func shorten(s string, limit int) string {
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	left := (limit - 3) / 2
	return string(r[:left]) + "..." + string(r[len(r)-(limit-3-left):])
}

// outputLines are the lines of a program's output that have something on them.
// A lone carriage return ends a line: programs draw progress that way.
func outputLines(text string) []string {
	var out []string
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = strings.TrimRightFunc(line, unicode.IsSpace); line != "" {
			out = append(out, line)
		}
	}
	return out
}
