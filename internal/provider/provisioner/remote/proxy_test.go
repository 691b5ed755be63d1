package remote

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// listen serves connections until the test ends.
func listen(t *testing.T, serve func(conn net.Conn)) (port int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	do(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}

// TestBadProxies has proxies that make no connection. Each is an error that names it.
func TestBadProxies(t *testing.T) {
	for answer, want := range map[string]string{
		"":                                 "EOF",
		"no\r\n\r\n":                       "malformed HTTP",
		"HTTP/1.1 502 Bad Gateway\r\n\r\n": "answers 502 Bad Gateway",
		"HTTP/1.1 204 No Content\r\n\r\n":  "answers 204 No Content",
	} {
		port := listen(t, func(conn net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				fmt.Fprint(conn, answer)
			}
		})
		conn, err := (&proxy{scheme: "http", host: "127.0.0.1", port: port}).dial(t.Context(), "127.0.0.1:22")
		if conn != nil || err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "the proxy 127.0.0.1:") {
			t.Errorf("%q: %v", answer, err)
		}
	}
	if _, err := (&proxy{scheme: "http", host: "127.0.0.1", port: 1}).dial(t.Context(), "127.0.0.1:22"); err == nil || !strings.HasPrefix(err.Error(), "the proxy can't be reached") {
		t.Error(err)
	}
}

// TestClosed: a connection doesn't outlive its use.
func TestClosed(t *testing.T) {
	l := start(t)
	var all, open atomic.Int32
	port := listen(t, func(conn net.Conn) {
		to, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(l.port)))
		if err != nil {
			return
		}
		defer to.Close()
		all.Add(1)
		open.Add(1)
		defer open.Add(-1)
		go func() { _, _ = io.Copy(conn, to) }()
		_, _ = io.Copy(to, conn)
	})
	if got := l.try(map[string]any{"private_key": l.read("me"), "port": port}, "", "echo hello"); !strings.HasPrefix(got, "hello") {
		t.Fatal(got)
	}
	for deadline := time.Now().Add(5 * time.Second); open.Load() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are open", open.Load())
		}
	}
	if all.Load() == 0 {
		t.Error("no connection was made")
	}
}

// TestReceiver: programs have no quotes, which PowerShell takes for texts. Paths do.
func TestReceiver(t *testing.T) {
	for want, of := range map[string]struct {
		windows, deep bool
	}{
		`scp -d -t '/a b'`:    {false, false},
		`scp -d -r -t '/a b'`: {false, true},
		`scp -d -t "/a b"`:    {true, false},
		`scp -d -r -t "/a b"`: {true, true},
	} {
		h := &Host{target: &Target{windows: of.windows}}
		if got := h.receiver("/a b", of.deep); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
