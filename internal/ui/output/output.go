// Package output prints results, problems and progress of commands, as text for people, as a
// stream of JSON objects, or both.
//
// It owns the two streams of a process and the options about presentation. It doesn't know
// what commands there are, and asks nobody anything.
package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/secret"
	"weir.dev/weir/internal/eval/deprecated"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/why"
	"weir.dev/weir/internal/ui/terminal"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/diags"
	"weir.dev/weir/internal/ui/view/progress"
	"weir.dev/weir/internal/ui/view/steptimes"
	"weir.dev/weir/internal/ui/view/stream"
)

// Options are what every command lets people choose about presentation.
type Options struct {
	NoColor             bool
	CompactWarnings     bool
	ConsolidateWarnings bool
	ConsolidateErrors   bool
	Concise             bool
	ShowSensitive       bool
	// Overview: plans are shown with one row for changes that are alike; nil leaves
	// it to where they are shown.
	Overview *bool
	// Detail is the option that shows all of each change; empty where a command has none.
	Detail string
	// Full: of each change there is all that other programs show, on a terminal too.
	Full bool
	// Timings: where the time went is reported at the end.
	Timings bool
	// Follow is how it is shown what continues.
	Follow Follow
	// Deprecations says which deprecation warnings are shown: all, local or none.
	Deprecations deprecated.Level
}

// TakeFlags takes the options that may stand anywhere out of arguments.
func (o *Options) TakeFlags(args []string) []string {
	var rest []string
	for i, arg := range args {
		if arg == "--" || arg == "-" {
			return append(rest, args[i:]...)
		}
		name, val, hasVal := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		if name == "deprecation" && strings.HasPrefix(arg, "-") && o.SetDeprecation(val) == nil {
			continue
		}
		on := !hasVal || val == "true" || val == "1"
		target := map[string]*bool{
			"no-color":             &o.NoColor,
			"compact-warnings":     &o.CompactWarnings,
			"consolidate-warnings": &o.ConsolidateWarnings,
			"consolidate-errors":   &o.ConsolidateErrors,
			"concise":              &o.Concise,
		}[name]
		if target == nil || !strings.HasPrefix(arg, "-") {
			rest = append(rest, arg)
			continue
		}
		*target = on
	}
	return rest
}

// SetDeprecation reads the value of -deprecation.
func (o *Options) SetDeprecation(text string) error {
	text, ok := strings.CutPrefix(text, "module:")
	level := deprecated.Level(text)
	if !ok || level != deprecated.All && level != deprecated.Local && level != deprecated.None {
		return errors.New("has to be module:all, module:local or module:none")
	}
	o.Deprecations = level
	return nil
}

// A Follow is how it is shown what continues.
type Follow uint8

const (
	FollowAuto  Follow = iota // on a terminal as its last lines, else as plain lines
	FollowTTY                 // as the last lines, wherever
	FollowPlain               // as plain lines
	FollowQuiet               // not at all, but for what provisioners say
)

// SetProgress reads the value of -progress.
func (s *Screen) SetProgress(text string) error {
	switch text {
	case "auto":
		s.Follow = FollowAuto
	case "tty":
		s.Follow = FollowTTY
	case "plain":
		s.Follow = FollowPlain
	case "quiet":
		s.Follow = FollowQuiet
	case "json":
		s.JSON = true
	default:
		return errors.New("has to be auto, tty, plain, json or quiet")
	}
	return nil
}

// A Screen is the two streams of a process with how to write to them.
type Screen struct {
	Out, Err io.Writer
	Options
	Dialect dialect.Dialect
	// Terminal: Out is one that people look at. ErrTerminal: Err is.
	Terminal, ErrTerminal bool
	// Plain: the environment doesn't want colours. Coloured: it wants them wherever the
	// text goes. Dumb: Out can't be drawn on.
	Plain, Coloured, Dumb bool
	// Automation: hints on what to run next are unwanted.
	Automation bool
	// JSON: results are for programs, and text isn't wanted. Into names a file for
	// what JSON prints, beside text.
	JSON bool
	Into string
	// Sources has the files that problems may be about.
	Sources func() map[string][]byte
	// Secrets are kept out of what problems say; nil are none.
	Secrets *secret.Known

	// Stream is set where results are a stream of JSON objects; Progress and Counter
	// where a command shows what it does.
	Stream *stream.JSON
	// Because has the causes of changes of the plan that is shown; nil where nothing does.
	Because  func(*plan.Change) []why.Chain
	Progress stream.Progress
	Counter  *stream.Counter
	// Memory is from one run to the next; nil is none.
	Memory  Memory
	closers []func()
	// tty is the terminal that Out is, where there is an area at its end.
	tty       *os.File
	downloads *progress.Downloads // nil before the first
	// document is where documents for programs go beside text; nil is for nowhere.
	document io.Writer
	// messages: what is said is a message of the stream too.
	messages bool
	// Command is how a command that problems say to run is run here; nil leaves them.
	Command func(diag.Command) diag.Command
	// gathered has the problems of several parts, of which this is one; nil else.
	gathered *gathered
	part     string
	// Erred is set once an error was printed, here or by a part; nil isn't.
	Erred *atomic.Bool
}

