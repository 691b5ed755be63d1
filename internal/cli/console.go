package cli

import (
	"context"
	"errors"
	"flag"
	"io"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/view"
)

var consoleCommand = &command{
	name:     "console",
	synopsis: "Try expressions at an interactive command prompt",
	long:     "Evaluates expressions with the configuration and the state, one a line. An expression goes on while brackets are open. \"exit\" ends.",
	setup: func(e *env, fs *flag.FlagSet) runner {
		var f stateFlags
		var vars varFlags
		f.registerLock(fs)
		fs.StringVar(&f.state, "state", "", "Read the state from the file at `PATH`.")
		vars.register(fs)
		return func(ctx context.Context, _ []string) int { return e.console(ctx, f, vars) }
	},
}

func (e *env) console(ctx context.Context, f stateFlags, vars varFlags) int {
	if !e.inTerminal {
		e.input = false // lines are expressions, not answers
	}
	w, diags := e.directory.Open(ctx, e.directory.Configuration(), operation.Opening{Loading: operation.Loading{Vars: vars, Ask: e.asker()}, State: f.options()})
	if e.diags(diags) != 0 {
		return 1
	}
	c, diags := engine.NewConsole(ctx, w.Config, w.Snapshot())
	if e.diags(diags) != 0 {
		return 1
	}
	for {
		if e.inTerminal {
			e.say("> ")
		}
		text, err := e.expression(ctx)
		switch {
		case errors.Is(err, io.EOF):
			if e.inTerminal {
				e.say("\n")
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
			e.say("Type an expression, such as var.name or upper(\"a\"), to see its value.\nType \"exit\" to leave.\n")
			continue
		}
		v, diags := c.Eval(text)
		e.directory.AddSources(map[string][]byte{"<console-input>": []byte(text)})
		if e.diags(diags) != 0 {
			if !e.inTerminal {
				return 1
			}
			continue
		}
		e.say("%s\n", view.Value(v, 0))
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
		if !isOpen(text) {
			return text, nil
		}
		if e.inTerminal {
			e.say(": ")
		}
	}
}

// isOpen reports whether an expression lacks closing brackets or the end of a
// heredoc.
func isOpen(text string) bool {
	tokens, _ := hclsyntax.LexExpression([]byte(text), "<console-input>", hcl.InitialPos)
	depth := 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			depth--
		}
	}
	return depth > 0
}
