package cli

import (
	"context"
	"errors"
	"flag"
	"io"
	"strings"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/ui/flags"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/terminal"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/workspace"
)

var consoleCommand = &command{
	Name:     "console",
	Synopsis: "Try expressions at an interactive command prompt",
	Long:     "Evaluates expressions with the configuration and the state, or with a plan. An expression continues on the next line while brackets are open. \"exit\" leaves the console. On a terminal Tab completes names, the arrow keys recall earlier lines, and Ctrl-C drops the line. \"help\" lists the keys.",
	JSON:     output.Messages,
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var f flags.Console
		f.Register(fs)
		flags.Input(fs, &e.input)
		flags.UnusedTarget(fs)
		return func(ctx context.Context, _ []string) int { return e.console(ctx, f) }
	},
}

const consoleHelp = `Type an expression to see its value:
  var.name, local.name, module.name.output, TYPE.NAME.attribute, upper("a")
An expression continues in the next line while brackets are open.

  Tab     completes names, attributes and functions
  Up      brings back earlier lines
  Ctrl-C  drops the line
  exit    leaves, and so does Ctrl-D
`

func (e *env) console(ctx context.Context, f flags.Console) int {
	if diags := f.Check(); diags != nil {
		return e.Diags(diags)
	}
	if e.JSON {
		return e.Fail(diag.BadOption.As("Invalid output format"), "The console answers line by line, to people. Use -json-into=FILE for a copy of the answers as JSON.")
	}
	if !e.inTerminal {
		e.input = false // lines are expressions, not answers
	}
	config, now, diags := e.directory.Look(ctx, e.directory.Configuration(), workspace.Opening{Loading: workspace.Loading{Vars: f.Vars, Ask: e.asker()}, State: f.State.Options()})
	if e.Diags(diags) != 0 {
		return 1
	}
	c, diags := engine.OpenConsole(ctx, config, now.Snapshot(), engine.ConsoleOptions{Planned: f.Planned, Scope: f.Scope, InDoubt: journal.Instances(now.Doubts())})
	if e.Diags(diags); c == nil {
		return 1
	}
	e.Erred.Store(false) // expressions are evaluated all the same, and decide the exit code
	defer c.Close()
	prompt := terminal.NewPrompt(e.in, e.lines, e.Out, !e.Dumb)
	prompt.Complete(c.Complete)
	for {
		text, err := prompt.Text(ctx, engine.Unfinished)
		switch {
		case errors.Is(err, io.EOF):
			return 0
		case err != nil:
			return 1
		}
		switch strings.TrimSpace(text) {
		case "":
			continue
		case "exit":
			return 0
		case "help":
			e.Say("%s", consoleHelp)
			continue
		}
		v, diags := c.Eval(text)
		e.directory.Place.AddSources(map[string][]byte{"<console-input>": []byte(text)})
		if e.Diags(diags) != 0 {
			if !prompt.IsShown() {
				return 1
			}
			e.Erred.Store(false) // somebody has read it, and continues
			continue
		}
		e.List("", []string{view.Value(v, 0)})
	}
}
