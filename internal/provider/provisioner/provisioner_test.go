package provisioner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/trace"
	"weir.dev/weir/internal/provider/provisioner"
)

type values = map[string]cty.Value

// config has the given arguments, and null for others.
func config(t *testing.T, set values) cty.Value {
	t.Helper()
	block := provisioner.Find("local-exec").Schema()
	v := block.EmptyValue().AsValueMap()
	for name, value := range set {
		v[name] = value
	}
	out := cty.ObjectVal(v)
	if !out.Type().Equals(block.ImpliedType()) {
		t.Fatalf("%#v isn't a configuration", out)
	}
	return out
}

func run(t *testing.T, ctx context.Context, set values) ([]string, error) {
	t.Helper()
	var lines []string
	err := provisioner.Find("local-exec").Run(ctx, provisioner.Place{}, config(t, set), func(line string) { lines = append(lines, line) })
	return lines, err
}

func list(items ...string) cty.Value {
	var l []cty.Value
	for _, item := range items {
		l = append(l, cty.StringVal(item))
	}
	return cty.ListVal(l)
}

func text(s string) cty.Value { return cty.StringVal(s) }

func needShell(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are those of a Unix shell")
	}
}

func TestKinds(t *testing.T) {
	if !slices.Contains(provisioner.Types(), "local-exec") || provisioner.Find("local-exec") == nil {
		t.Errorf("types %v", provisioner.Types())
	}
	if provisioner.Find("nothing") != nil {
		t.Error("there is a provisioner of any name")
	}
	if !slices.IsSorted(provisioner.Types()) {
		t.Errorf("unsorted %v", provisioner.Types())
	}
}

