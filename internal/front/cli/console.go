package cli

import (
	"context"
	"errors"
	"flag"
	"io"
	"strings"

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/front/flags"
	"weir.dev/weir/internal/front/view"
	"weir.dev/weir/internal/operation"
)

var consoleCommand = &command{
	Name:     "console",
	Synopsis: "Try expressions at an interactive command prompt",
	Long:     "Evaluates expressions with the configuration and the state, one a line. An expression goes on while brackets are open. \"exit\" ends.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		var f flags.State
		var vars flags.Vars
		f.RegisterLock(fs)
		fs.StringVar(&f.Path, "state", "", "Read the state from the file at `PATH`.")
		vars.Register(fs)
		return func(ctx context.Context, _ []string) int { return e.console(ctx, f, vars) }
	},
}

func (e *env) console(ctx context.Context, f flags.State, vars flags.Vars) int {
	if !e.inTerminal {
		e.input = false // lines are expressions, not answers
	}
	config, now, diags := e.directory.Look(ctx, e.directory.Configuration(), operation.Opening{Loading: operation.Loading{Vars: vars, Ask: e.asker()}, State: f.Options()})
	if e.Diags(diags) != 0 {
		return 1
	}
	c, diags := engine.NewConsole(ctx, config, now.Snapshot())
	if e.Diags(diags) != 0 {
		return 1
	}
	for {
		if e.inTerminal {
			e.Say("> ")
		}
		text, err := e.expression(ctx)
		switch {
		case errors.Is(err, io.EOF):
			if e.inTerminal {
				e.Say("\n")
			}
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
			e.Say("Type an expression, such as var.name or upper(\"a\"), to see its value.\nType \"exit\" to leave.\n")
			continue
		}
		v, diags := c.Eval(text)
		e.directory.AddSources(map[string][]byte{"<console-input>": []byte(text)})
		if e.Diags(diags) != 0 {
			if !e.inTerminal {
				return 1
			}
			continue
		}
		e.Say("%s\n", view.Value(v, 0))
	}
}

// expression reads lines until all brackets are closed.
func (e *env) expression(ctx context.Context) (string, error) {
	text := ""
	for {
		line, err := e.lines.Next(ctx)
		if err != nil {
			if errors.Is(err, io.EOF) && text != "" {
				return text, nil
			}
			return "", err
		}
		if text != "" {
			text += "\n"
		}
		text += line
		if !engine.Unfinished(text) {
			return text, nil
		}
		if e.inTerminal {
			e.Say(": ")
		}
	}
}