// errors notes whether there is an error among problems that are printed.
func (s *Screen) errors(l diag.List) bool {
	has := l.HasErrors()
	if has && s.Erred != nil {
		s.Erred.Store(true)
	}
	return has
}

// Start begins the output of a command that shows what it does: the stream for
// programs where one is wanted, and the text for people.
func (s *Screen) Start() int {
	if !s.messages {
		if code := s.open(); code != 0 {
			return code
		}
	}
	s.Counter = &stream.Counter{}
	pen := s.Pen()
	all := []stream.Progress{s.Counter}
	if s.Stream != nil {
		all = append(all, s.Stream)
	}
	switch {
	case s.JSON:
	case s.live():
		all = append(all, s.display())
	default:
		all = append(all, stream.Human(s.lines(), stream.Options{Pen: pen, Shown: s.amount()}))
	}
	s.Progress = stream.Multi(all...)
	s.closers = append(s.closers, s.Progress.Close)
	return 0
}

// Close ends what was started.
func (s *Screen) Close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
	s.closers = nil
}

// Sink is where events go, nil for a command that shows none.
func (s *Screen) Sink() event.Sink {
	if s.Progress == nil {
		return nil
	}
	return s.Progress.Event
}

// Pen is how text on Out is set: with colours on terminals, unless they are unwanted.
func (s *Screen) Pen() ansi.Pen { return s.penFor(s.Out) }

// penFor is how text is set on one of both streams.
func (s *Screen) penFor(w io.Writer) ansi.Pen {
	seen := s.Terminal
	if w == s.Err && w != s.Out {
		seen = s.ErrTerminal
	}
	return ansi.Pen{On: (seen || s.Coloured) && !s.NoColor && !s.Plain}
}

// A Memory keeps how long things take.
type Memory interface {
	Durations() []byte
	SetDurations(text []byte) error
	LastApply() []byte
	SetLastApply(text []byte) error
}

// Recorded is a sink that also notes when the steps of an apply run. The plan of it may be
// shown again with what became of it, once that is kept.
func (s *Screen) Recorded(sink event.Sink) (event.Sink, func(*plan.Plan)) {
	times := steptimes.Record(time.Now)
	return times.Over(sink), func(p *plan.Plan) {
		if t := times.Times(); t != nil && s.Memory != nil {
			_ = s.Memory.SetLastApply(t.Text(p)) // it is only to be inspected
		}
	}
}

// amount is how much plain lines tell.
func (s *Screen) amount() stream.Amount {
	if s.Concise || s.Follow == FollowQuiet {
		return stream.Concise
	}
	return stream.Everything
}

// live reports whether the last lines of the terminal show what continues.
func (s *Screen) live() bool {
	if s.Follow == FollowTTY {
		return true
	}
	return s.Follow == FollowAuto && s.Terminal && !s.Dumb && !s.Automation && !s.Concise && s.gathered == nil
}

// display shows what continues in the last lines of the terminal; from now on all else is
// written above them.
func (s *Screen) display() stream.Progress {
	area, size := s.area()
	var before progress.Durations
	if s.Memory != nil {
		before = progress.ReadDurations(s.Memory.Durations())
	}
	d := progress.New(area, s.Out, progress.Options{Pen: s.Pen(), Size: size, Before: before})
	s.closers = append(s.closers, func() {
		if learned := d.Experience(); s.Memory != nil && learned != nil {
			_ = s.Memory.SetDurations(learned.Text()) // it is only for estimates
		}
	})
	return d
}

// Download shows how far the download of a package is, where the last lines of the terminal
// show what continues. Calls follow one another.
func (s *Screen) Download(name string, done, of int64, over bool) {
	if s.JSON || !s.live() {
		return
	}
	if s.downloads == nil {
		area, size := s.area()
		s.downloads = progress.NewDownloads(area, progress.Options{Pen: s.Pen(), Size: size})
	}
	s.downloads.Take(name, done, of, over)
}

