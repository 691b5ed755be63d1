package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"

	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/event"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/terminal"
	"weir.dev/weir/internal/view"
	"weir.dev/weir/internal/view/diags"
	"weir.dev/weir/internal/view/stream"
	"weir.dev/weir/internal/view/style"
)

// pen is how text is set: with colours on terminals, unless they are unwanted.
func (e *env) pen() style.Pen {
	return style.Pen{On: e.outTerminal && !e.view.NoColor && e.vars["NO_COLOR"] == "" && e.vars["TERM"] != "dumb"}
}

// prose is the width at which messages are wrapped, on any output: programs
// match on them, line breaks and all.
func (e *env) prose() int {
	if w := e.width(); w > 0 {
		return w
	}
	return style.DefaultWidth
}

// width is that of the terminal, or 0 where text isn't wrapped.
func (e *env) width() int {
	if !e.outTerminal {
		return 0
	}
	return terminal.Width(e.out, style.DefaultWidth)
}

// diags prints diagnostics: errors on standard error, warnings beside the
// results, or all of them in the stream of -json. It returns 1 if there is an
// error and 0 otherwise.
func (e *env) diags(l diag.List) int {
	code := 0
	if l.HasErrors() {
		code = 1
	}
	if len(l) == 0 {
		return code
	}
	l = e.deprecations.Shown(l.Condense())
	l.Sort()
	if e.stream != nil {
		e.stream.Diagnostics(l, e.directory.Sources())
		if e.json {
			return code
		}
	}
	compact := e.view.CompactWarnings
	defer func() { e.view.CompactWarnings = compact }()
	e.view.CompactWarnings = compact && code == 0 // beside errors they matter
	for _, severity := range []diag.Severity{diag.Warning, diag.Error} {
		w := e.out
		if severity == diag.Error || e.json {
			w = e.err
		}
		fmt.Fprint(w, e.diagText(l.Only(severity)))
	}
	return code
}

// diagText sets diagnostics for people.
func (e *env) diagText(l diag.List) string {
	pen := e.pen()
	return diags.Text(l, e.directory.Sources(), diags.Options{
		Pen:                 pen,
		Plain:               !pen.On,
		Width:               e.prose(),
		CompactWarnings:     e.view.CompactWarnings,
		ConsolidateWarnings: e.view.ConsolidateWarnings,
		ConsolidateErrors:   e.view.ConsolidateErrors,
	})
}

// fail prints one error and returns the exit code for it.
func (e *env) fail(summary, format string, args ...any) int {
	return e.diags(diag.OneError(summary, format, args...))
}

// say prints for people.
func (e *env) say(format string, args ...any) { fmt.Fprintf(e.out, format, args...) }

// A question is put to whoever runs the command.
type question struct {
	query       string
	description string
	secret      bool
	always      bool // also where -input=false keeps from asking for values
}

// ask puts a question and waits for the answer. It fails with operation.ErrNoAnswer where
// nobody can be asked.
func (e *env) ask(ctx context.Context, q question) (string, error) {
	if !e.input && !q.always || e.json {
		return "", operation.ErrNoAnswer
	}
	pen := e.pen()
	fmt.Fprintf(e.out, "%s\n", pen.Paint(q.query, style.Bold))
	if q.description != "" {
		fmt.Fprint(e.out, terminal.Indent(q.description, 2, 78))
	}
	fmt.Fprintf(e.out, "\n  %s ", pen.Paint("Enter a value:", style.Bold))
	if q.secret && e.inTerminal {
		text, err := terminal.ReadSecret(e.in)
		fmt.Fprintln(e.out)
		return text, err
	}
	text, err := e.lines.Next(ctx)
	fmt.Fprintln(e.out)
	if errors.Is(err, io.EOF) {
		return "", operation.ErrNoAnswer
	}
	return text, err
}

// asker asks for values of variables, and is nil where nobody can be asked.
func (e *env) asker() func(context.Context, *program.Variable) (string, error) {
	if !e.input || e.json {
		return nil
	}
	return func(ctx context.Context, v *program.Variable) (string, error) {
		return e.ask(ctx, question{query: "var." + v.Name, description: v.Description, secret: v.Sensitive})
	}
}

// streamLog puts a message for people into the stream.
func (e *env) streamLog(text string) {
	if e.stream != nil {
		e.stream.Log(strings.TrimSpace(text))
	}
}

// sink is where events go, nil for a command that shows none.
func (e *env) sink() event.Sink {
	if e.progress == nil {
		return nil
	}
	return e.progress.Event
}

// startStream begins the output of -json, or of -json-into beside the text.
func (e *env) startStream() int {
	if e.jsonInto != "" {
		if e.json {
			return e.fail("Invalid output format", "The -json and -json-into arguments are mutually exclusive")
		}
		file, err := os.OpenFile(e.jsonInto, os.O_TRUNC|os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return e.fail("Invalid argument", "Unable to open the file %q specified by -json-into for writing: %s", e.jsonInto, diag.Cause(err))
		}
		e.onClose(func() { file.Close() })
		e.stream = stream.NewJSON(file, e.dialect, nil)
	}
	if e.json {
		e.stream = stream.NewJSON(e.out, e.dialect, nil)
	}
	e.counter = &stream.Counter{}
	all := []stream.Progress{e.counter}
	if e.stream != nil {
		all = append(all, e.stream)
	}
	if !e.json {
		all = append(all, stream.Human(e.out, stream.Options{Pen: e.pen(), Concise: e.view.Concise}))
	}
	e.progress = stream.Multi(all...)
	e.onClose(e.progress.Close)
	return 0
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// viewing is how nouns are set for people.
func (e *env) viewing() view.Options {
	return view.Options{Pen: e.pen(), Width: e.width(), ShowSensitive: e.view.ShowSensitive, Product: e.dialect.Product(), Automation: e.inAutomation()}
}

// written turns a failure to print into an exit code. A reader that has seen
// enough and is gone is none.
func (e *env) written(err error) int {
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		return e.fail("Failed to write output", "%s.", err)
	}
	return 0
}

// trimmed is formatted text without the space around it that sets it apart for
// people.
func trimmed(format string, args ...any) string {
	return strings.TrimSpace(fmt.Sprintf(format, args...))
}

// notice tells people something beside the results.
func (e *env) notice(text string) {
	if e.json {
		e.streamLog(text)
		return
	}
	fmt.Fprint(e.out, text)
}
