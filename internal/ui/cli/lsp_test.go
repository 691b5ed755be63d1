package cli

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
)

// TestPrintouts: what a command prints is in a file, its errors as well, until the session ends.
func TestPrintouts(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := &printouts{}
	file, err := p.Run(t.Context(), t.TempDir(), "why-*.txt", "why") // the program is this test, which has no such flag
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(out), "chdir") {
		t.Errorf("%q, %v", out, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read %v, %v", info, err)
	}
	if at, err := p.Open(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "chdir") {
		t.Errorf("the page of a program that has none: %s, %v", at, err)
	}
	p.Close()
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it stays: %v", err)
	}
}

// TestConnections: the server connects to an editor that waits at a socket or a pipe.
func TestConnections(t *testing.T) {
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "pipe")} {
		waiting, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		option := "-socket=" + waiting.Addr().String()
		if network == "unix" {
			option = "-pipe=" + address
		}
		run, code := runIn(t, map[string]string{"main.tf": ""}), make(chan int)
		go func() {
			got, _ := run("lsp " + option)
			code <- got
		}()
		conn, err := waiting.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewBufferedStream(conn, jsonrpc2.VSCodeObjectCodec{}), ignored{})
		var result struct{ Capabilities map[string]any }
		if err := c.Call(t.Context(), "initialize", map[string]any{"capabilities": map[string]any{}}, &result); err != nil || result.Capabilities["hoverProvider"] != true {
			t.Errorf("%s: %v, %v", network, result, err)
		}
		if err := errors.Join(c.Call(t.Context(), "shutdown", nil, nil), c.Notify(t.Context(), "exit", nil)); err != nil {
			t.Error(err)
		}
		if got := <-code; got != 0 {
			t.Errorf("%s: code %d", network, got)
		}
		c.Close()
		waiting.Close()
	}
}

type ignored struct{}

func (ignored) Handle(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) {}
