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

// TestExitAfterUnlockFails: every command that locks the state fails where the lock can't be
// released, whatever it did before.
func TestExitAfterUnlockFails(t *testing.T) {
	var mu sync.Mutex
	var kept []byte
	var refuses bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch r.Method {
		case http.MethodPost:
			kept, _ = io.ReadAll(r.Body)
		case http.MethodGet:
			if kept == nil {
				w.WriteHeader(http.StatusNotFound)
			}
			_, _ = w.Write(kept)
		case "UNLOCK":
			if refuses {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	t.Chdir(dir)
	config := `terraform {
  backend "http" {
    address        = "` + server.URL + `"
    lock_address   = "` + server.URL + `"
    unlock_address = "` + server.URL + `"
    retry_max      = 0
  }
}
resource "terraform_data" "a" {}
resource "terraform_data" "b" {}
`
	if err := os.WriteFile("main.tf", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(line string) (int, string) {
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
			Context: context.Background(), Args: append([]string{"weir"}, strings.Fields(line)...), Environ: []string{"WEIR_DAEMON=off"},
			In: in, Out: out, Err: out, Getwd: os.Getwd, Chdir: os.Chdir, Home: dir, Who: func() string { return "somebody" },
		})
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return code, string(text)
	}
	for _, line := range []string{"init", "apply -auto-approve", "plan -out=saved"} {
		if code, text := run(line); code != 0 {
			t.Fatalf("%s: exit %d\n%s", line, code, text)
		}
	}
	refuses = true
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
