package cli

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVersionCheck: a server is requested with -check only, and only the one that is set.
func TestVersionCheck(t *testing.T) {
	requests, index := 0, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if r.URL.Path != "/index.json" || !strings.HasPrefix(r.UserAgent(), "weir/") {
			t.Errorf("got %s from %s", r.URL, r.UserAgent())
		}
		if index == "" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, index)
	}))
	defer server.Close()
	const newer, older = `{"versions": [{"id": "0.0.1"}, {"id": "99.0.0"}]}`, `{"versions": [{"id": "0.0.1"}]}`
	for _, c := range []struct {
		line, server, index string
		code                int
		want, never         string
		requests            int
	}{
		{"version", server.URL, newer, 0, "This is weir", "99.0.0", 0},
		{"version -json", server.URL, newer, 0, "weir_version", "weir_latest", 0},
		{"version -check", server.URL, newer, 0, "Version 99.0.0 of weir is available.", "No newer", 1},
		{"version -check -json", server.URL, newer, 0, `"weir_latest": "99.0.0"`, "available", 1},
		{"version -check", server.URL, older, 0, "No newer version of weir is available.", "0.0.1", 1},
		{"version -check", server.URL, "", 1, "Failed to check for a new version", "This is weir", 1},
		{"version -check", "", newer, 1, "No release server", "This is weir", 0},
	} {
		requests, index = 0, c.index
		dir := t.TempDir()
		out, err := os.Create(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		environ := []string{"WEIR_DAEMON=off"}
		if c.server != "" {
			environ = append(environ, "WEIR_RELEASES="+c.server)
		}
		code := Run(Process{
			Context: context.Background(), Args: append([]string{"weir"}, strings.Fields(c.line)...), Environ: environ,
			In: os.Stdin, Out: out, Err: out, Getwd: os.Getwd, Chdir: os.Chdir, Home: dir, Who: func() string { return "somebody" },
		})
		_ = out.Close()
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(strings.Fields(strings.ReplaceAll(string(text), "│", "")), " ")
		if code != c.code || !strings.Contains(said, c.want) || strings.Contains(said, c.never) || requests != c.requests {
			t.Errorf("%s with %q: exit %d after %d requests: %s", c.line, c.index, code, requests, text)
		}
	}
}
