package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"runtime"
	"strings"

	"weir.dev/weir/internal/sys/buildinfo"
	"weir.dev/weir/internal/ui/daemonserver"
	"weir.dev/weir/internal/ui/output"
	"weir.dev/weir/internal/ui/view"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/sanitize"
	"weir.dev/weir/internal/workspace"
)

var doctorCommand = &command{
	Name:     "doctor",
	Synopsis: "Check settings, credentials, providers, state and lock",
	Long:     "Checks versions, mode, settings, mirrors, credentials, configuration, providers, backend, state, journal, lock and daemon. It changes nothing and takes no lock. The exit code is 1 if there is a problem, and 0 after warnings.",
	JSON:     output.Document,
	Setup: func(e *env, _ *flag.FlagSet) runner {
		return func(ctx context.Context, _ []string) int { return e.doctor(ctx) }
	},
}

func (e *env) doctor(ctx context.Context) int {
	build := buildinfo.Current()
	list := []workspace.Checkup{{Name: "version", Verdict: workspace.Fine, Text: "weir " + build.String() + " on " + runtime.GOOS + "_" + runtime.GOARCH}}
	list = append(list, workspace.Doctor{Dir: e.directory}.Run(ctx)...)
	c := workspace.Checkup{Name: "daemon", Verdict: workspace.Fine}
	var well bool
	if c.Text, well = daemonserver.Running(e.host()); !well {
		c.Verdict, c.Advice = workspace.Warning, "Run \""+e.program+" daemon stop\"."
	}
	list = append(list, c)
	problems, warnings := 0, 0
	for _, c := range list {
		switch c.Verdict {
		case workspace.Problem:
			problems++
		case workspace.Warning:
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
func (e *env) checkups(list []workspace.Checkup) string {
	pen := e.Pen()
	mark := map[workspace.Verdict]string{
		workspace.Fine:    pen.Paint("ok     ", ansi.Green),
		workspace.Warning: pen.Paint("warning", ansi.Yellow),
		workspace.Problem: pen.Paint("problem", ansi.Bold, ansi.Red),
	}
	widest := 0
	for _, c := range list {
		widest = max(widest, len(c.Name))
	}
	room := strings.Repeat(" ", len("problem")+2+widest+1)
	var b strings.Builder
	for _, c := range list {
		text := strings.ReplaceAll(ansi.Wrap(sanitize.Line(c.Text), max(e.Prose()-len(room), 30)), "\n", "\n"+room)
		fmt.Fprintf(&b, "%s  %-*s %s\n", mark[c.Verdict], widest, c.Name, text)
		if c.Advice != "" {
			for line := range strings.Lines(ansi.Wrap(strings.TrimSpace(sanitize.Text(c.Advice)), max(e.Prose()-len(room), 30))) {
				b.WriteString(strings.TrimRight(room+strings.TrimRight(line, "\n"), " ") + "\n")
			}
		}
	}
	return b.String()
}
