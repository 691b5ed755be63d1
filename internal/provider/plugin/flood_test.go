package plugin

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"weir.dev/weir/internal/provider/plugin/pluginlog"
)

// TestFlood: a plugin that writes more to its standard error than anybody
// reads answers all the same, and what it wrote isn't kept.
func TestFlood(t *testing.T) {
	p, _ := startSelf(t, self(t, "6"))
	before := heap()
	read(t, p, "flood")
	if grown := heap() - before; grown > flooded/4 {
		t.Errorf("%d MiB of it are kept", grown>>20)
	}
	detail := ""
	for _, d := range ask(t.Context(), p, "flooding panic").Diags {
		detail += d.Detail
	}
	if !strings.Contains(detail, "panic: at the cheese") || len(detail) > 4*pluginlog.MaxTrace {
		t.Errorf("%d bytes are said: %.300s", len(detail), detail)
	}
	if grown := heap() - before; grown > flooded/4 {
		t.Errorf("%d MiB of the panic are kept", grown>>20)
	}
	if got := read(t, p, "region"); got != "1" {
		t.Errorf("it answers %q", got)
	}
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestNoHandshake: a program that doesn't say where it serves is given up and
// ended, whatever it writes meanwhile.
func TestNoHandshake(t *testing.T) {
	for role, want := range map[string]string{
		"silent":  "didn't say in time",
		"endless": "It wrote something else than where it serves, \"xxx",
		"floods":  "It ended with exit status 5 (no cheese) before it said",
	} {
		t.Run(role, func(t *testing.T) {
			command := self(t, role)
			if command.patience = time.Minute; role != "floods" {
				command.patience = 200 * time.Millisecond
			}
			before := heap()
			p, _, diags := Start(t.Context(), command)
			text := diags.Err().Error()
			if p != nil || !strings.Contains(text, want) || len(text) > 4*pluginlog.MaxTrace {
				t.Errorf("%d bytes are said: %.500s", len(text), text)
			}
			if grown := heap() - before; grown > flooded/4 {
				t.Errorf("%d MiB are kept", grown>>20)
			}
		})
	}
}

// TestNoHandshakeInterrupted: nobody has to wait for the limit.
func TestNoHandshakeInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if p, _, diags := Start(ctx, self(t, "silent")); p != nil || !diags.HasErrors() {
		t.Errorf("%v", diags)
	}
}

// TestManyDiagnostics: what a provider says arrives as a whole.
func TestManyDiagnostics(t *testing.T) {
	p, _ := startSelf(t, self(t, "6"))
	diags := ask(t.Context(), p, "many words").Diags
	if len(diags) != 32_000 || diags[31_999].Summary != "No cheese 31999" {
		t.Errorf("%d diagnostics", len(diags))
	}
}
