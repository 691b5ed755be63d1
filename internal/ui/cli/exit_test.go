package cli

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestExitCode: no command that printed an error succeeds, and what failed keeps its code.
func TestExitCode(t *testing.T) {
	for _, tt := range []struct {
		code  int
		erred bool
		want  int
	}{
		{0, false, 0}, {0, true, 1}, {1, false, 1}, {1, true, 1},
		{exitChanges, false, 2}, {exitChanges, true, 1}, {exitBadFormat, true, 2}, {exitFormat, true, 3}, {exitPanic, true, exitPanic},
	} {
		if got := exitCode(tt.code, tt.erred); got != tt.want {
			t.Errorf("code %d, error %t: exit %d, not %d", tt.code, tt.erred, got, tt.want)
		}
	}
}

// A lockServer stores a state behind the backend "http", and fails to release locks on
// request.
type lockServer struct {
	mu      sync.Mutex
	kept    []byte
	refuses bool
	locked  bool
	onLock  func() // nil for nothing
	backend string // a block for it
}

func newLockServer(t *testing.T) *lockServer {
	l := &lockServer{}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	l.backend = `
  backend "http" {
    address        = "` + server.URL + `"
    lock_address   = "` + server.URL + `"
    unlock_address = "` + server.URL + `"
    retry_max      = 0
  }
`
	return l
}

func (l *lockServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch r.Method {
	case http.MethodPost:
		l.kept, _ = io.ReadAll(r.Body)
	case http.MethodGet:
		if l.kept == nil {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write(l.kept)
	case "LOCK":
		if l.locked = true; l.onLock != nil {
			l.onLock()
		}
	case "UNLOCK":
		l.locked = l.refuses
		if l.refuses {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}
}

func (l *lockServer) refuse(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuses = yes
}

// runIn writes files into a fresh directory and returns what runs a command there.
func runIn(t *testing.T, files map[string]string) (run func(line string) (int, string)) {
	until := runUntil(t, files)
	return func(line string) (int, string) { return until(context.Background(), line) }
}

// runUntil is runIn for commands that a context interrupts.
func runUntil(t *testing.T, files map[string]string) (run func(ctx context.Context, line string) (int, string)) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(ctx context.Context, line string) (int, string) {
		out, err := os.Create(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		in, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		code := Run(Process{
			Context: ctx, Args: append([]string{"weir"}, strings.Fields(line)...), Environ: []string{"WEIR_DAEMON=off"},
			In: in, Out: out, Err: out, Getwd: os.Getwd, Chdir: os.Chdir, Home: dir, Who: func() string { return "somebody" },
		})
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return code, string(text)
	}
}

// TestExitAfterUnlockFails: every command that locks the state fails where the lock can't be
// released, whatever it did before.
func TestExitAfterUnlockFails(t *testing.T) {
	server := newLockServer(t)
	run := runIn(t, map[string]string{"main.tf": "terraform {" + server.backend + "}\nresource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {}\n"})
	for _, line := range []string{"init", "apply -auto-approve", "plan -out=saved"} {
		if code, text := run(line); code != 0 {
			t.Fatalf("%s: exit %d\n%s", line, code, text)
		}
	}
	server.refuse(true)
	for _, line := range []string{
		"plan", "plan -detailed-exitcode -destroy", "plan -json", "apply -auto-approve", "apply saved", "refresh", "taint terraform_data.a", "untaint terraform_data.a",
		"state mv terraform_data.a terraform_data.c", "state rm terraform_data.c", "import terraform_data.a x", "destroy -auto-approve",
	} {
		code, text := run(line)
		if code != 1 || !strings.Contains(text, "Error releasing the state lock") {
			t.Errorf("%s: exit %d\n%s", line, code, text)
		}
	}
}

// TestInterruptReleases: a command that is interrupted while it has the lock releases it.
func TestInterruptReleases(t *testing.T) {
	server := newLockServer(t)
	run := runUntil(t, map[string]string{"main.tf": "terraform {" + server.backend + "}\nresource \"terraform_data\" \"a\" {\n  provisioner \"local-exec\" {\n    command = \"sleep 1\"\n  }\n}\nresource \"terraform_data\" \"b\" {\n  input = terraform_data.a.id\n}\n"})
	if code, text := run(t.Context(), "init"); code != 0 {
		t.Fatalf("init: exit %d\n%s", code, text)
	}
	for _, line := range []string{"plan", "apply -auto-approve", "refresh"} {
		ctx, interrupt := context.WithCancel(t.Context())
		taken := 0
		server.onLock = func() {
			taken++
			time.AfterFunc(50*time.Millisecond, interrupt)
		}
		_, text := run(ctx, line)
		interrupt()
		server.mu.Lock()
		locked := server.locked
		server.mu.Unlock()
		if taken != 1 || locked {
			t.Errorf("%s: the lock was taken %d times, and is held: %v\n%s", line, taken, locked, text)
		}
	}
}

// TestExitOfStackAfterUnlockFails: a deployment whose lock can't be released fails, also when
// all of it was applied, and in the rounds before the last one.
func TestExitOfStackAfterUnlockFails(t *testing.T) {
	server := newLockServer(t)
	run := runIn(t, map[string]string{
		"s.tfcomponent.hcl": "required_providers {}\nvariable \"size\" { type = number }\ncomponent \"one\" {\n  source = \"./m\"\n  inputs = { size = var.size }\n}\n",
		"s.tfdeploy.hcl":    "deployment \"dev\" {\n  inputs = { size = 1 }\n}\n",
		"s.tfbackend.hcl":   "terraform {" + server.backend + "}\n",
		"m/main.tf":         "variable \"size\" {}\nresource \"terraform_data\" \"a\" {\n  input = var.size\n}\n",
	})
	if code, text := run("stacks init"); code != 0 {
		t.Fatalf("init: exit %d\n%s", code, text)
	}
	server.refuse(true)
	for _, line := range []string{"stacks plan", "stacks apply -auto-approve", "stacks apply -auto-approve -json", "stacks destroy -auto-approve"} {
		code, text := run(line)
		if code != 1 || !strings.Contains(text, "Error releasing the state lock") {
			t.Errorf("%s: exit %d\n%s", line, code, text)
		}
	}
	server.refuse(false)
	for _, line := range []string{"stacks apply -auto-approve", "stacks plan", "stacks destroy -auto-approve"} {
		if code, text := run(line); code != 0 {
			t.Errorf("%s: exit %d\n%s", line, code, text)
		}
	}
}
