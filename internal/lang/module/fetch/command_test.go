package fetch

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/net/stalltimeout"
)

// silent is a server that takes connections and what is sent, and never says anything.
func silent(t *testing.T, taken func()) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			taken()
			go io.Copy(io.Discard, c)
		}
	}()
	return listener.Addr().String()
}

// sources are those of a server, by the program that they take.
var sources = map[string]string{
	"git::http://HOST/m.git":               "git",
	"git::http://HOST/m.git?ref=x&depth=1": "git",
	"git::git://HOST/m.git":                "git",
	"git::ssh://HOST/m.git":                "ssh",
	"hg::http://HOST/m":                    "hg",
	"http://HOST/page":                     "",
	"http://HOST/m.zip":                    "",
	"oci://HOST/m":                         "",
}

// TestSilentServers: whatever fetches, a server that takes a request and never answers is
// given up, with its name and the way out.
func TestSilentServers(t *testing.T) {
	for source, program := range sources {
		t.Run(strings.ReplaceAll(source, "/", "_"), func(t *testing.T) {
			if _, err := exec.LookPath(program); program != "" && err != nil {
				t.Skip("there is no " + program)
			}
			t.Parallel()
			host := silent(t, func() {})
			f := New(Options{Environ: append(os.Environ(), "HGRCPATH="), Silence: 300 * time.Millisecond})
			_, _, err := f.Fetch(t.Context(), strings.Replace(source, "HOST", host, 1), "", filepath.Join(t.TempDir(), "m"))
			if !stalltimeout.Is(err) || !strings.Contains(err.Error(), host) || !strings.Contains(err.Error(), stalltimeout.Variable) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestCancelledServers: an interrupt ends what waits for such a server, with all that it
// has started.
func TestCancelledServers(t *testing.T) {
	for source, program := range sources {
		t.Run(strings.ReplaceAll(source, "/", "_"), func(t *testing.T) {
			if _, err := exec.LookPath(program); program != "" && err != nil {
				t.Skip("there is no " + program)
			}
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			host := silent(t, cancel)
			f := New(Options{Environ: append(os.Environ(), "HGRCPATH=")})
			_, _, err := f.Fetch(ctx, strings.Replace(source, "HOST", host, 1), "", filepath.Join(t.TempDir(), "m"))
			var problem *module.Problem
			if !errors.As(err, &problem) || problem.Summary != "Module download was interrupted" {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestBeatWith: what a directory gets is a sign of life of who writes there silently.
func TestBeatWith(t *testing.T) {
	dir := t.TempDir()
	empty := extent(dir)
	if err := os.WriteFile(filepath.Join(dir, "pack"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	begun := extent(dir)
	if err := os.WriteFile(filepath.Join(dir, "pack"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if grown := extent(dir); begun <= empty || grown <= begun || extent(filepath.Join(dir, "none")) != 0 {
		t.Errorf("%d, %d, %d", empty, begun, grown)
	}
	script := "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9 10; do echo $i >>" + dir + "/pack; sleep 0.1; done\n"
	f := New(Options{Silence: 500 * time.Millisecond})
	if _, err := f.run(t.Context(), exec.Command("sh", "-c", script), "host", dir); err != nil {
		t.Error(err)
	}
}

func TestWithoutProgress(t *testing.T) {
	text := "Cloning into 'm'...\nremote: Enumerating objects: 5, done.        \nremote: Counting objects:  20% (1/5)\rremote: Counting objects: 100% (5/5), done.\n" +
		"remote: Total 5 (delta 0), reused 0 (delta 0), pack-reused 0\nReceiving objects:  80% (4/5)\rfatal: early EOF\nfatal: Could not read from remote repository.\n\nPlease make sure: you have rights\n" +
		"Updating files: 100% (3/3), done.\n"
	want := "fatal: early EOF\nfatal: Could not read from remote repository.\nPlease make sure: you have rights"
	if got := withoutProgress(text); got != want {
		t.Errorf("%q", got)
	}
}
