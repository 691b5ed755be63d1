package stalltimeout

import (
	"context"
	"io"
	"net/http"
	"time"
)

// Client is c with requests that are given up when nothing came for that long, before the
// answer or in the middle of it; 0 is no limit.
func Client(c *http.Client, limit time.Duration) *http.Client {
	if limit <= 0 {
		return c
	}
	watched := *c
	if watched.Transport == nil {
		watched.Transport = http.DefaultTransport
	}
	watched.Transport = transport{watched.Transport, limit}
	return &watched
}

type transport struct {
	http.RoundTripper
	limit time.Duration
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	b := &body{}
	b.ctx, b.end = b.pulse.Watch(req.Context(), req.URL.Host, t.limit)
	resp, err := t.RoundTripper.RoundTrip(req.WithContext(b.ctx))
	if err != nil {
		err = Because(b.ctx, err)
		b.end()
		return nil, err
	}
	b.pulse.Beat()
	b.ReadCloser = resp.Body
	resp.Body = b
	return resp, nil
}

// body is that of an answer.
type body struct {
	io.ReadCloser
	pulse Pulse
	ctx   context.Context
	end   func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.pulse.Beat()
	return n, Because(b.ctx, err)
}

func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
