// Package stalltimeout aborts requests to servers that accept them and then stall.
//
// It owns when that is so: nothing came or went for a while. How long a request takes as a
// whole doesn't matter, since states and networks have all sizes. It doesn't know protocols,
// and whether a request is worth another try.
package stalltimeout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// Beyond is a limit for requests that nobody watches: long enough for Watch, whose
// errors say more, to come first for those that are.
func Beyond(limit time.Duration) time.Duration {
	if limit <= 0 {
		return 0
	}
	return 2*limit + time.Second
}

// Variable is the environment variable that says how long servers may do nothing.
const Variable = "WEIR_STATE_TIMEOUT"

// Usual is how long they may where nobody says otherwise.
const Usual = time.Minute

// Limit reads how long servers may do nothing; 0 is without end. Without a getenv
// it is the usual time.
func Limit(getenv func(name string) string) (time.Duration, error) {
	text := ""
	if getenv != nil {
		text = getenv(Variable)
	}
	if text == "" {
		return Usual, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%s is %q. It has to be a duration such as 90s or 5m; 0 is no limit", Variable, text)
	}
	return d, nil
}

// Stalled is the failure of a request that nothing came of.
type Stalled struct {
	Server string // for people
	After  time.Duration
}

func (s *Stalled) Error() string {
	return fmt.Sprintf("the server %s took the request and then did nothing for %s. Look whether it is overloaded, and whether something on the way to it holds connections up; where it needs longer, the environment variable %s says how long, such as 5m", s.Server, s.After, Variable)
}

// A Pulse is when something came from a server or went to it last. The zero value
// is ready.
type Pulse struct{ last atomic.Int64 }

// Beat says that something came or went just now.
func (p *Pulse) Beat() { p.last.Store(time.Now().UnixNano()) }

// Watch returns a context that ends when there was no beat for that long. A caller that calls
// it sees to end, once the request is over.
func (p *Pulse) Watch(ctx context.Context, server string, limit time.Duration) (_ context.Context, end func()) {
	if limit <= 0 {
		return ctx, func() {}
	}
	p.Beat()
	ctx, fail := context.WithCancelCause(ctx)
	go func() {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			idle := time.Since(time.Unix(0, p.last.Load()))
			if idle >= limit {
				fail(&Stalled{server, limit})
				return
			}
			timer.Reset(limit - idle)
		}
	}()
	return ctx, func() { fail(nil) }
}

// Because is why something failed under a context of Watch: that nothing came of
// it, where that is so.
func Because(ctx context.Context, err error) error {
	var why *Stalled
	if err != nil && errors.As(context.Cause(ctx), &why) {
		return why
	}
	return err
}

// Is reports whether an error is that a server did nothing.
func Is(err error) bool { return errors.As(err, new(*Stalled)) }

// Reader is r with a beat for all that comes.
func (p *Pulse) Reader(r io.Reader) io.Reader { return reader{r, p} }

type reader struct {
	io.Reader
	pulse *Pulse
}

func (r reader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.pulse.Beat()
	return n, err
}

// Writer is w with a beat for all that has come.
func (p *Pulse) Writer(w io.Writer) io.Writer { return writer{w, p} }

type writer struct {
	io.Writer
	pulse *Pulse
}

func (w writer) Write(b []byte) (int, error) {
	w.pulse.Beat()
	return w.Writer.Write(b)
}

// Conn is c with a beat for all that comes and goes.
func (p *Pulse) Conn(c net.Conn) net.Conn { return conn{c, p} }

type conn struct {
	net.Conn
	pulse *Pulse
}

func (c conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.pulse.Beat()
	}
	return n, err
}

func (c conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if n > 0 {
		c.pulse.Beat()
	}
	return n, err
}