// area is the last lines of the terminal; from now on all else is written above them.
func (s *Screen) area() (*progress.Area, func() (width, height int)) {
	file, isFile := s.Out.(*os.File)
	size := func() (int, int) { return ansi.DefaultWidth + 2, 24 }
	if isFile && s.Terminal {
		s.tty = file
		size = func() (int, int) { return terminal.Size(file) }
	}
	area := progress.NewArea(s.Out, size)
	s.Out = area.Over(s.Out)
	if f, is := s.Err.(*os.File); is && terminal.Is(f) {
		s.Err = area.Over(s.Err)
	}
	return area, size
}

// Width is that of the terminal, or 0 where text isn't wrapped.
func (s *Screen) Width() int {
	switch {
	case !s.Terminal:
		return 0
	case s.tty != nil:
		return terminal.Width(s.tty, ansi.DefaultWidth)
	}
	return terminal.Width(s.Out, ansi.DefaultWidth)
}

// Prose is the width at which messages are wrapped, on any output: programs
// match on them, line breaks and all.
func (s *Screen) Prose() int {
	if w := s.Width(); w > 0 {
		return w
	}
	return ansi.DefaultWidth
}

// Viewing is how nouns are set for people.
func (s *Screen) Viewing() view.Options {
	o := view.Options{Pen: s.Pen(), Width: s.Width(), ShowSensitive: s.ShowSensitive, Automation: s.Automation, Because: s.Because}
	if s.Terminal && !s.Automation {
		// Somebody reads it, rather than a program that looks for lines it knows.
		o.Fold = !s.Full
	} else {
		o.Product = s.Dialect.Product()
	}
	if !s.Automation {
		o.Detail = s.Detail
	}
	if s.Overview == nil {
		o.Height = s.height()
	}
	return o
}

// height is how many lines the terminal has; 0 where Out is none.
func (s *Screen) height() int {
	if !s.Terminal {
		return 0
	}
	file := s.tty
	if file == nil {
		file, _ = s.Out.(*os.File)
	}
	if file != nil {
		if _, height := terminal.Size(file); height > 0 {
			return height
		}
	}
	return defaultHeight
}

// defaultHeight is that of a terminal that doesn't say.
const defaultHeight = 24

// Plan shows a plan as it was asked for: on a terminal with one row for changes that
// are alike.
func (s *Screen) Plan(p *plan.Plan) error {
	if s.Brief() {
		return view.Overview(s.Out, p, s.Viewing())
	}
	return view.Plan(s.Out, p, s.Viewing())
}

// Brief reports whether a plan is shown with one row for changes that are alike.
func (s *Screen) Brief() bool {
	if s.Overview != nil {
		return *s.Overview && !s.JSON
	}
	return s.Terminal && !s.Automation && !s.JSON
}

// Stopped shows what an apply came to that didn't do everything.
func (s *Screen) Stopped(e view.End) {
	if e.Endings = s.Counter.Endings(); e.Endings == nil {
		return // it hasn't started
	}
	e.Command = s.Command
	if s.Stream != nil {
		s.Stream.Stopped(e.Totals())
	}
	if !s.JSON {
		s.Written(e.Write(s.Out, s.Viewing()))
	}
}

// SetDetail reads the value of -detail.
func (o *Options) SetDetail(text string) error {
	overview := text == "brief"
	o.Overview, o.Full = &overview, text == "full"
	if !overview && text != "true" && text != "full" {
		return errors.New("has to be full or brief")
	}
	return nil
}

// Say prints for people; of a command whose results are messages it is one in the stream
// too, in one line.
func (s *Screen) Say(format string, args ...any) {
	s.SayAs("", nil, format, args...)
}

// SayAs is Say of what programs know by a type, with a payload.
func (s *Screen) SayAs(typ string, payload map[string]any, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.Messaging() {
		s.Stream.Info(strings.Join(strings.Fields(text), " "), typ, payload)
		if s.JSON {
			return
		}
	}
	fmt.Fprint(s.Out, text)
}

// Log puts a message for people into the stream, if there is one.
func (s *Screen) Log(text string) {
	if text = strings.TrimSpace(text); s.Stream != nil && text != "" {
		s.Stream.Log(text)
	}
}

// Notice prints something for people beside the results, or in the stream.
func (s *Screen) Notice(text string) {
	if s.JSON {
		s.Log(text)
		return
	}
	fmt.Fprint(s.Out, text)
}

// Aside prints something for people that isn't part of the results, and programs too.
func (s *Screen) Aside(text string) {
	s.Log(text)
	if !s.JSON {
		fmt.Fprintf(s.Err, "\n%s\n", text)
	}
}

