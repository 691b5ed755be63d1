package install

import (
	"archive/zip"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/net/stalltimeout"
)

// TestMembers: a package has files and directories, and none of them gets rights beyond those
// of the caller that installs it.
func TestMembers(t *testing.T) {
	for mode, installed := range map[fs.FileMode]bool{
		0o755:                    true,
		fs.ModeSetuid | 0o755:    true,
		fs.ModeSetgid | 0o755:    true,
		fs.ModeSymlink | 0o777:   false,
		fs.ModeNamedPipe | 0o644: false,
		fs.ModeDevice | 0o644:    false,
	} {
		dir := t.TempDir()
		archive, err := os.Create(filepath.Join(dir, "a.zip"))
		if err != nil {
			t.Fatal(err)
		}
		w := zip.NewWriter(archive)
		h := &zip.FileHeader{Name: "member"}
		h.SetMode(mode)
		entry, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := entry.Write([]byte("/etc/passwd")); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		archive.Close()
		err = unpack(archive.Name(), filepath.Join(dir, "p"))
		info, missing := os.Lstat(filepath.Join(dir, "p", "member"))
		switch {
		case installed && (err != nil || missing != nil || !info.Mode().IsRegular() || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0):
			t.Errorf("%v: %v %v", mode, info, err)
		case !installed && (err == nil || missing == nil):
			t.Errorf("%v was unpacked", mode)
		}
	}
}

// TestHugeAnswer: an answer of a registry that has no end is given up.
func TestHugeAnswer(t *testing.T) {
	s := newSite(t)
	endless := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for block := []byte(strings.Repeat(" ", 1<<16)); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	s.Config.Handler = endless.Config.Handler
	a := provider("weir/a")
	a.Host = s.host()
	o := Options{Dir: t.TempDir(), Requirements: Requirements{a: nil}, HTTP: s.Client(), Config: &cliconfig.Config{Hosts: map[string]map[string]any{s.host(): {service: s.URL + "/v1/providers/"}}}}
	if _, _, diags := run(t, o); !diags.HasErrors() || !strings.Contains(diags.Err().Error(), "more than 64 MiB") {
		t.Errorf("%v", diags)
	}
}

// TestSilentRegistry: one that takes a request and never answers is given up.
func TestSilentRegistry(t *testing.T) {
	done := make(chan struct{})
	silent := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-done }))
	defer silent.Close()
	defer close(done)
	a := provider("weir/a")
	a.Host = strings.TrimPrefix(silent.URL, "https://")
	o := Options{Dir: t.TempDir(), Requirements: Requirements{a: nil}, HTTP: silent.Client(), Config: &cliconfig.Config{
		Registry: cliconfig.Registry{Timeout: time.Millisecond},
		Hosts:    map[string]map[string]any{a.Host: {service: silent.URL + "/v1/providers/"}},
	}}
	if _, _, diags := run(t, o); !diags.HasErrors() {
		t.Error("no error")
	}
}

// TestSilentDownload: a server that stops in the middle of a package is given up.
func TestSilentDownload(t *testing.T) {
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("PK"))
		w.(http.Flusher).Flush()
		<-done
	}))
	defer server.Close()
	defer close(done)
	in := &installer{Options: Options{HTTP: server.Client(), Silence: 20 * time.Millisecond}}
	if err := in.download(t.Context(), &found{url: server.URL}, filepath.Join(t.TempDir(), "archive")); !stalltimeout.Is(err) {
		t.Errorf("%v", err)
	}
}
