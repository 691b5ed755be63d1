package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"runtime"
	"strings"

	"weir.dev/weir/internal/front/resident"
	"weir.dev/weir/internal/front/screen"
	"weir.dev/weir/internal/front/view"
	"weir.dev/weir/internal/front/view/clean"
	"weir.dev/weir/internal/front/view/style"
	"weir.dev/weir/internal/operation"
	"weir.dev/weir/internal/system/release"
)

var doctorCommand = &command{
	Name:     "doctor",
	Synopsis: "Check settings, credentials, providers, state and lock",
	Long:     "Checks versions, mode, settings, mirrors, credentials, configuration, providers, backend, state, journal, lock and daemon. It changes nothing and takes no lock. The exit code is 1 if there is a problem, and 0 after warnings.",
	JSON:     screen.Document,
	Setup: func(e *env, _ *flag.FlagSet) runner {
		return func(ctx context.Context, _ []string) int { return e.doctor(ctx) }
	},
}

func (e *env) doctor(ctx context.Context) int {
	build := release.Current()
	list := []operation.Checkup{{Name: "version", Verdict: operation.Fine, Text: "weir " + build.String() + " on " + runtime.GOOS + "_" + runtime.GOARCH}}
	list = append(list, e.directory.Checkups(ctx)...)
	c := operation.Checkup{Name: "daemon", Verdict: operation.Fine}
	var well bool
	if c.Text, well = resident.Running(e.host()); !well {
		c.Verdict, c.Advice = operation.Warning, "Run \""+e.program+" daemon stop\"."
	}
	list = append(list, c)
	problems, warnings := 0, 0
	for _, c := range list {
		switch c.Verdict {
		case operation.Problem:
			problems++
		case operation.Warning:
			warnings++
		}
	}
	code := e.Result("checks", func() ([]byte, error) {
		return json.MarshalIndent(map[string]any{"ok": problems == 0, "problems": problems, "warnings": warnings, "checks": list}, "", "  ")
	}, func() int {
		e.Say("%s", e.checkups(list))
		switch {
		case problems == 0 && warnings == 0:
			e.Say("\nEverything is in order.\n")
		case problems == 0:
			e.Say("\n%s, no problems.\n", view.Count(warnings, "warning"))
		default:
			e.Say("\n%s, %s.\n", view.Count(problems, "problem"), view.Count(warnings, "warning"))
		}
		return 0
	})
	if problems > 0 {
		return 1
	}
	return code
}

// checkups are a line for each thing that was checked, with advice below it.
func (e *env) checkups(list []operation.Checkup) string {
	pen := e.Pen()
	mark := map[operation.Verdict]string{
		operation.Fine:    pen.Paint("ok     ", style.Green),
		operation.Warning: pen.Paint("warning", style.Yellow),
		operation.Problem: pen.Paint("problem", style.Bold, style.Red),
	}
	var b strings.Builder
	for _, c := range list {
		room := strings.Repeat(" ", 25)
		text := strings.ReplaceAll(style.Wrap(clean.Line(c.Text), max(e.Prose()-len(room), 30)), "\n", "\n"+room)
		fmt.Fprintf(&b, "%s  %-15s %s\n", mark[c.Verdict], c.Name, text)
		if c.Advice != "" {
			for line := range strings.Lines(style.Wrap(strings.TrimSpace(clean.Text(c.Advice)), max(e.Prose()-len(room), 30))) {
				b.WriteString(strings.TrimRight(room+strings.TrimRight(line, "\n"), " ") + "\n")
			}
		}
	}
	return b.String()
}