// Diags prints diagnostics: errors on standard error, warnings beside the
// results, or all of them in the stream of -json. It returns the exit code: 1 if
// there is an error and 0 otherwise.
func (s *Screen) Diags(l diag.List) int {
	code := 0
	if s.errors(l) {
		code = 1
	}
	if len(l) == 0 {
		return code
	}
	l = s.hinted(s.Secrets.Diagnostics(s.Deprecations.Shown(l.Condense())))
	if s.gathered != nil {
		var again string
		if l, again = s.gathered.take(s.part, l, s.Sources()); s.JSON {
			return code // it comes at the end
		}
		fmt.Fprint(s.Err, again)
	}
	l.Sort()
	if s.Stream != nil {
		s.Stream.Diagnostics(l, s.sources(l))
		if s.JSON {
			return code
		}
	}
	compact := s.CompactWarnings && code == 0 // beside errors they matter
	for _, severity := range []diag.Severity{diag.Warning, diag.Error} {
		w := s.Out
		if severity == diag.Error || s.JSON {
			w = s.Err
		}
		fmt.Fprint(w, s.text(w, l.Only(severity), compact))
	}
	return code
}

// Validation prints the result of a validation for programs, where one is wanted.
func (s *Screen) Validation(l diag.List) {
	if w := s.programs(); w != nil {
		l = l.OneByOne()
		fmt.Fprintf(w, "%s", diags.Validation(s.hinted(s.Secrets.Diagnostics(l)), s.sources(l)))
	}
}

// Run is how a command of the program is run here.
func (s *Screen) Run(program, name string) diag.Command {
	c := diag.Command{Program: program, Name: name}
	if s.Command != nil {
		c = s.Command(c)
	}
	return c
}

// hinted are problems whose commands are the right ones here.
func (s *Screen) hinted(l diag.List) diag.List {
	if s.Command == nil {
		return l
	}
	return l.As(s.Command)
}

// AsideDiags prints warnings where they don't mix with what a command prints, and
// returns what is left to print.
func (s *Screen) AsideDiags(l diag.List) diag.List {
	if s.Progress == nil && !l.HasErrors() {
		// Commands that print the state itself: this is no part of it.
		if s.Stream != nil {
			s.Stream.Diagnostics(s.hinted(s.Secrets.Diagnostics(l)), s.sources(l))
		}
		if s.Stream == nil || !s.JSON {
			fmt.Fprint(s.Err, s.DiagText(s.hinted(l)))
		}
		return nil
	}
	return l
}

// PeopleDiags prints diagnostics for people alone.
func (s *Screen) PeopleDiags(l diag.List) {
	kept := s.Stream
	s.Stream = nil
	s.Diags(l)
	s.Stream = kept
}

// SettingsDiags shows what is wrong with the user's settings, whatever the command prints.
func (s *Screen) SettingsDiags(l diag.List) {
	s.errors(l)
	fmt.Fprint(s.Err, ansi.Wrap("There are some problems with the CLI configuration:", s.Prose())+"\n"+s.DiagText(l)+"\n")
}

// DiagText sets diagnostics for people, on Err.
func (s *Screen) DiagText(l diag.List) string {
	return s.text(s.Err, s.Secrets.Diagnostics(l), s.CompactWarnings)
}

// PlainText sets problems as they are printed, for who shows them elsewhere.
func (s *Screen) PlainText(l diag.List) string {
	l = s.hinted(s.Secrets.Diagnostics(s.Deprecations.Shown(l.Condense())))
	l.Sort()
	return diags.Text(l, s.sources(l), diags.Options{Plain: true, Width: ansi.DefaultWidth, ConsolidateWarnings: true, ConsolidateErrors: true})
}

// sources are the files that problems are about, without secrets.
func (s *Screen) sources(l diag.List) map[string][]byte {
	all := s.Sources()
	blotted := map[string]bool{} // each once, however many problems it has
	for _, d := range l {
		if d.Subject == nil || blotted[d.Subject.Filename] {
			continue
		}
		name := d.Subject.Filename
		if blotted[name] = true; all[name] != nil {
			all[name] = []byte(s.Secrets.Blot(string(all[name])))
		}
	}
	return all
}

func (s *Screen) text(w io.Writer, l diag.List, compact bool) string {
	pen := s.penFor(w)
	return diags.Text(l, s.sources(l), diags.Options{
		Pen:                 pen,
		Plain:               !pen.On,
		Width:               s.Prose(),
		CompactWarnings:     compact,
		ConsolidateWarnings: s.ConsolidateWarnings,
		ConsolidateErrors:   s.ConsolidateErrors,
	})
}

// Fail prints one error and returns the exit code for it.
func (s *Screen) Fail(c diag.Code, format string, args ...any) int {
	return s.Diags(c.List(format, args...))
}

// Written turns a failure to print into an exit code. A reader that has seen
// enough and is gone is none.
func (s *Screen) Written(err error) int {
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		return s.Fail(diag.Unwritable.As("Failed to write output"), "%s.", err)
	}
	return 0
}