func TestLocalExec(t *testing.T) {
	needShell(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("OUTSIDE", "outside")
	long := strings.Repeat("x", 200_000)
	for name, c := range map[string]struct {
		set  values
		want []string
		err  string // a part
	}{
		"plain":   {values{"command": text("echo one; echo two >&2; printf three")}, []string{`Executing: ["/bin/sh" "-c" "echo one; echo two >&2; printf three"]`, "one", "two", "three"}, ""},
		"quiet":   {values{"command": text("echo hi"), "quiet": cty.True}, []string{"Executing: Suppressed by quiet=true", "hi"}, ""},
		"loud":    {values{"command": text("echo hi"), "quiet": cty.False}, []string{`Executing: ["/bin/sh" "-c" "echo hi"]`, "hi"}, ""},
		"carried": {values{"command": text(`printf 'a\r\n\r\nb\n'`), "quiet": cty.True}, []string{"Executing: Suppressed by quiet=true", "a", "", "b"}, ""},
		"long":    {values{"command": text(`head -c 200000 /dev/zero | tr '\0' x`), "quiet": cty.True}, []string{"Executing: Suppressed by quiet=true", long}, ""},
		"interpreter": {values{"command": text("echo $0 $1"), "interpreter": list("/bin/sh", "-c", `eval "$1"`, "zero")},
			[]string{`Executing: ["/bin/sh" "-c" "eval \"$1\"" "zero" "echo $0 $1"]`, "zero echo $0 $1"}, ""},
		"no interpreter": {values{"command": text("echo hi"), "interpreter": cty.ListValEmpty(cty.String), "quiet": cty.True}, []string{"Executing: Suppressed by quiet=true", "hi"}, ""},
		"environment": {values{"command": text("echo $GIVEN $OUTSIDE $SET"), "quiet": cty.True, "environment": cty.MapVal(values{
			"GIVEN": text("given"), "OUTSIDE": text("over"), "SET": cty.NullVal(cty.String),
		})}, []string{"Executing: Suppressed by quiet=true", "given over"}, ""},
		"inherited":  {values{"command": text("echo $OUTSIDE"), "quiet": cty.True}, []string{"Executing: Suppressed by quiet=true", "outside"}, ""},
		"directory":  {values{"command": text("pwd"), "working_dir": text(dir), "quiet": cty.True}, []string{"Executing: Suppressed by quiet=true", dir}, ""},
		"status":     {values{"command": text("echo before; exit 7"), "quiet": cty.True}, []string{"Executing: Suppressed by quiet=true", "before"}, "exit status 7"},
		"no program": {values{"command": text("x"), "interpreter": list(filepath.Join(dir, "missing")), "quiet": cty.True}, []string{"Executing: Suppressed by quiet=true"}, "no such file"},
		"no place":   {values{"command": text("pwd"), "working_dir": text(filepath.Join(dir, "missing")), "quiet": cty.True}, []string{"Executing: Suppressed by quiet=true"}, "no such file"},
		"no command": {values{"command": text("")}, nil, "must not be empty"},
		"nothing":    {values{}, nil, "must not be empty"},
		"null in it": {values{"command": text("echo hi"), "interpreter": cty.ListVal([]cty.Value{text("/bin/sh"), cty.NullVal(cty.String), text("-c")}), "quiet": cty.True}, []string{"Executing: Suppressed by quiet=true", "hi"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			lines, err := run(t, t.Context(), c.set)
			if !slices.Equal(lines, c.want) {
				t.Errorf("printed %.300q, want %.300q", lines, c.want)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

// TestTraceParent: where spans are collected, commands know theirs, and what they set
// themselves comes first.
func TestTraceParent(t *testing.T) {
	needShell(t)
	t.Setenv("TRACEPARENT", "")
	r := &trace.Run{ID: [16]byte{1}, Now: time.Now, NewID: func() trace.SpanID { return trace.SpanID{2} }, Ended: func(*trace.Span) {}}
	ctx, _ := r.Begin(t.Context(), trace.SpanID{}, "test")
	command := text("echo $TRACEPARENT")
	for want, c := range map[string]struct {
		ctx context.Context
		set values
	}{
		"00-01000000000000000000000000000000-0200000000000000-01": {ctx, values{"command": command}},
		"mine": {ctx, values{"command": command, "environment": cty.MapVal(values{"TRACEPARENT": text("mine")})}},
		"":     {t.Context(), values{"command": command}},
	} {
		lines, err := run(t, c.ctx, c.set)
		if err != nil || len(lines) != 2 || lines[1] != want {
			t.Errorf("%q %v, want %q", lines, err, want)
		}
	}
}

// TestInterrupted: the command is asked to end, and may clean up.
func TestInterrupted(t *testing.T) {
	needShell(t)
	file := filepath.Join(t.TempDir(), "cleaned")
	ctx, cancel := context.WithCancel(t.Context())
	started := time.Now()
	var lines []string
	err := provisioner.Find("local-exec").Run(ctx, provisioner.Place{}, config(t, values{
		"command":     text(`trap 'echo cleaned > "$FILE"; exit 3' INT; echo ready; while :; do sleep 0.05; done`),
		"environment": cty.MapVal(values{"FILE": text(file)}),
	}), func(line string) {
		lines = append(lines, line)
		if line == "ready" {
			cancel()
		}
	})
	if err == nil {
		t.Error("no error")
	}
	if took := time.Since(started); took > 4*time.Second {
		t.Errorf("it took %s", took)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "cleaned\n" {
		t.Errorf("not cleaned up: %v %q", err, data)
	}
	// One that starts after the interrupt doesn't run at all.
	if _, err := run(t, ctx, values{"command": text("echo never > " + file)}); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "': interrupted. Output: ") {
		t.Errorf("error %v", err)
	}
	if data, _ := os.ReadFile(file); string(data) != "cleaned\n" {
		t.Error("it ran after the interrupt")
	}
}

// TestInterruptedGroup: what the command started hears of the interrupt too,
// and what doesn't listen is ended.
func TestInterruptedGroup(t *testing.T) {
	needShell(t)
	for name, c := range map[string]struct {
		command string
		within  time.Duration
		said    string
	}{
		"listens": {`sh -c 'trap "echo child cleaned up; exit 0" INT; echo ready; while :; do sleep 0.05; done'; echo never`, 4 * time.Second, "child cleaned up"},
		"deaf":    {`trap '' INT; echo ready; sleep 60; echo never`, 8 * time.Second, "ready"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			var lines []string
			var interrupted time.Time
			err := provisioner.Find("local-exec").Run(ctx, provisioner.Place{}, config(t, values{"command": text(c.command), "quiet": cty.True}), func(line string) {
				lines = append(lines, line)
				if line == "ready" {
					interrupted = time.Now()
					cancel()
				}
			})
			if err == nil {
				t.Error("no error")
			}
			if took := time.Since(interrupted); took > c.within {
				t.Errorf("it took %s", took)
			}
			if !slices.Contains(lines, c.said) || slices.Contains(lines, "never") {
				t.Errorf("printed %q", lines)
			}
		})
	}
}

// TestInput: there is nothing to read, so that no command waits for it.
func TestInput(t *testing.T) {
	needShell(t)
	lines, err := run(t, t.Context(), values{"command": text(`cat; echo end`), "quiet": cty.True})
	if err != nil || lines[len(lines)-1] != "end" || len(lines) != 2 {
		t.Errorf("%q, %v", lines, err)
	}
}

// TestLeftBehind: output that comes after the end of the shell counts.
func TestLeftBehind(t *testing.T) {
	needShell(t)
	lines, err := run(t, t.Context(), values{"command": text(`(sleep 0.3; echo late) & echo early`), "quiet": cty.True})
	if err != nil || !slices.Equal(lines[1:], []string{"early", "late"}) {
		t.Errorf("%q, %v", lines, err)
	}
}
