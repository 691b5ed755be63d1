package storagetest

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"weir.dev/weir/internal/net/stalltimeout"
	"weir.dev/weir/internal/state/storage"
)

// silence is how long a server does nothing before a request to it fails.
const silence = 50 * time.Millisecond

// Silent holds a backend to giving up on a server that takes everything and answers
// nothing any more, whatever is asked. The server is at the address; open opens the backend with the server at another one, HOST:PORT, and limit says
// how long that may do nothing from then on.
func Silent(t *testing.T, network, address string, open func(t *testing.T, address string) (b storage.Backend, limit func(time.Duration))) {
	state := []byte(`{"version":4}`)
	for name, ask := range map[string]func(t *testing.T, s storage.Store, hush func()) error{
		"read": func(t *testing.T, s storage.Store, hush func()) error {
			hush()
			_, err := s.Read(t.Context())
			return err
		},
		"write": func(t *testing.T, s storage.Store, hush func()) error {
			if _, err := s.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
			hush()
			return s.Write(t.Context(), state)
		},
		"lock": func(t *testing.T, s storage.Store, hush func()) error {
			hush()
			_, err := s.Lock(t.Context(), storage.NewLockInfo("test", "me", "1"))
			return err
		},
		"unlock": func(t *testing.T, s storage.Store, hush func()) error {
			id, err := s.Lock(t.Context(), storage.NewLockInfo("test", "me", "1"))
			if err != nil {
				t.Fatal(err)
			}
			hush()
			return s.Unlock(t.Context(), id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			through, quiet := relay(t, network, address)
			b, limit := open(t, through)
			s, err := b.State(storage.DefaultWorkspace)
			if err != nil {
				t.Fatal(err)
			}
			err = ask(t, s, func() {
				quiet()
				limit(silence)
			})
			if !stalltimeout.Is(err) {
				t.Errorf("%v", err)
			}
		})
	}
}

// relay passes everything on, until quiet is called: from then on it takes
// connections and what comes on them, and that is all.
func relay(t *testing.T, network, address string) (at string, quiet func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	var hushed atomic.Bool
	pass := func(to, from net.Conn) {
		defer from.Close()
		defer to.Close()
		b := make([]byte, 1<<16)
		for {
			n, err := from.Read(b)
			if n > 0 && !hushed.Load() {
				if _, err := to.Write(b[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			if hushed.Load() {
				go io.Copy(io.Discard, c)
				continue
			}
			server, err := net.Dial(network, address)
			if err != nil {
				c.Close()
				continue
			}
			go pass(server, c)
			go pass(c, server)
		}
	}()
	return listener.Addr().String(), func() { hushed.Store(true) }
}
