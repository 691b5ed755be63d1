package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/ui/terminal"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/workspace/environment"
)

// A question is put to the caller that runs the command.
type question struct {
	query       string
	description string
	secret      bool
	always      bool // also where -input=false keeps from asking for values
}

// ask puts a question and waits for the answer. It fails with environment.ErrNoAnswer where
// nobody can be asked.
func (e *env) ask(ctx context.Context, q question) (string, error) {
	if !e.input && !q.always || e.JSON {
		return "", environment.ErrNoAnswer
	}
	pen := e.Pen()
	fmt.Fprintf(e.Out, "%s\n", pen.Paint(q.query, ansi.Bold))
	if q.description != "" {
		fmt.Fprint(e.Out, terminal.Indent(q.description, 2, min(e.Prose(), 78)))
	}
	fmt.Fprintf(e.Out, "\n  %s ", pen.Paint("Enter a value:", ansi.Bold))
	if q.secret && e.inTerminal {
		text, err := e.secret()
		fmt.Fprintln(e.Out)
		return text, err
	}
	text, err := e.lines.Next(ctx)
	fmt.Fprintln(e.Out)
	if errors.Is(err, io.EOF) {
		return "", environment.ErrNoAnswer
	}
	return text, err
}

// confirm puts a question that only 'yes' agrees to. The code isn't 0 where nobody
// answers; the option that makes the question needless is named then.
func (e *env) confirm(ctx context.Context, q question, unanswered, option string) (yes bool, code int) {
	answer, err := e.ask(ctx, q)
	if err != nil {
		return false, e.Fail(diag.Unanswered.As(unanswered), "The answer can't be read: %s. Use %s to go on without asking.", err, option)
	}
	return answer == "yes", 0
}

// asker asks for values of variables, and is nil where nobody can be asked.
func (e *env) asker() func(context.Context, *program.Variable) (string, error) {
	if !e.input || e.JSON {
		return nil
	}
	return func(ctx context.Context, v *program.Variable) (string, error) {
		return e.ask(ctx, question{query: "var." + v.Name, description: v.Description, secret: v.Sensitive})
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
