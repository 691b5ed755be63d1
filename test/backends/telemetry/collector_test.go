// Package telemetry tests that runs send their spans to a real OpenTelemetry collector.
package telemetry

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// free is an address that nobody listens to.
func free(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A collector is one that runs; lines are what it prints.
type collector struct {
	http, grpc string
	lines      chan string
}

func start(t *testing.T) collector {
	program := os.Getenv("COLLECTOR")
	if program == "" {
		t.Skip("COLLECTOR names no collector: make backends")
	}
	c := collector{http: free(t), grpc: free(t), lines: make(chan string, 10_000)}
	config := filepath.Join(t.TempDir(), "config.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `
receivers: {otlp: {protocols: {http: {endpoint: %q}, grpc: {endpoint: %q}}}}
exporters: {debug: {verbosity: detailed, use_internal_logger: false, output_paths: [stderr]}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], exporters: [debug]}
    metrics: {receivers: [otlp], exporters: [debug]}
`, c.http, c.grpc), 0o600))
	cmd := exec.Command(program, "--config", "file:"+config)
	out, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			c.lines <- s.Text()
		}
		close(c.lines)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	c.until(t, "Everything is ready")
	return c
}

// until returns what the collector prints up to a line with that text.
func (c collector) until(t *testing.T, text string) []string {
	t.Helper()
	var all []string
	for line := range c.lines {
		all = append(all, line)
		if strings.Contains(line, text) {
			return all
		}
	}
	t.Fatalf("the collector ends without %q:\n%s", text, strings.Join(all, "\n"))
	return nil
}

func TestCollector(t *testing.T) {
	engine := os.Getenv("IAC_BIN")
	if engine == "" {
		t.Skip("IAC_BIN names no program")
	}
	c := start(t)
	for name, environ := range map[string][]string{
		"http": {"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + c.http},
		"gzip": {"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + c.http, "OTEL_EXPORTER_OTLP_COMPRESSION=gzip"},
		"grpc": {"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + c.grpc, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(`resource "terraform_data" "a" { input = "s3cr3t" }`), 0o600))
			cmd := exec.Command(engine, "apply", "-auto-approve", "-no-color")
			cmd.Dir = dir
			cmd.Env = append(append(os.Environ(), environ...), "OTEL_SERVICE_NAME=pipeline-"+name,
				"TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Contains(string(out), "OpenTelemetry") {
				t.Fatalf("%v\n%s", err, out)
			}
			text := strings.Join(c.until(t, "Name: weir.state.duration"), "\n")
			for _, want := range []string{
				`service.name: Str\(pipeline-` + name + `\)`, `Trace ID +: 0af7651916cd43dd8448eb211c80319c`, `Parent ID +: b7ad6b7169203331`,
				`Name +: weir apply`, `Name +: load`, `Name +: plan`, `Name +: apply`, `Name +: lock state`, `Name +: write state`,
				`weir.exit_code: Int\(0\)`, `Name: weir.stage.duration`, `AggregationTemporality: Cumulative`,
			} {
				if !regexp.MustCompile(want).MatchString(text) {
					t.Errorf("nothing that matches %s in:\n%s", want, text)
				}
			}
			if strings.Contains(text, "s3cr3t") {
				t.Error("a value is in what is sent")
			}
		})
	}
}
